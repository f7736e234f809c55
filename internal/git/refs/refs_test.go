package refs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestRefReader(t *testing.T) {
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	r.Git("branch", "packed/deep")
	r.Git("tag", "-a", "-m", "x", "annotated")
	r.Git("pack-refs", "--all")
	r.Write("two", "")
	two := r.Commit("two")
	r.Git("branch", "loose/x")
	r.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/packed/deep")
	r.Git("symbolic-ref", "refs/heads/loop", "refs/heads/loop2")
	r.Git("symbolic-ref", "refs/heads/loop2", "refs/heads/loop")
	repo := open(t, r)
	secret := filepath.Join(r.Home, "secret")
	gittest.WriteFile(t, secret, one+"\n")
	s := repo.RefSnapshot()
	for ref, want := range map[string]string{
		"refs/heads/main": two, "refs/heads/packed/deep": one, "refs/heads/loose/x": two,
		"refs/remotes/origin/HEAD": one, "refs/tags/annotated": r.Git("rev-parse", "annotated"),
	} {
		if got, err := s.Ref(ref); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", ref, got, err, want)
		}
		if got, err := repo.ReadRef(t.Context(), ref); err != nil || got != want {
			t.Errorf("ReadRef(%s): %s, %v, want %s", ref, got, err, want)
		}
	}
	for _, ref := range []string{
		"refs/heads/none", "refs/heads/packed", "refs/heads/loose", "refs/heads/main/x", "refs/heads/loop", "refs/heads/", "refs/heads",
		"", "refs/../../../../" + secret, "../x", "/" + secret,
	} {
		if got, err := s.Ref(ref); !errors.Is(err, ErrNoRef) {
			t.Errorf("%q: %s, %v, want ErrNoRef", ref, got, err)
		}
	}

	// A ref that was packed after the reader listed the loose ones is still found.
	s = repo.RefSnapshot()
	if _, err := s.Ref("refs/heads/none"); err == nil {
		t.Fatal("a ref that is not there was found")
	}
	r.Git("pack-refs", "--all")
	if got, err := s.Ref("refs/heads/loose/x"); err != nil || got != two {
		t.Errorf("packed meanwhile: %s, %v", got, err)
	}
}

// TestBrokenRefIsNotFree: a ref that cannot be read is not treated as one that does not
// exist.
func TestBrokenRefIsNotFree(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	r.Git("branch", "packed")
	r.Git("pack-refs", "--all")
	for name, text := range map[string]string{"empty": "", "short": "abc\n", "packed": strings.Repeat("x", 40)} {
		gittest.WriteFile(t, filepath.Join(r.Dir, ".git/refs/heads", name), text)
		if got, err := repo.ReadRef(t.Context(), "refs/heads/"+name); err == nil || errors.Is(err, ErrNoRef) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(r.Dir, ".git/refs/heads/zero")); err != nil {
		t.Fatal(err)
	}
	if got, err := repo.ReadRef(t.Context(), "refs/heads/zero"); err == nil {
		t.Errorf("a link to /dev/zero: %q", got)
	}
}

// TestSymbolicLinkAsRef: very old repositories have symbolic links as refs; today such a
// link is an attempt to have Croft read another file.
func TestSymbolicLinkAsRef(t *testing.T) {
	r := gittest.New(t)
	if err := os.Symlink("main", filepath.Join(r.Dir, ".git/refs/heads/linked")); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, r).ReadRef(t.Context(), "refs/heads/linked"); err == nil || errors.Is(err, ErrNoRef) {
		t.Errorf("%s, %v, want an error", got, err)
	}
}

