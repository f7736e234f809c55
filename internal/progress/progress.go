// Package progress tells by events how far a long act has come.
//
// An act that is over soon tells nothing and costs a goroutine that sleeps. A longer one is
// told of after a second, and then at most twice a second if it has come further. These
// events belong to no transaction of the act: if one cannot be written, the act goes on.
package progress

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// Act is what is told of. All fields but Total and Pace are required.
type Act struct {
	Repo, Operation croft.ID
	Kind            string
	Unit            string
	Total           int // zero: not known
	Pace            Pace
}

// Pace says when an act is told of. Zero fields are the defaults.
type Pace struct {
	First time.Duration // from the beginning to the first event
	Every time.Duration // from one event to the next, at least
}

// The default pace.
const (
	first = time.Second
	every = 500 * time.Millisecond
)

// patience bounds how long the end of an act waits for the last event to be written.
const patience = 2 * time.Second

// Meter counts what an act has done. Add and Set may be called by several goroutines. A nil Meter
// counts nothing.
type Meter struct {
	act     Act
	journal *journal.Journal
	done    atomic.Int64
	over    chan struct{}
	ended   chan struct{}
}

// Begin returns the meter of an act that begins now. The caller ends it, outside of
// transactions. An act of one unit has none.
func Begin(ctx context.Context, j *journal.Journal, a Act) *Meter {
	if a.Total == 1 {
		return nil
	}
	if a.Pace.First == 0 {
		a.Pace.First = first
	}
	if a.Pace.Every == 0 {
		a.Pace.Every = every
	}
	m := &Meter{act: a, journal: j, over: make(chan struct{}), ended: make(chan struct{})}
	go m.run(context.WithoutCancel(ctx))
	return m
}

// Add counts n more things as done.
func (m *Meter) Add(n int) {
	if m != nil {
		m.done.Add(int64(n))
	}
}

// Set says that n things are done.
func (m *Meter) Set(n int) {
	if m != nil {
		m.done.Store(int64(n))
	}
}

// End ends the meter. If the act was told of, a last event says that it is over.
func (m *Meter) End() {
	if m != nil {
		close(m.over)
		<-m.ended
	}
}

func (m *Meter) run(ctx context.Context) {
	defer close(m.ended)
	timer := time.NewTimer(m.act.Pace.First)
	defer timer.Stop()
	for told := int64(-1); ; {
		select {
		case <-m.over:
			if told >= 0 {
				m.tell(ctx, croft.Progress{Done: int(m.done.Load()), IsOver: true})
			}
			return
		case <-timer.C:
			if done := m.done.Load(); done != told {
				m.tell(ctx, croft.Progress{Done: int(done)})
				told = done
			}
			timer.Reset(m.act.Pace.Every)
		}
	}
}

func (m *Meter) tell(ctx context.Context, p croft.Progress) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p.Operation, p.Kind, p.Unit, p.Total = m.act.Operation, m.act.Kind, m.act.Unit, m.act.Total
	_ = m.journal.Update(ctx, func(tx *journal.Tx) error { // the act does not depend on it
		return tx.Emit(croft.Event{
			Kind: croft.EventOperationProgressed, Subjects: croft.Subjects{Repo: m.act.Repo, Operation: m.act.Operation}, After: &croft.Nouns{Progress: &p},
		})
	})
}
