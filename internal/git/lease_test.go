package git

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/proc"
)

// dead makes the lease of a git process that was killed while it held locks.
func dead(t *testing.T, repo *Repository, locks ...string) *writers.Lease {
	t.Helper()
	m, err := repo.NewLease()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteBusy(locks); err != nil {
		t.Fatal(err)
	}
	for _, lock := range locks {
		gittest.WriteFile(t, filepath.Join(repo.CommonDir, lock), "")
	}
	if err := m.Lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	return m
}

// Tests that check what a sweep leaves do not run in parallel: a child that another test is
// just starting has inherited all open files of this process, and with them the locks of
// leases, until it calls exec.

func sweep(t *testing.T, repo *Repository) {
	t.Helper()
	if err := repo.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func leases(t *testing.T, repo *Repository) int {
	t.Helper()
	entries, err := os.ReadDir(repo.LeasesDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) { // there was no lease yet
		t.Fatal(err)
	}
	return len(entries)
}

// TestSweep: a sweep deletes the lock files that a killed git of Croft's took, and nothing
// else.
func TestSweep(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	other := filepath.Join(repo.CommonDir, "refs", "heads", "other.lock")
	gittest.WriteFile(t, other, "")
	old := filepath.Join(repo.CommonDir, "packed-refs.lock")
	gittest.WriteFile(t, old, "")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	head := r.Git("rev-parse", "HEAD")
	left := []string{"refs/heads/new.lock", "packed-refs.new", "config.lock"}
	dead(t, repo, left...)
	m, err := repo.NewLease()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteBusy([]string{"packed-refs.lock"}); err != nil {
		t.Fatal(err)
	}
	_ = m.Lock.Unlock()
	if got := repo.LeftLocks(); len(got) != len(left) {
		t.Errorf("left: %q, want those of %q", got, left)
	}
	sweep(t, repo)
	for _, lock := range left {
		if exists(filepath.Join(repo.CommonDir, lock)) {
			t.Errorf("%s is still there", lock)
		}
	}
	if !exists(other) || !exists(old) {
		t.Error("a lock went that no git of Croft's can have taken")
	}
	if n := leases(t, repo); n != 0 {
		t.Errorf("%d leases are left", n)
	}
	if err := repo.UpdateRefs(t.Context(), refs.Update{Ref: "refs/heads/new", New: head}); err != nil {
		t.Error(err)
	}
}

// TestSweepKeepsLocksOfLiveGit: a lock file that another, live git of Croft's may hold
// stays until that git has ended.
func TestSweepKeepsLocksOfLiveGit(t *testing.T) {
	repo := open(t, gittest.New(t))
	alive, err := repo.NewLease()
	if err != nil {
		t.Fatal(err)
	}
	if err := alive.WriteBusy([]string{"packed-refs.lock"}); err != nil {
		t.Fatal(err)
	}
	dead(t, repo, "packed-refs.lock")
	file := filepath.Join(repo.CommonDir, "packed-refs.lock")
	sweep(t, repo)
	if !exists(file) {
		t.Fatal("a lock went that another git may hold")
	}
	if n := leases(t, repo); n != 2 {
		t.Errorf("%d leases, want both", n)
	}
	_ = alive.Lock.Unlock()
	sweep(t, repo)
	if exists(file) || leases(t, repo) != 0 {
		t.Error("after that git has ended, its lock or the leases are still there")
	}
}

// TestSweepKeepsLocksOfUsersGit: so does a lock file that a git of the user's may hold.
func TestSweepKeepsLocksOfUsersGit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other processes cannot be seen on this platform")
	}
	r := gittest.New(t)
	repo := open(t, r)
	for name, dir := range map[string]string{"InTheRepository": r.Dir, "Elsewhere": t.TempDir()} {
		users, err := proc.Start(t.Context(), proc.Command{Path: "git", Args: []string{"hash-object", "--stdin"}, Env: r.Env, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); ; {
			list, _ := proc.Running("git")
			if seen(list, dir) || time.Now().After(deadline) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		dead(t, repo, "packed-refs.lock")
		file := filepath.Join(repo.CommonDir, "packed-refs.lock")
		sweep(t, repo)
		if kept := exists(file); kept != (dir == r.Dir) {
			t.Errorf("%s: the lock is there: %v", name, kept)
		}
		_ = users.Stdin.Close()
		users.Kill()
		_ = users.Wait()
		sweep(t, repo)
		if exists(file) || leases(t, repo) != 0 {
			t.Errorf("%s: after the user's git has ended, the lock or the mark are still there", name)
		}
	}
}

func seen(list []proc.Neighbour, dir string) bool {
	for _, p := range list {
		if p.Dir == dir {
			return true
		}
	}
	return false
}

// TestTempDirIsSwept: a sweep deletes a dead process's temporary directory, and keeps that
// of a live one.
func TestTempDirIsSwept(t *testing.T) {
	t.Parallel()
	repo := open(t, gittest.New(t))
	mine, remove, err := repo.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	abandoned := mine + "x"
	gittest.WriteFile(t, filepath.Join(abandoned, "index"), "")
	gittest.WriteFile(t, abandoned+".lock", "")
	sweep(t, repo)
	if exists(abandoned) || !exists(mine) {
		t.Errorf("of the dead: %v, of the living: %v", exists(abandoned), exists(mine))
	}
	remove()
	if left, _ := os.ReadDir(filepath.Dir(mine)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLeftLock: a sweep also deletes a lock that git could not delete itself, once it is
// too old to have just been taken by another process.
func TestLeftLock(t *testing.T) {
	repo := open(t, gittest.New(t))
	m, err := repo.NewLease()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteBusy([]string{"packed-refs.lock", "refs/heads/new.lock"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(repo.CommonDir, "packed-refs.lock")
	gittest.WriteFile(t, file, "")
	m.End()
	if n := leases(t, repo); n != 1 {
		t.Fatalf("%d leases, want one for the lock that is left", n)
	}
	sweep(t, repo)
	if exists(file) {
		t.Error("the lock is still there")
	}
	if n := leases(t, repo); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// TestLeaseEndsWithItsGit: a lease is deleted when its git ends, or when the Repository is
// closed where Croft itself takes the locks.
func TestLeaseEndsWithItsGit(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	head := r.Git("rev-parse", "HEAD")
	if err := repo.UpdateRefs(t.Context(), refs.Update{Ref: "refs/heads/new", New: head}); err != nil {
		t.Fatal(err)
	}
	if n := leases(t, repo); n != 1 {
		t.Errorf("%d leases while there may be more, want 1", n)
	}
	addWorktree(t, r, repo, "wt")
	if n := leases(t, repo); n != 1 {
		t.Errorf("%d leases after a git has ended, want that of the other", n)
	}
	if err := repo.Close(); err != nil || leases(t, repo) != 0 {
		t.Errorf("after closing: %v, %d leases", err, leases(t, repo))
	}
	// After a git was killed, the next one works.
	if err := repo.UpdateByGit(t.Context(), nil, []refs.Update{{Ref: "refs/heads/other"}}); err != nil {
		t.Fatal(err)
	}
	repo.RefProcess().Kill()
	if err := repo.UpdateByGit(t.Context(), nil, []refs.Update{{Ref: "refs/heads/new", Old: head}}); err == nil {
		t.Error("a killed git is no failure")
	}
	if n := leases(t, repo); n != 0 {
		t.Errorf("%d leases after it was killed", n)
	}
	if err := repo.UpdateRefs(t.Context(), refs.Update{Ref: "refs/heads/new", Old: head}); err != nil {
		t.Error(err)
	}
}
