package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	if err != nil || !packs.areMany() {
		return err
	}
	if which == SmallPacks {
		return r.joinSmall(ctx, dir, packs.free)
	}
	if _, err := r.run(ctx, "-c", "repack.writeBitmaps=false", "repack", "-d", "-l", "--geometric=2", "--quiet"); err != nil {
		return err
	}
	return syncAll(dir)
}

// joinSmall joins the small ones of packs, if they are many by themselves. Unlike
// repack it leaves out objects that have a file each, which are the largest.
func (r *Repository) joinSmall(ctx context.Context, dir string, packs []string) error {
	var small []string
	var list strings.Builder
	for _, name := range packs {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Size() > smallPack {
			list.WriteString("^" + name + "\n") // git need not look at what these hold
			continue
		}
		small = append(small, name)
		list.WriteString(name + "\n")
	}
	if len(small) <= manyPacks {
		return nil
	}
	out, err := r.git.run(ctx, door{repo: r}, call{
		args:  []string{"pack-objects", "--stdin-packs", "--quiet", "--window=0", "--delta-base-offset", filepath.Join(dir, "pack")},
		stdin: list.String(),
	})
	if err != nil {
		return err
	}
	joined := strings.Fields(string(out))
	for i, name := range joined {
		joined[i] = "pack-" + name
		if _, err := os.Lstat(filepath.Join(dir, joined[i]+".idx")); err != nil {
			return err
		}
	}
	if err := syncAll(dir); err != nil {
		return err
	}
	for _, name := range small {
		if base := strings.TrimSuffix(name, ".pack"); !slices.Contains(joined, base) {
			removePack(filepath.Join(dir, base))
		}
	}
	return syncAll(dir)
}

// removePack removes the files of a pack, the index first, by which git finds it.
// What stays behind is joined again.
func removePack(base string) {
	for _, ext := range []string{".idx", ".rev", ".bitmap", ".pack"} {
		if err := os.Remove(base + ext); err != nil && !errors.Is(err, os.ErrNotExist) {
			return
		}
	}
}

// HasManyPacks reports whether there are so many that TidyPacks may join some.
func (r *Repository) HasManyPacks() bool {
	packs, err := readPacks(filepath.Join(r.CommonDir, "objects", "pack"))
	return err == nil && packs.areMany()
}

// packList is what lies in a directory of packs.
type packList struct {
	free []string // packs that may be joined
	lazy bool     // some are of a partial clone
}

// areMany says that packs are to be joined. Those of a partial clone say what
// need not be there; git gc knows how to join them.
func (l packList) areMany() bool { return !l.lazy && len(l.free) > manyPacks }

func readPacks(dir string) (packList, error) {
	var list packList
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	kept := map[string]bool{}
	for _, name := range names {
		base, ext, ok := strings.Cut(name, ".")
		switch {
		case !ok || !strings.HasPrefix(base, "pack-"):
		case ext == "pack":
			list.free = append(list.free, name)
		case ext == "keep" || ext == "mtimes": // git has set it aside to be pruned
			kept[base+".pack"] = true
		case ext == "promisor":
			list.lazy = true
		}
	}
	list.free = slices.DeleteFunc(list.free, func(name string) bool { return kept[name] })
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
	locks := []string{"packed-refs.lock", "packed-refs.new"}
	err := filepath.WalkDir(filepath.Join(r.CommonDir, "refs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if errors.Is(err, os.ErrNotExist) { // it went meanwhile
				err = nil
			}
			return err
		}
		ref, err := filepath.Rel(r.CommonDir, path)
		if err != nil {
			return err
		}
		ref = filepath.ToSlash(ref)
		locks = append(locks, ref+".lock")
		if strings.HasPrefix(ref, prefix) {
			n++
		}
		return nil
	})
	if err != nil || n <= manyRefs {
		return err
	}
	if _, err := r.git.run(ctx, door{repo: r}, call{args: []string{"pack-refs", "--all", "--prune"}, writes: locks}); err != nil {
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
