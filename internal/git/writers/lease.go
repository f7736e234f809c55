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

// Lease belongs to one git process.
type Lease struct {
	Repo *Repository
	Lock *flock.Lock
}

// The first byte of a lease says whether its git is at work, or ended by itself
// and could not remove its locks, of which git says nothing; or that it is Croft
// itself that holds an index, see indexHold.
const (
	idle      = ' '
	busy      = '!'
	abandoned = '?'
	Held      = '#'
	Kept      = '='
)

// states are those in which a lease's locks may be there.
const states = string(busy) + string(abandoned) + string(Held) + string(Kept)

// LeasesDir is the directory of leases.
func (r *Repository) LeasesDir() string { return filepath.Join(r.Dir, "writers") }

// Name is the name of the lease, which the lock files that Croft itself makes
// contain.
func (m *Lease) Name() string { return filepath.Base(m.Lock.File().Name()) }

// NewLease makes a lease that says nothing yet.
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

// WriteBusy says that the git is about to take locks, which are named as
// [Repository.lockName] does.
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

// WriteIdle says that it has let go of its locks. If that cannot be written,
// somebody will look for them in vain.
func (m *Lease) WriteIdle() {
	m.leaveForLocks()
	_, _ = m.Lock.File().WriteAt([]byte{idle}, 0)
}

// End removes the lease of a git that has ended by itself, so that it removed
// its locks.
func (m *Lease) End() {
	m.leaveForLocks()
	_ = os.Remove(m.Lock.File().Name())
	_ = m.Lock.Unlock()
}

