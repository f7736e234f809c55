package mergetree

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

// FuzzParsePatch: an agent chooses the names and contents of files in git's patches. Each
// parsed hunk has as many lines as its header says.
func FuzzParsePatch(f *testing.F) {
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	f.Add([]byte(":100644 100644 " + a + " " + b + " M\tf\n\ndiff --git a/f b/f\nindex " + a + ".." + b + " 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@ x\n a\n-b\n+c\n+d\n"))
	f.Add([]byte(":100644 100644 " + a + " " + b + " R090\t\"a\\tb\"\tc\n\ndiff --git \"a/a\\tb\" b/c\nsimilarity index 90%\nrename from \"a\\tb\"\nrename to c\n"))
	f.Add([]byte(":100644 120000 " + a + " " + b + " T\tf\n\ndiff --git a/f b/f\ndeleted file mode 100644\nBinary files a/f and /dev/null differ\ndiff --git a/f b/f\n"))
	f.Add([]byte("@@ -1,99999999999999999999 +1 @@\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := parsePatch(data)
		if err != nil {
			return
		}
		for _, file := range files {
			for _, h := range file.Hunks {
				if h.OldStart < 0 || h.OldLines < 0 || h.NewStart < 0 || h.NewLines < 0 || h.Added > h.NewLines || h.Deleted > h.OldLines {
					t.Errorf("hunk %+v", h)
				}
			}
		}
	})
}

// FuzzParseRaw: an agent chooses the names of files in raw diffs.
func FuzzParseRaw(f *testing.F) {
	a := strings.Repeat("a", 40)
	f.Add([]byte(":100644 100644 " + a + " " + a + " M\x00f\x00"))
	f.Add([]byte(a + "\x00:000000 040000 " + a + " " + a + " A\x00d\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		changes, err := odb.ParseRaw(data)
		for _, c := range changes {
			if err == nil && strings.Contains(c.Path, "\x00") {
				t.Errorf("path %q", c.Path)
			}
		}
		_, _ = parseTouched(data, []odb.Span{{To: a}})
	})
}

// FuzzReadMerged: an agent chooses the names of files in the answers of merge-tree.
func FuzzReadMerged(f *testing.F) {
	a := strings.Repeat("a", 40)
	f.Add([]byte("1\x00"+a+"\x00\x00"), 1)
	f.Add([]byte("0\x00"+a+"\x00100644 "+a+" 1\tf\x00\x001\x00f\x00CONFLICT (contents)\x00text\x00\x00"), 1)
	f.Add([]byte("0\x00"+a+"\x00\x0099999999999\x00f\x00"), 2)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if n < 0 || n > 100 {
			return
		}
		list, err := readMergeResults(data, n)
		if err == nil && len(list) != n {
			t.Errorf("%d answers of %d", len(list), n)
		}
		for _, m := range list {
			if !object.IsOID(m.Tree) {
				t.Errorf("tree %q", m.Tree)
			}
		}
	})
}

// FuzzUnquotePath: a path that is quoted as git does it is the same after unquoting, and an
// invalid quoting is an error.
func FuzzUnquotePath(f *testing.F) {
	for _, seed := range []string{`a`, `"a\tb"`, `"\303\244"`, `"\`, `"\3"`, "a\nb", "\"", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = gitdir.UnquotePath(text)
		if again, err := gitdir.UnquotePath(gitdir.QuotePath(text)); err != nil || again != text {
			t.Errorf("%q became %q: %v", text, again, err)
		}
	})
}
