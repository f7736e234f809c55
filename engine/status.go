package engine

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
)

// stateFile is an agent's own cache at the top of a checkout. It is tolerated
// everywhere and is nobody's work.
const stateFile = "STATE.json"

// statusByID looks for uncommitted work.
func (e *Engine) statusByID(ctx context.Context, id croft.ID) (*croft.Status, error) {
	r, rec, err := e.byID(ctx, id)
	if err != nil {
		return nil, err
	}
	st, err := e.status(ctx, r, rec)
	return st, explain.About(rec.Workspace.Name, err)
}

func (e *Engine) status(ctx context.Context, r *repo, rec journal.Record) (*croft.Status, error) {
	st := &croft.Status{Workspace: rec.Workspace.ID}
	if rec.Workspace.Mode == croft.ModeLegacy {
		return st, nil
	}
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		return nil, broken(rec, h)
	}
	changes, err := r.trees.Changes(ctx, specOf(rec))
	if err != nil {
		return nil, e.vanished(ctx, rec, err)
	}
	for _, c := range changes {
		if c.Kind == checkout.Untracked && c.Path == stateFile {
			continue
		}
		if (c.Kind == checkout.Untracked || c.Kind == checkout.Hidden) && rec.Placed(c.Path) {
			continue
		}
		switch c.Kind {
		case checkout.Staged:
			st.Staged++
		case checkout.Modified, checkout.Hidden:
			st.Modified++
		case checkout.Untracked:
			st.Untracked++
		case checkout.Conflicted:
			st.Conflicted++
		}
		st.Paths = append(st.Paths, c.Path)
	}
	if _, st.Head, err = r.trees.At(specOf(rec)).Head(ctx); err != nil {
		return nil, e.vanished(ctx, rec, err)
	}
	return st, e.distance(ctx, r, rec, st)
}

// distance counts the commits between a workspace and its target. A target
// that is gone leaves the counts at zero.
func (e *Engine) distance(ctx context.Context, r *repo, rec journal.Record, st *croft.Status) error {
	if rec.Workspace.Target == "" || st.Head == "" {
		return nil
	}
	target, err := r.git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Target)
	if err != nil || target == st.Head {
		return nil
	}
	st.Ahead, st.Behind, err = r.git.AheadBehind(ctx, st.Head, target)
	return err
}

// brokenNow is broken after a look for the directory: one that was moved is found by
// the doctor, too.
func (r *repo) brokenNow(ctx context.Context, rec journal.Record, h checkout.Health) error {
	err := broken(rec, h)
	to := r.whereabouts(ctx, []journal.Record{rec})[0]
	if told, ok := errors.AsType[*croft.Error](err); ok && to != "" && !isStowedAt(rec, to) {
		told.Message, told.Details, told.Hint = "its directory was moved to "+to, "", "croft doctor --fix"
	}
	return err
}

// broken says what is wrong with a workspace, and what to do about it, without a
// look for a directory that was moved.
func broken(rec journal.Record, h checkout.Health) error {
	e := &croft.Error{
		Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name, Details: rec.Workspace.Path, Hint: "croft doctor --fix",
		Message: map[checkout.Health]string{
			checkout.Missing:      "its directory is not at its path: it was moved or deleted, or its drive is not mounted",
			checkout.Unregistered: "git does not know its directory any more",
			checkout.Foreign:      "something else lies at its path",
			checkout.Replaced:     "its directory was replaced by another: what lies at its path is a copy",
		}[h],
	}
	switch h {
	case checkout.Unregistered:
	case checkout.Replaced:
		e.Hint = "croft doctor --import, if it was copied back; else move it away"
	default:
		e.Hint = "croft doctor"
	}
	return e
}
