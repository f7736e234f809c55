package progress_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/progress"
)

func open(t *testing.T) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "croft.db"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func told(t *testing.T, j *journal.Journal) []croft.Progress {
	t.Helper()
	list, err := j.Events(t.Context(), 0, journal.Subject{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var out []croft.Progress
	for _, e := range list {
		if e.Kind != croft.EventOperationProgressed || e.Repo != "r" || e.Operation != "o" || e.Time.IsZero() {
			t.Errorf("%+v", e)
		}
		out = append(out, *e.After.Progress)
	}
	return out
}

// TestShort: an act that is over soon tells nothing, also if it did much.
func TestShort(t *testing.T) {
	j := open(t)
	m := progress.Begin(t.Context(), j, progress.Act{Repo: "r", Operation: "o", Kind: "create", Unit: "workspaces", Total: 3, Pace: progress.Pace{First: time.Hour}})
	m.Add(3)
	m.End()
	if list := told(t, j); len(list) != 0 {
		t.Errorf("told %+v", list)
	}
	one := progress.Begin(t.Context(), j, progress.Act{Repo: "r", Operation: "o", Total: 1})
	one.Add(1)
	one.End()
	if one != nil {
		t.Error("an act of one unit is told of")
	}
}

// TestLong: a longer act tells that it goes on, not faster than its pace, nothing while it
// comes no further, and that it is over, also if its context has ended.
func TestLong(t *testing.T) {
	j := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun := time.Now()
	pace := progress.Pace{First: 20 * time.Millisecond, Every: 20 * time.Millisecond}
	m := progress.Begin(ctx, j, progress.Act{Repo: "r", Operation: "o", Kind: "create", Unit: "workspaces", Total: 1000, Pace: pace})
	for len(told(t, j)) == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 1000 {
		m.Add(1)
		if len(told(t, j)) >= 4 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	before := told(t, j)
	cancel()
	m.End()
	list := told(t, j)
	if most := 2 + int(time.Since(begun)/pace.Every); len(list) > most || len(before) < 2 {
		t.Errorf("%d events, then %d, want at most %d", len(before), len(list), most)
	}
	for i, p := range list {
		isLast := i == len(list)-1
		if p.Kind != "create" || p.Unit != "workspaces" || p.Total != 1000 || p.IsOver != isLast || i > 0 && !isLast && p.Done <= list[i-1].Done {
			t.Errorf("%d of %d: %+v", i, len(list), p)
		}
	}
}
