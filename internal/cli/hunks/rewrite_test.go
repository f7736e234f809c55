package hunks

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// TestRewrite: what a person makes of a hunk is one of the same lines of the file.
func TestRewrite(t *testing.T) {
	h := croft.Hunk{ID: 1, Header: "@@ -3,3 +3,3 @@", OldStart: 3, OldLines: 3, NewStart: 3, NewLines: 3, Text: " 3\n-4\n+four\n \n"}
	for name, c := range map[string]struct {
		text  string
		edits []croft.Edit
		err   error
	}{
		"another line":            {" 3\n-4\n+FOUR\n+and\n \n", []croft.Edit{{OldStart: 4, OldLines: 1, Text: "FOUR\nand\n"}}, nil},
		"a line is kept":          {" 3\n 4\n+four\n \n" + Help, []croft.Edit{{OldStart: 4, Text: "four\n"}}, nil},
		"more is taken":           {"-3\n-4\n \n", []croft.Edit{{OldStart: 3, OldLines: 2}}, nil},
		"blanks that are gone":    {" 3\n-4\n+FOUR\n\n", []croft.Edit{{OldStart: 4, OldLines: 1, Text: "FOUR\n"}}, nil},
		"no end of the last line": {" 3\n-4\n+FOUR\n ", []croft.Edit{{OldStart: 4, OldLines: 1, Text: "FOUR\n"}}, nil},
		"the same":                {"@@ -3,3 +3,3 @@\n" + string(Text(h)), nil, ErrUnchanged},
		"nothing":                 {"# none\n", nil, ErrUnchanged},
		"all kept":                {" 3\n 4\n \n", nil, ErrNothing},
		"a line of the file":      {" 33\n-4\n+four\n \n", nil, ErrOld},
		"one line fewer":          {"-4\n+four\n \n", nil, ErrOld},
		"no mark":                 {" 3\n-4\nfour\n \n", nil, ErrMark},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Rewrite(h, []byte(c.text))
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(c.edits, Edits([]croft.Hunk{got})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRewriteWithoutAnEnd: a last line without an end keeps that.
func TestRewriteWithoutAnEnd(t *testing.T) {
	h := croft.Hunk{ID: 1, OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Text: "-1\n\\ No newline at end of file\n+one\n\\ No newline at end of file\n"}
	got, err := Rewrite(h, []byte("-1\n\\ No newline at end of file\n+ONE\n\\ No newline at end of file\n"))
	if diff := cmp.Diff([]croft.Edit{{OldStart: 1, OldLines: 1, Text: "ONE"}}, Edits([]croft.Hunk{got})); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
