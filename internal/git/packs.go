package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

const (
	// manyPacks is how many packs there may be before they are joined, which is
	// when git's own automatic gc does it too.
	manyPacks = 50
	// keptTime is longer than it takes to name what was written.
	keptTime = time.Hour
)

// smallPack is the size of a pack that is joined with others in passing.
const smallPack = 4 << 20

// PackChoice says which packs are joined.
type PackChoice int

// Which packs are joined: all, or those that take but a moment, however large
// the repository is.
const (
	AllPacks PackChoice = iota
	SmallPacks
)

// TidyPacks joins the packs of a repository once there are many, because git
// looks into each for an object, and lets go of packs that a process which died
// was about to name. Every object stays, whether anything names it or not; those
// are git's to prune. Only one process at a time may call it.
func (r *Repository) TidyPacks(ctx context.Context, which PackChoice) error {
	dir := filepath.Join(r.CommonDir, "objects", "pack")
	dropOldKeeps(dir)
	packs, err := readPacks(dir)
	if err != nil || packs.lazy { // a partial clone's packs say what need not be there; git gc knows how to join them
		return err
	}
	args := []string{"-c", "repack.writeBitmaps=false", "repack", "-d", "-l", "--geometric=2", "--quiet"}
	n := len(packs.names) - packs.kept
	if which == SmallPacks {
		for _, name := range packs.names {
			if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Size() > smallPack {
				args = append(args, "--keep-pack="+name)
				n--
			}
		}
	}
	if n <= manyPacks {
		return nil
	}
	if _, err := r.run(ctx, args...); err != nil {
		return err
	}
	return syncAll(dir)
}

// HasManyPacks reports whether there are so many that TidyPacks may join some.
func (r *Repository) HasManyPacks() bool {
	packs, err := readPacks(filepath.Join(r.CommonDir, "objects", "pack"))
	return err == nil && !packs.lazy && len(packs.names)-packs.kept > manyPacks
}

// packList is what lies in a directory of packs.
type packList struct {
	names []string
	kept  int  // of them
	lazy  bool // some are of a partial clone
}

func readPacks(dir string) (packList, error) {
	var list packList
	f, err := os.Open(dir)
	if err != nil {
		return list, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		switch filepath.Ext(name) {
		case ".pack":
			list.names = append(list.names, name)
		case ".keep":
			list.kept++
		case ".promisor":
			list.lazy = true
		}
	}
	return list, err
}

// manyRefs is how many refs of a kind may have a file each. Git opens every one
// of them whenever it lists refs, as a fetch does.
const manyRefs = 1000

// TidyRefs puts all refs into one file once there are many below a prefix, as
// git's own gc does.
func (r *Repository) TidyRefs(ctx context.Context, prefix string) error {
	if !r.NativeRefs() {
		return nil
	}
	n := 0
	err := filepath.WalkDir(filepath.Join(r.CommonDir, filepath.FromSlash(prefix)), func(_ string, d os.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist): // it went meanwhile
			return nil
		case err == nil && !d.IsDir():
			n++
		}
		return err
	})
	if err != nil || n <= manyRefs {
		return err
	}
	if _, err := r.run(ctx, "pack-refs", "--all", "--prune"); err != nil {
		return err
	}
	return syncAll(r.CommonDir)
}

// dropOldKeeps removes the files that keep packs of batches whose process died.
func dropOldKeeps(dir string) {
	keeps, err := filepath.Glob(filepath.Join(dir, "pack-*.keep"))
	if err != nil {
		return
	}
	for _, name := range keeps {
		info, err := os.Lstat(name)
		if err != nil || time.Since(info.ModTime()) < keptTime {
			continue
		}
		if text, err := os.ReadFile(name); err == nil && bytes.Equal(text, []byte(keepText)) {
			_ = os.Remove(name)
		}
	}
}
