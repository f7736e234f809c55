package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// applier is the part of croft.Service that `croft apply` calls.
type applier interface {
	finder
	repoFinder
	CreateReview(ctx context.Context, req croft.ReviewRequest) (*croft.Review, error)
	SubmitApply(ctx context.Context, req croft.ApplyRequest) (*croft.Merge, error)
	mergeLister
	mergeWaiter
}

func newApplyCommand(a *app) *cobra.Command {
	req := croft.ApplyRequest{}
	var target string
	var hunks []string
	var isAll bool
	cmd := &cobra.Command{
		Use:   "apply NAME PATH...",
		Short: "Bring part of a workspace's work to its target branch",
		Long: `Bring some files of a workspace, or some of their hunks, to the target branch as
one commit, through the same lane and checks as a merge. "croft review" shows
which hunks there are, without those that were applied before, and numbers them.
A renamed file is chosen by its new path.

With --review it is the work as it was then, whatever the agent did since. If
the target changed a chosen file in the meantime, nothing is applied.`,
		Example: `  croft apply fix-login src/login.go
  croft apply fix-login --hunks src/login.go:1,3 docs/
  croft apply fix-login --all -m "Fix the login"`,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "which workspace? give its name")
			}
			req.Repo, req.Paths = a.dir(), slashedPaths(args[1:])
			switch {
			case isAll && (len(args) > 1 || len(hunks) > 0):
				return usageError(cmd, "either paths and hunks or --all")
			case isAll:
				req.Paths = []string{"."}
			case len(args) == 1 && len(hunks) == 0:
				return usageError(cmd, "what of it? give paths, --hunks or --all")
			case req.Review != "" && target != "":
				return usageError(cmd, "the review has its target")
			}
			var err error
			if req.Hunks, err = parseHunks(cmd, hunks); err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runApply(ctx, svc, req, croft.ReviewRequest{Repo: req.Repo, Workspace: a.workspaceRef(args[0]), Target: target})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&hunks, "hunks", nil, "take only these hunks of a file: `path:1,3`")
	flags.BoolVar(&isAll, "all", false, "take everything")
	flags.StringVarP(&req.Message, "message", "m", "", "the commit's `message`")
	flags.StringVar((*string)(&req.Review), "review", "", "choose from this review, by its `ID` (default: the work as it is now)")
	addIntoFlag(cmd, &target, "another target")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

// parseHunks reads what --hunks was given.
func parseHunks(cmd *cobra.Command, given []string) (map[string][]int, error) {
	if len(given) == 0 {
		return nil, nil
	}
	chosen := map[string][]int{}
	for _, text := range given {
		colon := strings.LastIndexByte(text, ':')
		if colon <= 0 {
			return nil, usageError(cmd, "--hunks needs PATH:1,3, not "+quoted(text))
		}
		path := filepath.ToSlash(text[:colon])
		for part := range strings.SplitSeq(text[colon+1:], ",") {
			n, err := strconv.Atoi(part)
			if err != nil {
				return nil, usageError(cmd, "--hunks needs PATH:1,3, not "+quoted(text))
			}
			chosen[path] = append(chosen[path], n)
		}
	}
	return chosen, nil
}

func (a *app) runApply(ctx context.Context, svc applier, req croft.ApplyRequest, from croft.ReviewRequest) error {
	a.noteAgents(ctx, svc, from.Workspace)
	if req.Review == "" {
		work, err := reviewToApply(ctx, svc, from, req.Hunks)
		if err != nil {
			return err
		}
		req.Review = work.ID
	} else if !filepath.IsAbs(from.Workspace) {
		req.Workspace = from.Workspace
	}
	return a.applyChosen(ctx, svc, req)
}

// reviewToApply makes the review that --hunks counts in. It is the one that `croft review`
// shows, without the parts that were applied before; or the whole work, if the hunks are of
// files that were applied whole, or if only paths were given.
func reviewToApply(ctx context.Context, svc applier, from croft.ReviewRequest, hunks map[string][]int) (*croft.Review, error) {
	if len(hunks) > 0 {
		from.Applied = croft.AppliedHidden
		work, err := svc.CreateReview(ctx, from)
		isCounted := func(f croft.ReviewFile) bool { return hunks[f.Path] != nil }
		if err != nil || slices.ContainsFunc(work.Files, isCounted) {
			return work, err
		}
		from.Applied = croft.AppliedShown
	}
	return svc.CreateReview(ctx, from)
}

// shortMerge is the shortest beginning that tells a merge from all others; the whole ID if they cannot be listed.
func shortMerge(ctx context.Context, svc mergeLister, repo croft.Ref, id croft.ID) string {
	list, err := svc.Merges(ctx, croft.MergesRequest{Repo: repo, Scope: croft.ScopeAll})
	if err != nil || list.Next != "" {
		return string(id)
	}
	ids := []croft.ID{id}
	for _, m := range list.Items {
		ids = append(ids, m.ID)
	}
	return shortIDs(ids)[id]
}

// applyChosen applies a choice and shows what came of it.
func (a *app) applyChosen(ctx context.Context, svc applier, req croft.ApplyRequest) error {
	m, err := a.waitFor(ctx, svc)(svc.SubmitApply(ctx, req))
	if err != nil {
		return err
	}
	merges := []croft.Merge{*m}
	a.tellMerges(merges, nil)
	if a.isShown() && m.Status == croft.MergeMerged {
		a.remarkText(prose("the workspace stays"))
		a.remarkText(prose("to take it back: "), command("croft revert "+shortMerge(ctx, svc, req.Repo, m.ID)))
	}
	a.startUpkeepAfter(ctx, svc)
	return mergesExitStatus(merges, croft.MergeMerged)
}
