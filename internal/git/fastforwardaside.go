package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/exchange"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/odb"
)

// place is where the files of a checkout are exchanged. What could not be put back is added to h.Kept.
func (h *BranchCheckout) place() exchange.Place {
	id := sha256.Sum256([]byte(h.gitDir))
	k := exchange.Keeper{Under: h.repo.unrestored(), Kept: &h.Kept}
	return exchange.Place{
		Work: h.Path, Own: filepath.Join(h.repo.Dir, MovingName, hex.EncodeToString(id[:8])),
		Sum: func(in *fsx.Dir, name string, e fsx.Entry) (string, error) {
			return h.repo.hashFile(in, name, index.FileStat{Mode: e.Mode, Size: e.Size})
		},
		Keep: k.Keep,
	}
}

// The names, in Croft's own directory of a repository, of those with files of users that could not be put back, and with files that
// are exchanged with those of a checkout: after a crash some that came out of it are left there.
const (
	UnrestoredName = "unrestored"
	MovingName     = "moving"
)

func (r *Repository) unrestored() string { return filepath.Join(r.Dir, UnrestoredName) }

// Unrestored lists what is kept.
func (r *Repository) Unrestored() []exchange.Kept { return exchange.ListKept(r.unrestored()) }

// takeKept returns the directory of what was kept last, and takes it off the list, because an error names it.
func (h *BranchCheckout) takeKept() string {
	last := h.Kept[len(h.Kept)-1]
	h.Kept = h.Kept[:len(h.Kept)-1]
	return last.Dir
}

// TakeNotices returns what the user has to be told of what was kept, once.
func (h *BranchCheckout) TakeNotices() (notices []string) {
	for _, kept := range h.Kept {
		notices = append(notices, kept.Notices(h.Path)...)
	}
	h.Kept = nil
	return notices
}

// chooseAside makes a directory of Croft's own for the new files, if git would write the same ones there. It does not
// where git has to write into the checkout: on systems and file systems that exchange no files, in a sparse checkout,
// with submodules, with attributes that only the checkout has, with filters other than git-lfs, and
// where git is told not to look at files.
func (a *FastForward) chooseAside(ctx context.Context) error {
	if !a.isSameAside() {
		return nil
	}
	if needs, err := a.needsCheckout(ctx); err != nil || needs {
		return err
	}
	m, err := exchange.New(a.host.place())
	switch {
	case errors.Is(err, exchange.ErrCannot):
		return nil
	case err != nil:
		return err
	}
	a.move = m
	if !m.CanBe(a.undo.dirs) {
		_, err = a.leaveAside()
	}
	return err
}

// writeAside has git write the new files to a directory of Croft's own, and exchanges them, one by one, with those of
// the checkout. A file that a user saves meanwhile, in whatever way, comes out in place of the one that was compared:
// then all files go back. It reports false, and has changed nothing, where files cannot be exchanged.
func (a *FastForward) writeAside(ctx context.Context) (did bool, err error) {
	m := a.move
	if m == nil {
		return false, nil
	}
	before, seen, err := a.parseCopy()
	if err != nil {
		return true, err
	}
	to := *a.indexCopy
	to.at.work = m.Dir()
	if _, err := to.run(ctx, "", "read-tree", "-m", "-u", a.old, a.now); err != nil {
		return true, err
	}
	list, stats, err := a.listMoves(m, before)
	if err == nil {
		err = m.Apply(list)
	}
	if errors.Is(err, exchange.ErrCannot) {
		if did, err := a.leaveAside(); err != nil {
			return did, err
		}
		return false, a.prepareAgain(ctx)
	}
	if taken, ok := errors.AsType[*exchange.TakenError](err); ok {
		cause := overwritten
		if taken.Adds {
			cause = inTheWay
		}
		return true, &HostDirtyError{Path: a.at.work, Files: []string{taken.Path}, Cause: cause}
	}
	if err != nil {
		return true, err
	}
	return true, a.noteMoved(stats, seen)
}

// leaveAside undoes an exchange, so that git can write into the checkout.
func (a *FastForward) leaveAside() (did bool, err error) {
	_, left := a.move.GoBack()
	a.move = nil
	if len(left) > 0 {
		return true, &HostDirtyError{Path: a.at.work, Files: left, Cause: overwritten}
	}
	return false, nil
}

// prepareAgain prepares the copy of the index once more: each file has another ctime.
func (a *FastForward) prepareAgain(ctx context.Context) error {
	a.undo.discard()
	a.undo = nil
	err := a.copyIndex()
	if err == nil {
		a.undo, err = a.repo.lookAtFiles(a.at.work, a.changes)
	}
	if err == nil {
		err = a.undo.linkFiles()
	}
	if err == nil {
		err = a.checkCheckout(ctx)
	}
	return err
}

