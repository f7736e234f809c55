package results

import (
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// TestConflictSpans: of a path in conflict it is said who changed it, and when: a workspace, or a commit that is no
// merge of Croft's by what it says itself.
func TestConflictSpans(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	hash, at := strings.Repeat("5408ff4", 5)+"abcde", []croft.ConflictHunk{{Line: 3}, {Line: 30}}
	for _, tt := range []struct {
		in   croft.ConflictedPath
		want string
	}{
		{croft.ConflictedPath{Path: "a"}, "a  contents"},
		{croft.ConflictedPath{Path: "a", Kind: "contents", Against: "fix", Hunks: at}, "a:3  fix changed the same lines"},
		{croft.ConflictedPath{Path: "a", Kind: "contents", Against: "fix", Hunks: at, At: ago(4 * time.Minute)}, "a:3  fix changed the same lines, merged 4m ago"},
		{croft.ConflictedPath{Path: "a", Kind: "contents", Against: hash, Hunks: at, At: ago(2 * time.Minute), Subject: "mi\x1bne"}, `a:3  changed by 5408ff4 "mi` + screen.Printable("\x1b") + `ne", 2m ago`},
		{croft.ConflictedPath{Path: "a", Kind: "modify/delete", Against: hash, At: ago(2 * time.Minute), Subject: "mine"}, `a  modify/delete against 5408ff4 "mine", 2m ago`},
		{croft.ConflictedPath{Path: "a", Kind: "modify/delete", Against: "fix", At: ago(time.Hour)}, "a  modify/delete against fix, merged 1h ago"},
		{croft.ConflictedPath{Path: "a", Kind: "contents", Against: "fix", At: ago(30 * 24 * time.Hour)}, "a  fix changed the same lines, merged 30 Jan"},
	} {
		var text string
		for _, span := range ConflictSpans(tt.in, now, screen.Signs{}) {
			text += span.Text
		}
		if text != tt.want {
			t.Errorf("%+v: %q, want %q", tt.in, text, tt.want)
		}
	}
}

// TestRevertedText: a revert says how much it takes away.
func TestRevertedText(t *testing.T) {
	m := croft.Merge{Kind: croft.KindRevert, State: croft.MergeDone, Status: croft.MergeMerged, Target: "main", Commit: "859d7adaaaa"}
	work := &croft.Work{Seen: []croft.Aspect{croft.AspectCommits}, Added: 4, Deleted: 12, Changed: 2}
	var text string
	for _, span := range OfMerge(m, work, screen.Signs{Minus: "−"}, "").Detail {
		text += span.Text
	}
	if want := "main is now 859d7ad, +4 −12 in 2 files"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	m.Status, m.Reason, m.Conflicts = croft.MergePending, croft.Conflict, []croft.ConflictedPath{{Path: "a"}}
	if got := OfMerge(m, nil, screen.Signs{}, "5408ff4aaaa").Detail[0].Text; got != "1 file was changed since; main stays at 5408ff4" {
		t.Errorf("%q", got)
	}
}
