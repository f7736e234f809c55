package git

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// errIndex says that an index is of a form that only git can read.
var errIndex = errors.New("not an index that can be read here")

const gitlinkMode = 0o160000

// Flags of an index entry, and of the second set that some entries have.
const (
	assumeValid   = 0x8000
	extendedFlags = 0x4000
	stageMask     = 0x3000
	skipWorktree  = 0x4000
	intentToAdd   = 0x2000
)

// rawEntry is an entry as it lies in an index file. It is good until the next
// one is read.
type rawEntry struct {
	fixed    []byte // times, device, inode, mode, owner, size, object name, flags
	extended uint16
	name     []byte
}

func (e rawEntry) mode() uint32  { return binary.BigEndian.Uint32(e.fixed[24:]) }
func (e rawEntry) flags() uint16 { return binary.BigEndian.Uint16(e.fixed[len(e.fixed)-2:]) }
func (e rawEntry) oid() []byte   { return e.fixed[40 : len(e.fixed)-2] }

// scanIndex reads the entries of an index of version 2, 3 or 4, and returns a
// reader of what follows them.
func scanIndex(f io.Reader, hashLen int, each func(rawEntry)) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(f, 64<<10)
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	if version < 2 || version > 4 {
		return nil, errIndex
	}
	e := rawEntry{fixed: make([]byte, 40+hashLen+2), name: []byte{}}
	for range count {
		if _, err := io.ReadFull(r, e.fixed); err != nil {
			return nil, errIndex
		}
		size := len(e.fixed)
		e.extended = 0
		if e.flags()&extendedFlags != 0 {
			var more [2]byte
			if _, err := io.ReadFull(r, more[:]); err != nil {
				return nil, errIndex
			}
			e.extended = binary.BigEndian.Uint16(more[:])
			size += len(more)
		}
		var err error
		if e.name, err = readIndexName(r, e.name, version, size); err != nil {
			return nil, errIndex
		}
		each(e)
	}
	return r, nil
}

// readIndexName reads a path, which ends in NUL. In version 4 it shares a
// beginning with the one before; in the others it is padded.
func readIndexName(r *bufio.Reader, last []byte, version uint32, size int) ([]byte, error) {
	keep := 0
	if version == 4 {
		strip, err := readOffset(r)
		if err != nil || strip > len(last) {
			return nil, errIndex
		}
		keep = len(last) - strip
	}
	rest, err := r.ReadSlice(0)
	if err != nil {
		return nil, err
	}
	name := append(last[:keep], rest[:len(rest)-1]...)
	if version < 4 {
		size += len(rest)
		if _, err := r.Discard((8 - size%8) % 8); err != nil {
			return nil, err
		}
	}
	return name, nil
}

// readOffset reads a number as pack files have it.
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
	return 0, errIndex
}

// parseIndex reads a whole index file. One that is split, that leaves
// directories folded, or that needs anything else which is not known here, is
// an errIndex.
func parseIndex(data []byte, h hash.Hash) (*Index, error) {
	hashLen := h.Size()
	if len(data) < 12+hashLen {
		return nil, errIndex
	}
	body, sum := data[:len(data)-hashLen], data[len(data)-hashLen:]
	if h.Write(body); !bytes.Equal(sum, make([]byte, hashLen)) && !bytes.Equal(sum, h.Sum(nil)) {
		return nil, errIndex // git may leave the sum out
	}
	count := min(int(binary.BigEndian.Uint32(data[8:])), len(data)/(40+hashLen))
	x := &Index{Entries: make([]IndexEntry, 0, count)}
	oids, names := make([]byte, 0, 2*hashLen*count), make([]byte, 0, len(data))
	r, err := scanIndex(bytes.NewReader(body), hashLen, func(e rawEntry) {
		x.Entries = append(x.Entries, e.decode())
		oids, names = hex.AppendEncode(oids, e.oid()), append(append(names, e.name...), 0)
	})
	if err != nil {
		return nil, err
	}
	x.name(string(oids), string(names), 2*hashLen)
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); errors.Is(err, io.EOF) {
			return x, nil
		} else if err != nil {
			return nil, errIndex
		}
		if head[0] < 'A' || head[0] > 'Z' { // without it the entries mean something else
			return nil, errIndex
		}
		ext := make([]byte, min(int(binary.BigEndian.Uint32(head[4:])), len(body)))
		if _, err := io.ReadFull(r, ext); err != nil {
			return nil, errIndex
		}
		if string(head[:4]) == "TREE" {
			x.Tree, _ = readTreeExtension(bytes.NewReader(ext), hashLen)
		}
	}
}

// name gives the entries their objects and paths, which are parts of two long
// strings: to make one of each takes a third of the time.
func (x *Index) name(oids, names string, oidLen int) {
	for i := range x.Entries {
		x.Entries[i].OID, oids = oids[:oidLen], oids[oidLen:]
		x.Entries[i].Path, names, _ = strings.Cut(names, "\x00")
	}
}

// decode makes an entry of its own, without a name.
func (e rawEntry) decode() IndexEntry {
	flags := e.flags()
	out := IndexEntry{
		Mode: modeText(e.mode()), Stage: int(flags&stageMask) >> 12,
		Hidden: flags&assumeValid != 0 || e.extended&skipWorktree != 0, Sparse: e.extended&skipWorktree != 0, Intended: e.extended&intentToAdd != 0,
	}
	for i := range out.stat {
		out.stat[i] = binary.BigEndian.Uint32(e.fixed[4*i:])
	}
	return out
}

// modeText is a mode as git writes it. There are four.
func modeText(mode uint32) string {
	switch mode {
	case 0o100644:
		return "100644"
	case 0o100755:
		return "100755"
	case 0o120000:
		return "120000"
	case gitlinkMode:
		return "160000"
	}
	return fmt.Sprintf("%o", mode)
}
