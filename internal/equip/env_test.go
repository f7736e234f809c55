package equip

import (
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/journal"
)

// TestVariablesAreNoSettings: no variable of a workspace is one that sets a key of the configuration. A croft that runs
// inside would take it for that.
func TestVariablesAreNoSettings(t *testing.T) {
	w := croft.Workspace{ID: "id", Name: "a", Path: "/p", Branch: "b", Target: "t", Base: "c", Repo: "/r"}
	variables := w.Variables()
	if variables["CROFT_WORKSPACE_PATH"] != "/p" || len(variables) != 9 {
		t.Errorf("%v", variables)
	}
	for _, key := range config.Keys() {
		for name := range variables {
			if slices.Contains(key.Env(), name) {
				t.Errorf("%s sets %s", name, key.Name)
			}
		}
	}
}

// TestExpandRefuses: a value has one line, and nothing that controls a terminal.
func TestExpandRefuses(t *testing.T) {
	for _, template := range []string{"a\nb", "\x1b[2J", "{nothing}"} {
		if text, err := expand(template, journal.Record{}); err == nil {
			t.Errorf("%q is %q", template, text)
		}
	}
}
