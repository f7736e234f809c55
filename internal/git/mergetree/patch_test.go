package mergetree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

func TestPathsAreQuotedAsGitDoes(t *testing.T) {
	for path, quoted := range map[string]string{
		"caf\xe9.txt":       `"caf\351.txt"`,
		"a\tb\nc\"d\\e\x01": `"a\tb\nc\"d\\e\001"`,
		"\u00e9":            `"\303\251"`,
	} {
		if got := gitdir.QuotePath(path); got != quoted {
			t.Errorf("QuotePath(%q) = %s, want %s", path, got, quoted)
		}
		if got, err := gitdir.UnquotePath(quoted); err != nil || got != path {
			t.Errorf("UnquotePath(%s) = %q, %v", quoted, got, err)
		}
	}
	if got, err := gitdir.UnquotePath("plain \\ name"); err != nil || got != "plain \\ name" {
		t.Errorf("a plain path became %q, %v", got, err)
	}
	for _, bad := range []string{`"`, `"a`, `"a\"`, `"\9"`, `"\40"`, `"a"b"`, `"\q"`} {
		if got, err := gitdir.UnquotePath(bad); err == nil {
			t.Errorf("UnquotePath(%s) = %q", bad, got)
		}
	}
}

// Every kind of change to a file is reported, whatever the file's name and whatever the
// configuration and the attributes in the git directory say about diffs.
func TestPatchTellsOfEveryChange(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes of files are not those of Windows")
	}
	r := gittest.New(t)
	r.Git("config", "diff.noprefix", "true")
	r.Git("config", "diff.suppressBlankEmpty", "true")
	r.Git("config", "core.quotePath", "false")
	r.Git("config", "diff.context", "0")
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "attributes"), "* -diff\n")
	r.Write("edit.txt", "1\n2\n3\n\n5\n6\n7\n8\n9\n10\n11\n12\n")
	r.Write("gone.txt", "@@ -1 +1 @@\ndiff --git a/x b/x\n")
	r.Write("old name.txt", "a\nb\nc\nd\ne\n")
	r.Write("mode.sh", "true\n")
	r.Write("kind", "text\n")
	r.Write("data.bin", "\x00\x01")
	base := r.Commit("base")
	odd := "odd\t\"name\"\n\xe9"
	if runtime.GOOS == "darwin" {
		odd = "odd\t\"name\"\n"
	}
	r.Write("edit.txt", "one\n2\n3\n\n5\n6\n7\n8\n9\n10\n11\n12")
	r.Write(odd, "new\r\n")
	r.Write("empty", "")
	r.Write("data.bin", "\x00\x02")
	r.Git("mv", "old name.txt", "new name.txt")
	r.Git("rm", "--quiet", "gone.txt")
	if err := errors.Join(os.Chmod(filepath.Join(r.Dir, "mode.sh"), 0o755), os.Remove(filepath.Join(r.Dir, "kind")),
		os.Symlink("edit.txt", filepath.Join(r.Dir, "kind"))); err != nil {
		t.Fatal(err)
	}
	r.Git("add", "--all")
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+base+",sub")
	r.Git("commit", "--quiet", "-m", "head")
	head := r.Git("rev-parse", "HEAD")
	files, err := attempts(t, open(t, r)).Patch(t.Context(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		Status      string
		Old         string
		Modes       string
		Hunks       []string
		Binary      bool
		Plus, Minus int
	}
	got := map[string]told{}
	for _, f := range files {
		x := told{Status: string(f.Status), Old: f.OldPath, Modes: f.OldMode + " " + f.NewMode, Binary: f.IsBinary}
		for _, h := range f.Hunks {
			x.Hunks = append(x.Hunks, h.Header+"|"+h.Text)
			x.Plus, x.Minus = x.Plus+h.Added, x.Minus+h.Deleted
		}
		got[f.Path] = x
	}
	want := map[string]told{
		"edit.txt": {Status: "M", Modes: "100644 100644", Plus: 2, Minus: 2, Hunks: []string{
			"@@ -1,4 +1,4 @@|-1\n+one\n 2\n 3\n \n", "@@ -9,4 +9,4 @@|" + " 9\n 10\n 11\n-12\n+12\n\\ No newline at end of file\n",
		}},
		"gone.txt":     {Status: "D", Modes: "100644 000000", Minus: 2, Hunks: []string{"@@ -1,2 +0,0 @@|-@@ -1 +1 @@\n-diff --git a/x b/x\n"}},
		"new name.txt": {Status: "R", Old: "old name.txt", Modes: "100644 100644"},
		"mode.sh":      {Status: "M", Modes: "100644 100755"},
		"kind":         {Status: "T", Modes: "100644 120000"},
		"data.bin":     {Status: "M", Modes: "100644 100644", Binary: true},
		"empty":        {Status: "A", Modes: "000000 100644"},
		odd:            {Status: "A", Modes: "000000 100644", Plus: 1, Hunks: []string{"@@ -0,0 +1 @@|+new\r\n"}},
		"sub":          {Status: "A", Modes: "000000 160000"},
	}
	// Between the two hunks git repeats a line of the first as a heading.
	if e, ok := got["edit.txt"]; ok && len(e.Hunks) == 2 {
		at, text, _ := strings.Cut(e.Hunks[1], "|")
		if len(at) > len("@@ -9,4 +9,4 @@") {
			e.Hunks[1] = at[:len("@@ -9,4 +9,4 @@")] + "|" + text
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPatchRefusesNonsense(t *testing.T) {
	raw := ":100644 100644 " + strings.Repeat("1", 40) + " " + strings.Repeat("2", 40) + " M\tx\n\n"
	head := raw + "diff --git a/x b/x\n--- a/x\n+++ b/x\n"
	if _, err := parsePatch([]byte(head + "@@ -1 +1 @@\n-a\n+b\n")); err != nil {
		t.Fatalf("a patch that is one: %v", err)
	}
	for _, text := range []string{
		raw, raw + "--- a/x\n", head + "@@ -1 +1 @@\n-a\n", head + "@@ -1 +1 @@\n-a\n?b\n", head + "@@ -1 +1\n-a\n+b\n", head + "@@ -1 +x @@\n",
		head + "@@ -1 +1 @@\n-a\n+b\n" + "diff --git a/y b/y\n", ":1 2 M\tx\n", head + "@@ -1 +2,0 @@\n a\n",
	} {
		if f, err := parsePatch([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, f)
		}
	}
}

// An edited tree is the one that git's index makes of the same edits.
func TestEditTree(t *testing.T) {
	r := gittest.New(t)
	r.Write("dir/deep/a", "a\n")
	r.Write("dir/b", "b\n")
	r.Write("dir.txt", "sorts before dir/\n")
	base := r.Commit("base")
	a := attempts(t, open(t, r))
	blob := r.Git("rev-parse", "HEAD:dir/b")
	tree := r.Git("rev-parse", base+"^{tree}")
	for name, edits := range map[string][]object.TreeEdit{
		"nothing":                nil,
		"added deep":             {{Path: "x/y/z", Mode: "100644", OID: blob}},
		"changed and gone":       {{Path: "dir/b", Mode: "100755", OID: blob}, {Path: "dir/deep/a"}},
		"directory becomes file": {{Path: "dir/b"}, {Path: "dir/deep/a"}, {Path: "dir", Mode: "100644", OID: blob}},
		"file becomes directory": {{Path: "README.md"}, {Path: "README.md/x", Mode: "100644", OID: blob}},
		"submodule":              {{Path: "sub", Mode: "160000", OID: base}},
		"everything below goes":  {{Path: "src/main.txt"}},
		"what is not there goes": {{Path: "nowhere/x"}},
	} {
		got, err := object.EditTree(t.Context(), a, tree, edits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r.Git("read-tree", base)
		for _, removing := range []bool{true, false} {
			for _, e := range edits {
				switch {
				case removing && e.Mode == "":
					r.Git("update-index", "--force-remove", e.Path)
				case !removing && e.Mode != "":
					r.Git("update-index", "--add", "--cacheinfo", e.Mode+","+e.OID+","+e.Path)
				}
			}
		}
		if want := r.Git("write-tree"); got != want {
			t.Errorf("%s: tree %s, by git %s", name, got, want)
		}
	}
	for path, edits := range map[string][]object.TreeEdit{
		"dir":         {{Path: "dir/b"}, {Path: "dir", Mode: "100644", OID: blob}},
		"README.md/x": {{Path: "README.md/x", Mode: "100644", OID: blob}},
	} {
		_, err := object.EditTree(t.Context(), a, tree, edits)
		blocked, ok := errors.AsType[*object.BlockedError](err)
		if !ok || blocked.Path != path {
			t.Errorf("%v: %v, want %s blocked", edits, err, path)
		}
	}
}

// TestPatchIsBounded: a commit of a few kilobytes whose patch would take gigabytes is shown without the lines of its large files, and
// one whose files are many and small without the lines of all that are left over.
func TestPatchIsBounded(t *testing.T) {
	r := gittest.New(t)
	base := r.Git("rev-parse", "HEAD")
	for name, tt := range map[string]struct {
		size, files int
		isShown     bool
	}{
		"one that is too large":    {9 << 20, 3, false},
		"large ones, too many":     {3 << 20, 30, false},
		"large, and within bounds": {3 << 20, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			r.Git("reset", "-q", "--hard", base)
			text := strings.Repeat(strings.Repeat("x", 99)+"\n", tt.size/100)
			for i := range tt.files {
				r.Write(fmt.Sprintf("f%d", i), text)
			}
			r.Write("small", "line\n")
			head := r.Commit(name)
			files, err := attempts(t, open(t, r)).Patch(t.Context(), base, head)
			if err != nil || len(files) != tt.files+1 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			for _, f := range files {
				want := tt.isShown || f.Path == "small"
				if got := len(f.Hunks) > 0; got != want || f.IsBinary == want || (f.NotShown > 0) == want {
					t.Errorf("%s: hunks %d, binary %t, not shown %d", f.Path, len(f.Hunks), f.IsBinary, f.NotShown)
				}
			}
		})
	}
}
