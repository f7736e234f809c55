package lane

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/project"
)

// TestLaneTries: a lane gives a target up after several failed attempts in a row that also
// span some time. Neither alone is enough, and attempts before a success do not count.
func TestLaneTries(t *testing.T) {
	t.Parallel()
	now := time.Now()
	e := &Lanes{Projects: &project.Projects{Clock: func() time.Time { return now }}}
	moved := fmt.Errorf("a turn: %w", errTargetMoves)
	// Giving up needs a database, which this engine does not have.
	for name, tries := range map[string]laneTries{
		"few tries over a long time":  {n: movedTries - 2, since: now.Add(-2 * movedTime)},
		"many tries within a moment":  {n: movedTries, since: now.Add(-movedTime / 2)},
		"the first after a long time": {since: now.Add(-2 * movedTime)},
	} {
		was := tries.n
		if err := e.afterBatch(t.Context(), nil, "main", &tries, moved); err != nil || tries.n != was+1 {
			t.Errorf("%s: %d tries after %d, %v", name, tries.n, was, err)
		}
	}
	other := errors.New("other")
	for _, err := range []error{nil, other} {
		tries := laneTries{n: movedTries, since: now.Add(-2 * movedTime)}
		if got := e.afterBatch(t.Context(), nil, "main", &tries, err); !errors.Is(got, err) || tries != (laneTries{}) {
			t.Errorf("after a turn that ended with %v: %+v, %v", err, tries, got)
		}
	}
}
