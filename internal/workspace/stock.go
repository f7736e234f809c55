package workspace

import (
	"context"
	"errors"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/project"
)

// takeFromStock takes the files of new workspaces out of the pool, as far as they are there. It holds no lock of the
// repository: copying takes a while.
func (svc *Workspaces) takeFromStock(ctx context.Context, s project.Location, plans []*plan) {
	limit, _ := project.Parallel(len(plans), s.Config.Checkout.Workers)
	var g errgroup.Group
	g.SetLimit(limit)
	for _, p := range plans {
		g.Go(func() error {
			w := &p.record.Workspace
			switch {
			case p.mode == croft.ModeLegacy:
				return nil
			case svc.IsPlain(s.CommonDir):
				w.MadeBy = croft.MadeByCopy
				return nil
			case p.mode == croft.ModeIsolated:
				w.MadeWhy = "isolated workspaces are not made from the pool"
			case len(p.record.Sparse) > 0:
				w.MadeWhy = "checkout.sparse is set"
			default:
				svc.takeOne(ctx, s, p)
			}
			if p.taken == nil {
				w.MadeBy = croft.MadeByGit
			}
			return nil
		})
	}
	_ = g.Wait()
}

func (svc *Workspaces) takeOne(ctx context.Context, s project.Location, p *plan) {
	w := &p.record.Workspace
	beside, err := fsx.MakeDir(filepath.Dir(w.Path), 0o777)
	if err != nil {
		return // making the workspace fails, too, and says why
	}
	_ = beside.Close()
	if p.taken, w.MadeWhy = svc.Pool.Take(ctx, s.Project, pool.Wanted{Commit: w.Base, Beside: filepath.Dir(w.Path)}); p.taken != nil {
		w.MadeBy = p.taken.By
	}
}

// giveBack gives up what was taken out of the pool. If its directory was moved to the workspace's path, nothing is
// left of it.
func (p *plan) giveBack() {
	if p.taken != nil {
		p.taken.Done()
	}
}

func giveBackAll(plans []*plan) {
	for _, p := range plans {
		p.giveBack()
	}
}

// prepare registers the checkout of a workspace: with files from the pool, if there are some that can be used.
func (p *plan) prepare(ctx context.Context, s project.Location) (checkout.Spec, error) {
	spec := p.spec()
	spec.Branches = p.baseBranch(ctx, s.Project)
	co := s.CheckoutFor(p.mode)
	err := co.Prepare(ctx, spec)
	if !errors.Is(err, checkout.ErrNotReady) {
		return spec, err
	}
	p.giveBack()
	p.taken = nil
	p.record.Workspace.MadeBy, p.record.Workspace.MadeWhy = croft.MadeByGit, err.Error()
	spec.Ready = nil
	if err := co.Discard(spec); err != nil {
		return spec, err
	}
	return spec, co.Prepare(ctx, spec)
}