// leaveForLocks makes a lease for locks that are still there, although their git is not
// at work any more. Most often somebody else has just taken them.
func (m *Lease) leaveForLocks() {
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

// EndKilled is end for a git that was killed.
func (m *Lease) EndKilled(ctx context.Context) {
	_ = m.Lock.Unlock()
	_ = m.Repo.Sweep(context.WithoutCancel(ctx))
}

// LocksIn are the locks that a git may take that writes in a git directory: of
// the index, of HEAD, and of the branch that is checked out.
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

// LockName is what a lease calls a lock: its path in the common directory, or,
// quoted, all of its path if it lies elsewhere.
func (r *Repository) LockName(file string) string {
	rel, err := filepath.Rel(r.CommonDir, file)
	if err != nil || !filepath.IsLocal(rel) || strings.Contains(rel, "\n") {
		return strconv.Quote(file)
	}
	return filepath.ToSlash(rel)
}

// lockAt is the path of a lock that a lease names.
func (r *Repository) lockAt(name string) (file string, ok bool) {
	if strings.HasPrefix(name, `"`) {
		file, err := strconv.Unquote(name)
		return file, err == nil && filepath.IsAbs(file)
	}
	return filepath.Join(r.CommonDir, filepath.FromSlash(name)), filepath.IsLocal(filepath.FromSlash(name))
}

// Sweep removes the locks that Croft and gits of Croft's left when they were
// killed. What may be somebody else's stays, and is looked at again next time.
func (r *Repository) Sweep(ctx context.Context) error {
	r.sweepTemp()
	deadline := time.Now().Add(LockTime)
	return r.EachDead(ctx, func(dead Dead) bool {
		switch {
		case dead.IsKept:
			return !r.isLeft(dead)
		case dead.isHold:
			return r.DropHolds(dead)
		}
		return r.DropLocks(dead, deadline)
	})
}

// isLeft reports whether one of the locks that a lease names is there.
func (r *Repository) isLeft(dead Dead) bool {
	return slices.ContainsFunc(dead.Locks, func(lock string) bool {
		_, _, ok := r.LockFile(lock, time.Time{})
		return ok
	})
}

// EachDead calls f with every lease whose process has died, and removes the lease if f
// returns true.
func (r *Repository) EachDead(ctx context.Context, f func(Dead) bool) error {
	entries, err := os.ReadDir(r.LeasesDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		l, err := flock.TryThere(filepath.Join(r.LeasesDir(), e.Name()))
		if err == nil {
			_ = l.Unlock()
		}
		return err != nil // its git is alive, as most often all of them are
	})
	if len(entries) == 0 {
		return nil
	}
	// Of two who sweep at once, the second could take a lock that somebody has
	// just taken for the one that the first removed.
	l, err := flock.Acquire(ctx, filepath.Join(r.Dir, "sweep"))
	if err != nil {
		return err
	}
	defer l.Unlock()
	for _, e := range entries {
		path := filepath.Join(r.LeasesDir(), e.Name())
		l, err := flock.TryThere(path)
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

// Dead are the locks that a git may have left since a moment.
type Dead struct {
	Locks  []string
	Since  time.Time
	lease  string        // the name of its lease, if it had one
	minAge time.Duration // of a lock, to count as left
	isHold bool          // the locks are Croft's own, and say so
	IsKept bool          // and whoever finishes what was begun takes them over
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

// Left lists the locks that Sweep would remove or look at.
func (r *Repository) Left() []string {
	var left []string
	entries, _ := os.ReadDir(r.LeasesDir())
	for _, e := range entries {
		path := filepath.Join(r.LeasesDir(), e.Name())
		l, err := flock.TryThere(path)
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

// DropLocks removes the locks of a git that is dead, and reports whether none
// of them is left. What the user may hold gets until the deadline to go by
// itself; what another git of Croft's may hold is its own affair.
func (r *Repository) DropLocks(dead Dead, deadline time.Time) bool {
	for {
		found := map[string]os.FileInfo{}
		marked := false
		for _, lock := range dead.Locks {
			file, info, ok := r.LockFile(lock, dead.Since)
			switch {
			case !ok:
			case r.isMarked(lock, info.ModTime(), dead.lease):
				marked = true
			default:
				found[file] = info
			}
		}
		if r.dropNobodys(found, dead.minAge) {
			return !marked
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// dropNobodys removes those locks that no git of the user's that is alive can
// have taken, and reports whether that were all. Where processes cannot be
// seen, a lock is nobody's once it is older than any lock is held.
func (r *Repository) dropNobodys(found map[string]os.FileInfo, minAge time.Duration) bool {
	if len(found) == 0 {
		return true
	}
	gits, can := proc.Running("git")
	if !can {
		minAge = LockTime
	}
	open := proc.Open(slices.Collect(maps.Keys(found)))
	for file, was := range found {
		made := was.ModTime()
		isHeld := func(p proc.Neighbour) bool { return r.mayHold(p, made) }
		if time.Since(made) < minAge || open[file] || slices.ContainsFunc(gits, isHeld) {
			continue
		}
		// While the others were looked at, it may have gone, and a new one come.
		if now, err := os.Lstat(file); err == nil && os.SameFile(was, now) && now.ModTime().Equal(made) {
			r.removeLock(file)
		}
		if _, err := os.Lstat(file); err != nil {
			delete(found, file)
		}
	}
	return len(found) == 0
}

// removeLock removes a lock file, unless its path leads through a link by now.
func (r *Repository) removeLock(file string) {
	dir, err := r.OpenDir(filepath.Dir(file))
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.Remove(filepath.Base(file))
}

// LockFile finds a lock that was taken since a moment.
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

// isMarked reports whether a git of Croft's that is alive and at work may have
// taken a lock. Its lease is not the one given.
func (r *Repository) isMarked(lock string, made time.Time, not string) bool {
	entries, _ := os.ReadDir(r.LeasesDir())
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		path := filepath.Join(r.LeasesDir(), e.Name())
		other := readLease(path)
		if e.Name() == not || !slices.Contains(other.Locks, lock) || made.Before(other.Since) {
			return false
		}
		l, err := flock.TryThere(path)
		if err == nil {
			_ = l.Unlock()
		}
		return errors.Is(err, flock.ErrHeld)
	})
}

// clockError is how far two ways to tell a time may be apart.
const clockError = 100 * time.Millisecond

// mayHold reports whether a process may hold a lock of the repository that was
// made at a time. Croft's own have leases.
func (r *Repository) mayHold(p proc.Neighbour, made time.Time) bool {
	if p.Started.After(made.Add(clockError)) || slices.Contains(p.Env, "GIT_GRAFT_FILE="+NoGrafts) {
		return false
	}
	if slices.ContainsFunc(p.Args, func(arg string) bool { return strings.HasSuffix(arg, "daemon") }) {
		return false // it waits for others, for ever
	}
	return p.Dir == "" || r.isMine(p.Dir)
}

// isMine reports whether a directory lies in the repository or in one of its
// checkouts.
func (r *Repository) isMine(dir string) bool {
	place, err := gitdir.Discover(dir)
	return err == nil && place.CommonDir == r.CommonDir
}

// TempDir makes a directory for temporary files, which Sweep removes if the
// process dies before it has called the function that is returned.
func (r *Repository) TempDir() (dir string, remove func(), err error) { return r.TempDirAt(OnDisk) }

// Placement says where temporary files lie.
type Placement string

// The places. In memory there is less room, and where there is none they lie on
// disk.
const (
	OnDisk   Placement = "disk"
	InMemory Placement = "memory"
)

// TempDirAt is TempDir on disk or in memory.
func (r *Repository) TempDirAt(where Placement) (dir string, remove func(), err error) {
	parent := filepath.Join(r.Dir, "tmp")
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

// inMemory is what a directory is called if it lies in memory.
func inMemory(dir string) string { return filepath.Join(fsx.MemoryDir, "croft-"+filepath.Base(dir)) }

func (r *Repository) sweepTemp() {
	locks, _ := filepath.Glob(filepath.Join(r.Dir, "tmp", "*.lock"))
	for _, path := range locks {
		l, err := flock.TryThere(path)
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
