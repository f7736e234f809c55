package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// laneCommits is how many of the commits that the lane did not make are named.
const laneCommits = 20

// laneAt compares a target with the commit that its lane last moved it to. Known is
// empty if the lane never moved it.
func (svc *Lanes) laneAt(ctx context.Context, r *project.Project, target, tip string) (croft.Lane, error) {
	l := croft.Lane{RepoID: r.ID, Target: target, Tip: tip}
	known, err := svc.Journal.LaneTip(ctx, r.ID, target)
	if errors.Is(err, journal.ErrNotFound) {
		return l, nil
	}
	if l.Known = known; err != nil || known == tip {
		return l, err
	}
	if _, err := r.Git.Info(ctx, known+"^{commit}"); errors.Is(err, object.ErrMissing) {
		l.IsLost = true
		l.Message = fmt.Sprintf("%s is not where Croft left it: that was %.7s, which is gone", target, known)
		return l, nil
	}
	if l.Gone, l.Added, err = r.Git.AheadBehind(ctx, known, tip); err != nil {
		return l, err
	}
	l.Message = fmt.Sprintf("%s has %s that Croft did not merge, since %.7s", target, project.Count(l.Added, "commit"), known)
	if l.Gone > 0 {
		l.Message += fmt.Sprintf(", and %s of before gone", project.Count(l.Gone, "commit"))
	}
	log, err := r.Git.Log(ctx, known, tip, laneCommits)
	for _, c := range log {
		l.Commits = append(l.Commits, croft.LaneCommit{Commit: c.Commit, Author: c.Author, Subject: c.Subject})
	}
	return l, err
}

// isMoved reports whether a target was moved outside of its lane.
func isMoved(l croft.Lane) bool { return l.Known != "" && l.Known != l.Tip }

// isProtected reports whether a person has to accept a target that was moved outside of
// its lane. The rules at the lane's last commit count as well as those at the tip,
// because the actor that moved the target wrote those at the tip. It is true if the
// lane's last commit is lost.
func (svc *Lanes) isProtected(ctx context.Context, r *project.Project, l croft.Lane, rules config.Merge) (bool, error) {
	if rules.Protect || l.IsLost {
		return true, nil
	}
	before, err := svc.Rules.MergeSettings(ctx, r, l.Target, l.Known)
	if _, unreadable := errors.AsType[*croft.Error](err); unreadable {
		return false, nil // the lane published that commit, so its rules could be read then
	}
	return before.Protect, err
}

// checkMovedTarget compares a target with its lane. If a person has to accept how the
// target moved, it rejects all waiting merges and returns isRefused. For a protected target
// of which the lane knows no commit it records the tip.
func (svc *Lanes) checkMovedTarget(ctx context.Context, r *project.Project, target, tip string, rules config.Merge) (l croft.Lane, isRefused bool, err error) {
	if l, err = svc.laneAt(ctx, r, target, tip); err != nil {
		return l, false, err
	}
	if !isMoved(l) {
		if l.Known == "" && rules.Protect { // record the tip, so that later moves are noticed
			err = svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.PutLaneTip(r.ID, target, tip) })
		}
		return l, false, err
	}
	if l.Protect, err = svc.isProtected(ctx, r, l, rules); err != nil || !l.Protect {
		return l, false, err
	}
	if err := svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.Emit(svc.laneEvent(r.ID, l)) }); err != nil {
		return l, false, err
	}
	return l, true, svc.rejectAll(ctx, r, target, attempt.TargetMovedError(l))
}

// laneEvent returns the event of a target that was moved outside of its lane.
func (svc *Lanes) laneEvent(repo croft.ID, l croft.Lane) croft.Event {
	return croft.Event{
		Time: svc.Now(), Kind: croft.EventTargetMoved, Subjects: croft.Subjects{Repo: repo, Target: l.Target}, After: &croft.Nouns{Lane: &l},
	}
}

