package journal

import (
	"context"
	"database/sql"
	"os"
	"sync"
	"time"
)

const (
	// watchFirst and watchLast are how soon pollLog looks at the database's log again:
	// soon after a change, less and less often when there is none.
	watchFirst = 5 * time.Millisecond
	watchLast  = 100 * time.Millisecond
	// watchStep is more than a step of the clock by which files get their times.
	watchStep = 20 * time.Millisecond
	// watchAnyway is how often pollLog queries the database although its file seems
	// unchanged: some file systems report a change late.
	watchAnyway = 5 * time.Second
)

// watchers are the goroutines that wait for the database to change. Writes of this
// process wake them at once; for the writes of other processes, one goroutine polls the
// log for all of them. That goroutine runs only while another one waits.
type watchers struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed at the next change
	stop    chan struct{} // ends the goroutine
}

// Watch waits for changes of the database.
type Watch struct{ j *Journal }

// Watch begins to wait for changes. The caller must call End.
func (j *Journal) Watch() Watch {
	w := &j.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n++; w.n == 1 {
		w.changed, w.stop = make(chan struct{}), make(chan struct{})
		go j.pollLog(w.stop, j.stamp())
	}
	return Watch{j}
}

// Changed returns a channel that is closed when the database may have changed after the
// call.
func (w Watch) Changed() <-chan struct{} {
	w.j.watchers.mu.Lock()
	defer w.j.watchers.mu.Unlock()
	return w.j.watchers.changed
}

// End ends the waiting for changes.
func (w Watch) End() {
	all := &w.j.watchers
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.n--; all.n == 0 {
		close(all.stop)
	}
}

func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n > 0 {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// stamp identifies a state of the database's log, once the log was unchanged for a
// moment: within one step of the clock it may change again.
type stamp struct {
	log     os.FileInfo // nil: there is no log
	settled bool
}

func (j *Journal) stamp() stamp {
	info, err := os.Stat(j.path + "-wal")
	if err != nil {
		return stamp{settled: true}
	}
	return stamp{info, time.Since(info.ModTime()) > watchStep}
}

func (s stamp) isSame(now stamp) bool {
	if s.log == nil || now.log == nil {
		return s.settled && s.log == now.log
	}
	return s.settled && s.log.Size() == now.log.Size() && s.log.ModTime().Equal(now.log.ModTime()) && os.SameFile(s.log, now.log)
}

// pollLog wakes the waiting goroutines when another process has written.
func (j *Journal) pollLog(stop <-chan struct{}, was stamp) {
	wait := watchFirst
	timer := time.NewTimer(wait)
	defer timer.Stop()
	asked, last := time.Now(), j.lastTransaction()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		now := j.stamp()
		changed := !was.isSame(now)
		wait = min(2*wait, watchLast)
		if changed {
			wait = watchFirst
		}
		if time.Since(asked) > watchAnyway {
			before := last
			asked, last = time.Now(), j.lastTransaction()
			changed = changed || last == identity{} || last != before
		}
		if changed {
			j.watchers.wake()
		}
		was = now
		timer.Reset(wait)
	}
}

// lastTransaction returns the identity of the database, which changes with every
// transaction. It is the zero identity where transactions are not counted, or cannot be
// read.
func (j *Journal) lastTransaction() identity {
	if j.copy == nil {
		return identity{}
	}
	var id identity
	ctx := context.Background()
	_ = j.withDatabase(ctx, func(db *sql.DB, _ os.FileInfo) (err error) {
		id, err = identify(ctx, db)
		return err
	})
	return id
}
