package index

import (
	"bytes"
	"encoding/binary"
	"sort"
	"time"

	"github.com/croft-sh/croft/internal/git/object"
)

// Find returns the entry with a path of an index that is plain, or false.
func (f *Flat) Find(path string) (Entry, bool) {
	i := sort.Search(f.Len(), func(i int) bool { return f.Path(i) >= path })
	if i == f.Len() || f.Path(i) != path {
		return Entry{}, false
	}
	return f.Entry(i), true
}

// Noting returns the index file with other stat data at some paths, whose files have the staged content now.
// Device and mode stay, and so does all that follows the entries. The index must be plain.
func (f *Flat) Noting(stats map[string]FileStat, format object.Format) []byte {
	out := bytes.Clone(f.data)
	for path, st := range stats {
		i := sort.Search(f.Len(), func(i int) bool { return f.Path(i) >= path })
		if i == f.Len() || f.Path(i) != path {
			continue
		}
		at := f.places[i].fixed
		for k, n := range st.noted {
			if k != statDevice && k != statMode {
				binary.BigEndian.PutUint32(out[int(at)+4*k:], n)
			}
		}
	}
	return appendSum(out, format)
}

// IsRacy reports whether git does not believe the stat data of the entry in an index of a time: the file was modified
// in the same second, or later. Git compares such a file, whenever it writes the index.
func (e Staged) IsRacy(written time.Time) bool {
	return int64(e.raw.stat()[2]) >= written.Unix()
}

// Unknown returns stat data with which git compares the file, as git itself marks an entry.
func (a FileStat) Unknown() FileStat {
	a.noted[9] = 0
	return a
}
