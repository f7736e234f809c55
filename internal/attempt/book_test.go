package attempt

import (
	"context"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// scripted is a checker whose runs end as they are told to, and that tells a book of them.
type scripted struct {
	book *Book
	pass []bool
	runs int
}

func (s *scripted) Check(_ context.Context, _, tree string) (merge.Verdict, error) {
	c := croft.Check{ID: croft.ID(rune('a' + s.runs)), Command: "go test", Tree: tree, State: croft.TryRunning}
	s.book.CheckBegan(c)
	c.Passed, c.State, c.Tail = s.pass[s.runs], stateOf(s.pass[s.runs]), "output"
	s.book.CheckEnded(c)
	s.runs++
	return merge.Verdict{Passed: c.Passed, Checks: []croft.Check{c}}, nil
}

// TestBothTries: of a check that is run once more both runs are kept, however quick it is: whether it failed
// twice, or is flaky.
func TestBothTries(t *testing.T) {
	for name, pass := range map[string][]bool{"failed twice": {false, false, true}, "flaky": {false, true}} {
		m := journal.Merge{Merge: croft.Merge{ID: "m"}}
		book := New(Batch{ID: "b", Merges: []journal.Merge{m}, Now: func() time.Time { return time.Unix(1, 0) }})
		gate := merge.Gate{
			Checker: &scripted{book: book, pass: pass}, Begins: book.Begin,
			Ends: func(_ context.Context, t merge.Try, v merge.Verdict) { book.End(t, v) },
		}
		if _, err := gate.Decide(t.Context(), "c0", "t0", []merge.Step{{Item: merge.Item{ID: "m"}, Commit: "c1", Tree: "t1"}}); err != nil {
			t.Fatal(err)
		}
		book.Write(&m)
		if n := len(m.Attempts[0].Checks); n != 2 {
			t.Fatalf("%s: %d runs are kept, want both", name, n)
		}
		first, second := m.Attempts[0].Checks[0], m.Attempts[0].Checks[1]
		if first.Passed || second.Passed != pass[1] || second.IsFlaky != pass[1] || first.Tail+second.Tail != "" {
			t.Errorf("%s: %+v and %+v", name, first, second)
		}
	}
}
