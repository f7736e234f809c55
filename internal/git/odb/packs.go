package odb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
)

const (
	// manyPacks is how many packs there may be before they are joined. Together with those
	// that were joined last it is less than the limit of git's own automatic gc, which
	// would start in an agent's checkout.
	manyPacks = 20
	// smallPack is the size up to which SmallPacks joins a pack.
	smallPack = 4 << 20
	// keptTime is longer than it takes until a ref names new objects: an older .keep
	// file was left by a process that died.
	keptTime = time.Hour
	// replacedTime is how long packs stay on disk after they were joined into another one,
	// for git processes that listed the packs before and have yet to open them.
	replacedTime = 3 * time.Second
)

// PackChoice says which packs JoinPacks joins.
type PackChoice int

// AllPacks leaves at most manyPacks. SmallPacks takes only a moment, however large the
// repository is.
const (
	AllPacks PackChoice = iota
	SmallPacks
)

// JoinPacks joins packs of a repository once there are many, because git searches each for
// an object, and deletes the .keep files of processes that died. No object is deleted;
// unreachable ones are git's to prune. Only one process at a time may call it.
//
// Unlike git repack, it does not make concurrent git processes fail: packs that were
// joined stay for replacedTime, and directories of loose objects stay when they become
// empty.
func (r *Repository) JoinPacks(ctx context.Context, which PackChoice) error {
	deleteOldKeeps(r.packDir())
	if !r.deleteReplaced() {
		return nil // they were joined just now
	}
	if which == AllPacks {
		if err := r.packLoose(ctx); err != nil {
			return err
		}
	}
	packs, err := r.readPacks()
	if err != nil || !packs.areMany() {
		return err
	}
	some, rest := packs.choose(which)
	return r.writeJoined(ctx, some, rest)
}

// hasManyPacks reports whether there are so many packs that JoinPacks may join some.
func (r *Repository) hasManyPacks() bool {
	packs, err := r.readPacks()
	return err == nil && packs.areMany()
}

// packDir is the directory of packs.
func (r *Repository) packDir() string { return filepath.Join(r.CommonDir, "objects", "pack") }

// writeJoined copies the objects of some packs into one. Loose objects stay: they are the
// large ones.
func (r *Repository) writeJoined(ctx context.Context, some, rest []string) error {
	if len(some) <= 1 {
		return nil
	}
	var list strings.Builder
	for _, name := range some {
		list.WriteString(name + "\n")
	}
	for _, name := range rest { // git leaves out the objects that these packs have
		list.WriteString("^" + name + "\n")
	}
	joined, err := r.writePack(ctx, list.String(), "--stdin-packs", "--window=0")
	if err != nil {
		return err
	}
	some = slices.DeleteFunc(some, func(name string) bool { return slices.Contains(joined, name) })
	if err := os.MkdirAll(filepath.Dir(r.replacedFile()), 0o777); err != nil {
		return err
	}
	return fsx.WriteDurable(r.replacedFile(), []byte(strings.Join(some, "\n")+"\n"))
}

// writePack writes a pack of the objects in list, and returns its name. There may be
// several names: the user may have limited the size of packs.
func (r *Repository) writePack(ctx context.Context, list string, options ...string) ([]string, error) {
	args := append([]string{"pack-objects", "--quiet", "--delta-base-offset"}, options...)
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{Args: append(args, filepath.Join(r.packDir(), "pack")), Stdin: list})
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(out))
	for i, name := range names {
		names[i] = "pack-" + name + ".pack"
		if _, err := os.Lstat(filepath.Join(r.packDir(), "pack-"+name+".idx")); err != nil {
			return nil, err
		}
	}
	return names, fsx.SyncAll(r.packDir())
}

// replacedFile is the path of the list of packs that were joined last.
func (r *Repository) replacedFile() string {
	return filepath.Join(r.Dir, "replaced-packs")
}

// replaced lists the packs that were joined into another and may be deleted soon.
func (r *Repository) replaced() []string {
	b, _ := os.ReadFile(r.replacedFile())
	return strings.Fields(string(b))
}

