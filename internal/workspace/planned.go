package workspace

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
)

// errPlanned ends the transaction of a plan, so that nothing of it is kept.
var errPlanned = errors.New("this was only a plan")

// PlanCreation says what CreateAll would make.
func (svc *Workspaces) PlanCreation(ctx context.Context, s project.Location, req croft.CreateAllRequest) ([]croft.Workspace, error) {
	plans, err := svc.planAll(ctx, s, req.Workspaces, nil)
	if err != nil {
		return nil, err
	}
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range plans {
			if err := svc.settlePlan(tx, s, p); err != nil {
				return explain.About(p.req.Name, err)
			}
			if err := tx.Put(p.record); err != nil { // those that follow must not get the same
				return err
			}
		}
		return errPlanned
	})
	if !errors.Is(err, errPlanned) {
		return nil, err
	}
	out := make([]croft.Workspace, len(plans))
	for i, p := range plans {
		w := p.record.Workspace
		w.ID, w.State = "", croft.Planned
		out[i] = w
	}
	return out, nil
}

// baseBranch is the branch that a new isolated workspace began from, so that it
// can be compared with there; a worktree sees all branches.
func (p *plan) baseBranch(ctx context.Context, r *project.Project) map[string]string {
	w := p.record.Workspace
	if tip, err := r.Git.ReadRef(ctx, "refs/heads/"+w.BaseRef); p.mode == croft.ModeIsolated && err == nil && tip == w.Base {
		return map[string]string{w.BaseRef: tip}
	}
	return nil
}

// NewHome is a place for an agent's home, beside the other workspaces of a
// repository.
func (svc *Workspaces) NewHome(r *project.Project, name string) string {
	top := filepath.Dir(r.Path)
	if !project.Writable(top) {
		return filepath.Join(svc.Settings.Config().DataDir, r.Name()+"-"+layout.ShortID(string(r.ID)), ".rounds", name)
	}
	return filepath.Join(top, r.Name()+".croft", ".rounds", name)
}
