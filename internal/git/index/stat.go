package index

import (
	"fmt"
	"io/fs"
	"time"
)

// FileStat is what the file system says of a file: what can be compared with
// the notes of an index.
type FileStat struct {
	Mode    fs.FileMode
	Size    int64
	ModTime time.Time

	noted [10]uint32 // in the form and order of an index entry
}

// NamedStat is a FileStat with the name that the file has in its directory.
type NamedStat struct {
	Name string
	FileStat
}

// NotedSize is the size that the file had when git noted that it is as staged.
func (e Entry) NotedSize() int64 { return int64(e.stat[9]) }

// SetStat notes that the file, as it was when it was looked at, is what is staged.
// The zero FileStat says that nothing is known of it.
func (e *Entry) SetStat(st FileStat) { e.stat = st.noted }

// HasMode reports whether a file on disk has the mode that is staged, as far as git
// keeps modes here.
func (e Entry) HasMode(now fs.FileMode) bool { return sameMode(e.Mode, now) }

// How much later than a file the index must have been written for its notes to
// be believed: where times are fine, and where they are whole seconds.
const (
	fineGrain   = 50 * time.Millisecond
	CoarseGrain = 2 * time.Second
)

// Unchanged reports whether a file on disk is provably the one that git looked
// at when it noted that it is as staged. A file that was changed so soon before
// that its time does not tell is not.
func (x *Index) Unchanged(e Entry, now FileStat) bool {
	if !sameMode(e.Mode, now.Mode) || !sameNotes(e.stat, now.noted) {
		return false
	}
	grain := fineGrain
	if now.ModTime.Nanosecond() == 0 || x.Written.Nanosecond() == 0 {
		grain = CoarseGrain
	}
	return x.Written.Sub(now.ModTime) > grain
}

// IsAs reports whether two looks at a file saw the same one, and nothing that the
// file system notes has happened to it in between.
func (a FileStat) IsAs(b FileStat) bool {
	return a.Mode == b.Mode && a.Size == b.Size && a.ModTime.Equal(b.ModTime) && sameNotes(a.noted, b.noted)
}

// IsAsMoved is [FileStat.IsAs] for a file that was renamed in between, which many
// file systems note.
func (a FileStat) IsAsMoved(b FileStat) bool {
	a.noted[0], a.noted[1] = b.noted[0], b.noted[1]
	return a.IsAs(b)
}

// IsSince reports whether the file is known to have been there, as it is, since before
// a moment: nothing that the file system notes has happened to it, nor was it renamed.
// Where no such time is noted, it is.
func (a FileStat) IsSince(at time.Time) bool {
	grain := fineGrain
	if a.noted[1] == 0 {
		grain = CoarseGrain
	}
	return at.Sub(a.Changed()) > grain
}

// IsSettled reports whether the file was last modified so long before at, when it was
// read, that any later change gives it another modification time.
func (a FileStat) IsSettled(at time.Time) bool {
	grain := fineGrain
	if a.ModTime.Nanosecond() == 0 {
		grain = CoarseGrain
	}
	return at.Sub(a.ModTime) > grain
}

// Changed is when the inode was last changed, which nobody can set back; 1970
// where the file system does not say.
func (a FileStat) Changed() time.Time { return time.Unix(int64(a.noted[0]), int64(a.noted[1])) }

// Inode is the low half of the inode, as an index keeps it.
func (a FileStat) Inode() uint32 { return a.noted[5] }

// Stamp is a text that is another one after anything has happened to the file that
// the file system notes.
func (a FileStat) Stamp() string { return fmt.Sprint(a.noted, a.Size) }
