package script

import (
	"slices"
	"testing"
)

// TestWords: the files that a command names in its text are found.
func TestWords(t *testing.T) {
	for command, want := range map[string]Word{
		"sh tools/a.sh":              {"tools/a.sh", false},
		`sh "tools/my script.sh"`:    {"tools/my script.sh", false},
		"cd tools && ./setup2.sh":    {"tools/./setup2.sh", false},
		"make -C sub; sh x":          {"sub/x", false},
		". ./tools/setup.env":        {"./tools/setup.env", true},
		"source env.sh && make":      {"env.sh", true},
		"$PWD/tools/a":               {"tools/a", false},
		"A=1 tools/../top.sh >> log": {"tools/../top.sh", false},
	} {
		if got := Words(command); !slices.Contains(got, want) {
			t.Errorf("%s: %v lacks %v", command, got, want)
		}
	}
}
