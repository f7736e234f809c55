package config

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/layout"
)

// TestLayoutsAreThose: the names and variables that a written value may have are those of package layout.
func TestLayoutsAreThose(t *testing.T) {
	var names []string
	for _, preset := range layout.Presets() {
		names = append(names, preset.Name)
	}
	if got, want := strings.Join(layouts(), " "), strings.Join(names, " "); got != want {
		t.Errorf("the layouts are %s, want %s", got, want)
	}
	base, err := layout.Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	_, err = base.With("", "x/{name}/{nope}")
	if err == nil || !strings.Contains(err.Error(), "unknown variable") {
		t.Fatalf("an unknown variable: %v", err)
	}
	for _, name := range variables() {
		if _, err := base.With("", "{name}/{"+name+"}"); err != nil && strings.Contains(err.Error(), "unknown variable") {
			t.Errorf("{%s}: %v", name, err)
		}
	}
	for _, text := range []string{"../w/{nope}", "../w/{name", "../w/name}", "../w/{{name}", "../w/{name}}", "../w/{}"} {
		_, err := base.With(text, "")
		if checkBraces(text) == nil || err == nil {
			t.Errorf("%s: checkBraces %v, layout %v", text, checkBraces(text), err)
		}
	}
	for _, preset := range layout.Presets() {
		for _, text := range []string{preset.Path, preset.Branch} {
			if err := checkBraces(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
