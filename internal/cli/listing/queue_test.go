package listing

import (
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// TestQueueOfApproved: a merge whose checks a person has approved since is not called unapproved.
func TestQueueOfApproved(t *testing.T) {
	for hint, want := range map[string]string{
		"croft queue run":                  "approved  croft queue run tries it again",
		"croft config trust --target main": "unapproved  1m ago, as m1",
	} {
		m := croft.Merge{ID: "m1", WorkspaceName: "a", Target: "main", State: croft.MergeDone, Status: croft.MergePending, Reason: croft.ChecksUntrusted, Hint: hint, EndedAt: time.Unix(0, 0)}
		lines := Queue([]croft.Merge{m}, nil, screen.Stream{Width: 100}, time.Unix(60, 0))
		if len(lines) != 2 || !strings.HasSuffix(lines[1], " a  "+want) {
			t.Errorf("%s: %q, want %q", hint, lines, want)
		}
	}
}
