package fsx

import (
	"encoding/binary"
	"errors"
	"os"
	"time"
)

// Stamp is what the system keeps of an entry beside its name and its content. A later change of the content, or of
// anything else that is kept, gives an entry that is settled another stamp: no process can set Changed.
type Stamp struct {
	Device, Inode uint64
	Mode          os.FileMode
	Owner, Group  uint32
	Size          int64
	Modified      int64 // in nanoseconds since 1970
	Changed       int64 // when anything of it was changed
}

// ErrNoStamp says that the system does not keep when an entry was changed.
var ErrNoStamp = errors.New("this system does not keep when files were changed")

// StampOf returns the stamp of an entry that was looked at itself.
func StampOf(info os.FileInfo) (Stamp, error) {
	s := Stamp{Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if !s.addKept(info) || s.Changed == 0 {
		return s, ErrNoStamp
	}
	return s, nil
}

// AppendTo appends the stamp to text.
func (s Stamp) AppendTo(text []byte) []byte {
	for _, n := range []uint64{
		s.Device, s.Inode, uint64(s.Mode)<<32 | uint64(s.Owner), uint64(s.Group), uint64(s.Size), uint64(s.Modified), uint64(s.Changed),
	} {
		text = binary.BigEndian.AppendUint64(text, n)
	}
	return text
}

// Settled is the first moment from which on any further change gives the entry another stamp.
func (s Stamp) Settled() time.Time {
	at := time.Unix(0, s.Changed)
	return at.Add(Grain(at))
}

// CoarseGrain is more than the steps in which any file system counts times, and fineGrain more than those of kernels where it counts
// parts of a second.
const (
	CoarseGrain = 2 * time.Second
	fineGrain   = 50 * time.Millisecond
)

// Grain returns by how much later than a time of a file a change has to be to give the file another time.
func Grain(at time.Time) time.Duration {
	if at.Nanosecond() == 0 {
		return CoarseGrain
	}
	return fineGrain
}

// IsSettled reports whether a change at some moment gives a file another time than the one that it has.
func IsSettled(at, moment time.Time) bool { return moment.Sub(at) > Grain(at) }

// Stamp returns the stamp of an entry. No link on the way to it is followed.
func (f *Tree) Stamp(name string) (Stamp, error) {
	info, err := f.Lstat(name)
	if err != nil {
		return Stamp{}, err
	}
	return StampOf(info)
}

// SpecialKind says what an entry is that is neither a file, a link nor a directory.
func SpecialKind(mode os.FileMode) string {
	switch {
	case mode&os.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	}
	return ""
}
