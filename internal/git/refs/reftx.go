package refs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
)

// Error says why a ref could not be moved.
type Error struct {
	Ref     string
	Problem string
	Kind    gitcmd.Kind
}

func (e *Error) Error() string { return e.Ref + " " + e.Problem }

// Is lets errors.Is match kinds such as KindRefStale.
func (e *Error) Is(target error) bool {
	k, ok := target.(gitcmd.Kind)
	return ok && k == e.Kind
}

// refTx is one transaction of refs that are files, by git's own protocol: the process that
// holds `<ref>.lock` may change the ref, the one that holds packed-refs.lock may change
// packed-refs, and a new value is renamed into place.
type refTx struct {
	w     *writer
	files *fsx.Tree
	steps []*refStep // in the order of the request
	held  []string   // lock files that this transaction has created
	until time.Time  // until when locks of other processes are waited for
	moved bool       // at least one ref has moved

	head   string      // the updated ref that HEAD of the main checkout names, or ""
	packed *packedFile // packed-refs, read once all refs are locked
	repack bool        // packed-refs.new is to be renamed to packed-refs
}

// refStep is the update of one ref.
type refStep struct {
	Update
	was string // the ref's value when it was locked
}

func (s *refStep) moves() bool   { return s.New != "" && s.New != s.was }
func (s *refStep) deletes() bool { return s.New == "" && s.Old != "" }

// prepare locks all refs, verifies that they are at their Old, and writes the files that
// are to be renamed. Nothing has moved when it returns.
func (t *refTx) prepare(ctx context.Context) error {
	// Every process locks in this order, so no two wait for each other.
	sorted := slices.SortedFunc(slices.Values(t.steps), func(a, b *refStep) int { return strings.Compare(a.Ref, b.Ref) })
	all := map[string]bool{}
	for _, s := range sorted {
		for dir := s.Ref; dir != ""; dir = gitdir.ParentDir(dir) {
			if all[dir] {
				return &Error{Ref: s.Ref, Problem: fmt.Sprintf("cannot be changed together with %s", dir)}
			}
		}
		all[s.Ref] = true
	}
	for _, s := range sorted {
		if err := t.lock(ctx, s.Ref, s.New); err != nil {
			return err
		}
	}
	if err := t.lockHead(ctx); err != nil {
		return err
	}
	if err := t.lockPacked(ctx); err != nil {
		return err
	}
	for _, s := range t.steps {
		if err := t.verify(s); err != nil {
			return err
		}
	}
	if err := t.syncLocks(); err != nil {
		return err
	}
	return t.stagePacked()
}

// lock creates the lock file of a ref and writes the new value to it.
func (t *refTx) lock(ctx context.Context, ref, value string) error {
	f, err := t.createLock(ctx, ref+".lock")
	if errors.Is(err, syscall.ENOTDIR) {
		return t.blockedError(ref)
	}
	if err != nil {
		return err
	}
	if value != "" {
		_, err = f.WriteString(value + "\n")
	}
	return errors.Join(err, f.Close())
}

// createLock creates a lock file, and waits while another process has one.
func (t *refTx) createLock(ctx context.Context, lock string) (*os.File, error) {
	wait := time.Millisecond
	for {
		f, err := t.tryLock(lock)
		if err == nil || !errors.Is(err, os.ErrExist) && !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
		// ErrNotExist: another process has just removed the directory, because it was
		// empty.
		if time.Now().After(t.until) {
			return nil, &Error{strings.TrimSuffix(lock, ".lock"), "is locked by another git: " + t.files.Path(lock) + " exists", gitcmd.KindLocked}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, 16*time.Millisecond)
	}
}

