package git

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

// oddNames are file names that break careless parsers.
var oddNames = []string{
	"new\nline", "tab\there", `quo"te`, `back\slash`, "caf\xe9", "-dash", "--all", " space ", "ünï", "a -> b", "? x", "1 M", "*.glob", ":(top)x", "cr\r",
}

func TestStatusOfRealChanges(t *testing.T) {
	r := gittest.New(t)
	for _, name := range append([]string{"deleted", "staged", "both", "gone", "typed", "mode"}, oddNames...) {
		r.Write("tracked/"+name, "1\n")
	}
	r.Commit("files")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	in := func(name string) string { return filepath.Join(w.Path, "tracked", name) }
	var want []string
	for _, name := range oddNames {
		gittest.WriteFile(t, in(name), "changed\n")
		gittest.WriteFile(t, in("new "+name), "")
		want = append(want, ".M tracked/"+name, "?? tracked/new "+name)
	}
	gittest.WriteFile(t, in("staged"), "2 \n")
	gittest.WriteFile(t, in("both"), "2 \n")
	gittest.WriteFile(t, in("added"), "")
	r.GitIn(w.Path, "add", "tracked/staged", "tracked/both", "tracked/added")
	gittest.WriteFile(t, in("both"), "3  \n")
	r.GitIn(w.Path, "rm", "--quiet", "--cached", "tracked/gone")
	r.GitIn(w.Path, "mv", "README.md", "renamed")
	if err := errors.Join(os.Remove(in("deleted")), os.Remove(in("typed")), os.Symlink("x", in("typed")), os.Chmod(in("mode"), 0o755)); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "dir", "a"), "")
	want = append(want, "M. tracked/staged", "MM tracked/both", "A. tracked/added", "D. tracked/gone", "?? tracked/gone",
		".D tracked/deleted", ".T tracked/typed", ".M tracked/mode", "D. README.md", "A. renamed", "?? dir/a")
	slices.Sort(want)
	if diff := cmp.Diff(want, statusOf(t, w, UntrackedAll)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if got := statusOf(t, w, UntrackedNormal); !slices.Contains(got, "?? dir/") || slices.Contains(got, "?? dir/a") {
		t.Errorf("normal lists %q, not the directory", got)
	}
	if got := statusOf(t, w, UntrackedNone); slices.ContainsFunc(got, func(s string) bool { return s[0] == '?' }) {
		t.Errorf("none lists untracked files: %q", got)
	}
	// With renames, which Status does not ask for, there is a second path.
	out := r.GitIn(w.Path, "status", "--porcelain=v2", "-z", "--branch", "--show-stash", "--ignored", "--renames", "--untracked-files=no")
	var renamed []odb.StatusEntry
	for e, err := range odb.ParseStatus(strings.NewReader(out)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Index == 'R' {
			renamed = append(renamed, e)
		}
	}
	if diff := cmp.Diff([]odb.StatusEntry{{Path: "renamed", Index: 'R', Work: '.'}}, renamed); diff != "" {
		t.Errorf("renames (-want +got):\n%s", diff)
	}
}