func TestHead(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	path, admin := addWorktree(r, "feature")
	read := func(name, gitDir, branch, oid string) {
		t.Helper()
		if b, o, err := repo.RefSnapshot().Head(gitDir); err != nil || b != branch || o != oid {
			t.Errorf("%s: %q, %q, %v, want %q, %q", name, b, o, err, branch, oid)
		}
		if b, o, err := repo.HeadByGit(t.Context(), gitDir); err != nil || b != branch || o != oid {
			t.Errorf("%s, by git: %q, %q, %v, want %q, %q", name, b, o, err, branch, oid)
		}
	}
	read("main", repo.CommonDir, "main", head)
	read("a branch", admin, "feature", head)
	r.GitIn(path, "checkout", "--quiet", "--detach")
	read("detached", admin, "", head)
	r.GitIn(path, "checkout", "--quiet", "--orphan", "unborn/x")
	read("a branch without a commit", admin, "unborn/x", "")
	gittest.WriteFile(t, filepath.Join(admin, "HEAD"), "ref:\trefs/heads/feature")
	read("an unusual form", admin, "feature", head)
	gittest.WriteFile(t, filepath.Join(admin, "HEAD"), "")
	if b, o, err := repo.RefSnapshot().Head(admin); err == nil {
		t.Errorf("an empty HEAD: %q, %q", b, o)
	}
}

func TestCheckedOut(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	path, admin := addWorktree(r, "wt")
	check := func(step, branch, except string, want ...string) {
		t.Helper()
		if got := repo.CheckedOut(branch, except); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	check("main", "main", "", repo.CommonDir)
	check("but for the one", "main", repo.CommonDir)
	check("a worktree", "wt", "", admin)
	check("none", "other", "")
	check("a part of a name", "w", "")

	gittest.WriteFile(t, filepath.Join(path, "README.md"), "wt\n")
	r.GitIn(path, "commit", "--quiet", "--all", "-m", "wt")
	r.Write("README.md", "main\n")
	r.Commit("main")
	if _, err := r.TryGit(path, "rebase", "main"); err == nil {
		t.Fatal("the rebase did not stop")
	}
	if _, err := r.TryGit(r.Dir, "branch", "--force", "wt", "main"); err == nil {
		t.Fatal("git lets go of a branch that is being rebased")
	}
	check("being rebased", "wt", "", admin)
	r.GitIn(path, "rebase", "--abort")
	check("after the rebase", "wt", "", admin)
	r.GitIn(path, "bisect", "start", "HEAD", "HEAD~1")
	r.GitIn(path, "checkout", "--quiet", "--detach")
	check("being bisected", "wt", "", admin)

	worktrees := filepath.Dir(admin)
	if err := os.Rename(worktrees, worktrees+".aside"); err != nil {
		t.Fatal(err)
	}
	check("no worktrees", "wt", "")
	gittest.WriteFile(t, worktrees, "not a directory")
	check("worktrees that cannot be listed", "wt", "", worktrees)

	if err := os.Remove(worktrees); err != nil {
		t.Fatal(err)
	}
	if err := mkfifo(worktrees, 0o600); errors.Is(err, errors.ErrUnsupported) {
		return // no such thing there
	} else if err != nil {
		t.Fatal(err)
	}
	found := make(chan []string, 1)
	go func() { found <- repo.CheckedOut("wt", "") }()
	select {
	case got := <-found:
		if want := []string{worktrees}; !slices.Equal(got, want) {
			t.Errorf("a pipe in place of the worktrees: %q, want %q", got, want)
		}
	case <-time.After(5 * time.Second):
		t.Error("a pipe in place of the worktrees is waited for")
	}
}

// TestCheckedOutAgain: however HEAD changes, the next look sees it: replaced, written in place with the same length and mtime,
// gone and back.
func TestCheckedOutAgain(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	_, admin := addWorktree(r, "one")
	if _, other := addWorktree(r, "another"); other == admin {
		t.Fatal("one admin directory for two worktrees")
	}
	file, refOf := filepath.Join(admin, "HEAD"), func(branch string) string { return "ref: refs/heads/" + branch + "\n" }
	before := time.Now().Add(-time.Hour)
	setTime := func() {
		if err := os.Chtimes(file, before, before); err != nil {
			t.Fatal(err)
		}
	}
	on := "one"
	check := func(step string) {
		t.Helper()
		for _, branch := range []string{"one", "two", "six"} {
			var want []string
			if branch == on {
				want = []string{admin}
			}
			if got := repo.CheckedOut(branch, ""); !slices.Equal(got, want) {
				t.Errorf("%s: %s is in %q, want %q", step, branch, got, want)
			}
		}
	}
	settle := func() { // what is younger is read every time
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !repo.heads.in(filepath.Dir(admin))["one"].isKnown; {
			if time.Now().After(end) {
				t.Fatal("HEAD is not remembered")
			}
			repo.CheckedOut("other", "")
		}
	}
	list, err := fsx.List(filepath.Dir(admin))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	if !keepsTimes(list) {
		settle = func() {}
	}
	setTime()
	settle()
	check("remembered")
	for _, branch := range []string{"two", "six"} {
		gittest.WriteFile(t, file, refOf(branch))
		setTime()
		on = branch
		check("written in place")
		settle()
		check("and remembered")
	}
	gittest.WriteFile(t, file+".new", refOf("one"))
	if err := os.Chtimes(file+".new", before, before); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	on = "one"
	check("replaced")
	settle()
	if err := os.Rename(admin, admin+".aside"); err != nil {
		t.Fatal(err)
	}
	admin, on = admin+".aside", "one"
	check("renamed")
	if err := os.Remove(filepath.Join(admin, "HEAD")); err != nil {
		t.Fatal(err)
	}
	on = "none"
	check("gone")
}

func TestBlocking(t *testing.T) {
	r := gittest.New(t)
	r.Git("branch", "a/b")
	r.Git("branch", "packed/x")
	r.Git("pack-refs", "--all")
	repo := open(t, r)
	for branch, want := range map[string]string{
		"a": "a/b", "a/b/c": "a/b", "a/b/c/d": "a/b", "a/c": "", "packed": "packed/x", "packed/x/y": "packed/x", "new": "", "main/x": "main", "/": "", "//x": "",
	} {
		if got, err := repo.ConflictingBranch(t.Context(), branch); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", branch, got, err, want)
		}
	}
}

