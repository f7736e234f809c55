// Package watch wakes goroutines when the journal's database has changed. Writes of this
// process wake them at once; for the writes of other processes, one goroutine polls the
// database's log for all of them. That goroutine runs only while another one waits.
package watch

import (
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

// Watchers are the goroutines that wait for one database to change.
type Watchers struct {
	// Log is the file that every write changes. Required.
	Log string
	// Last identifies the last transaction; ok is false where transactions are not
	// counted, or cannot be read. Required.
	Last func() (id any, ok bool)

	mu      sync.Mutex
	n       int
	changed chan struct{} // closed at the next change
	stop    chan struct{} // ends the goroutine
}

// Watch waits for changes of the database.
type Watch struct{ all *Watchers }

// Begin begins to wait for changes. The caller must call End.
func (w *Watchers) Begin() Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n++; w.n == 1 {
		w.changed, w.stop = make(chan struct{}), make(chan struct{})
		go w.pollLog(w.stop, w.stamp())
	}
	return Watch{w}
}

// Changed returns a channel that is closed when the database may have changed after the
// call.
func (w Watch) Changed() <-chan struct{} {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	return w.all.changed
}

// End ends the waiting for changes.
func (w Watch) End() {
	all := w.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.n--; all.n == 0 {
		close(all.stop)
	}
}

// Wake wakes all that wait.
func (w *Watchers) Wake() {
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

func (w *Watchers) stamp() stamp {
	info, err := os.Stat(w.Log)
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
func (w *Watchers) pollLog(stop <-chan struct{}, was stamp) {
	wait := watchFirst
	timer := time.NewTimer(wait)
	defer timer.Stop()
	asked := time.Now()
	last, _ := w.Last()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		now := w.stamp()
		changed := !was.isSame(now)
		wait = min(2*wait, watchLast)
		if changed {
			wait = watchFirst
		}
		if time.Since(asked) > watchAnyway {
			before, ok := last, false
			asked = time.Now()
			last, ok = w.Last()
			changed = changed || !ok || last != before
		}
		if changed {
			w.Wake()
		}
		was = now
		timer.Reset(wait)
	}
}
