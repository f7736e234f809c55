package git

import (
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
func (e IndexEntry) NotedSize() int64 { return int64(e.stat[9]) }

// How much later than a file the index must have been written for its notes to
// be believed: where times are fine, and where they are whole seconds.
const (
	fineGrain   = 50 * time.Millisecond
	coarseGrain = 2 * time.Second
)

// Unchanged reports whether a file on disk is provably the one that git looked
// at when it noted that it is as staged. A file that was changed so soon before
// that its time does not tell is not.
func (x *Index) Unchanged(e IndexEntry, now FileStat) bool {
	if !sameMode(e.Mode, now.Mode) || !sameNotes(e.stat, now.noted) {
		return false
	}
	grain := fineGrain
	if now.ModTime.Nanosecond() == 0 || x.written.Nanosecond() == 0 {
		grain = coarseGrain
	}
	return x.written.Sub(now.ModTime) > grain
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
		grain = coarseGrain
	}
	return at.Sub(time.Unix(int64(a.noted[0]), int64(a.noted[1]))) > grain
}

// IsSettled reports whether a file that was looked at at a moment was last changed
// so long before that a later change shows in its time.
func (a FileStat) IsSettled(at time.Time) bool {
	grain := fineGrain
	if a.ModTime.Nanosecond() == 0 {
		grain = coarseGrain
	}
	return at.Sub(a.ModTime) > grain
}
