package writers

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/proc"
)

// Lease is the lease of one git process, or of Croft itself while it writes refs or a common
// file or holds an index.
type Lease struct {
	Repo *Repository
	Lock *flock.Lock
}

// The first byte of a lease: the git process is running; or it has ended by itself without
// removing its lock files, which git does not report; or Croft itself holds an index, see
// [worktree.IndexHold].
const (
	idle      = ' '
	busy      = '!'
	abandoned = '?'
	Held      = '#'
	Kept      = '='
)

// states are the first bytes of leases whose lock files may exist.
const states = string(busy) + string(abandoned) + string(Held) + string(Kept)

// LeasesDir is the directory of leases.
func (r *Repository) LeasesDir() string { return filepath.Join(r.ScratchDir(), "writers") }

// Name is the name of the lease, which the lock files that Croft itself makes contain.
func (m *Lease) Name() string { return filepath.Base(m.Lock.File().Name()) }

// NewLease makes a lease that names no locks yet.
func (r *Repository) NewLease() (*Lease, error) {
	if err := os.MkdirAll(r.LeasesDir(), 0o700); err != nil {
		return nil, err
	}
	l, err := flock.New(filepath.Join(r.LeasesDir(), strings.ToLower(rand.Text()[:16])))
	if err != nil {
		return nil, err
	}
	return &Lease{r, l}, nil
}

// WriteBusy records that the process is about to take locks, named as by
// [Repository.LockName].
func (m *Lease) WriteBusy(locks []string) error { return m.Write(busy, locks) }

func (m *Lease) Write(state byte, locks []string) error {
	text := "\n" + strings.Join(locks, "\n") + "\n"
	if err := m.Lock.File().Truncate(0); err != nil {
		return err
	}
	if _, err := m.Lock.File().WriteAt([]byte(text), 1); err != nil {
		return err
	}
	_, err := m.Lock.File().WriteAt([]byte{state}, 0)
	return err
}

// WriteIdle records that the process has released its locks. If the write fails, the next
// sweep looks for them in vain.
func (m *Lease) WriteIdle() {
	m.leaseRemainingLocks()
	_, _ = m.Lock.File().WriteAt([]byte{idle}, 0)
}

// End removes the lease of a process that ended by itself. Such a process has usually removed
// its lock files; those that still exist get an abandoned lease.
func (m *Lease) End() {
	m.leaseRemainingLocks()
	_ = os.Remove(m.Lock.File().Name())
	_ = m.Lock.Unlock()
}

// leaseRemainingLocks makes another, abandoned lease for the lock files of this lease that
// still exist although its holder, a git process or Croft itself, should have removed
// them, so that Sweep looks at them. Usually another process has just taken those locks.
func (m *Lease) leaseRemainingLocks() {
	dead := readLease(m.Lock.File().Name())
	left := slices.DeleteFunc(dead.Locks, func(lock string) bool {
		_, _, ok := m.Repo.LockFile(lock, dead.Since)
		return !ok
	})
	if len(left) == 0 {
		return
	}
	other, err := m.Repo.NewLease()
	if err != nil {
		return
	}
	path := other.Lock.File().Name()
	if err := errors.Join(other.Write(abandoned, left), os.Chtimes(path, dead.Since, dead.Since)); err != nil {
		_ = os.Remove(path)
	}
	_ = other.Lock.Unlock()
}

// EndKilled is End for a process that was killed.
func (m *Lease) EndKilled(ctx context.Context) {
	_ = m.Lock.Unlock()
	_ = m.Repo.Sweep(context.WithoutCancel(ctx))
}

// LocksIn returns the lock files that a git process which writes in a git directory may
// create: of the index, of HEAD, and of the branch that is checked out.
func (r *Repository) LocksIn(gitDir string) []string {
	var locks []string
	for _, name := range []string{gitdir.IndexLock, gitdir.HeadLock, "ORIG_HEAD.lock"} {
		locks = append(locks, r.LockName(filepath.Join(gitDir, name)))
	}
	if b, err := gitdir.ReadRefFile(filepath.Join(gitDir, "HEAD")); err == nil {
		if _, ref := gitdir.ParseRefFile(b); gitdir.IsRefName(ref) {
			locks = append(locks, ref+".lock")
		}
	}
	return locks
}

// LockName returns the name of a lock file in a lease: its path in the common directory,
// or its full path, quoted, if it is elsewhere.
func (r *Repository) LockName(file string) string {
	rel, err := filepath.Rel(r.CommonDir, file)
	if err != nil || !filepath.IsLocal(rel) || strings.Contains(rel, "\n") {
		return strconv.Quote(file)
	}
	return filepath.ToSlash(rel)
}

