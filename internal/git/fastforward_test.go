package git

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// next makes a commit on top of main without touching the checkout.
func next(r *gittest.Repo, files map[string]string, gone ...string) string {
	r.Git("worktree", "add", "--quiet", "--detach", r.Beside("next"), "main")
	dir := r.Beside("next")
	for _, p := range gone {
		_ = os.RemoveAll(filepath.Join(dir, p))
	}
	for p, content := range files {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755)
		_ = os.WriteFile(filepath.Join(dir, p), []byte(content), 0o644)
	}
	r.GitIn(dir, "add", "--all", "--force")
	r.GitIn(dir, "commit", "--quiet", "--allow-empty", "-m", "next")
	oid := r.GitIn(dir, "rev-parse", "HEAD")
	r.Git("worktree", "remove", "--force", dir)
	return oid
}

// advance moves main with its checkout, as a lane does.
func advance(t *testing.T, repo *Repository, old, now string) error {
	t.Helper()
	hosts := repo.Hosts("main")
	if len(hosts) != 1 {
		t.Fatalf("%d checkouts of main", len(hosts))
	}
	a, err := hosts[0].Prepare(t.Context(), old, now)
	if err != nil {
		return err
	}
	defer a.Cancel()
	return repo.UpdateRefsAfter(t.Context(), func() error { return a.Apply(t.Context()) }, refs.Update{Ref: "refs/heads/main", New: now, Old: old})
}

func TestAdvanceGoesAlong(t *testing.T) {
	r := gittest.New(t)
	r.Write("mine.txt", "mine\n")
	r.Write(".gitignore", "ignored\n")
	r.Git("add", "mine.txt")
	r.Write("ignored", "kept\n")
	r.Write("untracked", "kept\n")
	old := r.Git("rev-parse", "main")
	now := next(r, map[string]string{"src/main.txt": "changed\n", "dir/new": "new\n"}, "README.md")
	repo := open(t, r)
	if err := advance(t, repo, old, now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"?? .gitignore", "?? untracked", "A. mine.txt"}, plainStatus(t, r, r.Dir)); diff != "" {
		t.Error(diff)
	}
	if readFile(t, filepath.Join(r.Dir, "src/main.txt")) != "changed\n" || exists(filepath.Join(r.Dir, "README.md")) {
		t.Error("the files did not go along")
	}
	if exists(filepath.Join(repo.CommonDir, "index.lock")) {
		t.Error("the index is still locked")
	}
}

// TestAdvanceKeepsWhatIsOnlyStaged: what the user has staged is nowhere else if the file on disk is as it was.
func TestAdvanceKeepsWhatIsOnlyStaged(t *testing.T) {
	r := gittest.New(t)
	was := readFile(t, filepath.Join(r.Dir, "README.md"))
	r.Write("README.md", "mine\n")
	r.Git("add", "README.md")
	r.Write("README.md", was)
	staged := r.Git("ls-files", "--stage")
	now := next(r, map[string]string{"README.md": "changed\n"})
	err := advance(t, open(t, r), r.Git("rev-parse", "main"), now)
	if dirty, ok := errors.AsType[*HostDirtyError](err); !ok || !slices.Equal(dirty.Files, []string{"README.md"}) {
		t.Errorf("it went along: %v", err)
	}
	if got := r.Git("ls-files", "--stage"); got != staged {
		t.Errorf("staged is\n%s\nwas\n%s", got, staged)
	}
}

// Whatever state the user's checkout is in: either it follows the branch and none of the
// user's bytes changes, or nothing changes and the files in the way are named.
func TestAdvanceKeepsTheUsersBytes(t *testing.T) {
	n := uint64(100)
	if os.Getenv("CROFT_LONG") != "" {
		n = 1000
	}
	moved := 0
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if advanceRandom(t, rand.New(rand.NewPCG(seed, 7))) {
				moved++
			}
		})
	}
	t.Logf("%d of %d went along", moved, n)
	if moved == 0 || moved == int(n) {
		t.Error("the states are too much alike")
	}
}

