package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// uninstaller is what `croft uninstall` takes.
type uninstaller interface {
	Uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error)
}

// uninstallResult is what `croft uninstall` prints.
type uninstallResult struct {
	Version int                   `json:"version"`
	Removed croft.UninstallResult `json:"removed"`
}

func newUninstallCommand(a *app) *cobra.Command {
	var isYes, isDryRun bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove all of Croft's from a repository",
		Long: `Remove all that is Croft's own from this repository: its refs, its files in the
git directory, its lines in the configuration, and what it remembers. What that
is, is listed first, and you are asked.

Branches and worktrees stay as plain git has them, and so do the directories in
the trash. Commits and snapshots that only Croft kept become branches below
croft-kept/.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			agreed := consentAsk
			switch {
			case isDryRun:
				agreed = consentDryRun
			case isYes:
				agreed = consentGiven
			case !a.canAsk():
				e := misused(cmd, "nobody is there to be asked: say --yes, or --dry-run to see the list")
				e.Hint = cmd.CommandPath() + " --dry-run"
				return e
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runUninstall(ctx, svc, croft.UninstallRequest{Repo: a.dir()}, agreed)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&isYes, "yes", "y", false, "do not ask")
	flags.BoolVarP(&isDryRun, "dry-run", "n", false, "only tell")
	return cmd
}

func (a *app) runUninstall(ctx context.Context, svc uninstaller, req croft.UninstallRequest, agreed consent) error {
	if agreed != consentGiven {
		dry := req
		dry.DryRun = croft.DryRunOn
		plan, err := svc.Uninstall(ctx, dry)
		if err != nil {
			return err
		}
		a.showUninstall(*plan, "would be")
		if agreed == consentDryRun {
			return nil
		}
		if yes, err := a.ask(ctx, "Remove all of Croft's from "+a.shown(plan.Path)+"?"); err != nil || !yes {
			return err
		}
	}
	done, err := svc.Uninstall(ctx, req)
	if err != nil {
		return err
	}
	if agreed == consentGiven {
		a.showUninstall(*done, "were")
	}
	a.note("nothing of Croft's is left in %s", a.shown(done.Path))
	return nil
}

// showUninstall lists what goes and what stays.
func (a *app) showUninstall(r croft.UninstallResult, were string) {
	if a.json {
		a.emit(uninstallResult{formatVersion, r})
		return
	}
	var rows [][]cell
	for _, b := range r.Branches {
		rows = append(rows, []cell{plain("branch"), plain(b.Branch), plain("made of work that only Croft kept")})
	}
	for _, path := range r.Workspaces {
		rows = append(rows, []cell{plain("worktree"), plain(a.shown(path)), plain("stays: git worktree list")})
	}
	for _, path := range r.Left {
		rows = append(rows, []cell{plain("trash"), plain(a.shown(path)), plain("stays")})
	}
	for _, path := range r.Files {
		rows = append(rows, []cell{plain("file"), plain(a.shown(path)), plain(were + " removed, or Croft's lines in it")})
	}
	a.table(rows)
	a.note("%s below refs/croft/ %s deleted", count(len(r.Refs), "ref"), were)
}
