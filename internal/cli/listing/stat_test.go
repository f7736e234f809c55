package listing

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// TestSum: the sum says what changed, nothing of what did not, and whether all of it could still be lost.
func TestSum(t *testing.T) {
	for want, sum := range map[string]Sum{
		" 1 file, +113 -3, not committed": {Changes: croft.Changes{Files: 1, Added: 113, Deleted: 3}, IsUncommitted: true},
		" 2 files, +1":                    {Changes: croft.Changes{Files: 2, Added: 1}},
		" 1 file":                         {Changes: croft.Changes{Files: 1}},
		" 1 file, not committed":          {Changes: croft.Changes{Files: 1}, IsUncommitted: true},
	} {
		lines := Stat([]StatFile{{Shown: "a"}}, sum, screen.Stream{Width: 80, IsASCII: true})
		if got := strings.TrimRight(lines[len(lines)-1], " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
