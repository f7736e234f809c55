package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/exchange"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/worktree"
)

func (a *FastForward) lockIndex(ctx context.Context) error {
	err := a.takeLock(ctx, worktree.KeptAfter)
	if errors.Is(err, worktree.ErrIndexLocked) {
		return &HostDirtyError{Path: a.at.work, Cause: "another git is at work there (index.lock)"}
	}
	return err
}

// recoverMove ends or undoes the exchange of files of a process that died.
func (a *FastForward) recoverMove(context.Context) error {
	_, err := exchange.Recover(a.host.place())
	return err
}

// lookAtFiles lists the changes, and notes the files that they are about.
func (a *FastForward) lookAtFiles(ctx context.Context) (err error) {
	if a.changes, err = a.repo.Diff(ctx, a.old, a.now); err == nil {
		a.undo, err = a.repo.lookAtFiles(a.at.work, a.changes)
	}
	return err
}

// requireFiles fails if a path that changes has something else than a file, a link or a directory, which git cannot compare.
func (a *FastForward) requireFiles(context.Context) error {
	for _, f := range a.undo.files {
		if what := fsx.SpecialKind(f.was.Mode); what != "" {
			return &HostDirtyError{Path: a.at.work, Cause: what + " of yours would be overwritten: " + f.path}
		}
	}
	return nil
}

// requireMerged fails if files are unmerged in the checkout, as after a stash that was taken back: git moves no checkout along
// that has some, wherever they are.
func (a *FastForward) requireMerged() error {
	x, _, err := a.parseCopy()
	if err != nil {
		return nil // git reads what is not read here, and says what is wrong
	}
	var paths []string
	for i := range x.Len() {
		if x.Entry(i).Stage != 0 {
			paths = append(paths, x.Path(i))
		}
	}
	paths = slices.Compact(paths) // one has up to three sides
	switch len(paths) {
	case 0:
		return nil
	case 1:
		return &HostDirtyError{Path: a.at.work, Cause: paths[0] + " is unmerged in your checkout"}
	}
	return &HostDirtyError{Path: a.at.work, Cause: fmt.Sprintf("%s and %d more are unmerged in your checkout", paths[0], len(paths)-1)}
}

// linkFiles keeps the files where git writes them. It comes before git compares them: a hard link changes the ctime of a file, too.
func (a *FastForward) linkFiles(context.Context) error {
	if a.move != nil {
		return nil
	}
	return a.undo.linkFiles()
}

// noteUntouched reports whether every file that changes is, byte for byte, that of the old commit, or absent
// where that has none, and then notes its stat data in the copy of the index. It starts no process: false says
// that git has to compare the files, as where a filter or line endings make them others than their blobs.
// staged is the copy of the index, which has the entries of the old commit.
func (a *FastForward) noteUntouched(staged *index.Flat) bool {
	if a.undo == nil {
		return false
	}
	stats := map[string]index.FileStat{}
	a.sums = map[string]string{}
	for _, c := range a.changes {
		in, err := a.undo.work.OpenBelow(filepath.FromSlash(path.Dir(c.Path)))
		if c.Adds() && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false
		}
		st, err := a.untouched(in, c.Path, c.Adds(), staged)
		_ = in.Close()
		if err != nil {
			return false
		}
		if !c.Adds() {
			stats[c.Path], a.sums[c.Path] = st, c.OldOID
		}
	}
	return a.noteFiles(staged, stats) == nil
}

// errTouched says that git has to look at a file.
var errTouched = errors.New("the file is not provably the staged one")

// untouched returns the stat data of the file at a path, in an open directory, if it has the staged content; with
// adds, nothing if there is no file.
func (a *FastForward) untouched(in *fsx.Dir, file string, adds bool, staged *index.Flat) (index.FileStat, error) {
	name, full := path.Base(file), a.pathOf(file)
	if adds {
		if _, err := in.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return index.FileStat{}, errTouched
		}
		return index.FileStat{}, nil
	}
	e, isStaged := staged.Find(file)
	now, err := index.Lstat(full)
	if err != nil {
		return now, err
	}
	// A file that was just written could be written again without another time.
	if !isStaged || e.Hidden || !e.HasMode(now.Mode) || !now.IsSettled(time.Now()) {
		return now, errTouched
	}
	oid, err := a.repo.hashFile(in, name, now)
	if err != nil {
		return now, err
	}
	after, err := index.Lstat(full)
	if err == nil && (oid != e.OID || !after.IsSame(now)) {
		err = errTouched
	}
	return now, err
}

// hashFile returns the name that a file has as a blob if it is not converted.
func (r *Repository) hashFile(in *fsx.Dir, name string, now index.FileStat) (string, error) {
	if now.Mode.Type() == fs.ModeSymlink {
		to, err := in.Readlink(name)
		if err != nil {
			return "", err
		}
		return r.HashBlob(strings.NewReader(to), int64(len(to)))
	}
	f, err := in.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return r.HashBlob(f, now.Size)
}

// noteFiles notes stat data in the copy of the index. The copy keeps its mtime, by which git knows the entries
// that it has to verify.
func (a *FastForward) noteFiles(staged *index.Flat, stats map[string]index.FileStat) error {
	info, err := os.Stat(a.copyPath())
	if err != nil {
		return err
	}
	if err := os.WriteFile(a.copyPath(), staged.Noting(stats, a.repo.ObjectFormat()), 0o600); err != nil {
		return err
	}
	return os.Chtimes(a.copyPath(), info.ModTime(), info.ModTime())
}
