package index

import (
	"bytes"
	"encoding/binary"

	"github.com/croft-sh/croft/internal/git/object"
)

// Forget returns an index file that knows nothing of the files at some paths, so that git reads
// them: an agent may have forged the stat data. It fails with ErrUnreadable for an index that has
// not all of its entries, or that is damaged.
func Forget(data []byte, format object.Format, isPath func(path []byte) bool) ([]byte, error) {
	hashLen := format.Size()
	if len(data) < 12+hashLen {
		return nil, ErrUnreadable
	}
	out, sum := bytes.Clone(data[:len(data)-hashLen]), data[len(data)-hashLen:]
	if !bytes.Equal(sum, make([]byte, hashLen)) && !bytes.Equal(sum, hashOf(out, format)) {
		return nil, ErrUnreadable
	}
	var forgotten []bool
	if _, err := scanIndex(bytes.NewReader(out), hashLen, func(e rawEntry) { forgotten = append(forgotten, isPath(e.name)) }); err != nil {
		return nil, err
	}
	version, pos := binary.BigEndian.Uint32(out[4:]), 12
	for _, is := range forgotten {
		next, err := entryEnd(out, pos, version, hashLen)
		if err != nil {
			return nil, err
		}
		if is {
			clear(out[pos : pos+4*statMode])
			clear(out[pos+4*(statMode+1) : pos+40]) // a size of 0 is one that git does not trust
		}
		pos = next
	}
	if _, err := extension(out[pos:], ""); err != nil {
		return nil, err
	}
	return appendSum(out, format), nil
}

func hashOf(data []byte, format object.Format) []byte {
	h := format.NewHash()
	h.Write(data)
	return h.Sum(nil)
}
