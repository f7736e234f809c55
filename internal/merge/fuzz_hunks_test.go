package merge

import (
	"bytes"
	"testing"

	"github.com/croft-sh/croft"
)

// FuzzSplice: an agent may have written the hunks of a review. They fit the two sides, or
// are refused.
func FuzzSplice(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nB\nc\n"), 2, 1, 2, 1, 3, 0, 3, 0)
	f.Add([]byte(""), []byte("x"), 0, 0, 1, 1, -1, -1, -1, -1)
	f.Add([]byte("a\n"), []byte("b\n"), 1<<62, 1<<62, -1<<62, 1, 1, 1, 1, 1)
	f.Fuzz(func(t *testing.T, old, now []byte, a, b, c, d, e, g, h, i int) {
		hunks := []croft.Hunk{
			{ID: 1, OldStart: a, OldLines: b, NewStart: c, NewLines: d}, {ID: 2, OldStart: e, OldLines: g, NewStart: h, NewLines: i},
		}
		out, err := Splice(old, now, hunks)
		if err == nil && len(out) > len(old)+2*len(now) {
			t.Errorf("%d bytes of %d and %d", len(out), len(old), len(now))
		}
		if all, err := Splice(old, now, nil); err != nil || !bytes.Equal(all, old) {
			t.Errorf("without hunks it is %q, %v", all, err)
		}
	})
}

// FuzzParseMarkers: an agent can write lines that look like conflict markers.
func FuzzParseMarkers(f *testing.F) {
	f.Add("<<<<<<< a\nx\n||||||| b\ny\n=======\nz\n>>>>>>> c\n")
	f.Add("=======\n>>>>>>> \n<<<<<<< \n<<<<<<< \n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range ParseMarkers(text) {
			if h.Line < 1 || len(h.Ours)+len(h.Theirs) > len(text) {
				t.Errorf("hunk %+v", h)
			}
		}
	})
}
