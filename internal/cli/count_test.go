package cli

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// toldBy are the events that a Service tells.
type toldBy []croft.Event

func (told toldBy) Events(_ context.Context, _ croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		for _, e := range told {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// TestFollowCount: the count is that of the act, not of another one.
func TestFollowCount(t *testing.T) {
	told := func(kind string, done, total int) croft.Event {
		return croft.Event{After: &croft.Nouns{Progress: &croft.Progress{Kind: kind, Done: done, Total: total}}}
	}
	var done atomic.Int64
	followCount(t.Context(), toldBy{told("create", 31, 50), told("remove", 40, 50), told("create", 9, 12)}, "create", 50, &done)
	if n := done.Load(); n != 31 {
		t.Errorf("%d of 50", n)
	}
}

func TestWorkStageFits(t *testing.T) {
	for want, s := range map[string]workStage{
		"◐ maki…  31 of 50, 2.0s": {"making 50 workspaces", "31 of 50"},
		"making 50 workspa… … 2s": {text: "making 50 workspaces"},
	} {
		if got := s.line(2*time.Second, "◐", 24); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
