package index

import (
	"encoding/hex"
	"io"
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
		if dir, isDir := strings.CutSuffix(entry.Path, "/"); isDir && entry.Sparse && entry.Mode == "40000" {
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
