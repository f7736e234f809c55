//go:build linux && failpoints

package main_test

import (
	"testing"

	"github.com/croft-sh/croft/internal/buildtest"
)

// TestStatesOfActs: the states of a workspace while an act goes on, and after one that died.
func TestStatesOfActs(t *testing.T) {
	needTmux(t)
	program, err := buildtest.Croft(t.TempDir(), buildtest.Options{Tags: "failpoints"})
	if err != nil {
		t.Fatal(err)
	}
	const paused = "until [ -e ~/at.paused ]; do sleep 0.05; done"
	for _, s := range []state{
		{word: "making", symbol: "◐", given: "CROFT_FAILPOINT=pause=$HOME/at#create.refs croft new x >/dev/null 2>&1 &\n" + paused},
		{word: "unfinished", symbol: "!", given: "! CROFT_FAILPOINT=kill=create.refs croft new x", why: "interrupted.*", next: "croft doctor --fix"},
		{word: "merging", symbol: "◐", given: made(2, "x") + "CROFT_FAILPOINT=pause=$HOME/at#publish.prepared croft merge x >/dev/null 2>&1 &\n" + paused},
	} {
		t.Run(string(s.word), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, program)
			d.sh(s.given)
			d.is(s)
			d.sh("touch ~/at.go")
		})
	}
}
