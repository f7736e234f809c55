package index

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// Encode returns an index file with entries that are sorted by path, without their stages
// and flags.
func Encode(entries []Entry, format object.Format) ([]byte, error) {
	out := appendHeader(len(entries))
	for _, e := range entries {
		var err error
		if out, err = appendEntry(out, e); err != nil {
			return nil, err
		}
	}
	return appendSum(out, format), nil
}

// Encode returns an index file with these entries, without their stages and flags, and with
// root as cache tree.
func (x *Index) Encode(root *Tree, format object.Format) ([]byte, error) {
	out := appendHeader(len(x.Entries))
	for _, e := range x.Entries {
		e.stat[6] = modeNumber(e.Mode)
		var err error
		if out, err = appendEntry(out, e); err != nil {
			return nil, err
		}
	}
	return appendSum(appendTrees(out, root), format), nil
}

// EncodeEntries returns an index file with these entries, their stages and flags. A file
// that git was told not to compare for two reasons keeps one of them.
func (x *Index) EncodeEntries(format object.Format) ([]byte, error) {
	out := appendHeader(len(x.Entries))
	for _, e := range x.Entries {
		flags := uint16(e.Stage) << 12
		var extended uint16
		if e.Sparse {
			extended |= skipWorktree
		} else if e.Hidden {
			flags |= assumeValid
		}
		if e.Intended {
			extended |= intentToAdd
		}
		if extended != 0 {
			binary.BigEndian.PutUint32(out[4:], 3) // the version that has extended flags
		}
		var err error
		if out, err = appendFlagged(out, e, flags, extended); err != nil {
			return nil, err
		}
	}
	return appendSum(out, format), nil
}

func appendHeader(entries int) []byte {
	out := binary.BigEndian.AppendUint32([]byte("DIRC"), 2)
	return binary.BigEndian.AppendUint32(out, uint32(entries))
}

func appendEntry(out []byte, e Entry) ([]byte, error) { return appendFlagged(out, e, 0, 0) }

func appendFlagged(out []byte, e Entry, flags, extended uint16) ([]byte, error) {
	const longest = 0xfff // the largest length that the flags can hold
	start := len(out)
	for _, n := range e.stat {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	oid, err := hex.DecodeString(e.OID)
	if err != nil {
		return nil, err
	}
	flags |= uint16(min(len(e.Path), longest))
	if extended != 0 {
		flags |= extendedFlags
	}
	out = binary.BigEndian.AppendUint16(append(out, oid...), flags)
	if extended != 0 {
		out = binary.BigEndian.AppendUint16(out, extended)
	}
	out = append(out, e.Path...)
	return append(out, strings.Repeat("\x00", 8-(len(out)-start)%8)...), nil
}

// appendTrees appends the extension TREE.
func appendTrees(out []byte, root *Tree) []byte {
	trees := root.extension(nil)
	out = append(out, "TREE"...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(trees)))
	return append(out, trees...)
}

// appendSum appends the checksum at the end of an index.
func appendSum(out []byte, format object.Format) []byte {
	h := format.NewHash()
	h.Write(out)
	return h.Sum(out)
}

// Plain returns an index with the same entries and no extensions, except the trees if they
// are given: extensions can tell git not to compare files.
func (x *Index) Plain(data []byte, root *Tree, format object.Format) ([]byte, error) {
	hashLen := format.Size()
	in := bytes.NewReader(data[:len(data)-hashLen])
	rest, err := scanIndex(in, hashLen, func(rawEntry) {})
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(data[:len(data)-hashLen-in.Len()-rest.Buffered()])
	if root != nil && root.Entries == len(x.Entries) {
		out = appendTrees(out, root)
	}
	return appendSum(out, format), nil
}

func modeNumber(mode string) uint32 {
	switch mode {
	case "100755":
		return 0o100755
	case "120000":
		return 0o120000
	case "160000":
		return gitlinkMode
	}
	return 0o100644
}
