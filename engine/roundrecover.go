package engine

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
)

// takeBackRound removes what a round that did not come about has made.
func (e *Engine) takeBackRound(ctx context.Context, ses *journal.Session, t *journal.Turn) error {
	for _, g := range ses.Repos {
		key, err := e.journal.FindKey(ctx, g.ID, "create", seatsKey(t, g.ID))
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		op, err := e.ops.Await(ctx, key.Operation, e.recover)
		if err != nil {
			return err
		}
		r, err := e.repoByID(ctx, g.ID)
		if err != nil {
			return err
		}
		var records []journal.Record
		for _, id := range op.Workspaces {
			rec, err := e.journal.Record(ctx, id)
			if err == nil && rec.Workspace.State != croft.Trashed {
				records = append(records, rec)
			} else if err != nil && !errors.Is(err, journal.ErrNotFound) {
				return err
			}
		}
		if err := e.undoCreate(ctx, r, op.ID, records, "the round did not come about"); err != nil {
			return err
		}
	}
	ses.Turns = slices.DeleteFunc(ses.Turns, func(o journal.Turn) bool { return o.ID == t.ID })
	return e.saveSession(ctx, ses, nil)
}

// recoverRounds takes back the rounds whose starter has died, because nobody was
// told of them, and puts away what is left of sessions that have ended: those of
// a repository, or of all.
func (e *Engine) recoverRounds(ctx context.Context, repo croft.ID) error {
	list, err := e.journal.UnfinishedSessions(ctx)
	if err != nil {
		return err
	}
	for _, ses := range list {
		isHere := func(g journal.Ground) bool { return g.ID == repo }
		if repo != "" && ses.RepoID != repo && !slices.ContainsFunc(ses.Repos, isHere) {
			continue
		}
		if err := e.recoverRound(ctx, ses.ID); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) recoverRound(ctx context.Context, id croft.ID) error {
	if _, err := os.Stat(e.sessionDir(id)); err != nil {
		return nil
	}
	l, err := flock.Try(e.sessionLock(id))
	if errors.Is(err, flock.ErrHeld) {
		return nil // somebody is at it
	}
	if err != nil {
		return err
	}
	defer l.Unlock()
	ses, err := e.journal.Session(ctx, id)
	if err != nil {
		return err
	}
	for i := range ses.Turns {
		if ses.Turns[i].Starting {
			return e.takeBackRound(ctx, &ses, &ses.Turns[i])
		}
	}
	if ses.Ending {
		// What keeps a workspace here is no reason to fail elsewhere; the next
		// one tries again, and so does ending the session again.
		_ = e.clearSession(ctx, &ses)
	}
	return ctx.Err()
}