var hostPaths = []string{"README.md", "a", "a/b", "src/main.txt", "src/x", "d/e/f", "d/e", "link", "ign/x", "crlf.txt"}

func advanceRandom(t *testing.T, rnd *rand.Rand) (moved bool) {
	r := gittest.New(t)
	r.Write(".gitignore", "ign/\n")
	r.Write(".gitattributes", "crlf.txt text eol=crlf\n")
	r.Write("crlf.txt", "x\r\ny\r\n")
	r.Write("src/x", "x\n")
	r.Write("d/e/f", "f\n")
	old := r.Commit("second")
	change := map[string]string{}
	var gone []string
	for range 1 + rnd.IntN(4) {
		p := hostPaths[rnd.IntN(len(hostPaths))]
		if rnd.IntN(4) == 0 {
			gone = append(gone, p)
			continue
		}
		clash := slices.ContainsFunc(hostPaths, func(q string) bool {
			_, ok := change[q]
			return ok && (isBelowNewFile(p, touchedBy(q)) || isBelowNewFile(q, touchedBy(p)))
		})
		if !clash {
			change[p] = fmt.Sprint("new ", rnd.IntN(3), "\n")
			for dir := gitdir.ParentDir(p); dir != ""; dir = gitdir.ParentDir(dir) {
				gone = append(gone, fileOnly(r, dir)...)
			}
			gone = append(gone, dirOnly(r, p)...)
		}
	}
	now := next(r, change, gone...)
	clean := userFiles(t, r)
	for range rnd.IntN(6) {
		mess(t, r, rnd)
	}
	repo := open(t, r)
	before, statusBefore := userFiles(t, r), plainStatus(t, r, r.Dir)
	index := readFile(t, filepath.Join(repo.CommonDir, "index"))
	changes, err := repo.Diff(t.Context(), old, now)
	if err != nil {
		t.Fatal(err)
	}
	err = advance(t, repo, old, now)
	if dirty, ok := errors.AsType[*HostDirtyError](err); ok {
		if len(dirty.Files) == 0 {
			t.Errorf("no file is named: %v", err)
		}
		if diff := cmp.Diff(before, userFiles(t, r)); diff != "" {
			t.Errorf("files changed: %s", diff)
		}
		if readFile(t, filepath.Join(repo.CommonDir, "index")) != index || r.Git("rev-parse", "main") != old {
			t.Error("index or branch changed")
		}
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if mine, ok := before[c.Path]; ok && mine != clean[c.Path] && mine != userFiles(t, r)[c.Path] {
			t.Errorf("%s was %q and is lost", c.Path, mine)
		}
	}
	verifyMoved(t, r, repo, changes, before, statusBefore)
	return true
}

// verifyMoved checks that the files which the move changes are as in the new commit, and
// all others as before.
func verifyMoved(t *testing.T, r *gittest.Repo, repo *Repository, changes []odb.Change, before map[string]string, status []string) {
	t.Helper()
	after := userFiles(t, r)
	for _, c := range changes {
		if c.Deletes() {
			if _, ok := after[c.Path]; ok {
				t.Errorf("%s is still there", c.Path)
			}
		}
		delete(before, c.Path)
		delete(after, c.Path)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("files that the move does not concern changed: %s", diff)
	}
	concerned := func(line string) bool {
		return slices.ContainsFunc(changes, func(c odb.Change) bool { return c.Path == line[3:] })
	}
	if diff := cmp.Diff(slices.DeleteFunc(status, concerned), plainStatus(t, r, r.Dir), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("status: %s", diff)
	}
	if exists(filepath.Join(repo.CommonDir, "index.lock")) {
		t.Error("the index is still locked")
	}
}

func touchedBy(path string) map[string]odb.Change {
	return map[string]odb.Change{path: {Path: path, NewMode: "100644"}}
}

