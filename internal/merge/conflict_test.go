package merge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestParseMarkers(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []croft.ConflictHunk
	}{
		{"none", "a\nb\n", nil},
		{
			"two",
			"a\n<<<<<<< x\n1\n2\n=======\n3\n>>>>>>> y\nb\n<<<<<<< x\n=======\n4\n>>>>>>> y\n",
			[]croft.ConflictHunk{{Line: 2, Ours: "1\n2\n", Theirs: "3\n"}, {Line: 9, Theirs: "4\n"}},
		},
		{
			"with what both come from", "<<<<<<< x\n1\n||||||| base\n0\n=======\n2\n>>>>>>> y\n",
			[]croft.ConflictHunk{{Line: 1, Ours: "1\n", Theirs: "2\n"}},
		},
		{
			"carriage returns", "<<<<<<< x\r\n1\r\n=======\r\n2\r\n>>>>>>> y\r\n",
			[]croft.ConflictHunk{{Line: 1, Ours: "1\r\n", Theirs: "2\r\n"}},
		},
		{"a heading", "Title\n=======\n>>>>>>> quoted\n", nil},
		{"never ended", "<<<<<<< x\n1\n=======\n2\n", nil},
	} {
		if diff := cmp.Diff(tt.want, ParseMarkers(tt.text)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	many := ParseMarkers(strings.Repeat("<<<<<<< x\n1\n=======\n2\n>>>>>>> y\n", maxHunks+5))
	long := ParseMarkers("<<<<<<< x\n" + strings.Repeat("a line of text\n", maxHunkText) + "=======\n2\n>>>>>>> y\n")
	if len(many) != maxHunks || len(long) != 1 || len(long[0].Ours) > maxHunkText+100 || long[0].Theirs != "2\n" {
		t.Errorf("%d hunks; %d bytes", len(many), len(long[0].Ours))
	}
}

// Each path in conflict has its kind, and the commit that brought the other side. Binary
// files have no hunks.
func TestConflictsAreExplained(t *testing.T) {
	b := newBench(t, gittest.New(t))
	b.Write("gone", "1\n2\n3\n")
	b.Write("bin", "a\x00b")
	base := b.Commit("more")
	w := b.work("w", base,
		change{"src/main.txt", "one\nW\nthree\n", bob, "text"}, change{"gone", "1\nW\n3\n", bob, "changed"}, change{"bin", "w\x00", bob, "binary"})
	b.Git("checkout", "--quiet", "main")
	b.Write("src/main.txt", "one\nM\nthree\n")
	text := b.Commit("text")
	b.Git("rm", "--quiet", "gone")
	gone := b.Commit("gone")
	b.Write("bin", "m\x00")
	binary := b.Commit("binary")
	b.Write("unrelated", "x\n")
	tip := b.Commit("unrelated")
	want := []croft.ConflictedPath{
		{Path: "bin", Kind: "binary", Against: binary},
		{Path: "gone", Kind: "modify/delete", Against: gone},
		{Path: "src/main.txt", Kind: "contents", Against: text, Hunks: []croft.ConflictHunk{{Line: 2, Ours: "M\n", Theirs: "W\n"}}},
	}
	for _, style := range []string{"merge", "diff3"} {
		b.Git("config", "merge.conflictStyle", style)
		b = newBench(t, b.Repo)
		step := b.put(tip, Item{Kind: croft.KindMerge, Head: w, Message: "w"})
		if diff := cmp.Diff(want, step.Conflicts); diff != "" {
			t.Errorf("%s:\n%s", style, diff)
		}
	}
	// Reverting lines that were changed since is a conflict.
	step := b.put(tip, Item{Kind: croft.KindRevert, Head: text, Base: base, Message: "revert"})
	if len(step.Conflicts) != 0 {
		t.Errorf("%+v", step.Conflicts)
	}
	b.Write("src/main.txt", "one\nN\nthree\n")
	later := b.Commit("later")
	step = b.put(later, Item{Kind: croft.KindRevert, Head: text, Base: base, Message: "revert"})
	if len(step.Conflicts) != 1 || step.Conflicts[0].Against != later || step.Conflicts[0].Hunks[0].Ours != "N\n" || step.Conflicts[0].Hunks[0].Theirs != "two\n" {
		t.Errorf("%+v", step.Conflicts)
	}
}
