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

// Error says that a ref could not be moved.
type Error struct {
	Ref     string
	Problem string
	Kind    gitcmd.Kind
}

func (e *Error) Error() string { return e.Ref + " " + e.Problem }

// Is makes errors.Is(err, KindRefStale) and the like work.
func (e *Error) Is(target error) bool {
	k, ok := target.(gitcmd.Kind)
	return ok && k == e.Kind
}

// refTx is one change of refs that are files, by git's own protocol: whoever
// holds `<ref>.lock` may change the ref, whoever holds packed-refs.lock may
// change packed-refs, and a new value gets its name whole or not at all.
type refTx struct {
	w     *writer
	files *fsx.Tree
	steps []*refStep // as they were asked for
	held  []string   // locks that are taken
	until time.Time  // others' locks are waited for
	moved bool       // some refs have

	head   string      // the ref of these that the main checkout is on
	packed *packedRefs // what is packed, once all is locked
	repack bool        // packed-refs.new is to become packed-refs
}

// refStep is what happens to one ref.
type refStep struct {
	Update
	was string // its value, once it is locked
}

func (s *refStep) moves() bool   { return s.New != "" && s.New != s.was }
func (s *refStep) deletes() bool { return s.New == "" && s.Old != "" }

// prepare locks all refs, makes sure that they are where the caller thinks, and
// writes what is to be renamed. Nothing has moved when it returns.
func (t *refTx) prepare(ctx context.Context) error {
	// By everybody in the same order, so that no two wait for each other.
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

// lock takes the lock of a ref, with what the ref is to be.
func (t *refTx) lock(ctx context.Context, ref, value string) error {
	f, err := t.createLock(ctx, ref+".lock")
	if errors.Is(err, syscall.ENOTDIR) {
		return t.blocked(ref)
	}
	if err != nil {
		return err
	}
	if value != "" {
		_, err = f.WriteString(value + "\n")
	}
	return errors.Join(err, f.Close())
}

// createLock makes a lock file, and waits while there is one.
func (t *refTx) createLock(ctx context.Context, lock string) (*os.File, error) {
	wait := time.Millisecond
	for {
		f, err := t.tryTake(lock)
		if err == nil || !errors.Is(err, os.ErrExist) && !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
		// Not there is the directory: somebody has just removed it, as empty.
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

func (t *refTx) tryTake(lock string) (*os.File, error) {
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

// blocked says which ref is in the way of another one's directories.
func (t *refTx) blocked(ref string) error {
	dir := gitdir.ParentDir(ref)
	for d := dir; d != ""; d = gitdir.ParentDir(d) {
		if _, err := t.files.Dir(d); err == nil {
			break
		}
		dir = d
	}
	return &Error{ref, fmt.Sprintf("cannot be made: %s exists", dir), gitcmd.KindRefStale}
}

// verify makes sure that a ref is where the caller thinks, and can be made.
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
		if _, ok := packed.find(dir); ok {
			return &Error{s.Ref, fmt.Sprintf("cannot be made: %s exists", dir), gitcmd.KindRefStale}
		}
	}
	if name, ok := packed.anyBelow(s.Ref + "/"); ok {
		return &Error{s.Ref, fmt.Sprintf("cannot be made: %s exists", name), gitcmd.KindRefStale}
	}
	return t.makeRoom(s.Ref)
}

// makeRoom removes empty directories where a ref is to be.
func (t *refTx) makeRoom(ref string) error {
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

// refDepth bounds how deep directories of refs are looked into.
const refDepth = 64

// maxRefFile bounds the file of a ref: an object, or the name of another ref.
const maxRefFile = 8 << 10

// value returns what a locked ref is, or "".
func (t *refTx) value(ref string) (string, error) {
	b, err := t.files.ReadFile(ref, maxRefFile)
	if errors.Is(err, os.ErrNotExist) {
		packed := t.packedNow()
		if packed.err != nil {
			return "", packed.err
		}
		oid, _ := packed.find(ref)
		return oid, nil
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

// packedNow returns what is packed. Once the refs are locked, nobody takes a
// file of theirs away after having packed it, so that one look is enough.
func (t *refTx) packedNow() *packedRefs {
	if t.packed == nil {
		t.packed = t.w.repo.packed()
	}
	return t.packed
}

// syncLocks waits until what the refs are to be is on disk.
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

// applyUpdates moves the refs, in the order in which they were given, and then
// removes those that go.
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
		if s.Ref == t.head { // also if it stays, as git does
			log.add("HEAD", s.was, s.New)
		}
	}
	for _, s := range t.steps {
		if s.deletes() {
			log.drop(s.Ref)
		}
	}
	if t.repack {
		if err := t.files.Rename("packed-refs.new", "packed-refs"); err != nil {
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

// rename gives a ref the value that its lock holds.
func (t *refTx) rename(ref string) error {
	err := t.files.Rename(ref+".lock", ref)
	if err != nil { // an empty directory may have come in its place
		if cerr := t.makeRoom(ref); cerr != nil {
			return errors.Join(err, cerr)
		}
		err = t.files.Rename(ref+".lock", ref)
	}
	if err == nil {
		t.held = slices.DeleteFunc(t.held, func(lock string) bool { return lock == ref+".lock" })
	}
	return err
}

// release lets go of all locks that are still held, and removes directories
// that are of no use any more.
func (t *refTx) release() error {
	var errs []error
	for _, lock := range t.held {
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

// locksOf are the locks that a transaction takes.
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

// RefDirs lists the directories that have to be synced after refs moved: the
// one in which each ref has its name, and those above that are yet to be made.
// It is asked before the refs move.
func (r *Repository) RefDirs(updates []Update) []string {
	if !r.NativeRefs() {
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
		if u.New == "" { // it may go from packed-refs, which is replaced then
			dirs = append(dirs, r.CommonDir)
		}
	}
	return dirs
}
