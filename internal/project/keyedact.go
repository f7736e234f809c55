package project

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// PinKey returns what the first call with an idempotency key was about, an act for example.
// The first call chooses it, and PinKey records the choice before anything is done. It fails
// with KeyConflict if the key was used for another request. req is the request without
// its key and its repository.
func (p *Projects) PinKey(ctx context.Context, r *Project, verb, key string, req any, choose func() (croft.ID, error)) (croft.ID, error) {
	if err := layout.CheckKey(key); err != nil {
		return "", err
	}
	want := journal.Key{Repo: r.ID, Verb: verb, Key: key, Request: DigestOf(req)}
	used, err := p.Journal.FindKey(ctx, r.ID, verb, key)
	if errors.Is(err, journal.ErrNotFound) {
		if want.Operation, err = choose(); err != nil {
			return "", err
		}
		err = p.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
			if used, err = tx.FindKey(r.ID, verb, key); errors.Is(err, journal.ErrNotFound) {
				used, err = want, tx.PutKey(want)
			}
			return err
		})
	}
	if err == nil && used.Request != want.Request {
		err = KeyConflictError(key)
	}
	return used.Operation, err
}

// ActFor returns the act of a request, and those of its operations that an earlier call
// with the same key has done. Without a key it is a new act. It fails as PinKey does.
func (p *Projects) ActFor(ctx context.Context, r *Project, verb, key string, req any) (Act, []journal.Operation, error) {
	a := NewAct()
	if key == "" {
		return a, nil, nil
	}
	id, err := p.PinKey(ctx, r, verb, key, req, func() (croft.ID, error) { return a.ID, nil })
	if err != nil {
		return a, nil, err
	}
	a.ID = id
	ops, err := p.Journal.Act(ctx, id)
	done := slices.DeleteFunc(ops, func(op journal.Operation) bool { return op.State != journal.OpDone && op.State != journal.OpReversed })
	return a, done, err
}
