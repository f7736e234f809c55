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

// TestQueueOfReverts: a revert that stays pending is not taken for the work of the workspace whose merge it reverts.
func TestQueueOfReverts(t *testing.T) {
	m := croft.Merge{ID: "m1", Kind: croft.KindRevert, WorkspaceName: "a", Target: "main", State: croft.MergeDone, Status: croft.MergePending, Reason: croft.HostDirty, EndedAt: time.Unix(0, 0)}
	queued, done := m, m
	queued.State, queued.Reason = croft.MergeQueued, ""
	done.Status, done.Reason = croft.MergeMerged, ""
	for want, m := range map[string]croft.Merge{"! revert of a  blocked": m, "  revert of a  queued": queued, " a  reverted": done} {
		if lines := Queue([]croft.Merge{m}, nil, screen.Stream{Width: 100}, time.Unix(60, 0)); len(lines) != 2 || !strings.Contains(lines[1], want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
}

// TestQueueIDs: an ID is as short as tells the merges of the list apart.
func TestQueueIDs(t *testing.T) {
	m := croft.Merge{ID: "gdm3xygchg6ms5ep", WorkspaceName: "a", Target: "main", State: croft.MergeDone, Status: croft.MergeMerged, EndedAt: time.Unix(0, 0)}
	other := m
	other.ID = "gdm3yygchg6ms5ep"
	lines := Queue([]croft.Merge{m, other}, nil, screen.Stream{Width: 100}, time.Unix(60, 0))
	if len(lines) != 3 || !strings.HasSuffix(lines[1], ", as gdm3x") || !strings.HasSuffix(lines[2], ", as gdm3y") {
		t.Errorf("%q", lines)
	}
}
