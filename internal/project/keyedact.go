package project

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
)

// Once runs a call in a project once per key, as package once does.
func Once[T any](ctx context.Context, p *Projects, s Location, verb, key string, req any, work func(context.Context) (T, error)) (T, error) {
	return once.Do(ctx, once.Call{
		Journal: p.Journal, Now: p.Now, Dir: p.DirOf(s.ID), Repo: s.ID, Verb: verb, Key: key, Request: req, Where: s.Place.WorkDir,
	}, work)
}

// FindOnce finds a workspace as Find does. A repeated call with a key finds the workspace of
// the first call, also if another one has its name by now.
func (p *Projects) FindOnce(ctx context.Context, s Location, ref string) (rec journal.Record, err error) {
	id, err := once.Pin(ctx, once.Workspace, func() (croft.ID, error) {
		rec, err = p.Find(ctx, s, ref)
		return rec.Workspace.ID, err
	})
	if err == nil && rec.Workspace.ID == "" {
		return p.Find(ctx, s, string(id))
	}
	return rec, err
}
