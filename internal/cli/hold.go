package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// holder is the part of croft.Service that `croft hold` calls.
type holder interface {
	TakeLease(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error)
	Renew(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error)
	Release(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error)
}

func newHoldCommand(a *app) *cobra.Command {
	var pid int
	var release string
	cmd := &cobra.Command{
		Use:   "hold [NAME]",
		Short: "Say that a process is at work in a workspace",
		Long: `Take a lease on a workspace in the name of a process, and print its ID. While the
process lives, the workspace is in use: nothing removes it. Once the process is
gone and the lease has expired (lease.ttl), the workspace is an orphan, and
"croft reap" moves it to the trash.

The process is the one that calls croft, unless --pid names another. A script
names itself: --pid $$.`,
		Example: `  lease=$(croft hold fix-login --pid $$)
  ...
  croft hold --release "$lease"`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if release != "" && (len(args) > 0 || cmd.Flags().Changed("pid")) {
				return usageError(cmd, "either a workspace to hold, or a lease to --release")
			}
			pid = cmp.Or(pid, a.env.Parent)
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if release != "" {
					return a.runRelease(ctx, svc, croft.ID(release))
				}
				return a.runHold(ctx, svc, croft.LeaseRequest{
					Repo: a.dir(), Workspace: a.optionalRef(args), Owner: croft.Owner{PID: pid}, Term: croft.TermProcess,
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&pid, "pid", 0, "the `process` (default: the one that calls)")
	flags.StringVar(&release, "release", "", "give this `lease` back instead")
	registerCompletion(cmd, "release", cobra.NoFileCompletions)
	return cmd
}

func (a *app) runHold(ctx context.Context, svc holder, req croft.LeaseRequest) error {
	lease, err := svc.TakeLease(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(leaseResult{lease})
		return nil
	}
	a.printLine(string(lease.ID))
	a.note("held for %s as long as it lives", processText(*lease))
	return nil
}

// processText is how the owner of a lease is called.
func processText(l croft.Lease) string {
	if l.Process == "" {
		return fmt.Sprintf("process %d", l.Owner.PID)
	}
	return fmt.Sprintf("%s (%d)", l.Process, l.Owner.PID)
}

func (a *app) runRelease(ctx context.Context, svc holder, lease croft.ID) error {
	_, lost := svc.Renew(ctx, croft.RenewRequest{Lease: lease}) // tells whether it is there; giving back does not
	if _, err := svc.Release(ctx, croft.ReleaseRequest{Lease: lease}); err != nil {
		return err
	}
	if errors.Is(lost, croft.LeaseLost) {
		a.note("there is no lease %s: it was given back before, or has ended", lease)
	}
	if a.json {
		a.emit(leaseResult{})
	}
	return nil
}
