package exchange

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// Kept are files of others that have no place in their directory: other ones were saved there meanwhile.
type Kept struct {
	Dir   string   // where they lie
	Files []string // below it: their paths, as far as these were free
	Whole string   // below it: all that Croft had of a move whose list could not be read, new files and those of others; or empty
}

// Names names the files, of many the first ones.
func (k Kept) Names() string {
	const most = 5
	names := strings.Join(k.Files[:min(len(k.Files), most)], ", ")
	if more := len(k.Files) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// Notices says to the user of a checkout what is kept of its files.
func (k Kept) Notices(checkout string) (notices []string) {
	if len(k.Files) > 0 {
		notices = append(notices, fmt.Sprintf("files of %s that were saved while a merge moved it along have no place there, and lie in %s: %s", checkout, k.Dir, k.Names()))
	}
	if k.Whole != "" {
		notices = append(notices, fmt.Sprintf("what a merge that was killed had moved of %s cannot be put back, because the list of it is damaged: all files, old and new ones, lie in %s",
			checkout, filepath.Join(k.Dir, k.Whole)))
	}
	return notices
}

// mostKept is how many files of one directory are listed.
const mostKept = 100

// ListKept lists what is kept in the directories below one.
func ListKept(under string) (list []Kept) {
	entries, _ := os.ReadDir(under)
	for _, e := range entries {
		k := Kept{Dir: filepath.Join(under, e.Name())}
		_ = filepath.WalkDir(k.Dir, func(file string, d fs.DirEntry, err error) error {
			if rel, rerr := filepath.Rel(k.Dir, file); err == nil && rerr == nil && !d.IsDir() {
				k.Files = append(k.Files, filepath.ToSlash(rel))
			}
			if len(k.Files) >= mostKept {
				return filepath.SkipAll
			}
			return nil
		})
		if len(k.Files) > 0 {
			list = append(list, k)
		}
	}
	return list
}

// Keeper keeps files of one move in a directory of their own below Under, and lists them in Kept. Its Keep is that of a [Place].
type Keeper struct {
	Under string
	Kept  *[]Kept

	is *Kept // nil: none is kept yet
}

// Keep has a file moved to a place of its own, at its path in the directory if that is free, and by a number otherwise. It is
// listed once it is there: of a process that dies before that, [ListKept] finds it.
func (k *Keeper) Keep(file string, move func(in *fsx.Dir, name string) error) error {
	if k.is == nil {
		if err := os.MkdirAll(k.Under, 0o700); err != nil {
			return err
		}
		dir, err := os.MkdirTemp(k.Under, "")
		if err != nil {
			return err
		}
		k.is = &Kept{Dir: dir}
	}
	top, err := fsx.OpenOwn(k.is.Dir)
	if err != nil {
		return err
	}
	defer top.Close()
	if below, err := makeBelowAs(top, path.Dir(file), 0o700); err == nil {
		defer below.Close()
		if file != "" && !below.Has(path.Base(file)) {
			return k.note(file, move(below, path.Base(file)))
		}
	}
	number := ""
	for n := len(k.is.Files) + 1; number == "" || top.Has(number); n++ { // a path may be a number, too
		number = strconv.Itoa(n)
	}
	if err := move(top, number); err != nil || file != "" {
		return k.note(number, err)
	}
	k.is.Whole = number
	k.list()
	return nil
}

// note lists a file unless it was not moved.
func (k *Keeper) note(file string, err error) error {
	if err == nil {
		k.is.Files = append(k.is.Files, file)
		k.list()
	}
	return err
}

func (k *Keeper) list() {
	for i := range *k.Kept {
		if (*k.Kept)[i].Dir == k.is.Dir {
			(*k.Kept)[i] = *k.is
			return
		}
	}
	*k.Kept = append(*k.Kept, *k.is)
}
