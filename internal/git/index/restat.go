package index

import (
	"bytes"
	"encoding/binary"

	"github.com/croft-sh/croft/internal/git/object"
)

// Restat returns an index file whose entries have other stat data: of the file that has the staged content now,
// stats[i] for the i-th entry. Device and mode stay. Of the extensions only the cached trees stay; a split index fails
// with ErrUnreadable.
func Restat(data []byte, format object.Format, stats []FileStat) ([]byte, error) {
	hashLen := format.Size()
	if len(data) < 12+hashLen || string(data[:4]) != "DIRC" || int(binary.BigEndian.Uint32(data[8:])) != len(stats) {
		return nil, ErrUnreadable
	}
	out := bytes.Clone(data[:len(data)-hashLen])
	version, pos := binary.BigEndian.Uint32(out[4:]), 12
	for _, st := range stats {
		next, err := entryEnd(out, pos, version, hashLen)
		if err != nil {
			return nil, err
		}
		for i, n := range st.noted {
			if i != statDevice && i != statMode {
				binary.BigEndian.PutUint32(out[pos+4*i:], n)
			}
		}
		pos = next
	}
	trees, err := extension(out[pos:], "TREE")
	if err != nil {
		return nil, err
	}
	return appendSum(append(out[:pos], trees...), format), nil
}

// The places of fields in the stat data of an entry.
const (
	statDevice = 4
	statMode   = 6
)

// entryEnd returns where the entry at a place of an index ends.
func entryEnd(data []byte, pos int, version uint32, hashLen int) (int, error) {
	name := pos + 40 + hashLen + 2
	if name > len(data) {
		return 0, ErrUnreadable
	}
	if binary.BigEndian.Uint16(data[name-2:])&extendedFlags != 0 {
		name += 2
	}
	if version == 4 { // the length of what is left out of the name before
		for name < len(data) && data[name]&0x80 != 0 {
			name++
		}
		name++
	}
	if name > len(data) {
		return 0, ErrUnreadable
	}
	n := bytes.IndexByte(data[name:], 0)
	end := name + n + 1
	if version < 4 {
		end = pos + (name-pos+n+8)&^7
	}
	if n < 0 || end > len(data) {
		return 0, ErrUnreadable
	}
	return end, nil
}

// extension returns one of the extensions of an index, with its head, or nothing if there is none of that name. It fails
// with ErrUnreadable if one is damaged, or required: that changes the meaning of the entries.
func extension(data []byte, name string) ([]byte, error) {
	var found []byte
	for len(data) > 0 {
		if len(data) < 8 || data[0] < 'A' || data[0] > 'Z' {
			return nil, ErrUnreadable
		}
		size := 8 + uint64(binary.BigEndian.Uint32(data[4:]))
		if size > uint64(len(data)) {
			return nil, ErrUnreadable
		}
		if string(data[:4]) == name {
			found = data[:size]
		}
		data = data[size:]
	}
	return bytes.Clone(found), nil
}
