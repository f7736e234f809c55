package index

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// Flags of an index entry, and of the extended flags that some entries have.
const (
	assumeValid   = 0x8000
	extendedFlags = 0x4000
	stageMask     = 0x3000
	skipWorktree  = 0x4000
	intentToAdd   = 0x2000
	nameLength    = 0x0fff
)

// maxPaths bounds how much longer the paths of an index are than its file, where each has only what differs from
// the one before.
const maxPaths = 32 << 20

// rawEntry is an entry as in the index file. It is valid until the next one is read.
type rawEntry struct {
	fixed    []byte // times, device, inode, mode, owner, size, object name, flags
	extended uint16
	name     []byte
}

func (e rawEntry) mode() uint32  { return binary.BigEndian.Uint32(e.fixed[24:]) }
func (e rawEntry) flags() uint16 { return binary.BigEndian.Uint16(e.fixed[len(e.fixed)-2:]) }

// saysItsLength reports whether the flags have the length of the path, as far as they have room for it. Git goes by
// them, and would read other entries where they lie.
func (e rawEntry) saysItsLength() bool {
	return int(e.flags()&nameLength) == min(len(e.name), nameLength)
}

func (e rawEntry) oid() []byte { return e.fixed[40 : len(e.fixed)-2] }

// scanIndex reads the entries of an index of version 2, 3 or 4, and returns a reader of
// what follows them.
func scanIndex(f io.Reader, hashLen int, each func(rawEntry)) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(f, 64<<10)
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "DIRC" {
		return nil, ErrUnreadable
	}
	version, count := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	if version < 2 || version > 4 {
		return nil, ErrUnreadable
	}
	e := rawEntry{fixed: make([]byte, 40+hashLen+2), name: []byte{}}
	var paths, read int64
	for range count {
		if _, err := io.ReadFull(r, e.fixed); err != nil {
			return nil, ErrUnreadable
		}
		size := len(e.fixed)
		e.extended = 0
		if e.flags()&extendedFlags != 0 {
			var more [2]byte
			if _, err := io.ReadFull(r, more[:]); err != nil {
				return nil, ErrUnreadable
			}
			e.extended = binary.BigEndian.Uint16(more[:])
			size += len(more)
		}
		var err error
		kept := 0
		if e.name, kept, err = readIndexName(r, e.name, version, size); err != nil || !e.saysItsLength() {
			return nil, ErrUnreadable
		}
		paths, read = paths+int64(len(e.name)), read+int64(size+len(e.name)-kept)
		if paths > maxPaths+4*read {
			return nil, errors.Join(ErrUnreadable, fsx.ErrTooLarge)
		}
		each(e)
	}
	return r, nil
}

// readIndexName reads a path, which is terminated by NUL. In version 4 it shares a prefix
// with the one before, of the length keep; in the others it is padded.
func readIndexName(r *bufio.Reader, last []byte, version uint32, size int) (name []byte, keep int, err error) {
	if version == 4 {
		strip, err := readOffset(r)
		if err != nil || strip > len(last) {
			return nil, 0, ErrUnreadable
		}
		keep = len(last) - strip
	}
	rest, err := r.ReadSlice(0)
	if err != nil {
		return nil, 0, err
	}
	name = append(last[:keep], rest[:len(rest)-1]...)
	if version < 4 {
		size += len(rest)
		if _, err := r.Discard((8 - size%8) % 8); err != nil {
			return nil, 0, err
		}
	}
	return name, keep, nil
}

// readOffset reads a variable-length number in the encoding of OFS_DELTA offsets in
// pack files.
func readOffset(r *bufio.Reader) (int, error) {
	n := 0
	for i := range 5 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return n, nil
		}
	}
	return 0, ErrUnreadable
}

// Parse parses an index file. Entries that git would not make are not among the entries of
// the result, but among its faults. It fails with ErrUnreadable if the index is split or
// sparse, or has an extension that is required and not supported here.
func Parse(data []byte, h hash.Hash) (*Index, error) {
	f, err := ParseFlat(data, h)
	if err != nil {
		return nil, err
	}
	x := &Index{Entries: make([]Entry, f.Len())}
	raw := make([]byte, 0, 2*f.hashLen*f.Len())
	for i := range x.Entries {
		e := f.At(i).raw
		x.Entries[i], raw = e.decode(), hex.AppendEncode(raw, e.oid())
	}
	oids := string(raw) // of all: to allocate each would take three times as long
	for i := range x.Entries {
		x.Entries[i].Path, x.Entries[i].OID = f.Path(i), oids[2*f.hashLen*i:2*f.hashLen*(i+1)]
	}
	if trees, _ := extension(f.rest, "TREE"); trees != nil {
		x.Tree, _ = readTreeExtension(bytes.NewReader(trees[8:]), f.hashLen)
	}
	x.leaveOutFaults()
	return x, nil
}

// isHidden reports whether git does not look at the file.
func (e rawEntry) isHidden() bool { return e.flags()&assumeValid != 0 || e.extended&skipWorktree != 0 }

// decode returns the entry without its name.
func (e rawEntry) decode() Entry {
	out := Entry{
		Mode: modeText(e.mode()), Stage: int(e.flags()&stageMask) >> 12,
		Hidden: e.isHidden(), Sparse: e.extended&skipWorktree != 0, Intended: e.extended&intentToAdd != 0,
	}
	out.stat = e.stat()
	return out
}

// stat returns the stat data of the entry.
func (e rawEntry) stat() (list [10]uint32) {
	for i := range list {
		list[i] = binary.BigEndian.Uint32(e.fixed[4*i:])
	}
	return list
}

// CachedTree returns the object name of the root tree from the extension TREE. The first
// entry of the extension is the root: an empty path, the number of entries that it covers,
// the number of subtrees, and the object name. It fails if the extension is missing or the
// root is invalid (-1 entries).
func CachedTree(f io.Reader, hashLen int) (string, error) {
	r, err := scanIndex(f, hashLen, func(rawEntry) {})
	if err != nil {
		return "", err
	}
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return "", err
		}
		size := binary.BigEndian.Uint32(head[4:])
		if string(head[:4]) == "TREE" {
			return readTreeExtension(io.LimitReader(r, int64(size)), hashLen)
		}
		if _, err := io.CopyN(io.Discard, r, int64(size)); err != nil {
			return "", err
		}
	}
}

func readTreeExtension(in io.Reader, hashLen int) (string, error) {
	root := bufio.NewReader(in)
	if path, err := root.ReadString(0); err != nil || path != "\x00" {
		return "", ErrUnreadable
	}
	counts, err := root.ReadString('\n')
	if err != nil || strings.HasPrefix(counts, "-") {
		return "", ErrUnreadable
	}
	oid := make([]byte, hashLen)
	if _, err := io.ReadFull(root, oid); err != nil {
		return "", err
	}
	return hex.EncodeToString(oid), nil
}
