package cli

import (
	"testing"

	"github.com/croft-sh/croft"
)

// TestFindRemoved: a word that means two workspaces means none, and of several of one name the last is meant.
func TestFindRemoved(t *testing.T) {
	items := []croft.TrashItem{{ID: "k3v9q2m7", Name: "a"}, {ID: "k3v9zzzz", Name: "b"}, {ID: "m7x4t1b8", Name: "a"}, {ID: "m7x5", Name: "k3v9q2m7"}, {ID: "zzq1w2e3", Name: "c"}}
	for word, want := range map[string]croft.ID{
		"a": "k3v9q2m7", "b": "k3v9zzzz", "m7x4t1b8": "m7x4t1b8", "m7x4": "m7x4t1b8", "k3v9z": "k3v9zzzz", "k3v9q2m7": "k3v9q2m7",
		"k3v9": "", "m7x": "", "zzq": "", "zzq1": "zzq1w2e3", "k3v9q2m7t": "", "": "",
	} {
		got := croft.ID("")
		if item := findRemoved(items, word); item != nil {
			got = item.ID
		}
		if got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
