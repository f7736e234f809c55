package git

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// KeptFiles are files of a user that have no place in their checkout: others were saved there meanwhile.
type KeptFiles struct {
	Dir   string   // where they lie
	Files []string // below it: their paths in the checkout, as far as these were free
}

// Names names the files, of many the first ones.
func (k KeptFiles) Names() string {
	const most = 5
	names := strings.Join(k.Files[:min(len(k.Files), most)], ", ")
	if more := len(k.Files) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// unrestored is the directory with a directory for each [KeptFiles].
func (r *Repository) unrestored() string { return filepath.Join(r.Dir, UnrestoredName) }

// UnrestoredName is the name, in Croft's own directory of a repository, of the directory with files of users that could not
// be put back.
const UnrestoredName = "unrestored"

// MovingName is the name, beside [UnrestoredName], of the directory with files that are exchanged with those of a checkout.
// After a crash it has files that came out of the checkout.
const MovingName = "moving"

// mostKept is how many files of one directory are listed.
const mostKept = 100

// Unrestored lists what is kept, from all merges.
func (r *Repository) Unrestored() []KeptFiles {
	entries, err := os.ReadDir(r.unrestored())
	if err != nil {
		return nil
	}
	var list []KeptFiles
	for _, e := range entries {
		k := KeptFiles{Dir: filepath.Join(r.unrestored(), e.Name())}
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

// keeper keeps the files of one move.
type keeper struct {
	host *BranchCheckout
	dir  string // empty: none is kept yet
	n    int
}

// keep makes a place for a file, at its path in the directory if that is free.
func (k *keeper) keep(file string) (in *fsx.Dir, name string, err error) {
	if k.dir == "" {
		under := k.host.repo.unrestored()
		if err := os.MkdirAll(under, 0o700); err != nil {
			return nil, "", err
		}
		if k.dir, err = os.MkdirTemp(under, ""); err != nil {
			return nil, "", err
		}
		k.host.Kept = append(k.host.Kept, KeptFiles{Dir: k.dir})
	}
	top, err := fsx.OpenOwn(k.dir)
	if err != nil {
		return nil, "", err
	}
	k.n++
	in, name, is := top, strconv.Itoa(k.n), strconv.Itoa(k.n)
	if below, err := top.MakeBelow(filepath.FromSlash(path.Dir(file)), 0o700); err == nil && file != "" && !below.Has(path.Base(file)) {
		_ = top.Close()
		in, name, is = below, path.Base(file), file
	} else if err == nil {
		_ = below.Close()
	}
	k.note(is)
	return in, name, nil
}

func (k *keeper) note(file string) {
	for i, known := range k.host.Kept {
		if known.Dir == k.dir {
			k.host.Kept[i].Files = append(known.Files, file)
		}
	}
}

// takeKept returns the directory of what was kept, and takes it off the list, because an error names it.
func (h *BranchCheckout) takeKept() string {
	if len(h.Kept) == 0 {
		return ""
	}
	last := h.Kept[len(h.Kept)-1].Dir
	h.Kept = slices.Clip(h.Kept[:len(h.Kept)-1])
	return last
}
