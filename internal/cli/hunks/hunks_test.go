package hunks

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// TestSplit: each run of changes is a part with the unchanged lines around it, and says what it puts in the place of what.
func TestSplit(t *testing.T) {
	h := croft.Hunk{
		ID: 2, Header: "@@ -7,7 +7,7 @@ func x", OldStart: 7, OldLines: 7, NewStart: 7, NewLines: 7,
		Text: " 7\n-8\n+eight\n 9\n+nine and a half\n 10\n-11\n 12\n-13\n\\ No newline at end of file\n+thirteen\n",
	}
	want := []croft.Hunk{
		{ID: 2, Header: "@@ -7,3 +7,3 @@", OldStart: 7, OldLines: 3, NewStart: 7, NewLines: 3, Text: " 7\n-8\n+eight\n 9\n"},
		{ID: 2, Header: "@@ -9,2 +9,3 @@", OldStart: 9, OldLines: 2, NewStart: 9, NewLines: 3, Text: " 9\n+nine and a half\n 10\n"},
		{ID: 2, Header: "@@ -10,3 +11,2 @@", OldStart: 10, OldLines: 3, NewStart: 11, NewLines: 2, Text: " 10\n-11\n 12\n"},
		{ID: 2, Header: "@@ -12,2 +12,2 @@", OldStart: 12, OldLines: 2, NewStart: 12, NewLines: 2, Text: " 12\n-13\n\\ No newline at end of file\n+thirteen\n"},
	}
	got := Split(h)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	edits := []croft.Edit{
		{OldStart: 8, OldLines: 1, Text: "eight\n"}, {OldStart: 9, Text: "nine and a half\n"}, {OldStart: 11, OldLines: 1}, {OldStart: 13, OldLines: 1, Text: "thirteen\n"},
	}
	if diff := cmp.Diff(edits, Edits(got)); diff != "" {
		t.Errorf("edits of the parts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(edits, Edits([]croft.Hunk{h})); diff != "" {
		t.Errorf("edits of the whole (-want +got):\n%s", diff)
	}
	for _, again := range got {
		if len(Split(again)) != 1 {
			t.Errorf("%q is divided again", again.Text)
		}
	}
}

// TestSplitOfLinesAlone: a hunk without unchanged lines stays whole; bytes that are no UTF-8 stay as they are.
func TestSplitOfLinesAlone(t *testing.T) {
	added := croft.Hunk{ID: 1, OldStart: 3, NewStart: 4, NewLines: 1, Text: "+\uFFFD\n", Raw: []byte("+\xff\n")}
	if got := Split(added); len(got) != 1 || got[0].Header != "" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]croft.Edit{{OldStart: 3, Raw: []byte("\xff\n")}}, Edits([]croft.Hunk{added})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	mixed := croft.Hunk{ID: 1, OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 3, Raw: []byte("+\xff\n a\n+b\n")}
	want := []croft.Edit{{OldStart: 0, Raw: []byte("\xff\n")}, {OldStart: 1, Text: "b\n"}}
	if diff := cmp.Diff(want, Edits(Split(mixed))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
