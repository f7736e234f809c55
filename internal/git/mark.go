package git

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/proc"
)

// A git that is killed leaves its lock files, and git itself never removes
// them: everybody who wants the same lock fails from then on. So each git of
// Croft's that may take one has a mark, a file that names the locks that it may
// take and that is locked by the kernel for as long as that git lives, whatever
// becomes of Croft. A mark that says "busy" and that nobody holds is the proof
// that the git died at work.

// mark belongs to one git process.
type mark struct {
	repo *Repository
	lock *flock.Lock
}

// The first byte of a mark says whether its git is at work.
const (
	markIdle = ' '
	markBusy = '!'
)

func (r *Repository) marksDir() string { return filepath.Join(r.CommonDir, "croft", "writers") }

// mark makes a mark that says nothing yet.
func (r *Repository) mark() (*mark, error) {
	if err := os.MkdirAll(r.marksDir(), 0o777); err != nil {
		return nil, err
	}
	for {
		path := filepath.Join(r.marksDir(), strings.ToLower(rand.Text()[:16]))
		l, err := flock.Try(path)
		if errors.Is(err, flock.ErrHeld) {
			continue // somebody is sweeping, and takes it for one of the dead
		}
		if err != nil {
			return nil, err
		}
		mine, ferr := l.File().Stat()
		if there, err := os.Stat(path); err == nil && ferr == nil && os.SameFile(mine, there) {
			return &mark{r, l}, nil
		}
		_ = l.Unlock()
	}
}

// busy says that the git is about to take locks, which are named relative to
// the common directory.
func (m *mark) busy(locks []string) error {
	text := "\n" + strings.Join(locks, "\n") + "\n"
	if err := m.lock.File().Truncate(0); err != nil {
		return err
	}
	if _, err := m.lock.File().WriteAt([]byte(text), 1); err != nil {
		return err
	}
	_, err := m.lock.File().WriteAt([]byte{markBusy}, 0)
	return err
}

// idle says that it has let go of its locks. If that cannot be written,
// somebody will look for them in vain.
func (m *mark) idle() {
	if m.drop() {
		_, _ = m.lock.File().WriteAt([]byte{markIdle}, 0)
	}
}

// drop removes locks that git could not remove, of which it says nothing. It
// reports whether nothing is left that may be one.
func (m *mark) drop() bool {
	path := m.lock.File().Name()
	locks, since := readMark(path)
	return m.repo.dropLocks(remains{locks, since, filepath.Base(path)}, time.Time{})
}

// end removes the mark of a git that has ended by itself, so that it removed
// its locks.
func (m *mark) end() {
	if m.drop() {
		_ = os.Remove(m.lock.File().Name())
	}
	_ = m.lock.Unlock()
}

// died is end for a git that was killed.
func (m *mark) died(ctx context.Context) {
	_ = m.lock.Unlock()
	_ = m.repo.Sweep(context.WithoutCancel(ctx))
}

// locksOf are the locks that a transaction takes.
func locksOf(updates []RefUpdate) []string {
	var locks []string
	for _, u := range updates {
		locks = append(locks, u.Ref+".lock")
		if u.New == "" {
			locks = append(locks, "packed-refs.lock", "packed-refs.new")
		}
	}
	return locks
}

// locksIn are the locks that a git may take that writes in a git directory: of
// the index, of HEAD, and of the branch that is checked out.
func (r *Repository) locksIn(gitDir string) []string {
	rel, err := filepath.Rel(r.CommonDir, gitDir)
	if err != nil {
		return nil
	}
	var locks []string
	for _, name := range []string{"index.lock", "HEAD.lock", "ORIG_HEAD.lock"} {
		locks = append(locks, filepath.ToSlash(filepath.Join(rel, name)))
	}
	if b, err := readRefFile(filepath.Join(gitDir, "HEAD")); err == nil {
		if _, ref := parseRefFile(b); ref != "" {
			locks = append(locks, ref+".lock")
		}
	}
	return locks
}

// Sweep removes the locks that gits of Croft's left when they were killed. What
// may be somebody else's stays, and is looked at again next time.
func (r *Repository) Sweep(ctx context.Context) error {
	r.sweepTemp()
	entries, err := os.ReadDir(r.marksDir())
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	// Of two who sweep at once, the second could take a lock that somebody has
	// just taken for the one that the first removed.
	l, err := flock.Acquire(ctx, filepath.Join(r.CommonDir, "croft", "sweep"))
	if err != nil {
		return err
	}
	defer l.Unlock()
	deadline := time.Now().Add(lockTime)
	for _, e := range entries {
		path := filepath.Join(r.marksDir(), e.Name())
		l, err := flock.Try(path)
		if err != nil {
			continue // its git is alive
		}
		locks, since := readMark(path)
		if r.dropLocks(remains{locks, since, e.Name()}, deadline) {
			_ = os.Remove(path)
		}
		_ = l.Unlock()
	}
	return nil
}

