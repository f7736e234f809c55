package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// differ is the part of croft.Service that `croft diff` calls.
type differ interface {
	Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error)
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
	cmd := &cobra.Command{
		Use:   "diff [NAME] [PATH...]",
		Short: "Show the work of a workspace",
		Long: `Show in what a workspace differs from where it left its target branch,
uncommitted and new files included. Paths are those of the project; a directory
stands for all below it. Without a name, paths follow "--".`,
		Example: `  croft diff fix-login
  croft diff fix-login --stat
  croft diff -- src/`,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isStat && isNames {
				return usageError(cmd, "either --stat or --name-only")
			}
			req.Repo = a.dir()
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				req.Workspace, args = a.workspaceRef(args[0]), args[1:]
			}
			req.Paths = slashedPaths(args)
			form := diffPatch
			if isStat {
				form = diffStat
			} else if isNames {
				form = diffNames
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runDiff(ctx, svc, req, form)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isStat, "stat", false, "print how many lines of each file changed")
	flags.BoolVar(&isNames, "name-only", false, "print the paths only")
	flags.StringVar(&req.Target, "target", "", "compare with this `branch` (default: the workspace's target)")
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

func (a *app) runDiff(ctx context.Context, svc differ, req croft.DiffRequest, form diffForm) error {
	work, err := svc.Diff(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(diffResult{*work})
		return nil
	}
	switch form {
	case diffNames:
		for _, f := range work.Files {
			a.printLine(patchPath("", f.Path))
		}
	case diffStat:
		a.showFiles(work.Files)
	default:
		a.printPatch(work.Files)
	}
	a.noteHeldBack(work)
	return nil
}

// showFiles prints files, one line each, and their sum.
func (a *app) showFiles(files []croft.ReviewFile) {
	if len(files) == 0 {
		return
	}
	var rows [][]cell
	added, deleted := 0, 0
	for _, f := range files {
		added, deleted = added+f.Added, deleted+f.Deleted
		rows = append(rows, plainRow(patchPath("", f.Path), fileSummary(f)))
	}
	a.printTable(rows)
	a.printLine(fmt.Sprintf("%s, +%d -%d", countNoun(len(files), "file"), added, deleted))
}

// noteHeldBack names the files that are not part of the work unless they are
// committed.
func (a *app) noteHeldBack(work *croft.Review) {
	if len(work.HeldBack) > 0 {
		a.note("%s: left out: %s", work.WorkspaceName, strings.Join(work.HeldBack, ", "))
	}
}
