package workspace

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
)

// fillCheckouts writes and verifies the files of the checkouts, without a lock.
func (svc *Workspaces) fillCheckouts(ctx context.Context, s project.Location, op *oplog.Op, plans []*plan, meter *progress.Meter) error {
	limit, workers := project.Parallel(len(plans), s.Config.Checkout.Workers)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for _, p := range plans {
		g.Go(func() error {
			spec := p.spec()
			spec.Workers = workers
			spec.Inherit = op.InheritedFiles()
			if svc.IsPlain(s.CommonDir) {
				spec.Source, spec.Skip = s.Path, []string{p.record.BaseDir}
			}
			co := s.CheckoutFor(p.mode)
			if p.taken != nil {
				meter.Add(1)
				return nil
			}
			err := fullDiskError(spec.Path, co.Fill(gctx, spec))
			if err == nil {
				err = failpoint.Hit("create.filled")
			}
			if err == nil {
				var notes []string
				notes, err = co.Verify(gctx, spec)
				p.record.Workspace.Notes = append(p.record.Workspace.Notes, notes...)
			}
			meter.Add(1)
			return explain.WithWorkspace(p.record.Workspace.Name, err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return failpoint.Hit("create.verified")
}
