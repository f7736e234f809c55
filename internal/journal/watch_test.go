package journal_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// TestWatch: a caller that waits is woken by every write, here and through another
// connection; and nothing polls when no caller waits.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	var both [2]*journal.Journal
	for i := range both {
		j, err := journal.Open(t.Context(), dir, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		both[i] = j
	}
	j, other := both[0], both[1]
	w := j.Watch()
	emit := func(j *journal.Journal) {
		if err := j.Update(t.Context(), func(tx *journal.Tx) error {
			return tx.Emit(croft.Event{Time: time.Now(), Kind: "test.done"})
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		changed := w.Changed()
		if i%2 == 0 {
			emit(j)
		} else {
			emit(other)
		}
		select {
		case <-changed:
		case <-time.After(3 * time.Second):
			t.Fatalf("nobody was woken by write %d", i)
		}
	}
	w.End()
	if !eventually(func() bool { return !strings.Contains(stacks(), "pollLog") }) {
		t.Errorf("somebody looks out for nobody:\n%s", stacks())
	}
}

func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

func eventually(ok func() bool) bool {
	for range 200 {
		if ok() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
