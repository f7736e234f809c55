package index

import (
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"
)

// Special has the entries of an index that git's status does not report in full:
// submodules, and files that git was told not to compare.
type Special struct {
	Links   []string // paths of submodules
	Hidden  []Entry
	Written time.Time // the mtime of the index
}

// Add adds an entry if it is special.
func (s *Special) Add(e Entry) {
	if e.Mode == "160000" {
		s.Links = append(s.Links, e.Path)
	}
	if e.Hidden && e.Stage == 0 {
		s.Hidden = append(s.Hidden, e)
	}
}

// sparseDirMode is the mode of an entry that stands for a whole directory, in a sparse index.
const sparseDirMode = "40000"

// LeaveOutDirs removes the entries that stand for whole directories, if isAbsent says of each
// that the checkout does not have it, and reports whether they are removed. The files of
// the others are not known.
func (s *Special) LeaveOutDirs(isAbsent func(dir string) bool) bool {
	isDir := func(e Entry) bool { return e.Mode == sparseDirMode }
	for _, e := range s.Hidden {
		if isDir(e) && !isAbsent(strings.TrimSuffix(e.Path, "/")) {
			return false
		}
	}
	s.Hidden = slices.DeleteFunc(s.Hidden, isDir)
	return true
}

// ReadSpecial reads the special entries of an index, or fails with [ErrUnreadable]. It
// leaves out those that git would not make by themselves.
func ReadSpecial(f io.Reader, hashLen int) (Special, error) {
	var s Special
	r, err := scanIndex(f, hashLen, func(e rawEntry) {
		if e.mode() != gitlinkMode && e.flags()&assumeValid == 0 && e.extended&skipWorktree == 0 {
			return
		}
		entry := e.decode()
		entry.Path, entry.OID = string(e.name), hex.EncodeToString(e.oid())
		named := entry
		if dir, isDir := strings.CutSuffix(entry.Path, "/"); isDir && entry.Sparse && entry.Mode == sparseDirMode {
			named.Path, named.Mode = dir, "100644" // a directory of a sparse index, which git does make
		}
		if named.fault("") == "" {
			s.Add(entry)
		}
	})
	if err != nil {
		return Special{}, err
	}
	// A split index has the rest of its entries in another file.
	if ext, err := r.Peek(4); err != nil || string(ext) == "link" {
		return Special{}, ErrUnreadable
	}
	return s, nil
}