// isSameAside reports whether git would write the same files into any directory.
func (a *FastForward) isSameAside() bool {
	if info, err := a.admin.OpenDir("info"); err == nil {
		isSparse := info.Has("sparse-checkout")
		_ = info.Close()
		if isSparse {
			return false
		}
	}
	x, _, err := a.parseCopy()
	if err != nil || !x.IsPlain() {
		return false
	}
	known, goes := map[string]bool{}, map[string]bool{}
	for _, c := range a.changes {
		goes[c.Path] = c.Deletes()
	}
	for dir, isOther := range a.undo.other {
		if isOther && !goes[dir] {
			return false // a link of the user's, which git refuses
		}
	}
	for _, c := range a.changes {
		if e, ok := x.Find(c.Path); ok && e.Hidden || c.OldMode == odb.LinkMode || c.NewMode == odb.LinkMode || a.hasOwnAttributes(x, gitdir.ParentDir(c.Path), known) {
			return false
		}
	}
	return true
}

// needsCheckout reports whether a setting is about the directory that git runs in: a filter is a command, which may
// name a program of the checkout or read its files, and a file of attributes may be named by a relative path.
func (a *FastForward) needsCheckout(ctx context.Context) (bool, error) {
	now, err := a.host.repo.SettingsOf(ctx, a.host.gitDir)
	if err != nil {
		return false, err
	}
	attributes := now.Values["core.attributesfile"]
	isRelative := attributes != "" && !filepath.IsAbs(gitconfig.IncludedFile(attributes, "", a.host.repo.Git.Home()))
	return now.HasFilters || isRelative, nil
}

// parseCopy reads the copy of the index, and its time.
func (a *FastForward) parseCopy() (*index.Flat, time.Time, error) {
	data, info, err := index.ReadFile(a.copyPath())
	if err != nil {
		return nil, time.Time{}, err
	}
	x, err := index.ParseFlat(data, a.repo.ObjectFormat().NewHash())
	return x, info.ModTime(), err
}

// hasOwnAttributes reports whether a directory of the checkout, or one above it, has attributes that are not staged.
func (a *FastForward) hasOwnAttributes(x *index.Flat, dir string, known map[string]bool) bool {
	has, ok := known[dir]
	if !ok {
		file := path.Join(dir, ".gitattributes")
		_, isStaged := x.Find(file)
		has = !isStaged && fsx.IsThere(a.pathOf(file)) || dir != "" && a.hasOwnAttributes(x, gitdir.ParentDir(dir), known)
		known[dir] = has
	}
	return has
}

// listMoves lists what has to be moved, and the stat data of the new files. Files that are as in the new commit already
// were not written by git, and stay.
func (a *FastForward) listMoves(m *exchange.Move, before *index.Flat) (exchange.List, map[string]index.FileStat, error) {
	list := exchange.List{Dirs: a.undo.dirs, NewDirs: a.undo.newDirs()}
	stats, was := map[string]index.FileStat{}, map[string]fsx.Entry{}
	for _, f := range a.undo.files {
		if f.name != "" {
			was[f.path] = f.was
		}
	}
	for _, c := range a.changes {
		f := exchange.File{Path: c.Path, Was: was[c.Path], WasSum: a.sums[c.Path]}
		if !c.Deletes() {
			var err error
			if f.New, err = m.Written(c.Path); err == nil {
				stats[c.Path], err = index.Lstat(filepath.Join(m.Dir(), filepath.FromSlash(c.Path)))
			}
			e, ok := before.Find(c.Path)
			if ok && e.OID == c.NewOID && e.Mode == c.NewMode && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return list, nil, errors.Join(exchange.ErrCannot, err)
			}
		}
		if f.Was.Identity != "" || f.New.Identity != "" {
			list.Files = append(list.Files, f)
		}
	}
	return list, stats, nil
}

// sumFiles notes the contents of the files that will be exchanged, before git compares them.
func (a *FastForward) sumFiles() {
	a.sums = map[string]string{}
	if a.move == nil {
		return
	}
	place := a.host.place()
	for _, f := range a.undo.files {
		if f.name == "" {
			continue
		}
		a.undo.inDirOf(f.path, func(in *fsx.Dir, name string) (err error) {
			a.sums[f.path], err = place.Sum(in, name, f.was)
			return err
		})
	}
}

// noteMoved notes the stat data of the files that were moved: a rename changes the ctime. What a user has written since
// then keeps other stat data than the index has. It also does what git could not where it found no files: entries that
// git may not believe, because their files are as young as the index was when git read it, are compared, and marked if
// they differ.
func (a *FastForward) noteMoved(moved map[string]index.FileStat, seen time.Time) error {
	x, _, err := a.parseCopy()
	if err != nil {
		return err
	}
	stats := map[string]index.FileStat{}
	for i := range x.Len() {
		if !x.At(i).IsRacy(seen) {
			continue
		}
		file := x.Path(i)
		st, err := index.Lstat(a.pathOf(file))
		if _, isMoved := moved[file]; isMoved || err != nil {
			continue
		}
		oid := ""
		a.undo.inDirOf(file, func(in *fsx.Dir, name string) (err error) {
			oid, err = a.repo.hashFile(in, name, st)
			return err
		})
		if oid != x.Entry(i).OID {
			stats[file] = st.Unknown()
		}
	}
	for file, st := range moved {
		stats[file] = st.Unknown()
		if now, err := index.Lstat(a.pathOf(file)); err == nil && now.IsSameMoved(st) {
			stats[file] = now
		}
	}
	return a.noteFiles(x, stats)
}

func (a *FastForward) pathOf(file string) string {
	return filepath.Join(a.at.work, filepath.FromSlash(file))
}
