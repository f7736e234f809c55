package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
)

// endRoundAs ends a round, by force if a person says so.
func (e *Engine) endRoundAs(ctx context.Context, round croft.ID, isForced bool) (*croft.Round, error) {
	ses, err := e.holdRound(ctx, round)
	if err != nil {
		return nil, err
	}
	defer ses.release()
	for i := range ses.Turns {
		t := &ses.Turns[i]
		if t.ID != round {
			continue
		}
		t.Forced = t.Forced || isForced
		failed, err := e.endRound(ctx, ses.Session, t)
		if err != nil {
			return nil, err
		}
		out, err := e.shownRound(ctx, ses.Session, t)
		if err != nil {
			return nil, err
		}
		out.Failed = failed
		return out, nil
	}
	return nil, roundNotFound(string(round))
}

func roundNotFound(ref string) error {
	return &croft.Error{Code: croft.RoundNotFound, Message: fmt.Sprintf("there is no round %s", ref), Hint: "croft session list"}
}

// holdRound takes the lock of the session that a round belongs to.
func (e *Engine) holdRound(ctx context.Context, round croft.ID) (heldSession, error) {
	if _, err := e.standing(ctx, ""); err != nil && ctx.Err() != nil { // fills a database that was lost
		return heldSession{}, err
	}
	list, err := e.journal.Sessions(ctx, "")
	if err != nil {
		return heldSession{}, err
	}
	for _, ses := range list {
		for _, t := range ses.Turns {
			if t.ID == round {
				return e.holdSession(ctx, ses.ID)
			}
		}
	}
	return heldSession{}, roundNotFound(string(round))
}

// endRound ends a round as far as that is possible, and says what is left. All
// its commits have the time at which its end was first asked for: when each
// agent was attended to tells nothing about it.
func (e *Engine) endRound(ctx context.Context, ses *journal.Session, t *journal.Turn) ([]croft.Kept, error) {
	if t.Ended {
		return nil, nil
	}
	if t.EndedAt.IsZero() {
		t.EndedAt = e.now().Truncate(time.Second)
		if err := e.saveSession(ctx, ses, nil); err != nil {
			return nil, err
		}
	}
	if err := failpoint.Hit("round.ending"); err != nil {
		return nil, err
	}
	var failed []croft.Kept
	for _, i := range rand.Perm(len(t.Seats)) { // in no order that says anything
		if t.Seats[i].Ended {
			continue
		}
		err := e.endSeat(ctx, ses, t, &t.Seats[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed = append(failed, croft.Kept{Name: t.Seats[i].Agent, Reason: croft.AsError("round", explain.Error("round", t.Seats[i].Agent, err))})
		}
	}
	for i := range ses.Homes {
		if err := e.shareArchives(ses, &ses.Homes[i]); err != nil {
			failed = append(failed, croft.Kept{Name: ses.Homes[i].Agent, Reason: croft.AsError("round", explain.Error("round", ses.Homes[i].Agent, err))})
		}
	}
	if err := failpoint.Hit("round.shared"); err != nil {
		return nil, err
	}
	if err := e.retain(ctx, ses, t); err != nil {
		return nil, err
	}
	t.Ended = len(failed) == 0
	return failed, e.saveSession(ctx, ses, func(tx *journal.Tx) error {
		if !t.Ended {
			return nil
		}
		return tx.Emit(e.roundEvent(croft.EventRoundEnded, ses, t))
	})
}

// endSeat ends one agent's part. Each step may have been done before.
func (e *Engine) endSeat(ctx context.Context, ses *journal.Session, t *journal.Turn, seat *journal.Seat) error {
	r, err := e.repoByID(ctx, seat.Repo)
	if err != nil {
		return err
	}
	if err := e.recover(ctx, r.id); err != nil { // it may finish the removal
		return err
	}
	rec, err := e.journal.Record(ctx, seat.Workspace)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		seat.Archived, seat.Ended = true, true // somebody removed it, or this did before it was interrupted
		return nil
	}
	if err != nil {
		return err
	}
	if rec, err = e.catchUp(ctx, r, rec); err != nil { // what was moved has work to commit, too
		return err
	}
	seat.Absent = ""
	if r.isAway(rec) {
		if !t.Forced {
			return seatAway(ses, t, rec, r.trees.Health(specOf(rec)))
		}
		seat.Absent = rec.Workspace.Path
	}
	if rec.Workspace.Mode != croft.ModeLegacy {
		if err := e.keepWork(ctx, ses, t, rec, r, seat); err != nil {
			return err
		}
	}
	seat.Archived = true
	if err := failpoint.Hit("round.archived"); err != nil {
		return err
	}
	how := removal{Branch: croft.BranchKeep, Event: croft.EventWorkspaceRemoved, act: act{id: t.ID}, occupied: t.Forced}
	if err := e.removeLeft(ctx, r, rec, how); err != nil {
		return err
	}
	seat.Ended = true
	return failpoint.Hit("round.removed")
}

