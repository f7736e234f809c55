package index

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// FileStat is the stat data of a file, in a form that can be compared with an index entry.
type FileStat struct {
	Mode    fs.FileMode
	Size    int64
	ModTime time.Time
	// IsShared says that a file has other names, by which it may be written. On Windows it is not known.
	IsShared bool

	noted [10]uint32 // in the form and order of an index entry
}

// NamedStat is a FileStat with the name of the file in its directory.
type NamedStat struct {
	Name string
	FileStat
}

// StatSize returns the size of the file in the stat data of the entry.
func (e Entry) StatSize() int64 { return int64(e.stat[9]) }

// SetStat sets the stat data of the entry: the file st has the staged content. The zero
// FileStat says that nothing is known.
func (e *Entry) SetStat(st FileStat) { e.stat = st.noted }

// HasMode reports whether a file on disk has the staged mode, as far as git keeps modes on
// this system.
func (e Entry) HasMode(now fs.FileMode) bool { return isSameMode(e.Mode, now) }

// IsUnchanged reports whether a file on disk is provably the one that git saw with the
// staged content. A file that changed too shortly before the index was written is not.
func (x *Index) IsUnchanged(e Entry, now FileStat) bool {
	if !isSameMode(e.Mode, now.Mode) || !isSameStat(e.stat, now.noted) {
		return false
	}
	return x.Written.Sub(now.ModTime) > max(fsx.Grain(now.ModTime), fsx.Grain(x.Written))
}

// IsSame reports whether two stats are of the same file, unchanged in between.
func (a FileStat) IsSame(b FileStat) bool {
	return a.Mode == b.Mode && a.Size == b.Size && a.ModTime.Equal(b.ModTime) && isSameStat(a.noted, b.noted)
}

// IsSameMoved is [FileStat.IsSame] for a file that was renamed in between, which changes the
// ctime on many file systems.
func (a FileStat) IsSameMoved(b FileStat) bool {
	a.noted[0], a.noted[1] = b.noted[0], b.noted[1]
	return a.IsSame(b)
}

// IsSince reports whether the file is known to have existed unchanged, and under the same
// name, since before at, by its ctime. Without a ctime the answer is yes.
func (a FileStat) IsSince(at time.Time) bool {
	return fsx.IsSettled(a.Changed(), at)
}

// IsSettled reports whether the file was last modified so long before at, when it was
// read, that any later change gives it another mtime.
func (a FileStat) IsSettled(at time.Time) bool {
	return fsx.IsSettled(a.ModTime, at)
}

// AppendTo appends all that tells the file from any other, and from itself after a change.
func (a FileStat) AppendTo(out []byte) []byte {
	out = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(out, uint32(a.Mode)), uint64(a.Size))
	for _, n := range a.noted {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return out
}

// Changed returns the ctime, which no process can set; 1970 if the file system has none.
func (a FileStat) Changed() time.Time { return time.Unix(int64(a.noted[0]), int64(a.noted[1])) }

// Inode returns the low half of the inode number, as an index has it.
func (a FileStat) Inode() uint32 { return a.noted[5] }

// Stamp returns a text that changes with any of the stat data.
func (a FileStat) Stamp() string { return fmt.Sprint(a.noted, a.Size) }
