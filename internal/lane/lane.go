package lane

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/work"
)

// laneBatch is how many merges are published together if the target has no checks.
const laneBatch = 50

// laneName is the name of a lane's files and refs: a hash of its target.
func laneName(target string) string {
	sum := sha256.Sum256([]byte(target))
	return hex.EncodeToString(sum[:8])
}

// laneLockPath returns the path of the lock file of a lane, by the lane's name. The process that
// holds the lock publishes the merges of the lane.
func laneLockPath(r *project.Project, lane string) string {
	return filepath.Join(r.Dir, "lanes", lane+".lock")
}

func tryLockLane(r *project.Project, target string) (*flock.Lock, error) {
	path := laneLockPath(r, laneName(target))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return flock.Try(path)
}

// IsUnrun reports whether no process drives the lane of a target. It is false if that
// cannot be seen.
func (svc *Lanes) IsUnrun(r *project.Project, target string) bool {
	isHeld, known := flock.IsHeld(laneLockPath(r, laneName(target)))
	return known && !isHeld
}

// RunLanes drives the lanes of a repository, or that of req.Target, until the merges that
// wait now have ended, and returns these. It resubmits merges first that stayed pending
// for one of RetriedReasons. Held merges are left
// out. At the first error it stops, and also returns the merges that have ended.
// With UntilStopped it drives them until ctx ends.
func (svc *Lanes) RunLanes(ctx context.Context, s project.Location, req croft.DriveRequest) (*croft.QueueResult, error) {
	if err := svc.retryPending(ctx, s.Project, req.Target); err != nil {
		return nil, err
	}
	if req.Until == croft.UntilStopped {
		return svc.runUntilStopped(ctx, s.ID, req.Target)
	}
	waiting, err := svc.Journal.Waiting(ctx, s.ID, req.Target, -1)
	if err != nil {
		return nil, err
	}
	out := &croft.QueueResult{Merges: []croft.Merge{}}
	for _, m := range waiting {
		if m.IsHeld {
			continue
		}
		svc.Rules.NoticeChecks(ctx, s.Project, m.Target)
		done, err := svc.AwaitMerge(ctx, m.ID)
		if errors.Is(err, croft.MergeHeld) && ctx.Err() == nil { // meanwhile
			continue
		}
		if err != nil {
			return out, explain.WithWorkspace(m.WorkspaceName, err)
		}
		out.Merges = append(out.Merges, *done)
	}
	return out, nil
}