// fileOnly and dirOnly name the files that have to be deleted so that a path can be a
// directory, or a file.
func fileOnly(r *gittest.Repo, path string) []string {
	if info, err := os.Lstat(filepath.Join(r.Dir, path)); err == nil && !info.IsDir() {
		return []string{path}
	}
	return nil
}

func dirOnly(r *gittest.Repo, path string) []string {
	if info, err := os.Lstat(filepath.Join(r.Dir, path)); err == nil && info.IsDir() {
		return []string{path}
	}
	return nil
}

// mess makes a change to the checkout that a user might make.
func mess(t *testing.T, r *gittest.Repo, rnd *rand.Rand) {
	p := hostPaths[rnd.IntN(len(hostPaths))]
	path := filepath.Join(r.Dir, p)
	switch rnd.IntN(7) {
	case 0:
		_ = os.RemoveAll(path)
	case 1: // the same size and another content, or new
		tryWrite(path, fmt.Sprint("new ", rnd.IntN(3), "\n"))
	case 2:
		tryWrite(path, "mine\n")
		_, _ = r.TryGit(r.Dir, "add", "--force", p)
	case 3:
		tryWrite(path, "staged\n")
		_, _ = r.TryGit(r.Dir, "add", "--force", p)
		tryWrite(path, "and changed again\n")
	case 4:
		_, _ = r.TryGit(r.Dir, "rm", "--quiet", "--cached", "-r", p)
	case 5:
		_ = os.Chmod(path, 0o755)
	case 6:
		_, _ = r.TryGit(r.Dir, "update-index", "--assume-unchanged", p)
		tryWrite(path, "hidden change\n")
	}
}

func tryWrite(path, content string) {
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	_ = os.WriteFile(path, []byte(content), 0o644)
}

// userFiles reads the main checkout.
func userFiles(t *testing.T, r *gittest.Repo) map[string]string {
	t.Helper()
	found := files(t, r.Dir)
	for path := range found {
		if strings.HasPrefix(path, ".git"+string(os.PathSeparator)) {
			delete(found, path)
		}
	}
	return found
}

// A git that was killed while it wrote files leaves the beginning of one, or has deleted
// it. The process that resumes completes the file; a file of the user's in its place stays.
func TestAdvanceResumes(t *testing.T) {
	for name, tt := range map[string]struct {
		path, left string
		goesOn     bool
	}{
		"begun":        {"dir/new", "ne", true},
		"empty":        {"dir/new", "", true},
		"taken away":   {"README.md", "-", true},
		"begun anew":   {"README.md", "cha", true},
		"not begun":    {"README.md", "# app\n", true},
		"whole":        {"dir/new", "new\n", true},
		"the user's":   {"dir/new", "mine\n", false},
		"also changed": {"README.md", "mine\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			old := r.Git("rev-parse", "main")
			now := next(r, map[string]string{"README.md": "changed\n", "dir/new": "new\n"})
			repo := open(t, r)
			path := filepath.Join(r.Dir, tt.path)
			if tt.left == "-" {
				_ = os.Remove(path)
			} else {
				gittest.WriteFile(t, path, tt.left)
			}
			abandoned(t, repo, repo.Main(), worktree.KeptAfter)
			a, err := repo.Hosts("main")[0].Resume(t.Context(), old, now)
			if err == nil {
				defer a.Cancel()
				err = repo.UpdateRefsAfter(t.Context(), func() error { return a.Apply(t.Context()) }, refs.Update{Ref: "refs/heads/main", New: now, Old: old})
			}
			if !tt.goesOn {
				if dirty := new(HostDirtyError); !errors.As(err, &dirty) || readFile(t, path) != tt.left {
					t.Errorf("%v; the file is %q", err, readFile(t, path))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := plainStatus(t, r, r.Dir); len(got) != 0 || readFile(t, filepath.Join(r.Dir, "dir/new")) != "new\n" {
				t.Errorf("the checkout shows %v", got)
			}
		})
	}
}
