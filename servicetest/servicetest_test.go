package servicetest

import (
	"slices"
	"testing"
)

// TestNothingIsSkippedLocally: the harness of this machine has what every scenario needs, so
// that the engine skips none. That it has no other reason to skip one is seen when it runs.
func TestNothingIsSkippedLocally(t *testing.T) {
	needed := map[Capability]bool{}
	for _, g := range groups() {
		for _, s := range g.scenarios {
			if c := missing(Local(nil), s.needs); c != "" {
				t.Errorf("%s/%s is skipped: Local has no %q", g.name, s.name, c)
			}
			for _, c := range s.needs {
				needed[c] = true
			}
		}
	}
	for _, c := range AllCapabilities() {
		if !needed[c] {
			t.Errorf("no scenario needs %q", c)
		}
	}
}

// TestScenariosAreThere: scenarios have one name each, and the lists that leave some out
// name scenarios that exist.
func TestScenariosAreThere(t *testing.T) {
	names := map[string]bool{}
	for _, g := range groups() {
		names[g.name] = true
		for _, s := range g.scenarios {
			full := g.name + "/" + s.name
			if names[full] {
				t.Errorf("%s is there twice", full)
			}
			names[full] = true
		}
	}
	for _, name := range slices.Concat(modeAll, notOfWorktrees) {
		if !names[name] {
			t.Errorf("no scenario or group %s", name)
		}
	}
}