func TestDropRemains(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	in := func(name string) string { return filepath.Join(r.Dir, ".git", name) }
	remains := []string{"refs/heads/main.lock", "refs/heads/new.lock", "logs/refs/heads/new"}
	others := []string{"refs/heads/other.lock", "refs/heads/old.lock", "logs/refs/heads/other", "logs/refs/heads/main"}
	for _, name := range append(remains, others...) {
		gittest.WriteFile(t, in(name), "")
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(in("refs/heads/old.lock"), long, long); err != nil {
		t.Fatal(err)
	}
	repo.SweepRefLocks(time.Now().Add(-time.Minute), "refs/heads/main", "refs/heads/new", "refs/heads/old", "refs/heads/none")
	for _, name := range remains {
		if exists(in(name)) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range others {
		if !exists(in(name)) {
			t.Errorf("%s is gone: it was somebody else's", name)
		}
	}
}

// TestDeletedRefHasNoLog: a directory lies in the place of a reflog.
func TestDeletedRefHasNoLog(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	r.Git("branch", "gone")
	r.Git("branch", "stays")
	repo := open(t, r)
	in := func(name string) string { return filepath.Join(r.Dir, ".git", name) }
	if err := errors.Join(os.Remove(in("logs/refs/heads/gone")), os.Mkdir(in("logs/refs/heads/gone"), 0o755)); err != nil {
		t.Fatal(err)
	}
	err := repo.UpdateRefs(t.Context(), Update{Ref: "refs/heads/gone", Old: head}, Update{Ref: "refs/heads/stays", New: head, Old: head})
	if err != nil {
		t.Fatal(err)
	}
	if exists(in("logs/refs/heads/gone")) {
		t.Error("the log of the deleted ref is still there")
	}
	if !exists(in("logs/refs/heads/stays")) {
		t.Error("the log of a ref is gone")
	}
	for _, left := range []string{"refs/heads/gone.lock", "refs/heads/stays.lock"} {
		if exists(in(left)) {
			t.Errorf("%s is left", left)
		}
	}
}

func TestLockedRef(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git/refs/croft/x.lock"), "")
	repo.writer.wait = time.Millisecond
	if err := repo.UpdateRefs(t.Context(), Update{Ref: "refs/croft/x", New: head}); !errors.Is(err, gitcmd.KindLocked) {
		t.Errorf("%v, want KindLocked", err)
	}
	// The hardened configuration waits long for a lock; this test does not.
	_, err := repo.Git.Run(t.Context(), gitcmd.Target{Repo: repo.Core()}, gitcmd.Call{
		Args: []string{"-c", "core.filesRefLockTimeout=0", "update-ref", "refs/croft/x", head}, Env: []string{"GIT_CONFIG_COUNT=0"},
	})
	if !errors.Is(err, gitcmd.KindLocked) {
		t.Errorf("%v, want KindLocked", err)
	}
	if e, ok := errors.AsType[*gitcmd.Error](err); !ok || !strings.HasPrefix(e.Error(), "git update-ref: ") {
		t.Errorf("the message is %q", err)
	}
}

func TestRemotes(t *testing.T) {
	r := gittest.New(t)
	origin := gittest.New(t)
	origin.Write("more", "")
	tip := origin.Commit("more")
	relative, err := filepath.Rel(r.Dir, origin.Dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Git("remote", "add", "origin", relative)
	repo := open(t, r)
	for name, want := range map[string]bool{"origin": true, "orig": false, "": false, "none": false} {
		if got, err := repo.HasRemote(name); err != nil || got != want {
			t.Errorf("HasRemote(%q) = %v, %v", name, got, err)
		}
	}
	if err := repo.Fetch(t.Context(), "origin"); err != nil {
		t.Fatalf("a remote whose address is relative: %v", err)
	}
	if got, err := repo.ReadRef(t.Context(), "refs/remotes/origin/main"); err != nil || got != tip {
		t.Errorf("after the fetch: %s, %v, want %s", got, err, tip)
	}
	if exists(filepath.Join(r.Dir, ".git", "FETCH_HEAD")) {
		t.Error("the fetch wrote the main checkout's FETCH_HEAD")
	}
	if up, err := repo.Upstream(t.Context(), "main"); err != nil || up != "" {
		t.Errorf("Upstream = %q, %v, want none", up, err)
	}
	r.Git("branch", "--quiet", "--set-upstream-to=origin/main")
	if up, err := repo.Upstream(t.Context(), "main"); err != nil || up != "refs/remotes/origin/main" {
		t.Errorf("Upstream = %q, %v", up, err)
	}
	if err := repo.Fetch(t.Context(), "none"); err == nil {
		t.Error("a fetch from a remote that is not there succeeded")
	}
	if err := repo.Fetch(t.Context(), "--upload-pack=touch "+r.Home+"/canary"); err == nil || exists(filepath.Join(r.Home, "canary")) {
		t.Errorf("an option as the name of a remote: %v", err)
	}
	for ref, want := range map[string]string{"HEAD": "refs/heads/main", "refs/heads/main": "", "refs/none": ""} {
		if got, err := repo.SymbolicRef(t.Context(), ref); err != nil || got != want {
			t.Errorf("SymbolicRef(%s) = %q, %v, want %q", ref, got, err, want)
		}
	}
}

func TestAncestry(t *testing.T) {
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	r.Write("two", "")
	two := r.Commit("two")
	r.Git("checkout", "--quiet", "-b", "side", one)
	r.Write("three", "")
	three := r.Commit("three")
	repo := open(t, r)
	type pair struct{ A, B string }
	got, want := map[pair][3]int{}, map[pair][3]int{
		{one, two}: {1, 0, 1}, {two, one}: {0, 1, 0}, {two, three}: {0, 1, 1}, {one, one}: {1, 0, 0},
	}
	for p := range want {
		yes, err := repo.IsAncestor(t.Context(), p.A, p.B)
		ahead, behind, err2 := repo.AheadBehind(t.Context(), p.A, p.B)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		is := 0
		if yes {
			is = 1
		}
		got[p] = [3]int{is, ahead, behind}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none := strings.Repeat("1", 40)
	if yes, err := repo.IsAncestor(t.Context(), none, two); err != nil || yes {
		t.Errorf("a commit that is gone: %v, %v", yes, err)
	}
	if yes, err := repo.IsAncestor(t.Context(), two, none); err == nil || yes {
		t.Errorf("a commit that is not there has it: %v, %v", yes, err)
	}
	if _, _, err := repo.AheadBehind(t.Context(), "--all", two); err == nil {
		t.Error("an option was taken for a commit")
	}
}
