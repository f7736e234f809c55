package git

import (
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestUnrepaired(t *testing.T) {
	for text, want := range map[string]string{
		"2.38.0": "2.43.7", "2.39.5": "2.43.7", "2.43.0": "2.43.7", "2.43.6": "2.43.7", "2.43.7": "", "2.43.9": "", "2.44.3": "2.44.4",
		"2.44.4": "", "2.45.3": "2.45.4", "2.45.4": "", "2.46.3": "2.46.4", "2.46.4": "", "2.47.2": "2.47.3", "2.47.3": "", "2.48.1": "2.48.2",
		"2.48.2": "", "2.49.0": "2.49.1", "2.49.1": "", "2.50.0": "2.50.1", "2.50.1": "", "2.51.0": "", "2.55.0": "", "3.0.0": "", "1.9.0": "2.43.7",
	} {
		v, err := ParseVersion("git version " + text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if next, ok := v.Unrepaired(); ok {
			got = next.String()
		}
		if got != want {
			t.Errorf("%s: repaired in %q, want %q", text, got, want)
		}
	}
}

func TestIsFirstUse(t *testing.T) {
	r := gittest.New(t)
	g := New(options(r))
	one, two := Version{2, 39, 5}, Version{2, 43, 0}
	if !g.IsFirstUse(one) || g.IsFirstUse(one) || !g.IsFirstUse(two) || New(options(r)).IsFirstUse(one) {
		t.Error("a version is new once, and only once")
	}
}
