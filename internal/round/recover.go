package round

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
)

// rollBackRound removes a round whose start failed, and its workspaces.
func (svc *Rounds) rollBackRound(ctx context.Context, ses *journal.Session, t *journal.Round) error {
	for _, g := range ses.Repos {
		key, err := svc.Journal.FindKey(ctx, g.ID, "create", seatsKey(t, g.ID))
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		op, err := svc.Ops.Await(ctx, key.Operation, svc.Recover)
		if err != nil {
			return err
		}
		r, err := svc.ByID(ctx, g.ID)
		if err != nil {
			return err
		}
		var records []journal.Record
		for _, id := range op.Workspaces {
			rec, err := svc.Journal.Record(ctx, id)
			if err == nil && rec.Workspace.State != croft.Trashed {
				records = append(records, rec)
			} else if err != nil && !errors.Is(err, journal.ErrNotFound) {
				return err
			}
		}
		if err := svc.Workspaces.UndoCreate(ctx, r, op.ID, records, "the round did not come about"); err != nil {
			return err
		}
	}
	ses.Rounds = slices.DeleteFunc(ses.Rounds, func(o journal.Round) bool { return o.ID == t.ID })
	return svc.saveSession(ctx, ses, nil)
}

// rollBackStarting rolls back the round that is being started, if there is one. A
// session never has more than one.
func (svc *Rounds) rollBackStarting(ctx context.Context, ses *journal.Session) error {
	i := slices.IndexFunc(ses.Rounds, func(t journal.Round) bool { return t.Starting })
	if i < 0 {
		return nil
	}
	return svc.rollBackRound(ctx, ses, &ses.Rounds[i])
}

// RecoverRounds rolls back the rounds whose starting process died, because no caller
// was told of them, and clears sessions that have ended. It does so for one repository,
// or for all if repo is empty.
func (svc *Rounds) RecoverRounds(ctx context.Context, repo croft.ID) error {
	list, err := svc.Journal.UnfinishedSessions(ctx)
	if err != nil {
		return err
	}
	for _, ses := range list {
		isHere := func(g journal.SessionRepo) bool { return g.ID == repo }
		if repo != "" && ses.RepoID != repo && !slices.ContainsFunc(ses.Repos, isHere) {
			continue
		}
		if err := svc.recoverSession(ctx, ses.ID); err != nil {
			return err
		}
	}
	return nil
}

// recoverSession rolls back the round that a dead process was starting in a session, or
// removes the workspaces and branches that are left of a session that has ended. It
// does nothing while another process holds the session's lock.
func (svc *Rounds) recoverSession(ctx context.Context, id croft.ID) error {
	if _, err := os.Stat(svc.Workspaces.SessionDir(id)); err != nil {
		return nil
	}
	l, err := flock.Try(svc.sessionLockPath(id))
	if errors.Is(err, flock.ErrHeld) {
		return nil // another process works on it
	}
	if err != nil {
		return err
	}
	defer l.Unlock()
	ses, err := svc.Journal.Session(ctx, id)
	if err != nil {
		return err
	}
	if err := svc.rollBackStarting(ctx, &ses); err != nil {
		return err
	}
	if ses.Ending {
		// A workspace that cannot be removed is no failure of the caller's command. The
		// next recovery tries again, and so does croft session end.
		_ = svc.clearSession(ctx, &ses)
	}
	return ctx.Err()
}
