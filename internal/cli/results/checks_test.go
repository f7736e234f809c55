package results

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// TestChecksTold: how a check went that was run twice, in the words of each command, and once for all merges
// that were checked together.
func TestChecksTold(t *testing.T) {
	run := func(id croft.ID, passed bool) croft.Check {
		state := croft.TryFailed
		if passed {
			state = croft.TryPassed
		}
		return croft.Check{ID: id, Command: "go test", Tree: "t", Passed: passed, State: state}
	}
	failed, again, passed, alone := run("1", false), run("2", false), run("2", true), run("3", true)
	alone.Tree = "target"
	flake := passed
	flake.IsFlaky = true
	of := func(name string, decided croft.Check, tries ...croft.Check) croft.Merge {
		return croft.Merge{WorkspaceName: name, Target: "main", Checks: []croft.Check{decided}, Attempts: []croft.Attempt{
			{Batch: "b", Merges: 1, Checks: tries}, {Batch: "b", Checks: []croft.Check{alone}},
		}}
	}
	twice, flaky, once := of("a", failed, failed, again), of("b", flake, failed, flake), of("c", passed, passed)
	for _, tt := range []struct{ got, want string }{
		{CheckText(twice, failed), "failed twice; passes on main alone"},
		{CheckText(of("a", failed, failed), failed), "failed; passes on main alone"},
		{CheckText(flaky, flake), "passed at the second try: flaky"},
		{CheckText(once, passed), ""},
		{TryText(twice, failed), ", first try"},
		{TryText(twice, again), ", second try"},
		{TryText(flaky, failed), ", passed at the second try: flaky"},
		{TryText(flaky, flake), ", at the second try: flaky"},
		{TryText(once, passed), ""},
		{TryText(twice, alone), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
	if !IsSecondTry(twice, again) || IsSecondTry(twice, failed) || IsSecondTry(twice, alone) {
		t.Error("a second try is one on the same tree")
	}
	lines := FlakyLines(screen.Stream{}, []croft.Merge{flaky, once, of("d", flake, failed, flake)})
	if len(lines) != 1 {
		t.Fatalf("%d lines, want one for both merges", len(lines))
	}
	text := ""
	for _, span := range lines[0] {
		text += span.Text
	}
	if want := "  ! go test  passed at the second try: flaky, with b, d"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