// ListLanes lists the lanes of a project that have moved their target, and how the target
// was moved outside of its lane. Lanes whose target was deleted are left out; a target that
// cannot be read has the reason.
func (svc *Lanes) ListLanes(ctx context.Context, s project.Location, req croft.LanesRequest) ([]croft.Lane, error) {
	out := []croft.Lane{}
	if s.Git == nil {
		return out, nil
	}
	tips, err := svc.Journal.LaneTips(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range tips {
		if req.Target != "" && t.Target != req.Target {
			continue
		}
		l, err := svc.lookAtLane(ctx, s.Project, t.Target)
		switch {
		case errors.Is(err, refs.ErrNoRef):
			continue // the branch was deleted
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			l = unreadableLane(l, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// lookAtLane returns how a target was moved outside of its lane, and whether a person has
// to accept that.
func (svc *Lanes) lookAtLane(ctx context.Context, r *project.Project, target string) (croft.Lane, error) {
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+target)
	if err != nil {
		return croft.Lane{RepoID: r.ID, Target: target}, err
	}
	l, err := svc.laneAt(ctx, r, target, tip)
	if err != nil || !isMoved(l) {
		return l, err
	}
	rules, err := svc.Rules.MergeSettings(ctx, r, target, tip)
	if err == nil {
		l.Protect, err = svc.isProtected(ctx, r, l, rules)
	}
	return l, err
}

// unreadableLane returns a lane with the reason why its target could not be read.
func unreadableLane(l croft.Lane, err error) croft.Lane {
	if why, ok := errors.AsType[*croft.Error](explain.Error("queue", "", err)); ok {
		l.Reason, l.Hint, err = why.Code, why.Hint, errors.New(why.Message)
	}
	message := fmt.Sprintf("nothing can be merged into %s: %v", l.Target, err)
	if l.Message != "" {
		message = l.Message + "; " + message
	}
	l.Message = message
	return l
}

// AcceptMoved lets a lane continue from the commit that its target was moved to. It refuses
// a call from inside a workspace: only a person may accept.
func (svc *Lanes) AcceptMoved(ctx context.Context, s project.Location, req croft.AcceptRequest) (*croft.Lane, error) {
	rec, err := svc.WorkspaceAround(ctx, req.From, req.Repo)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		return nil, &croft.Error{
			Code: croft.TargetMoved, Message: "a target cannot be accepted from inside a workspace, where agents work", Details: rec.Workspace.Path,
			Hint: "croft -C " + shellword.Quote(rec.Workspace.Repo) + " queue accept " + shellword.Quote(req.Target),
		}
	}
	if err := layout.CheckBranch(req.Target); err != nil {
		return nil, err
	}
	for {
		tip, err := s.Git.ReadRef(ctx, "refs/heads/"+req.Target)
		if err != nil {
			return nil, project.TargetError(req.Target, err)
		}
		meant, err := once.Pin(ctx, "tip", func() (string, error) { return tip, nil })
		if err != nil {
			return nil, err
		}
		if meant != tip {
			return nil, &croft.Error{
				Code: croft.TargetMoved, Message: fmt.Sprintf("the branch %q has moved since the first call with this key", req.Target),
				Details: "then " + meant + "\nnow  " + tip, Hint: "croft queue",
			}
		}
		l, err := svc.laneAt(ctx, s.Project, req.Target, tip)
		if err != nil {
			return nil, err
		}
		if err := failpoint.Hit("accept.looked"); err != nil {
			return nil, err
		}
		isNow := false
		err = svc.Journal.Update(ctx, func(tx *journal.Tx) error {
			known, err := tx.LaneTip(s.ID, req.Target)
			if err != nil && !errors.Is(err, journal.ErrNotFound) {
				return err
			}
			if isNow = known == l.Known; !isNow {
				return nil // the lane moved the target meanwhile
			}
			given := croft.Approval{Kind: croft.ApprovalTarget, Target: req.Target, Commit: tip}
			return errors.Join(tx.PutLaneTip(s.ID, req.Target, tip), svc.Note(tx, "accept", s.ID), tx.Approve(s.ID, given), once.Answer(ctx, tx, &l))
		})
		if err != nil || isNow {
			return &l, err
		}
	}
}

// errTargetMoves says that the target moved while a batch was merged with its previous tip.
var errTargetMoves = errors.New("the target has moved meanwhile")

// A lane rejects its merges if the target moved during so many tries in a row, over so
// long a time. Applying a series of patches takes less.
const (
	movedTries = 5
	movedTime  = 30 * time.Second
)

// movedPause is how long a lane waits after each try during which the target moved,
// times the number of such tries, at most movedPauses.
const (
	movedPause  = 20 * time.Millisecond
	movedPauses = 25
)

// laneTries counts the batches in a row that failed with errTargetMoves.
type laneTries struct {
	n     int
	since time.Time
}

// afterBatch handles the error of a batch. After errTargetMoves it waits for a moment;
// after too many of these in a row it rejects all waiting merges.
func (svc *Lanes) afterBatch(ctx context.Context, r *project.Project, target string, tries *laneTries, err error) error {
	if !errors.Is(err, errTargetMoves) {
		*tries = laneTries{}
		return err
	}
	if tries.n++; tries.n == 1 {
		tries.since = svc.Now()
	}
	if over := svc.Now().Sub(tries.since); tries.n >= movedTries && over >= movedTime {
		return svc.rejectAll(ctx, r, target, attempt.TargetMovesError(target, tries.n, over))
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(movedPause * time.Duration(min(tries.n, movedPauses))):
		return nil
	}
}
