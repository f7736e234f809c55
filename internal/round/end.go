package round

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/work"
)

// EndRound ends a round: it commits and archives the work of its agents, and removes the
// checkouts. With EndForce it also ends a checkout that is absent or in use.
func (svc *Rounds) EndRound(ctx context.Context, req croft.EndRoundRequest) (*croft.Round, error) {
	in := project.KeyScope{Verb: "round end " + string(req.Round)}
	return project.Once(ctx, svc.Projects, in, req.Key, req, func(ctx context.Context) (*croft.Round, error) { return svc.endRound(ctx, req) })
}

func (svc *Rounds) endRound(ctx context.Context, req croft.EndRoundRequest) (*croft.Round, error) {
	ses, err := svc.holdRound(ctx, req.Round)
	if err != nil {
		return nil, err
	}
	defer ses.release()
	i := slices.IndexFunc(ses.Rounds, func(t journal.Round) bool { return t.ID == req.Round })
	if i < 0 {
		return nil, roundNotFoundError(string(req.Round))
	}
	t := &ses.Rounds[i]
	t.Forced = t.Forced || req.Mode == croft.EndForce
	failed, err := svc.endRoundIn(ctx, ses.Session, t)
	if err != nil {
		return nil, err
	}
	out, err := svc.shownRound(ctx, ses.Session, t)
	if err != nil {
		return nil, err
	}
	if out.Failed = failed; len(failed) > 0 {
		once.KeepOpen(ctx)
	}
	return out, nil
}

func roundNotFoundError(ref string) error {
	return &croft.Error{Code: croft.RoundNotFound, Message: fmt.Sprintf("there is no round %s", ref), Hint: "croft session list"}
}

// holdRound takes the lock of the session that a round belongs to.
func (svc *Rounds) holdRound(ctx context.Context, round croft.ID) (heldSession, error) {
	if _, err := svc.Locate(ctx, ""); err != nil && ctx.Err() != nil { // this refills a database that was lost
		return heldSession{}, err
	}
	list, err := svc.Journal.Sessions(ctx, "")
	if err != nil {
		return heldSession{}, err
	}
	for _, ses := range list {
		if slices.ContainsFunc(ses.Rounds, func(t journal.Round) bool { return t.ID == round }) {
			return svc.holdSession(ctx, croft.ByID(ses.ID))
		}
	}
	return heldSession{}, roundNotFoundError(string(round))
}

// endRoundIn ends a round of a session as far as possible, and returns the agents whose
// part is still open. All its commits have the time at which the end was first
// requested, so that their order does not identify agents.
func (svc *Rounds) endRoundIn(ctx context.Context, ses *journal.Session, t *journal.Round) ([]croft.Kept, error) {
	if t.Ended {
		return nil, nil
	}
	if t.EndedAt.IsZero() {
		t.EndedAt = svc.Now().Truncate(time.Second)
		if err := svc.saveSession(ctx, ses, nil); err != nil {
			return nil, err
		}
	}
	if err := failpoint.Hit("round.ending"); err != nil {
		return nil, err
	}
	var failed []croft.Kept
	for _, i := range rand.Perm(len(t.Workspaces)) { // the order must not reveal the agents
		if t.Workspaces[i].Ended {
			continue
		}
		err := svc.endSeat(ctx, ses, t, &t.Workspaces[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed = append(failed, croft.Kept{Name: t.Workspaces[i].Agent, Reason: croft.AsError("round", explain.Error("round", t.Workspaces[i].Agent, err))})
		}
	}
	for i := range ses.Homes {
		if err := svc.Workspaces.ShareArchives(ses, &ses.Homes[i]); err != nil {
			failed = append(failed, croft.Kept{Name: ses.Homes[i].Agent, Reason: croft.AsError("round", explain.Error("round", ses.Homes[i].Agent, err))})
		}
	}
	if err := failpoint.Hit("round.shared"); err != nil {
		return nil, err
	}
	if err := svc.retainBranches(ctx, ses, t); err != nil {
		return nil, err
	}
	t.Ended = len(failed) == 0
	return failed, svc.saveSession(ctx, ses, func(tx *journal.Tx) error {
		if !t.Ended {
			return nil
		}
		return tx.Emit(svc.roundEvent(croft.EventRoundEnded, ses, t))
	})
}

// endSeat ends one agent's part of a round. Each step may have been done before.
func (svc *Rounds) endSeat(ctx context.Context, ses *journal.Session, t *journal.Round, seat *journal.RoundWorkspace) error {
	r, err := svc.ByID(ctx, seat.Repo)
	if err != nil {
		return err
	}
	if err := svc.Recover(ctx, r.ID); err != nil { // recovery may finish the removal
		return err
	}
	rec, err := svc.Journal.Record(ctx, seat.Workspace)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		seat.Archived, seat.Ended = true, true // a user, or an interrupted end of this round, removed the workspace
		return nil
	}
	if err != nil {
		return err
	}
	if rec, err = svc.UpdateMovedPath(ctx, r, rec); err != nil { // follow a workspace that was moved: its work is committed, too
		return err
	}
	seat.Absent = ""
	if r.IsAway(rec) {
		if !t.Forced {
			return seatAwayError(ses, t, rec, r.Trees.Health(project.SpecOf(rec)))
		}
		seat.Absent = rec.Workspace.Path
	}
	if rec.Workspace.Mode != croft.ModeLegacy {
		if err := svc.keepWork(ctx, ses, t, rec, r, seat); err != nil {
			return err
		}
	}
	seat.Archived = true
	if err := failpoint.Hit("round.archived"); err != nil {
		return err
	}
	atLast := croft.RemoveForce
	if t.Forced {
		atLast = removal.RemoveOccupied
	}
	how := removal.Spec{Branch: croft.BranchKeep, Event: croft.EventWorkspaceRemoved, Act: project.Act{ID: t.ID}}
	if err := svc.removeWithin(ctx, r, rec, how, atLast); err != nil {
		return err
	}
	seat.Ended = true
	return failpoint.Hit("round.removed")
}

