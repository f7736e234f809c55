package git

import (
	"errors"
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
	long := time.Now().Add(-time.Hour) // only its time differs
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
	entries = slices.DeleteFunc(entries, func(e gitconfig.Entry) bool { return !e.IsOfUser() })
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
