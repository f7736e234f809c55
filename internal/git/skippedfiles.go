package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// readSpecialEntries reads the special entries of an index. It starts git only for an index
// that [index.ReadSpecial] cannot read, and for one with a whole directory as an entry that
// the checkout has all the same: most repositories have no such entries.
func (r *Repository) readSpecialEntries(ctx context.Context, at checkoutAt) (index.Special, error) {
	f, err := fsx.Open(filepath.Join(at.gitDir, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return index.Special{}, nil
	}
	if err != nil {
		return index.Special{}, err
	}
	defer f.Close()
	s, err := index.ReadSpecial(f, r.ObjectFormat().Size())
	if err == nil && s.LeaveOutDirs(func(dir string) bool { return isLeftOut(at.work, dir) }) {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			s.Written = info.ModTime()
		}
		return s, err
	}
	x, err := r.wholeIndex(ctx, at)
	if err != nil {
		return index.Special{}, err
	}
	s = index.Special{Written: x.Written}
	for _, e := range x.Entries {
		s.Add(e)
	}
	return s, nil
}

// wholeIndex reads an index that only git may be able to read.
func (r *Repository) wholeIndex(ctx context.Context, at checkoutAt) (*index.Index, error) {
	return r.worktreeOf(worktree.Worktree{Path: at.work, Admin: at.gitDir, Inherit: at.inherit, IsPulled: true}).Index(ctx)
}

// isLeftOut reports whether a checkout has nothing at the path of a directory.
func isLeftOut(work, dir string) bool {
	_, err := os.Lstat(filepath.Join(work, filepath.FromSlash(dir)))
	return err != nil && isAbsent(err)
}

// hiddenEdits lists the files that differ from the index although git was told not to
// compare them (assume-unchanged, skip-worktree). A file that a sparse checkout leaves out
// does not exist, which is no edit.
func (r *Repository) hiddenEdits(ctx context.Context, at checkoutAt, s index.Special) ([]odb.StatusEntry, error) {
	var suspects []index.Entry
	x := &index.Index{Written: s.Written}
	gone := map[string]bool{}
	var edits []odb.StatusEntry
	for _, e := range s.Hidden {
		if e.Sparse && isBelow(gone, e.Path) {
			continue
		}
		now, err := index.Lstat(filepath.Join(at.work, filepath.FromSlash(e.Path)))
		switch {
		case err == nil && x.IsUnchanged(e, now):
		case err == nil:
			suspects = append(suspects, e)
		case !isAbsent(err):
			return nil, err
		case e.Sparse:
			noteMissingDir(gone, at.work, e.Path)
		default:
			edits = append(edits, odb.StatusEntry{Path: e.Path, Index: '.', Work: 'D', Hidden: true})
		}
	}
	if len(suspects) == 0 {
		return edits, nil
	}
	changed, err := r.compareOnly(ctx, at, suspects, s.Written)
	return append(edits, changed...), err
}

// isAbsent reports whether an error says that the checkout has no such file: the file does
// not exist, or one of its parents is a file or a symbolic link that leads to nothing or in
// a circle.
func isAbsent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// noteMissingDir records the topmost missing directory above a file: a sparse checkout may leave
// out a hundred thousand files below it.
func noteMissingDir(gone map[string]bool, top, name string) {
	for i, c := range name {
		if c != '/' {
			continue
		}
		if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(name[:i]))); err != nil {
			gone[name[:i]] = true
			return
		}
	}
}

func isBelow(dirs map[string]bool, name string) bool {
	if len(dirs) == 0 {
		return false
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// compareOnly has git compare files with an index that has only these entries, without
// the flags that hide them.
func (r *Repository) compareOnly(ctx context.Context, at checkoutAt, entries []index.Entry, written time.Time) ([]odb.StatusEntry, error) {
	dir, remove, err := r.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	data, err := index.Encode(entries, r.ObjectFormat())
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "index")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	// git trusts cached stat data by the index's mtime, so keep it.
	if err := os.Chtimes(file, written, written); err != nil {
		return nil, err
	}
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core(), GitDir: at.gitDir, Work: at.work}, gitcmd.Call{
		Args: []string{"diff", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "-z"},
		Env:  []string{"GIT_INDEX_FILE=" + file}, Inherit: at.inherit,
	})
	if err != nil {
		return nil, err
	}
	var edits []odb.StatusEntry
	for words := gitdir.SplitNUL(out); len(words) > 1; words = words[2:] {
		edits = append(edits, odb.StatusEntry{Path: words[1], Index: '.', Work: words[0][0], Hidden: true})
	}
	return edits, nil
}