// changeMerges calls change with each of the merges and writes those for which it
// returns true, in one transaction.
func (svc *Lanes) changeMerges(ctx context.Context, ids []croft.ID, change func(m *journal.Merge) bool) error {
	if len(ids) == 0 {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, id := range ids {
			m, err := tx.Merge(id)
			if err == nil && change(&m) {
				err = tx.PutMerge(&m)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// landNextBatch merges, checks and publishes the next batch of waiting merges of a
// lane. It reports whether there was a batch.
func (svc *Lanes) landNextBatch(ctx context.Context, r *project.Project, target string) (bool, error) {
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+target)
	if err != nil {
		return false, svc.rejectAll(ctx, r, target, project.TargetError(target, err))
	}
	rules, err := svc.Rules.MergeSettings(ctx, r, target, tip)
	if err != nil {
		return false, svc.rejectAll(ctx, r, target, err)
	}
	batch := laneBatch
	if len(rules.Checks) > 0 {
		batch = rules.Batch
	}
	items, err := svc.nextBatch(ctx, r, target, batch)
	if err != nil || len(items) == 0 {
		return false, err
	}
	if err := failpoint.Hit("lane.claimed"); err != nil {
		return false, err
	}
	others, isRefused, err := svc.checkMovedTarget(ctx, r, target, tip, rules)
	if err != nil || isRefused {
		return false, err
	}
	if err = svc.landBatch(ctx, r, others, rules, items); err != nil && !errors.Is(err, errTargetMoves) {
		err = svc.afterFailedBatch(ctx, r, target, items, err)
	}
	return true, err
}

// nextBatch returns the first merges of a lane that are not held, at most limit of
// them; one that is marked Alone comes by itself. The caller holds the lane's lock. A
// user may still hold or cancel one of them; applyPublication checks that again.
func (svc *Lanes) nextBatch(ctx context.Context, r *project.Project, target string, limit int) ([]journal.Merge, error) {
	waiting, err := svc.Journal.Waiting(ctx, r.ID, target, -1)
	if err != nil {
		return nil, err
	}
	var items []journal.Merge
	for _, m := range waiting {
		if m.IsHeld {
			continue
		}
		if len(items) == limit || m.Alone && len(items) > 0 {
			break
		}
		if m.Alone {
			limit = 1
		}
		items = append(items, m)
	}
	return items, nil
}

// requeueUnfinished requeues the merges of a lane that are being checked or published.
func (svc *Lanes) requeueUnfinished(ctx context.Context, r *project.Project, target string) error {
	waiting, err := svc.Journal.Waiting(ctx, r.ID, target, -1)
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(m journal.Merge) bool { return m.State == croft.MergeQueued })
	if len(waiting) == 0 {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, was := range waiting {
			m, err := tx.Merge(was.ID)
			if err == nil && isAtWork(m) {
				err = attempt.Requeue(tx, m, svc.Now())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// landBatch merges items on the target's tip, runs the checks, and publishes the part
// that passes.
func (svc *Lanes) landBatch(ctx context.Context, r *project.Project, at croft.Lane, rules config.Merge, items []journal.Merge) error {
	target, tip := at.Target, at.Tip
	id, err := r.Git.Identity(ctx)
	if err != nil && (!errors.Is(err, gitcmd.ErrNoIdentity) || id.Signs || slices.ContainsFunc(items, func(m journal.Merge) bool { return m.Author == nil && m.Submitter == nil })) {
		return svc.rejectAll(ctx, r, target, err)
	}
	list, err := svc.Journal.RecordsOf(ctx, idsOf(items, func(m journal.Merge) croft.ID { return m.Workspace }))
	if err != nil {
		return err
	}
	recs := map[croft.ID]journal.Record{}
	for _, rec := range list {
		recs[rec.Workspace.ID] = rec
	}
	l := landing{target, tip, rules, id, items, recs, at}
	err = svc.landIn(ctx, r, writers.InMemory, l)
	if errors.Is(err, errNoMemory) {
		err = svc.landIn(ctx, r, writers.OnDisk, l)
	}
	return err
}

// landing is the input of one batch of a lane.
type landing struct {
	target, tip string
	rules       config.Merge
	id          gitcmd.Identity
	items       []journal.Merge
	recs        map[croft.ID]journal.Record // of the items' workspaces, if they have any
	lane        croft.Lane                  // how the target moved outside of its lane
}

// errNoMemory says that a merge could not be computed in memory. The batch is then
// tried on disk.
var errNoMemory = errors.New("not in memory")

// landIn lands a batch; where says whether the merges are computed in memory or on disk. In
// memory it may fail with errNoMemory.
func (svc *Lanes) landIn(ctx context.Context, r *project.Project, where writers.Placement, l landing) error {
	attempts, err := r.Git.OpenMergeTree(where)
	if err != nil {
		return err
	}
	defer attempts.Close()
	stack := merge.Stacker{MergeTree: attempts, Identity: l.id, Now: svc.Clock}
	steps, err := svc.buildBatch(ctx, r, stack, l)
	if err != nil {
		return err
	}
	steps, err = svc.settleConflicts(ctx, r, l, steps)
	if err != nil || len(steps) == 0 {
		return err
	}
	passed, err := svc.runChecks(ctx, r, l, attempts, steps)
	defer passed.cache.Discard()
	if err != nil || len(passed.steps) == 0 {
		return err
	}
	return svc.publishStack(ctx, r, l, attempts, passed)
}

// buildBatch stacks the items on the tip. It rejects an item with an unknown strategy, one
// that guardBase or the rules refuse, and one that git cannot merge at all; settleConflicts
// ends those with conflicts. In memory it returns errNoMemory instead of rejecting one of
// the latter, so that it is tried on disk. It ends the batch before an item that must wait
// for the items below it. An item that changes the target's rules is a batch of its own.
func (svc *Lanes) buildBatch(ctx context.Context, r *project.Project, stack merge.Stacker, l landing) ([]merge.Step, error) {
	var steps []merge.Step
	tip := l.tip
	for _, m := range l.items {
		it := merge.Item{
			ID: m.ID, Kind: m.Kind, Head: m.Head, Base: m.Base, Strategy: cmp.Or(m.Strategy, croft.Strategy(l.rules.Strategy)),
			Author: actor.Author(m.Author), Committer: actor.Author(m.Author),
		}
		if by := m.Submitter; by != nil && m.Author == nil {
			it.Author, it.Committer = by.Author, by.Committer
		}
		it.Message = mergeMessage(m, l.recs[m.Workspace].Workspace, l.rules, it.Strategy)
		var err error
		if m.Kind == croft.KindMerge {
			if it.Reverts, err = svc.Removals.RevertsOf(ctx, m.Workspace, m.Target); err != nil {
				return nil, err
			}
		}
		var step []merge.Step
		if err = attempt.CheckStrategy(it.Strategy); err != nil {
			if err := svc.rejectMerge(ctx, m, nil, err); err != nil {
				return nil, err
			}
			continue
		}
		if err = svc.guardBase(ctx, r, stack.MergeTree, m, l.tip, tip); err == nil {
			step, err = stack.Stack(ctx, tip, []merge.Item{it})
		}
		changesRules := false
		if err == nil && len(step[0].Conflicts) == 0 && !step[0].IsEmpty() {
			changesRules, err = svc.Rules.Guard(ctx, stack.MergeTree, m, tip, step[0].Commit)
		}
		if err == nil && changesRules && tip != l.tip {
			err = errNextTurn
		}
		if errors.Is(err, errNextTurn) {
			break
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			if stack.MergeTree.Placement() == writers.InMemory && !errors.Is(err, croft.ConfigInvalid) {
				return nil, fmt.Errorf("%w: %w", errNoMemory, err)
			}
			if err := svc.rejectMerge(ctx, m, nil, explain.Error("merge", m.WorkspaceName, err)); err != nil {
				return nil, err
			}
			continue
		}
		steps = append(steps, step[0])
		tip = step[0].Commit
		if changesRules {
			break // what comes next is merged and checked as the new rules say
		}
	}
	return steps, nil
}

// squashMessage is the default message of a squash commit.
const squashMessage = "Squash branch '{branch}'"

// mergeMessage returns the message of the commit that a merge makes.
func mergeMessage(m journal.Merge, w croft.Workspace, rules config.Merge, strategy croft.Strategy) string {
	if m.Kind == croft.KindRevert {
		return m.Text
	}
	text := m.Text
	if text == "" {
		w.Target = m.Target
		w.Branch = cmp.Or(w.Branch, m.WorkspaceName)
		text = rules.Message
		if strategy == croft.StrategySquash && text == config.DefaultMergeMessage {
			text = squashMessage
		}
		text = work.FillIn(text, w)
		if m.Kind == croft.KindApply {
			text = "Apply part of " + m.WorkspaceName
		}
	}
	return work.WithTrailer(text, "Croft-Merge", string(m.ID))
}

// settleConflicts ends the items that conflict or bring nothing, and returns the steps that
// are left to publish.
func (svc *Lanes) settleConflicts(ctx context.Context, r *project.Project, l landing, steps []merge.Step) ([]merge.Step, error) {
	var left []merge.Step
	for _, step := range steps {
		m := itemOf(l.items, step.ID)
		switch {
		case (len(step.Conflicts) > 0 || step.IsEmpty()) && step.Parent != l.tip:
			// A merge below it may still be rejected, so it is judged in the next
			// batch.
		case len(step.Conflicts) > 0:
			conflicts, err := svc.nameOthers(ctx, r, step.Conflicts)
			if err != nil {
				return nil, err
			}
			if err := svc.rejectMerge(ctx, m, conflicts, attempt.ConflictError(m, conflicts)); err != nil {
				return nil, err
			}
		case step.IsEmpty():
			if err := svc.endEmpty(ctx, r, l.tip, m); err != nil {
				return nil, err
			}
		default:
			left = append(left, step)
		}
	}
	return left, nil
}

// idsOf returns the ID of each element of a list.
func idsOf[T any](list []T, id func(T) croft.ID) []croft.ID {
	ids := make([]croft.ID, len(list))
	for i, x := range list {
		ids[i] = id(x)
	}
	return ids
}

func itemOf(items []journal.Merge, id croft.ID) journal.Merge {
	return items[slices.IndexFunc(items, func(m journal.Merge) bool { return m.ID == id })]
}

// nameOthers replaces the commits that brought the conflicting changes by the names of
// their workspaces, and says when they came. Of a commit that Croft did not merge it says the subject.
func (svc *Lanes) nameOthers(ctx context.Context, r *project.Project, conflicts []croft.ConflictedPath) ([]croft.ConflictedPath, error) {
	for i, c := range conflicts {
		if c.Against == "" {
			continue
		}
		other, err := svc.Journal.MergeByCommit(ctx, r.ID, c.Against)
		switch {
		case err == nil && other.Kind == croft.KindRevert: // which is no work of the workspace
			conflicts[i].Against = other.WorkspaceName
		case err == nil:
			conflicts[i].Against, conflicts[i].At = other.WorkspaceName, other.EndedAt
		case !errors.Is(err, journal.ErrNotFound):
			return nil, err
		default: // without them the hash still says which commit it is
			if subject, at, err := r.Git.Heading(ctx, c.Against); err == nil {
				conflicts[i].Subject, conflicts[i].At = subject, at
			}
		}
	}
	return conflicts, nil
}