func TestStatusOfEveryConflict(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	blob, err := repo.WriteBlob([]byte("x\n"))
	if err != nil {
		t.Fatal(err)
	}
	var info strings.Builder
	var want []odb.StatusEntry
	for _, tt := range []struct{ xy, stages string }{
		{"DD", "1"}, {"AU", "2"}, {"UA", "3"}, {"DU", "13"}, {"UD", "12"}, {"AA", "23"}, {"UU", "123"},
	} {
		name := "odd\n" + tt.xy
		for _, stage := range tt.stages {
			info.WriteString("100644 " + blob + " " + string(stage) + "\t" + name + "\x00")
		}
		gittest.WriteFile(t, filepath.Join(w.Path, name), "x\n")
		want = append(want, odb.StatusEntry{Path: name, Index: tt.xy[0], Work: tt.xy[1], Conflicted: true})
	}
	if _, err := w.RunGit(t.Context(), gitcmd.Call{Args: []string{"update-index", "-z", "--index-info"}, Stdin: info.String()}); err != nil {
		t.Fatal(err)
	}
	var got []odb.StatusEntry
	for e, err := range w.Status(t.Context(), UntrackedAll, RefreshNothing) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	byPath := func(a, b odb.StatusEntry) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(want, byPath)
	slices.SortFunc(got, byPath)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusRefresh(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	long := time.Now().Add(-time.Hour) // only its time is another
	if err := os.Chtimes(filepath.Join(w.Path, "README.md"), long, long); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(w.Admin, "index")
	before := readFile(t, index)
	for mode, changes := range map[Refresh]bool{RefreshNothing: false, RefreshIndex: true} {
		if err := os.WriteFile(index, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := drain(w.Status(t.Context(), UntrackedAll, mode)); err != nil {
			t.Fatal(err)
		}
		if (readFile(t, index) != before) != changes {
			t.Errorf("refresh %q: the index was written: %v", mode, !changes)
		}
	}
}

func TestParseStatusErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no NUL":            "? a",
		"empty line":        "? a\x00\x00",
		"unknown kind":      "x a\x00",
		"no path":           "? \x00",
		"no columns":        "1 .M\x00",
		"bad state":         "1 .MM N... 100644 100644 100644 a b p\x00",
		"bad submodule":     "1 .M N 100644 100644 100644 a b p\x00",
		"rename cut short":  "2 R. N... 100644 100644 100644 a b R100 new\x00",
		"a very long field": "? " + strings.Repeat("x", odb.MaxField) + "\x00",
	} {
		var last error
		for _, err := range odb.ParseStatus(strings.NewReader(text)) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWorktreesOfRealGit(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	r.Git("worktree", "add", "--quiet", "-b", "feature/x", r.Beside("on a branch"))
	r.Git("worktree", "add", "--quiet", "--detach", r.Beside("detached\nnewline"))
	r.Git("worktree", "add", "--quiet", "-b", "locked", r.Beside("locked"))
	r.Git("worktree", "lock", "--reason", "two\nlines \"quoted\"", r.Beside("locked"))
	r.Git("worktree", "add", "--quiet", "-b", "plainlock", r.Beside("plainlock"))
	r.Git("worktree", "lock", r.Beside("plainlock"))
	r.Git("worktree", "add", "--quiet", "-b", "gone", r.Beside("gone"))
	if err := os.RemoveAll(r.Beside("gone")); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, r).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Path != r.Dir || got[0].Branch != "main" {
		t.Errorf("the first is %+v, not the main checkout", got[0])
	}
	want := []WorktreeEntry{
		{Path: r.Dir, Head: head, Branch: "main"},
		{Path: r.Beside("on a branch"), Head: head, Branch: "feature/x"},
		{Path: r.Beside("locked"), Head: head, Branch: "locked", Locked: true, LockReason: "two\nlines \"quoted\""},
		{Path: r.Beside("plainlock"), Head: head, Branch: "plainlock", Locked: true},
		{Path: r.Beside("detached\nnewline"), Head: head},
		{Path: r.Beside("gone"), Head: head, Branch: "gone"},
	}
	byPath := func(a, b WorktreeEntry) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(want, byPath)
	slices.SortFunc(got, byPath)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWorktreesOfABareRepository(t *testing.T) {
	r := gittest.New(t)
	bare := r.Beside("bare.git")
	r.Git("clone", "--quiet", "--bare", r.Dir, bare)
	repo, err := Open(gitcmd.New(options(r)), bare)
	if err != nil {
		t.Fatal(err)
	}
	got, err := repo.List(t.Context())
	if diff := cmp.Diff([]WorktreeEntry{{Path: bare, Bare: true}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestParseConfigOfRealGit(t *testing.T) {
	r := gittest.New(t)
	gittest.WriteFile(t, filepath.Join(r.Home, ".gitconfig"), "[a]\n\tbare\n\tempty =\n[b \"Sub.Section \\\"x\\\"\"]\n\tKey = \"two\\nlines\\ttab\"\n")
	repo := open(t, r)
	if _, err := repo.EnsureHostDir(); err != nil {
		t.Fatal(err)
	}
	entries, err := repo.ConfigEntries(t.Context(), repo.CommonDir)
	if err != nil {
		t.Fatal(err)
	}
	entries = slices.DeleteFunc(entries, func(e gitconfig.Entry) bool { return !e.OfUser() })
	file := filepath.Join(r.Home, ".gitconfig")
	want := []gitconfig.Entry{
		{Scope: "global", File: file, Key: "a.bare", Value: "", Bare: true},
		{Scope: "global", File: file, Key: "a.empty", Value: "", Bare: false},
		{Scope: "global", File: file, Key: `b.Sub.Section "x".key`, Value: "two\nlines\ttab", Bare: false},
	}
	if diff := cmp.Diff(want, entries, cmp.AllowUnexported(gitconfig.Entry{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseConfigListErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no NUL":      "local\x00file:x\x00a.b\nc",
		"no value":    "local\x00file:x\x00",
		"scope alone": "local\x00",
		"no scope":    "\x00file:x\x00a.b\nc\x00",
		"no section":  "local\x00file:x\x00ab\nc\x00",
	} {
		if got, err := gitconfig.ParseList([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, err := gitconfig.ParseList(nil); err != nil || len(got) > 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

func TestReadBatch(t *testing.T) {
	oid := strings.Repeat("ab", 20)
	for _, tt := range []struct {
		name, text string
		contents   bool
		want       object.Object
		missing    bool
		fails      bool
	}{
		{"info", oid + " blob 5\n", false, object.Object{OID: oid, Type: "blob", Size: 5}, false, false},
		{"contents", oid + " blob 5\na\nb\x00c\n", true, object.Object{OID: oid, Type: "blob", Size: 5, Data: []byte("a\nb\x00c")}, false, false},
		{"empty", oid + " blob 0\n\n", true, object.Object{OID: oid, Type: "blob", Data: []byte{}}, false, false},
		{"sha256", strings.Repeat("ab", 32) + " commit 1\n", false, object.Object{OID: strings.Repeat("ab", 32), Type: "commit", Size: 1}, false, false},
		{"missing", "main:nothing missing\n", true, object.Object{}, true, false},
		{"ambiguous", "ab ambiguous\n", true, object.Object{}, true, false},
		{"a name like an answer", oid + " blob missing\n", true, object.Object{}, true, false},
		{"a name like a whole answer", oid + " blob 5 missing\n", true, object.Object{}, true, false},
		{"no newline", oid + " blob 5", false, object.Object{}, false, true},
		{"cut in the data", oid + " blob 5\nabc", true, object.Object{}, false, true},
		{"no newline after the data", oid + " blob 3\nabc", true, object.Object{}, false, true},
		{"more data", oid + " blob 3\nabcd\n", true, object.Object{}, false, true},
		{"negative", oid + " blob -5\n", true, object.Object{}, false, true},
		{"huge", oid + " blob 99999999999999999999\n", true, object.Object{}, false, true},
		{"other type", oid + " note 5\n", true, object.Object{}, false, true},
		{"other words", "fatal: what\n", true, object.Object{}, false, true},
		{"nothing", "", true, object.Object{}, false, true},
	} {
		got, err := readWhole(bufio.NewReader(strings.NewReader(tt.text)), tt.contents)
		if errors.Is(err, object.ErrMissing) != tt.missing || (err != nil) != (tt.missing || tt.fails) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// readWhole reads an answer into memory.
func readWhole(r *bufio.Reader, contents bool) (object.Object, error) {
	if !contents {
		return odb.ReadBatch(r, nil)
	}
	var data bytes.Buffer
	o, err := odb.ReadBatch(r, &data)
	if err == nil {
		o.Data = data.Bytes()
	}
	return o, err
}

// encodeStatus is what git prints for entries.
func encodeStatus(entries []odb.StatusEntry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		sub := "N..."
		if e.Submodule {
			sub = "SC.."
		}
		xy := string([]byte{e.Index, e.Work})
		switch {
		case e.Untracked():
			b.WriteString("? " + e.Path)
		case e.Conflicted:
			b.WriteString("u " + xy + " " + sub + " 1 2 3 4 h1 h2 h3 " + e.Path)
		default:
			b.WriteString("1 " + xy + " " + sub + " 1 2 3 h1 h2 " + e.Path)
		}
		b.WriteByte(0)
	}
	return b.Bytes()
}

// collect reads a sequence to its end or its error.
func collect[T any](seq func(func(T, error) bool)) (list []T, err error) {
	for v, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, v)
	}
	return list, nil
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("# branch.oid abc\x001 .M N... 100644 100644 100644 a b p a t h\x002 R. N... 1 2 3 a b R100 new\x00old\x00? x\x00! y\x00"))
	f.Add([]byte("u UU SC.. 1 2 3 4 a b c odd\nname\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := collect(odb.ParseStatus(bytes.NewReader(data)))
		if err == nil && len(data) > 0 && data[len(data)-1] != 0 {
			t.Errorf("no error for output that ends within a field")
		}
		for _, e := range entries {
			if e.Path == "" || strings.Contains(e.Path, "\x00") {
				t.Errorf("path %q", e.Path)
			}
		}
		again, err := collect(odb.ParseStatus(bytes.NewReader(encodeStatus(entries))))
		if diff := cmp.Diff(entries, again); err != nil || diff != "" {
			t.Errorf("%v, not the same when encoded and parsed again:\n%s", err, diff)
		}
	})
}

func FuzzReadBatch(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	f.Add([]byte(oid+" blob 5\na\nb\x00c\n"), true)
	f.Add([]byte(oid+" tree 0\n\n"), false)
	f.Add([]byte("x missing\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, contents bool) {
		in := bytes.NewReader(data)
		r := bufio.NewReaderSize(in, 16)
		o, err := readWhole(r, contents)
		switch {
		case errors.Is(err, object.ErrMissing):
			if !bytes.Contains(data, []byte("\n")) {
				t.Error("an answer without a newline was believed")
			}
		case err == nil:
			if !object.IsOID(o.OID) || o.Size < 0 || contents && int64(len(o.Data)) != o.Size {
				t.Errorf("object %+v", o)
			}
			rest, _ := io.ReadAll(r)
			header, _, _ := bytes.Cut(data, []byte("\n"))
			size := len(header) + 1
			if contents {
				size += len(o.Data) + 1
			}
			if len(data)-len(rest) != size {
				t.Errorf("read %d bytes of an answer of %d", len(data)-len(rest), size)
			}
		}
	})
}

func FuzzParseConfigList(f *testing.F) {
	f.Add([]byte("local\x00file:/x\x00a.b\nc\x00global\x00command line:\x00d.e.f\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := gitconfig.ParseList(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		for _, e := range entries {
			b.WriteString(e.Scope + "\x00file:" + e.File + "\x00" + e.Key)
			if !e.Bare {
				b.WriteString("\n" + e.Value)
			}
			b.WriteByte(0)
		}
		again, err := gitconfig.ParseList(b.Bytes())
		if diff := cmp.Diff(entries, again, cmp.AllowUnexported(gitconfig.Entry{})); err != nil || diff != "" {
			t.Errorf("%v, not the same when encoded and parsed again:\n%s", err, diff)
		}
	})
}
