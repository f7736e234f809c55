package attempt

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
)

// TestChoose: the output that is shown without a choice is that of the check which runs,
// else of the last one that failed, else of the last one.
func TestChoose(t *testing.T) {
	passed := func(id croft.ID) croft.Check { return croft.Check{ID: id, Passed: true} }
	failed := func(id croft.ID) croft.Check { return croft.Check{ID: id} }
	onTree := func(id croft.ID, tree string, isPassed bool) croft.Check {
		return croft.Check{ID: id, Tree: tree, Passed: isPassed}
	}
	running, stopped := croft.Check{ID: "running", State: croft.TryRunning}, croft.Check{ID: "stopped", State: croft.TryStopped}
	for _, test := range []struct {
		name string
		m    croft.Merge
		id   croft.ID
		want croft.ID
	}{
		{"all passed", croft.Merge{Checks: []croft.Check{passed("a"), passed("b")}}, "", "b"},
		{"one failed", croft.Merge{Checks: []croft.Check{failed("a"), passed("b")}}, "", "a"},
		{"two failed", croft.Merge{Checks: []croft.Check{failed("a"), failed("b")}}, "", "b"},
		{"one was stopped", croft.Merge{Checks: []croft.Check{passed("a"), stopped}}, "", "stopped"},
		{"one failed, one was stopped", croft.Merge{Checks: []croft.Check{failed("a"), stopped}}, "", "a"},
		{"one runs", croft.Merge{Checks: []croft.Check{failed("a"), running}}, "", "running"},
		{"of an earlier attempt", croft.Merge{Checks: []croft.Check{passed("c")}, Attempts: []croft.Attempt{{Merges: 1, Checks: []croft.Check{failed("a")}}, {Merges: 1, Checks: []croft.Check{failed("b")}}}}, "", "b"},
		{"the target alone failed after the merged result", croft.Merge{Checks: []croft.Check{failed("a")}, Attempts: []croft.Attempt{
			{Merges: 1, Checks: []croft.Check{failed("a")}}, {Merges: 0, Checks: []croft.Check{failed("b")}},
		}}, "", "a"},
		{"the target alone failed, and a merge of its batch", croft.Merge{Checks: []croft.Check{failed("b"), passed("c")}, Attempts: []croft.Attempt{
			{Merges: 2, Checks: []croft.Check{failed("a")}}, {Merges: 0, Checks: []croft.Check{failed("b"), passed("c")}},
		}}, "", "a"},
		{"only the target was checked", croft.Merge{Attempts: []croft.Attempt{{Merges: 0, Checks: []croft.Check{failed("a"), passed("b")}}}}, "", "a"},
		{"failed twice", croft.Merge{Checks: []croft.Check{failed("a")}, Attempts: []croft.Attempt{{Merges: 1, Checks: []croft.Check{failed("a"), failed("b")}}}}, "", "b"},
		{"chosen, failed twice", croft.Merge{Checks: []croft.Check{failed("a")}, Attempts: []croft.Attempt{{Merges: 1, Checks: []croft.Check{failed("a"), failed("b")}}}}, "a", "a"},
		{"landed after its batch had failed", croft.Merge{Status: croft.MergeMerged, Checks: []croft.Check{onTree("c", "own", true)}, Attempts: []croft.Attempt{
			{Merges: 2, Checks: []croft.Check{onTree("a", "batch", false)}}, {Merges: 1, Checks: []croft.Check{onTree("c", "own", true)}},
		}}, "", "c"},
		{"landed at the second try", croft.Merge{Status: croft.MergeMerged, Checks: []croft.Check{onTree("c", "own", true)}, Attempts: []croft.Attempt{
			{Merges: 1, Checks: []croft.Check{onTree("a", "own", false), onTree("c", "own", true)}},
		}}, "", "a"},
		{"chosen", croft.Merge{Checks: []croft.Check{failed("a"), passed("b")}}, "b", "b"},
		{"chosen from an attempt", croft.Merge{Attempts: []croft.Attempt{{Checks: []croft.Check{passed("a")}}}}, "a", "a"},
	} {
		if got, err := choose(test.m, test.id); err != nil || got.ID != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, got.ID, err, test.want)
		}
	}
	for _, id := range []croft.ID{"", "x"} {
		if got, err := choose(croft.Merge{}, id); !errors.Is(err, croft.CheckNotFound) {
			t.Errorf("%q of a merge without checks: %q, %v", id, got.ID, err)
		}
	}
}
