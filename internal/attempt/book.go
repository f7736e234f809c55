// Package attempt keeps the record of what a lane tries: which trees of a batch are checked, in
// which step of the bisection, what came of it, and the events of the checks.
//
// A Book is in memory. What changed in it is written with the next transaction of its lane,
// so that a short check costs no transaction of its own: a lane writes when a check begins,
// when merges are published, rejected or requeued. A process that dies leaves attempts in the
// journal that seem to run; Stop ends them.
package attempt

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// maxKept is how many attempts the record of a merge has, the last ones.
const maxKept = 16

// Batch says what is tried. All fields are required.
type Batch struct {
	ID     croft.ID
	Repo   croft.ID
	Target string
	Merges []journal.Merge // in the order of the stack
	Checks []string        // the commands of the checks
	Now    func() time.Time
}

// Book is the record of one batch. Its methods may be called by several goroutines.
type Book struct {
	batch Batch

	saving sync.Mutex // orders the transactions of Save

	mu     sync.Mutex
	tries  []croft.Attempt
	untold []croft.Event
}

// New returns the record of a batch of which nothing was tried yet.
func New(b Batch) *Book { return &Book{batch: b} }

// Begin records that a tree is about to be checked.
func (b *Book) Begin(t merge.Try) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries = append(b.tries, croft.Attempt{
		Batch: b.batch.ID, Size: len(b.batch.Merges), Step: t.Round, Merges: t.Count, Commit: t.Commit, Tree: t.Tree,
		State: croft.TryRunning, Commands: b.batch.Checks, StartedAt: b.batch.Now(),
	})
}

// soon is how long an attempt must have taken for End to ask that it is saved at once.
const soon = 500 * time.Millisecond

// End records what came of a tree. isUrgent says that the caller should save the book: the
// lane's next transaction may be far away, or costs little beside the check.
func (b *Book) End(t merge.Try, v merge.Verdict) (isUrgent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.at(t.Tree)
	if at == nil {
		return false
	}
	at.State, at.EndedAt = stateOf(v.Passed), b.batch.Now()
	for _, c := range v.Checks {
		at.Checks = withRun(at.Checks, c)
	}
	return at.EndedAt.Sub(at.StartedAt) > soon || slices.ContainsFunc(b.tries, func(a croft.Attempt) bool { return a.State == croft.TryRunning })
}

func stateOf(passed bool) croft.TryState {
	if passed {
		return croft.TryPassed
	}
	return croft.TryFailed
}

// withRun adds a run of a check to those of an attempt, or sets what it is now. A command that was
// run again has two: who reads that it failed twice, or that it is flaky, wants both.
func withRun(checks []croft.Check, c croft.Check) []croft.Check {
	c.Tail = ""
	if i := slices.IndexFunc(checks, func(was croft.Check) bool { return was.ID == c.ID && was.Command == c.Command }); i >= 0 {
		checks = slices.Clone(checks)
		checks[i] = c
		return checks
	}
	return append(slices.Clip(checks), c)
}

// at returns the last attempt of a tree, or nil. The caller holds the lock.
func (b *Book) at(tree string) *croft.Attempt {
	for i := range slices.Backward(b.tries) {
		if b.tries[i].Tree == tree {
			return &b.tries[i]
		}
	}
	return nil
}

// CheckBegan records a check that begins.
func (b *Book) CheckBegan(c croft.Check) { b.note(croft.EventCheckStarted, c, nil) }

// CheckPrinted records output of a check.
func (b *Book) CheckPrinted(c croft.Check, out croft.CheckOutput) {
	b.note(croft.EventCheckOutput, c, &out)
}

// CheckEnded records the end of a check.
func (b *Book) CheckEnded(c croft.Check) { b.note(croft.EventCheckEnded, c, nil) }

// note records a check as it is now, and the event that tells of it.
func (b *Book) note(kind string, c croft.Check, out *croft.CheckOutput) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.at(c.Tree)
	if at == nil {
		return
	}
	at.Checks = withRun(at.Checks, c)
	e := croft.Event{
		Time: b.batch.Now(), Kind: kind, Subjects: croft.Subjects{Repo: b.batch.Repo, Target: b.batch.Target, Batch: b.batch.ID, Check: c.ID},
		After: &croft.Nouns{Check: &c, Output: out},
	}
	if at.Merges > 0 {
		nameMerge(&e, b.batch.Merges[at.Merges-1].Merge)
	}
	b.untold = append(b.untold, e)
}

