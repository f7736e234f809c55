package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/spf13/cobra"
)

// differ is the part of croft.Service that `croft diff` calls.
type differ interface {
	Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error)
}

// landedDiffer is the part of croft.Service that shows also what has landed.
type landedDiffer interface {
	differ
	mergeLister
	finder
}

// diffForm is how a difference is shown.
type diffForm int

const (
	diffPatch diffForm = iota
	diffStat
	diffNames
)

func newDiffCommand(a *app) *cobra.Command {
	req := croft.DiffRequest{}
	var isStat, isNames bool
	var review, merge string
	cmd := &cobra.Command{
		Use:   "diff [NAME] [PATH...]",
		Short: "Show the work of a workspace",
		Long: `Show in what a workspace differs from where it left its target branch,
uncommitted and new files included; of one that was merged and removed, what it
brought. Paths are those of the project; a directory
stands for all below it. Without a name, paths follow "--".

With --review it is the work as a review has frozen it, with --merge what a merge
has brought to its target or would bring. --limit shows that many files; the
answer names the place where the next ones begin, for --after.`,
		Example: `  croft diff fix-login
  croft diff fix-login --stat
  croft diff --merge 8k6xq2m4vh0c9r2t src/
  croft diff -- src/`,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isStat && isNames {
				return usageError(cmd, "either --stat or --name-only")
			}
			req.Repo, req.Review, req.Merge = a.dir(), croft.ID(review), croft.ID(merge)
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 && review+merge == "" {
				req.Workspace, args = a.workspaceRef(args[0]), args[1:]
			}
			req.Paths = slashedPaths(args)
			form := diffPatch
			if isStat {
				form, req.Detail = diffStat, croft.DetailStat
			} else if isNames {
				form, req.Detail = diffNames, croft.DetailStat
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runDiff(ctx, svc, req, form)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isStat, "stat", false, "print how many lines of each file changed")
	flags.BoolVar(&isNames, "name-only", false, "print the paths only")
	addIntoFlag(cmd, &req.Target, "compare with this `branch`, instead of the workspace's target")
	flags.StringVar(&review, "review", "", "show the work of the review with this `ID`")
	flags.StringVar(&merge, "merge", "", "show the work of the merge with this `ID`")
	flags.IntVarP(&req.Limit, "limit", "L", 0, "show at most `N` files")
	flags.StringVar(&req.After, "after", "", "show the files after this `place`, which the answer before has named")
	return cmd
}

// slashedPaths writes paths as git has them.
func slashedPaths(paths []string) []string {
	var list []string
	for _, p := range paths {
		list = append(list, filepath.ToSlash(p))
	}
	return list
}

func (a *app) runDiff(ctx context.Context, svc landedDiffer, req croft.DiffRequest, form diffForm) error {
	work, err := svc.Diff(ctx, req)
	if err != nil {
		return err
	}
	if work.Left != "" && work.Total.Files == 0 && req.Target == "" && len(req.Paths) == 0 {
		work, err = a.landedDiff(ctx, svc, req, work)
		if err != nil {
			return err
		}
	}
	if a.json {
		a.emit(diffResult{*work})
		return nil
	}
	a.page()
	switch form {
	case diffNames:
		for _, f := range work.Files {
			a.printLine(patchPath("", f.Path))
		}
	case diffStat:
		a.showFiles(work, a.env.Width > 0 && isUncommitted(ctx, svc, work))
	default:
		a.printPatch(work.Files)
	}
	a.noteHeldBack(work)
	if work.Total.Files == 0 && work.Left == "" && req.Review+req.Merge == "" && len(req.Paths)+len(work.HeldBack) == 0 {
		a.note("%s has no work that %s lacks", work.WorkspaceName, work.Target)
	}
	if work.Left != "" {
		a.note("%s was removed: croft restore %s brings it back", work.WorkspaceName, shellWord(string(work.Workspace)))
	}
	if work.Next != "" {
		a.note("there are more of the %s: --after %s", countNoun(work.Total.Files, "file"), work.Next)
	}
	return nil
}

// isUncommitted reports whether nothing of the work of a workspace is committed.
func isUncommitted(ctx context.Context, svc finder, work *croft.Review) bool {
	if work.Head != "" || work.Left != "" || work.Workspace == "" || work.Base == "" {
		return false
	}
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByID(work.RepoID), Ref: croft.ByID(work.Workspace)})
	return err == nil && ws.Head == work.Base
}

// landedDiff is what the last merge of a removed workspace has brought to its target, if there is one; else none, the
// empty difference that the workspace has.
func (a *app) landedDiff(ctx context.Context, svc landedDiffer, req croft.DiffRequest, none *croft.Review) (*croft.Review, error) {
	for _, m := range mergesInto(ctx, svc, req.Repo, none.Target) {
		if m.Workspace != none.Workspace || m.Kind != croft.KindMerge || m.Status != croft.MergeMerged || m.Commit == "" {
			continue
		}
		req.Workspace, req.Merge = "", m.ID
		work, err := svc.Diff(ctx, req)
		if err == nil {
			a.note("%s is in %s: this is what %s brought", none.WorkspaceName, m.Target, shortCommit(m.Commit))
		}
		return work, err
	}
	return none, nil
}

// showFiles prints files, one line each, and the sum of all pages.
func (a *app) showFiles(work *croft.Review, isUncommitted bool) {
	if len(work.Files) == 0 {
		return
	}
	if a.env.Width > 0 {
		var files []listing.StatFile
		for _, f := range work.Files {
			files = append(files, listing.StatFile{ReviewFile: f, Shown: patchPath("", f.Path)})
		}
		a.printLines(listing.Stat(files, listing.Sum{Changes: work.Total, IsUncommitted: isUncommitted}, a.stdout()))
		return
	}
	var rows [][]cell
	for _, f := range work.Files {
		rows = append(rows, plainRow(patchPath("", f.Path), fileSummary(f)))
	}
	a.printTable(rows)
	a.printLine(fmt.Sprintf("%s, +%d -%d", countNoun(work.Total.Files, "file"), work.Total.Added, work.Total.Deleted))
}

// noteHeldBack names the files that are not part of the work unless they are
// committed.
func (a *app) noteHeldBack(work *croft.Review) {
	if len(work.HeldBack) > 0 {
		a.note("%s: left out: %s", work.WorkspaceName, strings.Join(work.HeldBack, ", "))
	}
}