// readMark returns the locks that a mark names, if it is busy, and since when.
func readMark(path string) ([]string, time.Time) {
	b, err := os.ReadFile(path)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || !bytes.HasPrefix(b, []byte{markBusy}) {
		return nil, time.Time{}
	}
	return strings.Fields(string(b[1:])), info.ModTime()
}

// Left lists the locks that Sweep would remove or look at.
func (r *Repository) Left() []string {
	var left []string
	entries, _ := os.ReadDir(r.marksDir())
	for _, e := range entries {
		path := filepath.Join(r.marksDir(), e.Name())
		l, err := flock.Try(path)
		if err != nil {
			continue
		}
		locks, since := readMark(path)
		_ = l.Unlock()
		for _, lock := range locks {
			if file, _, ok := r.lockFile(lock, since); ok {
				left = append(left, file)
			}
		}
	}
	return left
}

// remains are the locks that a dead git may have left since a moment, and its
// mark, if it had one.
type remains struct {
	locks []string
	since time.Time
	mark  string
}

// dropLocks removes the locks of a git that is dead, and reports whether none
// of them is left. What the user may hold gets until the deadline to go by
// itself; what another git of Croft's may hold is its own affair.
func (r *Repository) dropLocks(dead remains, deadline time.Time) bool {
	for {
		found := map[string]time.Time{} // files → when they were made
		marked := false
		for _, lock := range dead.locks {
			file, made, ok := r.lockFile(lock, dead.since)
			switch {
			case !ok:
			case r.isMarked(lock, made, dead.mark):
				marked = true
			default:
				found[file] = made
			}
		}
		if r.dropNobodys(found) {
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
func (r *Repository) dropNobodys(found map[string]time.Time) bool {
	if len(found) == 0 {
		return true
	}
	gits, can := proc.Running("git")
	open := proc.Open(slices.Collect(maps.Keys(found)))
	for file, made := range found {
		isHeld := func(p proc.Neighbour) bool { return r.mayHold(p, made) }
		if !can && time.Since(made) < lockTime || can && (open[file] || slices.ContainsFunc(gits, isHeld)) {
			continue
		}
		if err := os.Remove(file); err == nil || errors.Is(err, os.ErrNotExist) {
			delete(found, file)
		}
	}
	return len(found) == 0
}

// lockFile finds a lock that was taken since a moment.
func (r *Repository) lockFile(lock string, since time.Time) (file string, made time.Time, ok bool) {
	if !filepath.IsLocal(filepath.FromSlash(lock)) {
		return "", made, false
	}
	file = filepath.Join(r.CommonDir, filepath.FromSlash(lock))
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.ModTime().Before(since) {
		return "", made, false
	}
	return file, info.ModTime(), true
}

// isMarked reports whether a git of Croft's that is alive and at work may have
// taken a lock. Its mark is not the one given.
func (r *Repository) isMarked(lock string, made time.Time, not string) bool {
	entries, _ := os.ReadDir(r.marksDir())
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		path := filepath.Join(r.marksDir(), e.Name())
		locks, since := readMark(path)
		if e.Name() == not || !slices.Contains(locks, lock) || made.Before(since) {
			return false
		}
		l, err := flock.Try(path)
		if err == nil {
			_ = l.Unlock()
		}
		return errors.Is(err, flock.ErrHeld)
	})
}

// clockError is how far two ways to tell a time may be apart.
const clockError = 100 * time.Millisecond

// mayHold reports whether a process may hold a lock of the repository that was
// made at a time. Croft's own have marks.
func (r *Repository) mayHold(p proc.Neighbour, made time.Time) bool {
	if p.Started.After(made.Add(clockError)) || slices.Contains(p.Env, "GIT_GRAFT_FILE="+noGrafts) {
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
	place, err := Discover(dir)
	return err == nil && place.CommonDir == r.CommonDir
}

// TempDir makes a directory for temporary files, which Sweep removes if the
// process dies before it has called the function that is returned.
func (r *Repository) TempDir() (dir string, remove func(), err error) {
	parent := filepath.Join(r.CommonDir, "croft", "tmp")
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return "", nil, err
	}
	dir = filepath.Join(parent, strings.ToLower(rand.Text()[:16]))
	l, err := flock.Try(dir + ".lock")
	if err != nil {
		return "", nil, err
	}
	remove = func() {
		_ = os.RemoveAll(dir)
		_ = os.Remove(dir + ".lock")
		_ = l.Unlock()
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

func (r *Repository) sweepTemp() {
	locks, _ := filepath.Glob(filepath.Join(r.CommonDir, "croft", "tmp", "*.lock"))
	for _, path := range locks {
		l, err := flock.Try(path)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(strings.TrimSuffix(path, ".lock"))
		_ = os.Remove(path)
		_ = l.Unlock()
	}
}
