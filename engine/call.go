package engine

import (
	"cmp"
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/access"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// call describes one call of a method of the Service.
type call struct {
	op        string // the name of the call in errors
	workspace string // the workspace that errors are about, unless they name another one

	// For doIn and doOn:
	repo     string // a directory of the project; empty: the engine's own
	key      string // the request's idempotency key, unless the room looks after it
	verb     string // what the key is for; default: op
	needs    projectKind
	recovers recovery
	seen     seen
	does     effect
}

// seen is the revision that the caller has seen of the one workspace that a request names.
// Zero stands for none.
type seen struct {
	revision   int
	workspaces []string
}

// projectKind says which projects a call can work on.
type projectKind int

const (
	anyProject projectKind = iota
	gitRepository
)

// recovery says whether the operations of killed processes have to be recovered before
// a call. Calls that only read need not wait for that.
type recovery int

const (
	asItIs recovery = iota
	beforeActing
)

// effect says whether a call changes anything. One that recovers before it acts does.
type effect int

const (
	reads effect = iota
	writes
)

// do runs one call of the Service. It refuses requests with unknown words and calls of
// an engine that was closed, cancels the call when the engine is closed, and turns
// every error into a *croft.Error that names the call and the workspace. The functions
// that do the work return errors as they come.
func do[R, T any](ctx context.Context, e *Engine, c call, req R, work func(context.Context, R) (T, error)) (T, error) {
	ctx, leave, err := e.enter(ctx, c.op, req)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	asked := access.Call{Op: c.op, Workspace: c.workspace, Acts: c.does == writes || c.recovers == beforeActing}
	if err := e.access().Refuse(asked); err != nil {
		var none T
		return none, err
	}
	out, err := work(ctx, req)
	if err != nil {
		err = explain.Error(c.op, c.workspace, e.access().Explain(asked, err))
	}
	return out, err
}

// doIn runs, as do does, a call that works in one project. It finds the project first.
func doIn[R, T any](ctx context.Context, e *Engine, c call, req R, work func(context.Context, project.Location, R) (T, error)) (T, error) {
	return do(ctx, e, c, req, func(ctx context.Context, req R) (out T, err error) {
		s, err := e.projects.Locate(ctx, c.repo)
		if err == nil && c.needs == gitRepository && s.Git == nil {
			err = gitdir.ErrNoRepository
		}
		if err == nil && c.recovers == beforeActing {
			err = e.projects.Recover(ctx, s.ID)
		}
		if err != nil {
			return out, err
		}
		return project.Once(ctx, e.projects, project.KeyScope{Repo: s.ID, Verb: cmp.Or(c.verb, c.op), Where: s.Place.WorkDir}, c.key, req, func(ctx context.Context) (T, error) {
			if err := e.projects.ClaimRevision(ctx, s, c.seen.workspaces, c.seen.revision, ""); err != nil {
				return out, err
			}
			return work(ctx, s, req)
		})
	})
}

// doOn runs, as doIn does, a call that works on one workspace. It finds the workspace
// by c.workspace. Errors are about that workspace, and say so if another process has
// removed it.
func doOn[R, T any](ctx context.Context, e *Engine, c call, req R, work func(context.Context, project.Location, journal.Record, R) (T, error)) (T, error) {
	return doIn(ctx, e, c, req, func(ctx context.Context, s project.Location, req R) (out T, err error) {
		rec, err := e.projects.FindOnce(ctx, s, c.workspace)
		if err != nil {
			return out, err
		}
		out, err = work(ctx, s, rec, req)
		return out, explain.WithWorkspace(rec.Workspace.Name, e.projects.VanishedError(ctx, rec, err))
	})
}

// reflecting runs a call that lists, and adds the place in the stream of events that the
// list reflects.
func reflecting[T any](ctx context.Context, e *Engine, list func() (*croft.List[T], error)) (*croft.List[T], error) {
	at, err := e.history.Cursor(ctx)
	out, lerr := list()
	if lerr != nil || err != nil {
		return nil, cmp.Or(lerr, explain.Error("events", "", err))
	}
	out.Cursor = at
	return out, nil
}