func (t *refTx) tryLock(lock string) (*os.File, error) {
	for range 10 {
		d, err := t.files.MakeDir(gitdir.ParentDir(lock))
		var f *os.File
		if err == nil {
			f, err = d.CreateShared(path.Base(lock))
		}
		if err == nil {
			t.held = append(t.held, lock)
			return f, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		t.files.Close()
	}
	return nil, os.ErrNotExist
}

// blockedError returns the error that names the ref which exists where ref needs a directory.
func (t *refTx) blockedError(ref string) error {
	dir := gitdir.ParentDir(ref)
	for d := dir; d != ""; d = gitdir.ParentDir(d) {
		if _, err := t.files.Dir(d); err == nil {
			break
		}
		dir = d
	}
	return &Error{ref, fmt.Sprintf("cannot be made: %s exists", dir), gitcmd.KindRefStale}
}

// verify checks that a ref is at its Old, and that its name is free if it is to be
// created.
func (t *refTx) verify(s *refStep) error {
	was, err := t.value(s.Ref)
	if err != nil {
		return err
	}
	s.was = was
	switch {
	case was == s.Old:
	case was == "":
		return &Error{s.Ref, "does not exist, but was expected at " + s.Old, gitcmd.KindRefStale}
	case s.Old == "":
		return &Error{s.Ref, "exists already", gitcmd.KindRefStale}
	default:
		return &Error{s.Ref, fmt.Sprintf("is at %s, but was expected at %s", was, s.Old), gitcmd.KindRefStale}
	}
	if s.New == "" || was != "" {
		return nil
	}
	packed := t.packedNow()
	for dir := gitdir.ParentDir(s.Ref); dir != "refs"; dir = gitdir.ParentDir(dir) {
		if _, ok, err := packed.find(dir); err != nil {
			return err
		} else if ok {
			return &Error{s.Ref, fmt.Sprintf("cannot be made: %s exists", dir), gitcmd.KindRefStale}
		}
	}
	if name, ok, err := packed.findBelow(s.Ref + "/"); err != nil {
		return err
	} else if ok {
		return &Error{s.Ref, fmt.Sprintf("cannot be made: %s exists", name), gitcmd.KindRefStale}
	}
	return t.removeEmptyDirs(s.Ref)
}

// removeEmptyDirs removes empty directories at the path of a ref.
func (t *refTx) removeEmptyDirs(ref string) error {
	_, err := t.files.Dir(ref)
	if err == nil {
		err = t.files.RemoveEmpty(ref, refDepth)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return &Error{ref, fmt.Sprintf("cannot be made: there are refs below %s/", ref), gitcmd.KindRefStale}
	}
	return err
}

// refDepth bounds the depth of directories of refs.
const refDepth = 64

// maxRefFile bounds the size of a loose ref: an object name, or the name of another ref.
const maxRefFile = 8 << 10

// value returns the object of a locked ref, or "" if it does not exist.
func (t *refTx) value(ref string) (string, error) {
	b, err := t.files.ReadFile(ref, maxRefFile)
	if errors.Is(err, os.ErrNotExist) {
		oid, _, err := t.packedNow().find(ref)
		return oid, err
	}
	if err != nil {
		return "", err
	}
	text, next := gitdir.ParseRefFile(b)
	if next != "" {
		return "", &Error{Ref: ref, Problem: fmt.Sprintf("is a symbolic ref, to %.200q, and is not moved", next)}
	}
	if !object.IsOID(text) {
		return "", &Error{Ref: ref, Problem: fmt.Sprintf("is broken: %.80q", text)}
	}
	return text, nil
}

// packedNow returns the packed refs. It opens them once: while the refs are locked, no
// process packs them and removes their files.
func (t *refTx) packedNow() *packedFile {
	if t.packed == nil {
		t.packed = t.w.repo.packed()
	}
	return t.packed
}

// syncLocks syncs the lock files, which have the new values, to disk.
func (t *refTx) syncLocks() error {
	for chunk := range slices.Chunk(t.steps, fsx.Syncers) {
		var g errgroup.Group
		for _, s := range chunk {
			if !s.moves() {
				continue
			}
			d, err := t.files.Dir(gitdir.ParentDir(s.Ref))
			if err != nil {
				return errors.Join(err, g.Wait())
			}
			f, _, err := t.files.OpenRegular(d, s.Ref+".lock", os.O_WRONLY)
			if err != nil {
				return errors.Join(err, g.Wait())
			}
			g.Go(func() error { return errors.Join(fsx.SyncOpen(f), f.Close()) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// applyUpdates moves the refs in the order of the request, and then deletes those without
// a New.
func (t *refTx) applyUpdates(ctx context.Context) error {
	log := t.w.logger(ctx, t.files)
	for _, s := range t.steps {
		if !s.moves() {
			continue
		}
		log.add(s.Ref, s.was, s.New)
		if err := t.rename(s.Ref); err != nil {
			return err
		}
		t.moved = true
	}
	for _, s := range t.steps {
		if s.Ref == t.head { // also if it does not move, as git does
			log.add("HEAD", s.was, s.New)
		}
	}
	for _, s := range t.steps {
		if s.deletes() {
			log.remove(s.Ref)
		}
	}
	if t.repack {
		if err := t.renamePacked(); err != nil {
			return err
		}
	}
	for _, s := range t.steps {
		if !s.deletes() {
			continue
		}
		if err := t.files.Remove(s.Ref); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		t.moved = true
	}
	return nil
}

// rename renames the lock file of a ref to the ref.
func (t *refTx) rename(ref string) error {
	err := t.files.Rename(ref+".lock", ref)
	if err != nil { // there may be an empty directory by now
		if cerr := t.removeEmptyDirs(ref); cerr != nil {
			return errors.Join(err, cerr)
		}
		err = t.files.Rename(ref+".lock", ref)
	}
	if err == nil {
		t.forget(ref + ".lock")
	}
	return err
}

// forget drops a file that has been renamed or removed from those that release removes.
func (t *refTx) forget(file string) {
	t.held = slices.DeleteFunc(t.held, func(held string) bool { return held == file })
}

// release removes the lock files that are left, and directories that have become empty.
// What was created last goes first: once packed-refs.lock is gone, packed-refs.new is
// another process's.
func (t *refTx) release() error {
	var errs []error
	for _, lock := range slices.Backward(t.held) {
		if err := t.files.Remove(lock); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, s := range t.steps {
		if !t.moved || s.New == "" {
			t.files.RemoveEmptyUpwards(gitdir.ParentDir(s.Ref), func(dir string) bool { return strings.Count(dir, "/") < 2 })
		}
	}
	t.held = nil
	t.files.Close()
	return errors.Join(errs...)
}

// locksOf returns the lock files that a transaction creates.
func locksOf(updates []Update) []string {
	var locks []string
	for _, u := range updates {
		locks = append(locks, u.Ref+".lock")
		if u.New == "" {
			locks = append(locks, "packed-refs.lock", "packed-refs.new")
		}
	}
	return locks
}

// RefDirs lists the directories that have to be synced after refs have moved: the
// directory of each ref, and the parents of those that do not exist yet. The caller asks
// before it moves the refs.
func (r *Repository) RefDirs(updates []Update) []string {
	if !r.HasNativeRefs() {
		return nil
	}
	var dirs []string
	for _, u := range updates {
		for dir := filepath.Dir(filepath.Join(r.CommonDir, filepath.FromSlash(u.Ref))); ; dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
			if _, err := os.Lstat(dir); err == nil || dir == r.CommonDir {
				break
			}
		}
		if u.New == "" { // it may be in packed-refs, which is replaced then
			dirs = append(dirs, r.CommonDir)
		}
	}
	return dirs
}
