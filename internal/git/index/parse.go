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
func (e rawEntry) oid() []byte   { return e.fixed[40 : len(e.fixed)-2] }

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
		if e.name, kept, err = readIndexName(r, e.name, version, size); err != nil {
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
	hashLen := h.Size()
	if len(data) < 12+hashLen {
		return nil, ErrUnreadable
	}
	body, sum := data[:len(data)-hashLen], data[len(data)-hashLen:]
	if h.Write(body); !bytes.Equal(sum, make([]byte, hashLen)) && !bytes.Equal(sum, h.Sum(nil)) {
		return nil, ErrUnreadable // index.skipHash: git leaves the checksum out
	}
	s, err := newScan(body, hashLen)
	if err != nil {
		return nil, err
	}
	count := min(int(s.count), len(body)/s.fixed)
	x := &Index{Entries: make([]Entry, 0, count)}
	oids, names := make([]byte, 0, 2*hashLen*count), make([]byte, 0, len(data))
	for range s.count {
		if err := s.next(); err != nil {
			return nil, err
		}
		e := s.entry
		x.Entries = append(x.Entries, e.decode())
		oids, names = hex.AppendEncode(oids, e.oid()), append(append(names, e.name...), 0)
	}
	x.name(string(oids), string(names), 2*hashLen)
	for ext := s.rest; len(ext) > 0; {
		if len(ext) < 8 || ext[0] < 'A' || ext[0] > 'Z' { // a required extension, which changes the meaning of the entries
			return nil, ErrUnreadable
		}
		size := binary.BigEndian.Uint32(ext[4:])
		if uint64(size) > uint64(len(ext)-8) {
			return nil, ErrUnreadable
		}
		if string(ext[:4]) == "TREE" {
			x.Tree, _ = readTreeExtension(bytes.NewReader(ext[8:8+size]), hashLen)
		}
		ext = ext[8+size:]
	}
	x.leaveOutFaults()
	return x, nil
}

// name gives the entries their objects and paths, which are substrings of two long
// strings: to allocate each would take three times as long.
func (x *Index) name(oids, names string, oidLen int) {
	for i := range x.Entries {
		x.Entries[i].OID, oids = oids[:oidLen], oids[oidLen:]
		x.Entries[i].Path, names, _ = strings.Cut(names, "\x00")
	}
}

// decode returns the entry without its name.
func (e rawEntry) decode() Entry {
	flags := e.flags()
	out := Entry{
		Mode: modeText(e.mode()), Stage: int(flags&stageMask) >> 12,
		Hidden: flags&assumeValid != 0 || e.extended&skipWorktree != 0, Sparse: e.extended&skipWorktree != 0, Intended: e.extended&intentToAdd != 0,
	}
	for i := range out.stat {
		out.stat[i] = binary.BigEndian.Uint32(e.fixed[4*i:])
	}
	return out
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
