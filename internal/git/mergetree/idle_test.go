package mergetree

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/proc"
)

// resting merges two branches in memory, and returns the git process that did it, which is
// idle now.
func resting(t *testing.T, repo *Repository, a, b string) *proc.Process {
	t.Helper()
	at, err := repo.OpenMergeTree(writers.InMemory)
	if err != nil {
		t.Fatal(err)
	}
	m, err := at.Merge(t.Context(), a, b)
	if err != nil || !m.IsClean() {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := at.q.OwnObjects().Read(m.Tree); err != nil {
		t.Errorf("the tree is not among the attempts: %v", err)
	}
	p, dir := at.p, at.q.Dir
	at.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the quarantine: %v, %v", left, err)
	}
	return p
}

// needMemory skips the test on a machine without a file system in memory, where all merges
// are computed on disk.
func needMemory(t *testing.T) {
	t.Helper()
	if !fsx.HasMemoryDir() {
		t.Skipf("no file system in memory with room (%s)", runtime.GOOS)
	}
}

func TestMergeTreeIsAskedAgain(t *testing.T) {
	needMemory(t)
	r := gittest.New(t)
	repo := open(t, r)
	a := r.Branch("a", map[string]string{"a.txt": "a\n"})
	b := r.Branch("b", map[string]string{"b.txt": "b\n"})
	before := r.ObjectCount()
	first := resting(t, repo, a, b)
	if resting(t, repo, a, b) != first {
		t.Error("another git was started")
	}
	if got := r.ObjectCount(); got != before {
		t.Errorf("%d objects, there were %d", got, before)
	}

	for name, change := range map[string]func(){
		"died":    func() { repo.idle.a.p.Kill() },
		"config":  func() { r.Git("config", "merge.renames", "false") },
		"shallow": func() { r.Write(".git/shallow", r.Git("rev-parse", "main")+"\n") },
		"too old": func() { repo.idle.a.began.at = time.Now().Add(-2 * idleTime) },
		"repacked": func() {
			r.Git("repack", "-q", "-d")
			resting(t, repo, a, b)
			r.Branch("c", map[string]string{"c.txt": "c\n"})
			r.Git("repack", "-q", "-a", "-d")
		},
	} {
		last := resting(t, repo, a, b)
		change()
		if resting(t, repo, a, b) == last {
			t.Errorf("%s: the same git was asked", name)
		}
		if name == "shallow" {
			if err := os.Remove(filepath.Join(repo.CommonDir, "shallow")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWarmIsUsed(t *testing.T) {
	needMemory(t)
	r := gittest.New(t)
	repo := open(t, r)
	a := r.Branch("a", map[string]string{"a.txt": "a\n"})
	repo.PrestartMerge(t.Context())
	at, err := repo.OpenMergeTree(writers.InMemory)
	if err != nil {
		t.Fatal(err)
	}
	if at.p == nil {
		t.Fatal("nothing was started ahead")
	}
	ahead := at.p
	if m, err := at.Merge(t.Context(), a, r.Git("rev-parse", "main")); err != nil || !m.IsClean() {
		t.Errorf("%+v, %v", m, err)
	}
	if at.p != ahead {
		t.Error("another git was asked")
	}
	at.Close()
	dir := at.q.Dir
	if err := repo.Close(); err != nil {
		t.Fatal(err)
	}
	if exists(dir) || ahead.Wait() == nil {
		t.Error("the attempts are still there")
	}
	repo.PrestartMerge(t.Context())
	if repo.idle.takeReady() != nil {
		t.Error("something was started in a repository that is closed")
	}
}

// TestSweepFindsMemory: the owner of a directory in memory dies.
func TestSweepFindsMemory(t *testing.T) {
	needMemory(t)
	repo := open(t, gittest.New(t))
	dir, remove, err := repo.TempDirAt(writers.InMemory)
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if !strings.HasPrefix(dir, fsx.MemoryDir) {
		t.Errorf("%s is not in memory", dir)
	}
	gittest.WriteFile(t, filepath.Join(dir, "file"), "")
	if err := repo.Sweep(t.Context()); err != nil || !exists(dir) {
		t.Fatalf("it was swept away: %v", err)
	}
	locks, err := filepath.Glob(filepath.Join(repo.Dir, "tmp", "*.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	if err := os.Remove(locks[0]); err != nil { // the kernel releases the lock when its owner dies
		t.Fatal(err)
	}
	gittest.WriteFile(t, locks[0], "")
	if err := repo.Sweep(t.Context()); err != nil || exists(dir) {
		t.Errorf("it is still there: %v", err)
	}
}