// nameMerge sets the topmost merge of a tree as the subject of an event.
func nameMerge(e *croft.Event, m croft.Merge) {
	e.Merge, e.Workspace, e.WorkspaceName = m.ID, m.Workspace, m.WorkspaceName
}

// Write sets the attempts of this batch in the record of a merge, after those of earlier
// batches. A merge has the attempts whose trees it is in; the lowest one has also that of
// the target's own tree.
func (b *Book) Write(m *journal.Merge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	position := 1 + slices.IndexFunc(b.batch.Merges, func(o journal.Merge) bool { return o.ID == m.ID })
	if position == 0 {
		return
	}
	all := slices.DeleteFunc(slices.Clone(m.Attempts), func(a croft.Attempt) bool { return a.Batch == b.batch.ID })
	for _, a := range b.tries {
		if a.Merges >= position || a.Merges == 0 && position == 1 {
			a.Position, a.Checks = position, slices.Clone(a.Checks)
			all = append(all, a)
		}
	}
	m.Attempts = all[max(len(all)-maxKept, 0):]
}

// WriteIn calls put with a function that emits the events that are not yet told. They count as
// told if put succeeds.
func (b *Book) WriteIn(put func(tell func(*journal.Tx) error) error) error {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	events := slices.Clone(b.untold)
	b.mu.Unlock()
	err := put(func(tx *journal.Tx) error {
		for _, e := range events {
			if err := tx.Emit(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		b.mu.Lock()
		b.untold = b.untold[len(events):]
		b.mu.Unlock()
	}
	return err
}

// SaveEvents writes the events that are not yet told.
func (b *Book) SaveEvents(ctx context.Context, j *journal.Journal) error {
	return b.WriteIn(func(tell func(*journal.Tx) error) error { return j.Update(ctx, tell) })
}

// Save writes the attempts to the merges of the batch that are being checked, and the events
// that are not yet told. change, if there is one, is called with each of the merges.
func (b *Book) Save(ctx context.Context, j *journal.Journal, change func(m *journal.Merge)) error {
	return b.WriteIn(func(tell func(*journal.Tx) error) error {
		return j.Update(ctx, func(tx *journal.Tx) error {
			for _, was := range b.batch.Merges {
				m, err := tx.Merge(was.ID)
				if err != nil {
					return err
				}
				if m.State != croft.MergeChecking {
					continue
				}
				if change != nil {
					change(&m)
				}
				b.Write(&m)
				if err := tx.PutMerge(&m); err != nil {
					return err
				}
			}
			return tell(tx)
		})
	})
}

// StopAll ends the attempts that seem to run, before a final Save: their lane has ended.
func (b *Book) StopAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.tries {
		if b.tries[i].State == croft.TryRunning {
			b.tries[i].State, b.tries[i].EndedAt = croft.TryStopped, b.batch.Now()
		}
	}
}

// Requeue puts a merge back into the queue in a transaction, as [Requeued] has it. An event tells once of each check that
// was stopped.
func Requeue(tx *journal.Tx, m journal.Merge, now time.Time) error {
	m, stopped := requeued(m)
	var all []error
	for _, e := range stopped {
		e.Time = now
		all = append(all, tx.Emit(e))
	}
	return errors.Join(append(all, tx.PutMerge(&m))...)
}

// Requeued returns a merge as it is in the queue again. Attempts of it that seem to run are those of a driver that died:
// they are stopped, and so are their checks.
func Requeued(m journal.Merge) journal.Merge {
	m, _ = requeued(m)
	return m
}

func requeued(m journal.Merge) (queued journal.Merge, stopped []croft.Event) {
	m.Requeue()
	attempts := slices.Clone(m.Attempts)
	for i, a := range attempts {
		if a.State != croft.TryRunning {
			continue
		}
		a.State, a.Checks = croft.TryStopped, slices.Clone(a.Checks)
		for k := range a.Checks {
			c := &a.Checks[k]
			if c.State != croft.TryRunning {
				continue
			}
			c.State = croft.TryStopped
			if a.Position != max(a.Merges, 1) {
				continue // the record of the topmost merge tells
			}
			e := croft.Event{
				Kind: croft.EventCheckEnded, Subjects: croft.Subjects{Repo: m.RepoID, Target: m.Target, Batch: a.Batch, Check: c.ID},
				After: &croft.Nouns{Check: c},
			}
			if a.Merges > 0 {
				nameMerge(&e, m.Merge)
			}
			stopped = append(stopped, e)
		}
		attempts[i] = a
	}
	m.Attempts = attempts
	return m, stopped
}