// seatAway says of a checkout that was not found that its agent's part stays open:
// it may hold work that is not committed.
func seatAway(ses *journal.Session, t *journal.Turn, rec journal.Record, h checkout.Health) error {
	why := croft.AsError("round", broken(rec, h))
	again := fmt.Sprintf("croft round end --session %s --number %d", ses.ID, t.Number)
	kept := "what is committed"
	if rec.Workspace.Mode == croft.ModeIsolated {
		kept = "what was committed when Croft last looked"
	}
	why.Hint = fmt.Sprintf("put it back at %s, then %s; with --force it ends with %s", rec.Workspace.Path, again, kept)
	return why
}

// leaving is how long the processes of an agent whose round ends may take to go.
const leaving = 2 * time.Second

// removeLeft removes a workspace whose agent has just been told to stop, and may
// not be gone yet.
func (e *Engine) removeLeft(ctx context.Context, r *repo, rec journal.Record, how removal) error {
	mode := croft.RemoveForce
	for deadline := time.Now().Add(leaving); ; {
		_, err := e.removeOne(ctx, r, rec, how, mode)
		if errors.Is(err, croft.WorktreeNotFound) {
			return nil
		}
		if isLate := time.Now().After(deadline); isLate && errors.Is(err, croft.WorkspaceBusy) && how.occupied && mode != removeOccupied {
			mode = removeOccupied
			continue
		} else if !errors.Is(err, croft.WorkspaceBusy) || isLate {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// keepWork commits what is not committed and archives the scratch, and what is
// held back. Of a directory that is gone nothing can be kept, and nothing that was
// is let go.
func (e *Engine) keepWork(ctx context.Context, ses *journal.Session, t *journal.Turn, rec journal.Record, r *repo, seat *journal.Seat) error {
	_, held, err := e.commitWorkAs(ctx, r, rec, commitAs{when: t.EndedAt, large: commitLarge})
	if err != nil {
		if e.isLost(rec) {
			seat.Absent = rec.Workspace.Path
			return nil
		}
		return err
	}
	if err := failpoint.Hit("round.committed"); err != nil {
		return err
	}
	if err := e.archiveHeld(ctx, ses, t, rec, seat, held); err != nil {
		return err
	}
	return e.archiveSeat(ses, t, rec, r, seat.Label)
}

// isLost reports whether the directory of a workspace is gone, so that there is
// nothing to commit.
func (e *Engine) isLost(rec journal.Record) bool {
	_, err := os.Lstat(rec.Workspace.Path)
	return errors.Is(err, os.ErrNotExist)
}

// endNamedSession ends a session.
func (e *Engine) endNamedSession(ctx context.Context, session croft.ID) error {
	ses, err := e.holdSession(ctx, session)
	if err != nil {
		return err
	}
	defer ses.release()
	return e.endSession(ctx, ses.Session)
}

func (e *Engine) endSession(ctx context.Context, ses *journal.Session) error {
	if ses.State == croft.SessionEnded {
		return e.clearSession(ctx, ses)
	}
	for i := range ses.Turns {
		if ses.Turns[i].Starting {
			if err := e.takeBackRound(ctx, ses, &ses.Turns[i]); err != nil {
				return err
			}
			break // there is one at most
		}
	}
	for i := range ses.Turns {
		failed, err := e.endRound(ctx, ses, &ses.Turns[i])
		if err != nil {
			return err
		}
		if len(failed) > 0 {
			return failed[0].Reason
		}
	}
	ses.State, ses.EndedAt, ses.Ending = croft.SessionEnded, e.now(), true
	if err := e.saveSession(ctx, ses, func(tx *journal.Tx) error {
		return tx.Emit(croft.Event{Time: e.now(), Kind: croft.EventSessionEnded, Repo: ses.RepoID, Data: eventData("session", string(ses.ID))})
	}); err != nil {
		return err
	}
	if err := failpoint.Hit("session.ended"); err != nil {
		return err
	}
	return e.clearSession(ctx, ses)
}

// clearSession puts away what an ended session made: presenters and branches.
func (e *Engine) clearSession(ctx context.Context, ses *journal.Session) error {
	if !ses.Ending {
		return nil
	}
	if err := e.removeFinals(ctx, ses); err != nil {
		return err
	}
	if err := failpoint.Hit("session.removed"); err != nil {
		return err
	}
	for _, t := range ses.Turns {
		for _, seat := range t.Seats {
			if err := e.dropBranch(ctx, seat.Repo, seat.Workspace); err != nil {
				return err
			}
		}
	}
	if err := failpoint.Hit("session.dropped"); err != nil {
		return err
	}
	ses.Ending = false
	return e.saveSession(ctx, ses, nil)
}

// removeFinals moves the workspaces of presenters to the trash, with their
// branches. What was not applied stays restorable there.
func (e *Engine) removeFinals(ctx context.Context, ses *journal.Session) error {
	for _, f := range ses.Finals {
		rec, err := e.journal.Record(ctx, f.Workspace)
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if rec.Workspace.State == croft.Trashed {
			if err := e.dropBranch(ctx, f.Repo, f.Workspace); err != nil {
				return err
			}
			continue
		}
		r, err := e.repoByID(ctx, f.Repo)
		if err != nil {
			return err
		}
		how := removal{Event: croft.EventWorkspaceRemoved, act: act{id: ses.ID}}
		if err := e.removeLeft(ctx, r, rec, how); err != nil {
			return err
		}
	}
	return nil
}
