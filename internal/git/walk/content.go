package walk

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// Bounds of what is read to compare it.
const (
	maxFile = 1 << 20
	maxRead = 16 << 20
)

// Conversions says whether anything may change what a file becomes when it is staged.
type Conversions string

// The conversions of a repository.
const (
	// Unconverted says that no attribute is set outside of the checkout, so that those in it tell.
	Unconverted Conversions = "none"
	// Converted says that git has to be asked for the content of a file.
	Converted Conversions = ""
)

// AreAsStaged reports whether all tracked files have the staged content and mode. Files whose stat
// data does not prove it are read, if they are few and small and how adds nothing to them.
func (s *Seen) AreAsStaged(ctx context.Context, how Conversions, format object.Format) bool {
	if len(s.Changed) == 0 {
		return true
	}
	if how != Unconverted {
		return false
	}
	var all int64
	for _, c := range s.Changed {
		all += c.Now.Size
		if c.Gone || c.Entry.Hidden || !c.Entry.HasMode(c.Now.Mode) || c.Now.Size > maxFile || all > maxRead {
			return false
		}
		// Of a file that git knows with another size it knows that it has changed; a size of 0
		// is one that git must not trust.
		if known := c.Entry.StatSize(); known != 0 && known != c.Now.Size {
			return false
		}
	}
	top, err := fsx.OpenDir(s.work)
	if err != nil {
		return false
	}
	defer top.Close()
	if !KeepsBytes(top, s.index) {
		return false
	}
	for _, c := range s.Changed {
		if ctx.Err() != nil || !isAsStaged(top, c, format) {
			return false
		}
	}
	return true
}

// converting are parts of the names of all attributes by which a file without a carriage return is staged as
// something else. A file of attributes without them only says how lines end.
var converting = [][]byte{[]byte("filter"), []byte("ident"), []byte("encoding")}

// KeepsBytes reports whether no file of attributes in a checkout may change what a file without a carriage
// return becomes when it is staged. It reads those that are staged.
func KeepsBytes(top *fsx.Dir, x *index.Flat) bool {
	for i := range x.Len() {
		name := x.Path(i)
		if !isAttributes(name) {
			continue
		}
		dir, err := top.OpenBelow(path.Dir(name))
		if err != nil {
			return false
		}
		data, err := dir.ReadFile(path.Base(name), maxFile)
		_ = dir.Close()
		if err != nil || slices.ContainsFunc(converting, func(word []byte) bool { return bytes.Contains(data, word) }) {
			return false
		}
	}
	return true
}

func isAttributes(name string) bool {
	return strings.EqualFold(name[strings.LastIndexByte(name, '/')+1:], ".gitattributes")
}

// isAsStaged compares the content of one file.
func isAsStaged(top *fsx.Dir, c Suspect, format object.Format) bool {
	dir, err := top.OpenBelow(path.Dir(c.Entry.Path))
	if err != nil {
		return false
	}
	defer dir.Close()
	name := path.Base(c.Entry.Path)
	var data []byte
	if c.Now.Mode.Type() == fs.ModeSymlink {
		var to string
		to, err = dir.Readlink(name)
		data = []byte(to)
	} else {
		data, err = readPlain(dir, name)
	}
	return err == nil && hexOf(format.Hash("blob", data)) == c.Entry.OID
}

// readPlain reads a file that git stages as it is: without a carriage return, line endings are
// those that git keeps, whatever the settings.
func readPlain(dir *fsx.Dir, name string) ([]byte, error) {
	data, err := dir.ReadFile(name, maxFile)
	if err == nil && bytes.IndexByte(data, '\r') >= 0 {
		err = &os.PathError{Op: "compare", Path: name, Err: ErrAskGit}
	}
	return data, err
}
