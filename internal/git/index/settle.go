package index

import (
	"bytes"
	"errors"
	"sort"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// ErrDiffers says that a file is not the one that its entry in an index is about.
var ErrDiffers = errors.New("a file is not as it is staged")

// settledBy is by how much the files of a settled checkout are older than they were when they were written: more than any
// file system rounds times by.
const settledBy = fsx.CoarseGrain + time.Second

// hasSame reports whether an index, if there is one, has an entry of another one with the same content, mode and stat data.
func (f *Flat) hasSame(other *Flat, i int) bool {
	if f == nil {
		return false
	}
	path := other.Path(i)
	at := sort.Search(f.Len(), func(k int) bool { return f.Path(k) >= path })
	if at == f.Len() || f.Path(at) != path {
		return false
	}
	a, b := f.At(at).raw, other.At(i).raw
	return bytes.Equal(a.fixed, b.fixed) && a.extended == b.extended
}
