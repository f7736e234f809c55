package results

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// TestWorkSpans: a file without lines is counted all the same, without a gap where lines would stand.
func TestWorkSpans(t *testing.T) {
	signs := screen.Signs{Minus: "-"}
	for want, work := range map[string]croft.Work{
		"  +1 in 2 files":   {Added: 1, Changed: 2},
		"  +1 -2 in 1 file": {Added: 1, Deleted: 2, Changed: 1},
		"  1 file":          {Changed: 1},
		"":                  {},
	} {
		work.Seen = []croft.Aspect{croft.AspectCommits}
		got := ""
		for _, span := range WorkSpans(&work, signs) {
			got += span.Text
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", work, got, want)
		}
	}
}