// lockAt returns the path of a lock file that a lease names.
func (r *Repository) lockAt(name string) (file string, ok bool) {
	if strings.HasPrefix(name, `"`) {
		file, err := strconv.Unquote(name)
		return file, err == nil && filepath.IsAbs(file)
	}
	return filepath.Join(r.CommonDir, filepath.FromSlash(name)), filepath.IsLocal(filepath.FromSlash(name))
}

// Sweep removes the lock files that Croft and its git processes left when they were
// killed. A lock file that another process may hold stays until a later sweep.
func (r *Repository) Sweep(ctx context.Context) error {
	r.sweepTemp()
	deadline := time.Now().Add(LockTime)
	return r.EachDeadLease(ctx, func(dead Dead) bool {
		switch {
		case dead.IsKept:
			return !r.hasLocks(dead)
		case dead.isHold:
			return r.DeleteIndexLocks(dead)
		}
		return r.DeleteLocks(dead, deadline)
	})
}

// hasLocks reports whether one of the lock files that a lease names exists.
func (r *Repository) hasLocks(dead Dead) bool {
	return slices.ContainsFunc(dead.Locks, func(lock string) bool {
		_, _, ok := r.LockFile(lock, time.Time{})
		return ok
	})
}

// EachDeadLease calls f with every lease whose process has died, and removes the lease if f
// returns true.
func (r *Repository) EachDeadLease(ctx context.Context, f func(Dead) bool) error {
	entries, err := os.ReadDir(r.LeasesDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		l, err := flock.TryExisting(filepath.Join(r.LeasesDir(), e.Name()))
		if err == nil {
			_ = l.Unlock()
		}
		return err != nil // its process is alive, as usually all are
	})
	if len(entries) == 0 {
		return nil
	}
	// With two concurrent sweeps, the second could remove a lock file that another process
	// has just created in place of the one that the first removed.
	l, err := flock.Acquire(ctx, filepath.Join(r.Dir, "sweep"))
	if err != nil {
		return err
	}
	defer l.Unlock()
	for _, e := range entries {
		path := filepath.Join(r.LeasesDir(), e.Name())
		l, err := flock.TryExisting(path)
		if err != nil {
			continue // its owner is alive
		}
		if f(readLease(path)) {
			_ = os.Remove(path)
		}
		_ = l.Unlock()
	}
	return nil
}

// Dead has the locks that a dead process may have left.
type Dead struct {
	Locks  []string
	Since  time.Time
	lease  string        // the name of its lease, if it had one
	minAge time.Duration // of a lock file, to count as left
	isHold bool          // the locks are Croft's own, and name the lease
	IsKept bool          // the process that completes the interrupted operation takes them over
}

// readLease returns the locks that a lease names, unless it is idle.
func readLease(path string) Dead {
	b, err := os.ReadFile(path)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || len(b) == 0 || strings.IndexByte(states, b[0]) < 0 {
		return Dead{lease: filepath.Base(path)}
	}
	dead := Dead{Since: info.ModTime(), lease: filepath.Base(path), isHold: b[0] == Held || b[0] == Kept, IsKept: b[0] == Kept}
	for lock := range strings.SplitSeq(string(b[1:]), "\n") {
		if lock != "" {
			dead.Locks = append(dead.Locks, lock)
		}
	}
	if b[0] == abandoned {
		dead.minAge = LockTime
	}
	return dead
}

// LeftLocks lists the lock files that Sweep would remove or examine.
func (r *Repository) LeftLocks() []string {
	var left []string
	entries, _ := os.ReadDir(r.LeasesDir())
	for _, e := range entries {
		path := filepath.Join(r.LeasesDir(), e.Name())
		l, err := flock.TryExisting(path)
		if err != nil {
			continue
		}
		dead := readLease(path)
		_ = l.Unlock()
		for _, lock := range dead.Locks {
			if file, _, ok := r.LockFile(lock, dead.Since); ok {
				left = append(left, file)
			}
		}
	}
	return left
}

