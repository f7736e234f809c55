package index

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/croft-sh/croft/internal/fsx"
)

// scanner reads the entries of an index of version 2, 3 or 4 that is in memory.
type scanner struct {
	rest    []byte
	version uint32
	count   uint32
	fixed   int
	entry   rawEntry

	paths, read int64 // how long the paths are, and what they were read of
}

func newScan(data []byte, hashLen int) (scanner, error) {
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return scanner{}, ErrUnreadable
	}
	s := scanner{rest: data[12:], version: binary.BigEndian.Uint32(data[4:]), count: binary.BigEndian.Uint32(data[8:]), fixed: 40 + hashLen + 2}
	if s.version < 2 || s.version > 4 {
		return scanner{}, ErrUnreadable
	}
	return s, nil
}

// next reads an entry. A path is terminated by NUL; in version 4 it shares a prefix with the one before,
// in the others it is padded.
func (s *scanner) next() error {
	b, size := s.rest, s.fixed
	if len(b) < size+2 {
		return ErrUnreadable
	}
	s.entry.fixed, s.entry.extended = b[:size], 0
	if s.entry.flags()&extendedFlags != 0 {
		s.entry.extended = binary.BigEndian.Uint16(b[size:])
		size += 2
	}
	b = b[size:]
	keep := 0
	if s.version == 4 {
		strip, n := offsetOf(b)
		if n == 0 || strip > len(s.entry.name) {
			return ErrUnreadable
		}
		b, keep = b[n:], len(s.entry.name)-strip
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return ErrUnreadable
	}
	pad := 0
	if s.version == 4 {
		s.entry.name = append(s.entry.name[:keep], b[:end]...)
	} else {
		s.entry.name = b[:end:end]
		pad = (8 - (size+end+1)%8) % 8
	}
	if len(b) < end+1+pad || !s.entry.saysItsLength() {
		return ErrUnreadable
	}
	s.rest = b[end+1+pad:]
	s.paths, s.read = s.paths+int64(len(s.entry.name)), s.read+int64(size+len(s.entry.name)-keep)
	if s.paths > maxPaths+4*s.read {
		return errors.Join(ErrUnreadable, fsx.ErrTooLarge)
	}
	return nil
}

// offsetOf reads a variable-length number in the encoding of OFS_DELTA offsets in pack files, and
// returns of how many bytes it is; 0 if it is none.
func offsetOf(b []byte) (value, length int) {
	for i := range min(5, len(b)) {
		if i > 0 {
			value++
		}
		value = value<<7 | int(b[i]&0x7f)
		if b[i]&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
