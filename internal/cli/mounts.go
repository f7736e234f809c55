package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/mounting"
	"github.com/spf13/cobra"
)

// The formats of `croft mounts`.
const (
	formatDocker       = "docker"
	formatDevcontainer = "devcontainer"
	formatCompose      = "compose"
	formatK8s          = "k8s"
	formatCodex        = "codex"
	formatJSON         = "json"
)

func mountFormats() []string {
	return []string{formatDocker, formatDevcontainer, formatCompose, formatK8s, formatCodex, formatJSON}
}

func newMountsCommand(a *app) *cobra.Command {
	var format, workdir string
	cmd := &cobra.Command{
		Use:   "mounts [NAME]",
		Short: "Print what a container needs to work in a workspace",
		Long: `Print the mounts, the environment and the working directory of a container that
works in a workspace, so that git works there as it does outside. The workspace
lies at containers.workdir; what git needs of the repository at the paths that it
has outside, of which only objects, refs and the worktree's own part can be
written there.

With --format codex, print arguments of Codex by which its sandbox lets the agent commit
in a workspace, and move no branch but its own. That needs a branch in a directory of its
own. Without it the agent commits nothing, and Croft commits its work from outside, which
is safer: what these arguments open is said with them.`,
		Example: `  eval "docker run --rm -it $(croft mounts fix-login) my-image"
  croft mounts fix-login --format compose >compose.override.yaml
  croft new fix-login --branch croft/fix-login/work
  eval "croft run fix-login -- codex \
    $(croft mounts fix-login --format codex) exec 'fix the login'"`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(mountFormats(), format) {
				return usageError(cmd, "unknown format "+quoted(format)+": "+strings.Join(mountFormats(), ", "))
			}
			req := croft.MountsRequest{Repo: a.dir(), Workspace: a.optionalRef(args), Workdir: workdir}
			if format == formatCodex {
				req.Place = croft.InSandbox
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runMounts(ctx, svc, req, format)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", formatDocker, "docker (arguments), devcontainer, compose, k8s, codex (arguments) or json")
	flags.StringVar(&workdir, "workdir", "", "where the workspace lies in the container (default: containers.workdir)")
	completeWords(cmd, "format", mountFormats()...)
	registerCompletion(cmd, "workdir", cobra.NoFileCompletions)
	return cmd
}

func (a *app) runMounts(ctx context.Context, svc croft.Containers, req croft.MountsRequest, format string) error {
	m, err := svc.Mounts(ctx, req)
	if err != nil {
		return err
	}
	if a.json || format == formatJSON {
		a.emit(mountsResult{*m})
		return nil
	}
	switch format {
	case formatDocker:
		a.printLine(mounting.Docker(*m))
	case formatDevcontainer:
		a.printLine(mounting.Devcontainer(*m))
	case formatCompose:
		a.printLine(mounting.Compose(*m))
	case formatK8s:
		a.printLine(mounting.Pod(*m))
	case formatCodex:
		a.printLine(mounting.Codex(*m))
	}
	for _, note := range m.Notes {
		a.note("note: %s", note)
	}
	return nil
}
