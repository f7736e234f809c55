package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// adoptResult is the answer of `croft adopt`.
type adoptResult struct {
	Workspaces []croft.Workspace `json:"workspaces"`
	Left       []croft.Unadopted `json:"left,omitempty"`
}

func newAdoptCommand(a *app) *cobra.Command {
	var req croft.AdoptRequest
	var meta []string
	var isSetUp bool
	cmd := &cobra.Command{
		Use:   "adopt [PATH...]",
		Short: "Make workspaces of worktrees that others made",
		Long: `Make workspaces of worktrees that "git worktree add", an editor or an agent made. Croft
writes a record of each, and nothing in it: its files, its branch and its registration
stay as they are. From then on it is listed, saved, merged and removed like any other
workspace. Its branch is never deleted. With --provision the files that are missing come
in, and the commands that set workspaces up run, as by croft provision.

Without a path it is the worktree here.`,
		Example: `  croft adopt ../app-hotfix
  croft adopt --all`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := parseMeta(cmd, meta)
			if err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				req.Repo, req.Meta = a.dir(), entries
				for _, path := range args {
					req.Paths = append(req.Paths, a.absolute(path))
				}
				return a.runAdopt(ctx, svc, req, isSetUp)
			})
		},
	}
	addWordFlag(cmd, &req.All, croft.ScopeAll, "all", "", "all worktrees of the project that are no workspaces yet")
	cmd.Flags().StringVar(&req.Name, "name", "", "the `name` of one; default: that of its directory")
	cmd.Flags().StringVar(&req.Agent, "agent", "", "the `agent` that works in it")
	cmd.Flags().BoolVar(&isSetUp, "provision", false, "also set each up, as croft provision does")
	addMetaFlag(cmd, &meta, "record `KEY=VALUE` with each; repeat it for more")
	registerCompletion(cmd, "name", cobra.NoFileCompletions)
	registerCompletion(cmd, "agent", cobra.NoFileCompletions)
	addKeyFlag(cmd, &req.Key)
	return cmd
}

// adopter is the part of croft.Service that `croft adopt` calls.
type adopter interface {
	Adopt(ctx context.Context, req croft.AdoptRequest) (*croft.AdoptResult, error)
	provisioner
	repoFinder
}

func (a *app) runAdopt(ctx context.Context, svc adopter, req croft.AdoptRequest, isSetUp bool) error {
	if len(req.Paths) == 0 && req.All == "" && a.canPick() {
		if repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: req.Repo}); err == nil && repo.Path == a.env.Dir {
			return &croft.Error{Code: croft.WorktreeNotFound, Message: "the project itself is no worktree of it"} // so it is asked which one
		}
	}
	got, err := svc.Adopt(ctx, req)
	if err != nil {
		return err
	}
	isUnready := false
	if isSetUp {
		if err := a.setUp(ctx, svc, got.Workspaces, croft.ProvisionMissing, req.Key); err != nil {
			return err
		}
		for _, ws := range got.Workspaces {
			a.noteSetup(ws.Provision, " "+shellWord(ws.Name))
			isUnready = isUnready || ws.Provision.State != croft.ProvisionReady
		}
	}
	if a.json {
		a.emit(adoptResult{a.withCommands(got.Workspaces), got.Left})
	}
	for _, ws := range got.Workspaces {
		if !a.json {
			a.printLine(ws.Name + "  " + printable(ws.Branch) + "  " + a.shownPath(ws.Path))
		}
	}
	for _, left := range got.Left {
		a.printKeptErrors([]croft.Kept{{Name: left.Path, Reason: left.Reason}})
	}
	if len(got.Workspaces)+len(got.Left) == 0 {
		a.note("nothing to adopt: no worktree, or all are workspaces")
	}
	if len(got.Left) > 0 || isUnready {
		return statusError(croft.ExitFailure)
	}
	return nil
}