// DeleteLocks removes the lock files of a dead process, and reports whether none of them is
// left. It waits until the deadline for a lock that a git of the user may hold, and leaves
// alone one that another git of Croft's may hold.
func (r *Repository) DeleteLocks(dead Dead, deadline time.Time) bool {
	for {
		found := map[string]os.FileInfo{}
		marked := false
		for _, lock := range dead.Locks {
			file, info, ok := r.LockFile(lock, dead.Since)
			switch {
			case !ok:
			case r.isLeased(lock, info.ModTime(), dead.lease):
				marked = true
			default:
				found[file] = info
			}
		}
		if r.deleteUnheld(found, dead.minAge) {
			return !marked
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// deleteUnheld removes those lock files that no live git process of the user can hold, and
// reports whether these were all. Where processes cannot be listed, it goes by the age of
// a lock file.
func (r *Repository) deleteUnheld(found map[string]os.FileInfo, minAge time.Duration) bool {
	if len(found) == 0 {
		return true
	}
	gits, can := proc.Running("git")
	if !can {
		minAge = LockTime
	}
	open := proc.FindOpen(slices.Collect(maps.Keys(found)))
	for file, was := range found {
		made := was.ModTime()
		isHeld := func(p proc.Neighbour) bool { return r.mayHold(p, made) }
		if time.Since(made) < minAge || open[file] || slices.ContainsFunc(gits, isHeld) {
			continue
		}
		// Meanwhile the lock file may have been removed, and another created.
		if now, err := os.Lstat(file); err == nil && os.SameFile(was, now) && now.ModTime().Equal(made) {
			r.removeLock(file)
		}
		if _, err := os.Lstat(file); err != nil {
			delete(found, file)
		}
	}
	return len(found) == 0
}

// removeLock removes a lock file, unless there is a symbolic link in its path.
func (r *Repository) removeLock(file string) {
	dir, err := r.OpenDir(filepath.Dir(file))
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.Remove(filepath.Base(file))
}

// LockFile finds a lock file that was created since a time.
func (r *Repository) LockFile(lock string, since time.Time) (file string, info os.FileInfo, ok bool) {
	if file, ok = r.lockAt(lock); !ok {
		return "", nil, false
	}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.ModTime().Before(since) {
		return "", nil, false
	}
	return file, info, true
}

// isLeased reports whether a live git of Croft's other than the one with the lease not may
// hold a lock.
func (r *Repository) isLeased(lock string, made time.Time, not string) bool {
	entries, _ := os.ReadDir(r.LeasesDir())
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		path := filepath.Join(r.LeasesDir(), e.Name())
		other := readLease(path)
		if e.Name() == not || !slices.Contains(other.Locks, lock) || made.Before(other.Since) {
			return false
		}
		l, err := flock.TryExisting(path)
		if err == nil {
			_ = l.Unlock()
		}
		return errors.Is(err, flock.ErrHeld)
	})
}

// clockError is by how much two clocks may differ.
const clockError = 100 * time.Millisecond

// mayHold reports whether a process may hold a lock of the repository that was created at
// made. Croft's own processes have leases.
func (r *Repository) mayHold(p proc.Neighbour, made time.Time) bool {
	if p.Started.After(made.Add(clockError)) || slices.Contains(p.Env, "GIT_GRAFT_FILE="+NoGrafts) {
		return false
	}
	if slices.ContainsFunc(p.Args, func(arg string) bool { return strings.HasSuffix(arg, "daemon") }) {
		return false // it only waits for other processes
	}
	return p.Dir == "" || r.isInRepository(p.Dir)
}

// isInRepository reports whether a directory is in the repository or in one of its checkouts.
func (r *Repository) isInRepository(dir string) bool {
	place, err := gitdir.Discover(dir)
	return err == nil && place.CommonDir == r.CommonDir
}

// TempDir makes a temporary directory. Sweep removes it if the process dies before it has
// called remove.
func (r *Repository) TempDir() (dir string, remove func(), err error) { return r.TempDirAt(OnDisk) }

// Placement says where temporary files are.
type Placement string

// In memory there is less space; where that is not available, InMemory means on disk.
const (
	OnDisk   Placement = "disk"
	InMemory Placement = "memory"
)

// TempDirAt is TempDir on disk or in memory.
func (r *Repository) TempDirAt(where Placement) (dir string, remove func(), err error) {
	parent := filepath.Join(r.ScratchDir(), "tmp")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	dir = filepath.Join(parent, strings.ToLower(rand.Text()[:16]))
	lock := dir + ".lock"
	l, err := flock.New(lock)
	if err != nil {
		return "", nil, err
	}
	if where == InMemory {
		dir = inMemory(dir)
	}
	remove = func() {
		_ = os.RemoveAll(dir)
		_ = os.Remove(lock)
		_ = l.Unlock()
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// inMemory returns the path in memory for a temporary directory.
func inMemory(dir string) string { return filepath.Join(fsx.MemoryDir, "croft-"+filepath.Base(dir)) }

func (r *Repository) sweepTemp() {
	locks, _ := filepath.Glob(filepath.Join(r.ScratchDir(), "tmp", "*.lock"))
	for _, path := range locks {
		l, err := flock.TryExisting(path)
		if err != nil {
			continue
		}
		dir := strings.TrimSuffix(path, ".lock")
		_ = os.RemoveAll(dir)
		if fsx.MemoryDir != "" {
			_ = os.RemoveAll(inMemory(dir))
		}
		_ = os.Remove(path)
		_ = l.Unlock()
	}
}
