package project

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
)

// KeyScope says where an idempotency key is looked up: of a verb, in a project or, if that is
// empty, on this host.
type KeyScope struct {
	Repo  croft.ID
	Verb  string
	Where string // the directory that a request means which names no workspace
}

// Once runs a call once per key, as package once does.
func Once[T any](ctx context.Context, p *Projects, in KeyScope, key string, req any, work func(context.Context) (T, error)) (T, error) {
	return once.Do(ctx, once.Call{
		Journal: p.Journal, Now: p.Now, Lock: p.Ops.LockPath, Repo: in.Repo, Verb: in.Verb, Key: key, Request: req, Where: in.Where,
	}, work)
}

// FindOnce finds a workspace as Find does. A repeated call with a key finds the workspace of
// the first call, also if another one has its name by now.
func (p *Projects) FindOnce(ctx context.Context, s Location, ref string) (rec journal.Record, err error) {
	id, err := once.Pin(ctx, once.Subject, func() (croft.ID, error) {
		rec, err = p.Find(ctx, s, ref)
		return rec.Workspace.ID, err
	})
	if err == nil && rec.Workspace.ID == "" {
		return p.Find(ctx, s, string(id))
	}
	return rec, err
}