// seatAwayError returns the error for an absent checkout: the agent's part of the round
// stays open, because the checkout may have uncommitted work.
func seatAwayError(ses *journal.Session, t *journal.Round, rec journal.Record, h checkout.Health) error {
	why := croft.AsError("round", project.BrokenError(rec, h))
	again := fmt.Sprintf("croft round end %s --number %d", shellword.Quote(cmp.Or(ses.Name, string(ses.ID))), t.Number)
	kept := "what is committed"
	if rec.Workspace.Mode == croft.ModeIsolated {
		kept = "what was committed when Croft last looked"
	}
	why.Hint = fmt.Sprintf("put it back at %s, then %s; with --force it ends with %s", rec.Workspace.Path, again, kept)
	return why
}

// leaving is how long removeWithin waits until the processes of an agent have exited.
const leaving = 2 * time.Second

// removeWithin removes a workspace whose agent was just told to stop, and waits for the
// agent's processes. If they have not exited in time it removes the workspace with the
// mode atLast.
func (svc *Rounds) removeWithin(ctx context.Context, r *project.Project, rec journal.Record, how removal.Spec, atLast croft.RemoveMode) error {
	mode := croft.RemoveForce
	for deadline := time.Now().Add(leaving); ; {
		_, err := svc.Removals.RemoveOne(ctx, r, rec, how, mode)
		if errors.Is(err, croft.WorktreeNotFound) {
			return nil
		}
		if isLate := time.Now().After(deadline); isLate && errors.Is(err, croft.WorkspaceBusy) && mode != atLast {
			mode = atLast
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

// keepWork commits the uncommitted files of a round's workspace, and archives its
// scratch directory and the files that were held back from the commit. If the
// workspace's directory is lost, it only records the path in Absent; files that were
// archived before stay.
func (svc *Rounds) keepWork(ctx context.Context, ses *journal.Session, t *journal.Round, rec journal.Record, r *project.Project, seat *journal.RoundWorkspace) error {
	_, held, err := svc.Commits.CommitAs(ctx, r, rec, work.CommitSpec{When: t.EndedAt, Large: work.CommitLarge})
	if err != nil {
		if _, lost := os.Lstat(rec.Workspace.Path); !errors.Is(lost, os.ErrNotExist) {
			return err
		}
		seat.Absent = rec.Workspace.Path
		return nil
	}
	if err := failpoint.Hit("round.committed"); err != nil {
		return err
	}
	if err := svc.archiveHeld(ctx, ses, t, rec, seat, held); err != nil {
		return err
	}
	return svc.Workspaces.ArchiveSeat(ses, t, rec, r, seat.Label)
}

// EndNamedSession ends the session that an ID or a name means.
func (svc *Rounds) EndNamedSession(ctx context.Context, req croft.EndSessionRequest) (*croft.Session, error) {
	return project.Once(ctx, svc.Projects, svc.keyScope(ctx, "session end", req.Session), req.Key, req, func(ctx context.Context) (*croft.Session, error) {
		id, err := once.Pin(ctx, once.Subject, func() (croft.ID, error) { return svc.sessionID(ctx, req.Session) })
		if err != nil {
			return nil, err
		}
		ses, err := svc.holdSession(ctx, croft.ByID(id))
		if err != nil {
			return nil, err
		}
		defer ses.release()
		if err := journal.CheckRevision(ses.Generation, req.IfRevision); err != nil { // the lock keeps others from changing it
			return nil, err
		}
		if err := svc.endSession(ctx, ses.Session); err != nil {
			return nil, err
		}
		return svc.SessionNamed(ctx, croft.GetRequest{Ref: croft.Ref(ses.ID)})
	})
}

// sessionID returns the ID of the session that a name or an ID means.
func (svc *Rounds) sessionID(ctx context.Context, ref croft.Ref) (croft.ID, error) {
	ses, err := svc.findSession(ctx, ref)
	if err != nil {
		return "", err
	}
	return ses.ID, nil
}

func (svc *Rounds) endSession(ctx context.Context, ses *journal.Session) error {
	if ses.State == croft.SessionEnded {
		return svc.clearSession(ctx, ses)
	}
	if err := svc.rollBackStarting(ctx, ses); err != nil {
		return err
	}
	for i := range ses.Rounds {
		failed, err := svc.endRoundIn(ctx, ses, &ses.Rounds[i])
		if err != nil {
			return err
		}
		if len(failed) > 0 {
			return failed[0].Reason
		}
	}
	ses.State, ses.EndedAt, ses.Ending = croft.SessionEnded, svc.Now(), true
	if err := svc.saveSession(ctx, ses, func(tx *journal.Tx) error {
		return tx.Emit(svc.sessionEvent(croft.EventSessionEnded, ses))
	}); err != nil {
		return err
	}
	if err := failpoint.Hit("session.ended"); err != nil {
		return err
	}
	return svc.clearSession(ctx, ses)
}

// clearSession removes the presenters' workspaces and the branches of a session that has
// ended.
func (svc *Rounds) clearSession(ctx context.Context, ses *journal.Session) error {
	if !ses.Ending {
		return nil
	}
	if err := svc.removePresenters(ctx, ses); err != nil {
		return err
	}
	if err := failpoint.Hit("session.removed"); err != nil {
		return err
	}
	for _, t := range ses.Rounds {
		for _, seat := range t.Workspaces {
			if err := svc.archiveBranch(ctx, seat.Repo, seat.Workspace); err != nil {
				return err
			}
		}
	}
	if err := failpoint.Hit("session.dropped"); err != nil {
		return err
	}
	ses.Ending = false
	return svc.saveSession(ctx, ses, nil)
}

// removePresenters moves the workspaces of presenters to the trash, with their branches.
// Work that was not applied can be restored from there.
func (svc *Rounds) removePresenters(ctx context.Context, ses *journal.Session) error {
	for _, f := range ses.Finals {
		rec, err := svc.Journal.Record(ctx, f.Workspace)
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if rec.Workspace.State == croft.Trashed {
			if err := svc.archiveBranch(ctx, f.Repo, f.Workspace); err != nil {
				return err
			}
			continue
		}
		r, err := svc.ByID(ctx, f.Repo)
		if err != nil {
			return err
		}
		how := removal.Spec{Event: croft.EventWorkspaceRemoved, Act: project.Act{ID: ses.ID}}
		if err := svc.removeWithin(ctx, r, rec, how, croft.RemoveForce); err != nil {
			return err
		}
	}
	return nil
}

// retainBranches deletes the branches that exceed the session's retention, of the agents
// whose part of a round has just ended. An agent that is still at work keeps the branch of
// its last round, which has its newest work.
func (svc *Rounds) retainBranches(ctx context.Context, ses *journal.Session, t *journal.Round) error {
	keep, err := retainedBranches(ses.Retention)
	if err != nil || keep < 0 {
		return err
	}
	for _, seat := range t.Workspaces {
		if !seat.Ended {
			continue
		}
		left := keep
		for _, earlier := range slices.Backward(ses.Rounds) {
			for _, old := range earlier.Workspaces {
				if old.Agent != seat.Agent || old.Repo != seat.Repo || !old.Ended {
					continue
				}
				rec, err := svc.leftBranch(ctx, old.Workspace)
				if err != nil {
					return err
				}
				if rec == nil {
					continue // it has no branch to count
				}
				if left--; left >= 0 {
					continue
				}
				if err := svc.archiveBranch(ctx, old.Repo, old.Workspace); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// leftBranch returns the record of a removed workspace if its branch was not deleted,
// or nil.
func (svc *Rounds) leftBranch(ctx context.Context, id croft.ID) (*journal.Record, error) {
	rec, err := svc.Journal.Record(ctx, id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && (rec.Trash == nil || rec.Trash.BranchGone) {
		return nil, nil
	}
	return &rec, err
}

// archiveBranch archives the tip of the branch that a removed workspace left, and
// deletes the branch. A branch that moved since, or that is checked out elsewhere,
// stays.
func (svc *Rounds) archiveBranch(ctx context.Context, repo, id croft.ID) error {
	rec, err := svc.leftBranch(ctx, id)
	if err != nil || rec == nil || !rec.OwnsBranch {
		return err
	}
	r, err := svc.ByID(ctx, repo)
	if err != nil || r.Git == nil {
		return err
	}
	return svc.UnderLock(ctx, r, func() error {
		tip := rec.Trash.Tip
		if rec.Workspace.Branch == "" || tip == "" {
			return nil
		}
		if _, err := svc.Pinned(ctx, r, project.ArchiveRef(id)); errors.Is(err, refs.ErrNoRef) {
			if err := svc.Pin(ctx, r, journal.Pin{Ref: project.ArchiveRef(id), OID: tip}); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		gone, err := project.DeleteBranch(ctx, r, *rec, tip)
		if err != nil || !gone {
			return err
		}
		rec.Trash.BranchGone = true
		return svc.SaveRecord(ctx, rec, func(tx *journal.Tx) error { return tx.Emit(svc.WorkspaceEvent(croft.EventBranchDeleted, *rec)) })
	})
}