// deleteReplaced deletes the packs that were joined at least replacedTime ago. It reports
// whether none are left.
func (r *Repository) deleteReplaced() bool {
	info, err := os.Lstat(r.replacedFile())
	if err != nil {
		return true
	}
	if time.Since(info.ModTime()) < replacedTime {
		return false
	}
	packs, err := os.OpenRoot(r.CommonDir) // an os.Root, so that no symbolic link leads elsewhere
	if err != nil {
		return false
	}
	defer packs.Close()
	if info, err := packs.Lstat(filepath.Join("objects", "pack")); err != nil || !info.IsDir() {
		return false
	}
	for _, name := range r.replaced() {
		base, ok := strings.CutSuffix(name, ".pack")
		if !ok || base != filepath.Base(base) || !strings.HasPrefix(base, "pack-") {
			continue
		}
		if now, err := os.Lstat(filepath.Join(r.packDir(), name)); err != nil || now.ModTime().After(info.ModTime()) {
			continue // the pack is gone, or was written again
		}
		// The .idx file goes first: git finds a pack by it.
		for _, ext := range []string{".idx", ".rev", ".bitmap", ".pack"} {
			_ = packs.Remove(filepath.Join("objects", "pack", base+ext))
		}
	}
	return os.Remove(r.replacedFile()) == nil && fsx.SyncAll(r.packDir()) == nil
}

// packList is the content of the directory of packs.
type packList struct {
	free []pack // packs that may be joined, the smallest first
	lazy bool   // there are promisor packs, of a partial clone
}

type pack struct {
	name string
	size int64
}

// areMany reports whether packs are to be joined. Promisor packs are left to git gc.
func (l packList) areMany() bool { return !l.lazy && len(l.free) > manyPacks }

// choose divides the packs into those to join and the rest. SmallPacks joins the packs of
// at most smallPack bytes, if there are more than manyPacks of them. AllPacks joins
// those, every pack that is at most twice as large as those chosen before it together, so
// that a large pack is seldom rewritten, and more until at most manyPacks are left.
func (l packList) choose(which PackChoice) (some, rest []string) {
	var sum int64
	for i, p := range l.free {
		switch {
		case p.size <= smallPack || which == AllPacks && (p.size <= 2*sum || len(l.free)-i > manyPacks):
			some, sum = append(some, p.name), sum+p.size
		default:
			rest = append(rest, p.name)
		}
	}
	if len(some) <= manyPacks && which == SmallPacks {
		return nil, rest
	}
	return some, rest
}

func (r *Repository) readPacks() (packList, error) {
	var list packList
	dir, err := fsx.List(r.packDir())
	if errors.Is(err, os.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	defer dir.Close()
	not := map[string]bool{}
	for _, name := range r.replaced() {
		not[name] = true
	}
	for _, name := range dir.Names {
		base, ext, ok := strings.Cut(name, ".")
		switch {
		case !ok || !strings.HasPrefix(base, "pack-"):
		case ext == "keep" || ext == "mtimes": // a cruft pack, which git is going to prune
			not[base+".pack"] = true
		case ext == "promisor":
			list.lazy = true
		}
	}
	for _, name := range dir.Names {
		if !strings.HasPrefix(name, "pack-") || filepath.Ext(name) != ".pack" || not[name] {
			continue
		}
		if info, err := os.Lstat(filepath.Join(r.packDir(), name)); err == nil {
			list.free = append(list.free, pack{name, info.Size()})
		}
	}
	slices.SortFunc(list.free, func(a, b pack) int { return cmp.Compare(a.size, b.size) })
	return list, nil
}

// manyLoose is how many loose objects there may be; git's own gc has the same limit.
const manyLoose = 6700

// packLoose packs loose objects once there are many, except recent ones, which a ref may
// be about to name: git prunes packed objects sooner.
func (r *Repository) packLoose(ctx context.Context) error {
	var list strings.Builder
	var files []string
	for first := range 256 {
		dir := filepath.Join(r.CommonDir, "objects", fmt.Sprintf("%02x", first))
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			oid := filepath.Base(dir) + e.Name()
			if info, err := e.Info(); err == nil && object.IsOID(oid) && time.Since(info.ModTime()) > keptTime {
				list.WriteString(oid + "\n")
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	if len(files) <= manyLoose {
		return nil
	}
	if _, err := r.writePack(ctx, list.String()); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.CommonDir) // an os.Root, so that no symbolic link leads elsewhere
	if err != nil {
		return err
	}
	defer root.Close()
	for _, file := range files {
		if rel, err := filepath.Rel(r.CommonDir, file); err == nil {
			_ = root.Remove(rel)
		}
	}
	return nil
}

// deleteOldKeeps deletes the .keep files of batches whose process died.
func deleteOldKeeps(dir string) {
	keeps, err := filepath.Glob(filepath.Join(dir, "pack-*.keep"))
	if err != nil {
		return
	}
	for _, name := range keeps {
		info, err := os.Lstat(name)
		if err != nil || time.Since(info.ModTime()) < keptTime {
			continue
		}
		if text, err := fsx.ReadSmall(name); err == nil && bytes.Equal(text, []byte(object.KeepText)) {
			_ = os.Remove(name)
		}
	}
}
