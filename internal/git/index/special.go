package index

import (
	"encoding/hex"
	"io"
	"time"
)

// Special is what a status needs to know of an index beside what git says:
// submodules, and files that git was told not to look at.
type Special struct {
	Links   []string // paths of submodules
	Hidden  []Entry
	Written time.Time // when the index was
}

// Add notes an entry, if it is special.
func (s *Special) Add(e Entry) {
	if e.Mode == "160000" {
		s.Links = append(s.Links, e.Path)
	}
	if e.Hidden && e.Stage == 0 {
		s.Hidden = append(s.Hidden, e)
	}
}

// ReadSpecial reads an index of a form that can be read here, or fails with
// [ErrUnreadable].
func ReadSpecial(f io.Reader, hashLen int) (Special, error) {
	var s Special
	r, err := scanIndex(f, hashLen, func(e rawEntry) {
		if e.mode() != gitlinkMode && e.flags()&assumeValid == 0 && e.extended&skipWorktree == 0 {
			return
		}
		entry := e.decode()
		entry.Path, entry.OID = string(e.name), hex.EncodeToString(e.oid())
		s.Add(entry)
	})
	if err != nil {
		return Special{}, err
	}
	// An index that is split keeps the rest of its entries in another file.
	if ext, err := r.Peek(4); err != nil || string(ext) == "link" {
		return Special{}, ErrUnreadable
	}
	return s, nil
}
