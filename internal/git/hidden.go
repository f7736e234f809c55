package git

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// special is what a status needs to know of an index beside what git says:
// submodules, and files that git was told not to look at.
type special struct {
	links   []string
	hidden  []IndexEntry
	written time.Time // when the index was
}

// special reads an index here, which saves a process for the many repositories
// that have nothing of it.
func (r *Repository) special(ctx context.Context, at checkoutAt) (special, error) {
	f, err := fsx.Open(filepath.Join(at.gitDir, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return special{}, nil
	}
	if err != nil {
		return special{}, err
	}
	defer f.Close()
	s, err := readSpecial(f, r.objectFormat().Size())
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			s.written = info.ModTime()
		}
		return s, err
	}
	x, err := (&Worktree{Repo: r, Path: at.work, Admin: at.gitDir, Inherit: at.inherit, settled: true}).Index(ctx)
	if err != nil {
		return special{}, err
	}
	s = special{written: x.written}
	for _, e := range x.Entries {
		s.add(e)
	}
	return s, nil
}

func (s *special) add(e IndexEntry) {
	if e.Mode == "160000" {
		s.links = append(s.links, e.Path)
	}
	if e.Hidden && e.Stage == 0 {
		s.hidden = append(s.hidden, e)
	}
}

// readSpecial reads an index of a form that can be read here, or fails with
// errIndex.
func readSpecial(f io.Reader, hashLen int) (special, error) {
	var s special
	r, err := scanIndex(f, hashLen, func(e rawEntry) {
		if e.mode() != gitlinkMode && e.flags()&assumeValid == 0 && e.extended&skipWorktree == 0 {
			return
		}
		entry := e.decode()
		entry.Path, entry.OID = string(e.name), hex.EncodeToString(e.oid())
		s.add(entry)
	})
	if err != nil {
		return special{}, err
	}
	// An index that is split keeps the rest of its entries in another file.
	if ext, err := r.Peek(4); err != nil || string(ext) == "link" {
		return special{}, errIndex
	}
	return s, nil
}

// hiddenEdits lists the files that differ from what is staged and that git was
// told not to look at. One that a sparse checkout leaves out is not there, and
// that is no edit.
func (r *Repository) hiddenEdits(ctx context.Context, at checkoutAt, s special) ([]StatusEntry, error) {
	var suspects []IndexEntry
	x := &Index{written: s.written}
	gone := map[string]bool{}
	var edits []StatusEntry
	for _, e := range s.hidden {
		if e.Sparse && isBelow(gone, e.Path) {
			continue
		}
		now, err := Lstat(filepath.Join(at.work, filepath.FromSlash(e.Path)))
		switch {
		case err == nil && x.Unchanged(e, now):
		case err == nil:
			suspects = append(suspects, e)
		case !isAbsent(err):
			return nil, err
		case e.Sparse:
			noteGone(gone, at.work, e.Path)
		default:
			edits = append(edits, StatusEntry{Path: e.Path, Index: '.', Work: 'D', Hidden: true})
		}
	}
	if len(suspects) == 0 {
		return edits, nil
	}
	changed, err := r.compareAlone(ctx, at, suspects, s.written)
	return append(edits, changed...), err
}

// isAbsent reports whether an error says that there is no such file in the
// checkout: it is not there, or what should be its directory is a file or a link
// that leads nowhere.
func isAbsent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// noteGone remembers the topmost directory on the way to a file that is not
// there: a sparse checkout may leave out a hundred thousand files below it.
func noteGone(gone map[string]bool, top, name string) {
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

// compareAlone has git compare files with an index that holds only these, and
// says of none that it is not to be looked at.
func (r *Repository) compareAlone(ctx context.Context, at checkoutAt, entries []IndexEntry, written time.Time) ([]StatusEntry, error) {
	dir, remove, err := r.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	data, err := r.indexOf(entries)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "index")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	// Its notes are as old as the index that they come from.
	if err := os.Chtimes(file, written, written); err != nil {
		return nil, err
	}
	out, err := r.git.run(ctx, door{repo: r, gitDir: at.gitDir, work: at.work}, call{
		args: []string{"diff", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "-z"},
		env:  []string{"GIT_INDEX_FILE=" + file}, inherit: at.inherit,
	})
	if err != nil {
		return nil, err
	}
	var edits []StatusEntry
	for words := splitNUL(out); len(words) > 1; words = words[2:] {
		edits = append(edits, StatusEntry{Path: words[1], Index: '.', Work: words[0][0], Hidden: true})
	}
	return edits, nil
}

// indexOf is an index file with some entries, in the order of their paths.
func (r *Repository) indexOf(entries []IndexEntry) ([]byte, error) {
	const longest = 0xfff // of the lengths that the flags can hold
	out := binary.BigEndian.AppendUint32([]byte("DIRC"), 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(entries)))
	for _, e := range entries {
		start := len(out)
		for _, n := range e.stat {
			out = binary.BigEndian.AppendUint32(out, n)
		}
		oid, err := hex.DecodeString(e.OID)
		if err != nil {
			return nil, err
		}
		out = binary.BigEndian.AppendUint16(append(out, oid...), uint16(min(len(e.Path), longest)))
		out = append(out, e.Path...)
		out = append(out, strings.Repeat("\x00", 8-(len(out)-start)%8)...)
	}
	h := r.objectFormat().New()
	h.Write(out)
	return h.Sum(out), nil
}
