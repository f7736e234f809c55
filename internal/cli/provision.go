package cli

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// provisionResult is the answer of `croft provision`.
type provisionResult struct {
	Provision croft.Provision `json:"provision"`
}

func newProvisionCommand(a *app) *cobra.Command {
	var req croft.ProvisionRequest
	cmd := &cobra.Command{
		Use:   "provision [NAME]",
		Short: "Set a workspace up: run what has not run, failed, or has new inputs",
		Long: `Run the commands by which a workspace is set up ([[provision.step]] and
[[provision.probe]] in the croft.toml of the commit that it began with): those that
have not run, that failed, and whose key files have changed. A second run right after
it runs nothing but the probes.

Commands that nobody has approved are not run, but named: "croft config trust --setup"
shows and approves them.`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo = a.dir()
			if len(args) > 0 {
				req.Workspace = a.workspaceRef(args[0])
			}
			return a.runProvision(ctx, svc, req)
		}),
	}
	cmd.Flags().StringSliceVar(&req.Steps, "step", nil, "only these `steps`, also if they succeeded")
	addWordFlag(cmd, &req.Mode, croft.ProvisionAgain, "again", "", "run all steps again")
	addWordFlag(cmd, &req.Mode, croft.ProvisionCheck, "check", "", "run nothing, and tell what would run")
	cmd.MarkFlagsMutuallyExclusive("again", "check")
	registerCompletion(cmd, "step", cobra.NoFileCompletions)
	addKeyFlag(cmd, &req.Key)
	return cmd
}

// provisioner is the part of croft.Service that sets workspaces up.
type provisioner interface {
	Provision(ctx context.Context, req croft.ProvisionRequest) (*croft.Provision, error)
}

func (a *app) runProvision(ctx context.Context, svc provisioner, req croft.ProvisionRequest) error {
	got, err := svc.Provision(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(provisionResult{*got})
	} else {
		a.printTable(stepRows(*got))
	}
	a.noteSetup(got)
	if got.State != croft.ProvisionReady {
		return statusError(croft.ExitFailure)
	}
	return nil
}

// stepRows are the steps, one a line.
func stepRows(p croft.Provision) [][]cell {
	var rows [][]cell
	for _, step := range p.Steps {
		style := map[croft.StepState]style{croft.StepDone: styleGreen, croft.StepFailed: styleRed}[step.State]
		rows = append(rows, []cell{plainCell(step.Name), styledCell(string(step.State), style), plainCell(printable(step.Run)), plainCell(printable(step.Why))})
	}
	return rows
}

// setUp runs the commands of new workspaces that have some, and adds to each what became of them. A
// command that fails leaves a workspace that can be used, and set up again.
func (a *app) setUp(ctx context.Context, svc provisioner, workspaces []croft.Workspace, key string) error {
	for i, ws := range workspaces {
		if ws.Provision == nil || ws.Provision.State != croft.ProvisionPending {
			continue
		}
		req := croft.ProvisionRequest{Workspace: croft.ByID(ws.ID)}
		if key != "" {
			req.Key = key + "/" + ws.Name
		}
		stop := a.startProgress("setting up " + ws.Name)
		got, err := svc.Provision(ctx, req)
		stop()
		if err != nil {
			return err
		}
		workspaces[i].Provision = got
	}
	return nil
}

// noteSetup says what a workspace that is not set up waits for.
func (a *app) noteSetup(p *croft.Provision) {
	switch p.State {
	case croft.ProvisionUnapproved:
		a.note("%s not run: nobody has approved them", countNoun(len(p.Steps), "command"))
		a.note("hint: croft config trust --setup")
	case croft.ProvisionFailed:
		for _, step := range p.Steps {
			if step.State == croft.StepFailed {
				a.note("%s failed: %s", step.Name, step.Why)
				if step.Tail != "" {
					fmt.Fprintln(a.env.Stderr, printableLines(step.Tail))
				}
			}
		}
	}
}
