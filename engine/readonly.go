package engine

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/access"
	"github.com/croft-sh/croft/internal/explain"
)

// ReadOnly says how the engine reads a state that this process may not write; it is nil if the
// process may.
func (e *Engine) ReadOnly() *croft.ReadOnlyState { return e.access().How }

// access says what this process may do with the state.
func (e *Engine) access() access.Access {
	if e.hidden != "" {
		return access.Access{StateDir: e.hidden, How: &croft.ReadOnlyState{Source: croft.ReadGit}}
	}
	a := access.Access{StateDir: e.projects.Settings.Config().StateDir}
	if source, asOf := e.projects.Journal.ReadOnly(); source != "" {
		a.How = &croft.ReadOnlyState{Source: croft.ReadSource(source), AsOf: asOf, Verified: true}
	}
	return a
}

// openFromGit opens an engine for a process that can read no state, which why says. It has a
// state of its own, with the workspaces that git knows, until it is closed.
func openFromGit(ctx context.Context, dir string, given Options, hidden string, why error) (*Engine, error) {
	scratch, err := access.NewScratch()
	if err != nil {
		return nil, why
	}
	given.scratch, given.Settings = scratch, scratch.Settings(given.Settings)
	e, err := Open(ctx, dir, &given)
	if err != nil {
		return nil, scratch.Remove(err)
	}
	s, err := e.projects.LocateGit(ctx, e.projects.Dir)
	if err == nil { // otherwise a call says what is wrong
		if err := e.doctor.ImportWorktrees(ctx, s); err != nil {
			_ = e.Close()
			return nil, explain.Error("open", "", err)
		}
	}
	e.hidden = hidden
	return e, nil
}
