package index

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io/fs"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git/object"
)

// Flat is an index that is read in place: its entries stay the bytes of the file, and nothing is allocated for
// each. The memory of a status is small so, and its time is that of the files.
type Flat struct {
	Written time.Time // the mtime of the file

	data    []byte // of the file, which nobody changes
	names   string // all paths, one after the other
	places  []place
	hashLen int
	rest    []byte // what follows the entries
}

// place says where an entry is in the file, and where its path is among all paths.
type place struct{ fixed, name, end uint32 }

// ParseFlat reads an index file as [Parse] does, but for faults: see [Flat.IsPlain].
func ParseFlat(data []byte, h hash.Hash) (*Flat, error) {
	hashLen := h.Size()
	if len(data) < 12+hashLen {
		return nil, ErrUnreadable
	}
	body, sum := data[:len(data)-hashLen], data[len(data)-hashLen:]
	if h.Write(body); !bytes.Equal(sum, make([]byte, hashLen)) && !bytes.Equal(sum, h.Sum(nil)) {
		return nil, ErrUnreadable // index.skipHash: git leaves the checksum out
	}
	f, err := flatten(body, hashLen)
	if err != nil {
		return nil, err
	}
	_, err = extension(f.rest, "")
	return f, err
}

// Reread reads the entries of an index file that was parsed before. It fails with [ErrUnreadable] where [Parse]
// would, but for the checksum and what follows the entries.
func Reread(data []byte, hashLen int) (*Flat, error) { return flatten(data, hashLen) }

func flatten(body []byte, hashLen int) (*Flat, error) {
	s, err := newScan(body, hashLen)
	if err != nil {
		return nil, err
	}
	count := min(int(s.count), len(body)/s.fixed)
	f := &Flat{data: body, places: make([]place, 0, count), hashLen: hashLen}
	var names strings.Builder
	names.Grow(max(0, len(body)-count*s.fixed))
	for range s.count {
		at := len(body) - len(s.rest)
		if err := s.next(); err != nil {
			return nil, err
		}
		from := names.Len()
		names.Write(s.entry.name)
		f.places = append(f.places, place{uint32(at), uint32(from), uint32(names.Len())})
	}
	f.names, f.rest = names.String(), s.rest
	return f, nil
}

// Len is the number of entries.
func (f *Flat) Len() int { return len(f.places) }

// Path returns the path of an entry.
func (f *Flat) Path(i int) string { return f.names[f.places[i].name:f.places[i].end] }

// At returns an entry.
func (f *Flat) At(i int) Staged {
	fixed := f.data[f.places[i].fixed:]
	e := rawEntry{fixed: fixed[:40+f.hashLen+2]}
	if e.flags()&extendedFlags != 0 {
		e.extended = binary.BigEndian.Uint16(fixed[len(e.fixed):])
	}
	return Staged{e}
}

// Entry returns an entry with its path.
func (f *Flat) Entry(i int) Entry {
	e := f.At(i).raw
	entry := e.decode()
	entry.Path, entry.OID = f.Path(i), hex.EncodeToString(e.oid())
	return entry
}

// Staged is an entry of an index as its bytes are.
type Staged struct{ raw rawEntry }

// IsAsStaged reports whether git, too, takes a file on disk for the staged one without reading
// it: it has the mode and all stat data of the entry, and was modified in an earlier second than
// the index was written. Git counts in seconds on most systems, and reads what is as young as the index.
func (e Staged) IsAsStaged(now FileStat, written time.Time) bool {
	return e.hasMode(now.Mode) && isSameStat(e.raw.stat(), now.noted) && now.ModTime.Unix() < written.Unix()
}

func (e Staged) hasMode(now fs.FileMode) bool { return isSameMode(modeText(e.raw.mode()), now) }

// IsPlain reports whether all entries are files or links that git would stage, without conflicts and in order: of
// such an index [Parse] finds no fault.
func (f *Flat) IsPlain() bool {
	last, dir := "", ""
	for i := range f.places {
		e, path := f.At(i).raw, f.Path(i)
		switch e.mode() {
		case 0o100644, 0o100755, 0o120000:
		default:
			return false
		}
		if e.flags()&stageMask != 0 || e.extended&intentToAdd != 0 || i > 0 && path <= last || !isValidPath(path, dir) {
			return false
		}
		if now := dirOf(path); now != dir {
			if f.isBelowFile(path, i) {
				return false
			}
			dir = now
		}
		last = path
	}
	return true
}

// HasHidden reports whether an entry is marked so that git does not look at its file: skip-worktree or assume-unchanged.
func (f *Flat) HasHidden() bool {
	for i := range f.places {
		if f.At(i).raw.isHidden() {
			return true
		}
	}
	return false
}

// isBelowFile reports whether one of the first n entries, which are sorted, is a file in the place of a directory of a path.
func (f *Flat) isBelowFile(path string, n int) bool {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if at := sort.Search(n, func(k int) bool { return f.Path(k) >= path[:i] }); at < n && f.Path(at) == path[:i] {
			return true
		}
	}
	return false
}

// Below returns where the entries end that begin, from the first of some on, with a directory and its slash.
func (f *Flat) Below(from, to int, dir string) int {
	step := 1
	for from+step < to && strings.HasPrefix(f.Path(from+step), dir) { // most directories are small
		from, step = from+step, 2*step
	}
	return from + 1 + sort.Search(min(step, to-from)-1, func(i int) bool { return !strings.HasPrefix(f.Path(from+1+i), dir) })
}

// Tree computes the name of the tree of an index that is plain.
func (f *Flat) Tree(format object.Format) string {
	t := treeOf{f: f, sum: format.NewHash()}
	return hex.EncodeToString(t.dir(0, len(f.places), 0))
}

// treeOf computes trees. The texts of the directories that are begun lie in text, one behind the other.
type treeOf struct {
	f    *Flat
	sum  hash.Hash
	text []byte
	oid  [64]byte
}

// dir returns the name of the tree of some entries, whose paths begin with a directory of a length. It is valid
// until the next one is computed.
func (t *treeOf) dir(from, to, prefix int) []byte {
	begin := len(t.text)
	for from < to {
		path := t.f.Path(from)
		name, _, deeper := strings.Cut(path[prefix:], "/")
		if !deeper {
			e := t.f.At(from).raw
			t.text = append(append(append(append(t.text, modeText(e.mode())...), ' '), name...), 0)
			t.text = append(t.text, e.oid()...)
			from++
			continue
		}
		end := prefix + len(name) + 1
		next := t.f.Below(from, to, path[:end])
		oid := t.dir(from, next, end)
		t.text = append(append(append(append(t.text, "40000 "...), name...), 0), oid...)
		from = next
	}
	t.sum.Reset()
	t.sum.Write(append(strconv.AppendInt(append(t.oid[:0], "tree "...), int64(len(t.text)-begin), 10), 0))
	t.sum.Write(t.text[begin:])
	t.text = t.text[:begin]
	return t.sum.Sum(t.oid[:0])
}
