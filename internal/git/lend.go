package git

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An isolated checkout borrows the objects of its repository, and git takes any
// object that it finds there for one that it need not write: also one that
// nothing names any more and that the repository's next gc deletes. So a
// checkout does not borrow from the repository's own object directory but from
// a store beside it, which holds the same files under names of its own (hard
// links) and from which nothing is deleted while somebody borrows from it. What
// a gc of the repository deletes or packs anew is still there.
//
// A store is named after the packs that it has: when those are others, because
// of a gc or a fetch, the next checkout gets another store. Loose objects are
// added to the one that there is.

func (r *Repository) storesDir() string { return filepath.Join(r.Dir, "objects") }

// borrowers is the directory of a store with one empty file for each checkout
// that borrows from it, by the name of its admin directory.
const borrowers = "borrowers"

// lendObjects returns a store with all objects that the repository has now, and
// notes in it who borrows from it. The caller holds the repository's lock.
func (r *Repository) lendObjects(borrower string) (string, error) {
	for range 5 {
		packs, err := r.packFiles()
		if err != nil {
			return "", err
		}
		store := filepath.Join(r.storesDir(), storeName(packs))
		if err := os.MkdirAll(filepath.Join(store, borrowers), 0o777); err != nil {
			return "", err
		}
		// The note comes first: nobody takes a store away that has one.
		if err := os.WriteFile(filepath.Join(store, borrowers, borrower), nil, 0o666); err != nil {
			return "", err
		}
		if err := r.fillStore(store, packs); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		} else if err == nil {
			// A gc in between may have moved loose objects into a pack that was
			// not there when the packs were looked at.
			if again, err := r.packFiles(); err != nil || slices.Equal(packs, again) {
				return store, err
			}
		}
		if err := os.Remove(filepath.Join(store, borrowers, borrower)); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("the packs of %s never stand still", r.CommonDir)
}

func storeName(packs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(packs, "\n")))
	return hex.EncodeToString(sum[:8])
}

// packFiles lists the repository's packs with what belongs to them, but for
// what is only being written.
func (r *Repository) packFiles() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(r.CommonDir, "objects", "pack"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".pack", ".idx", ".rev":
			if strings.HasPrefix(e.Name(), "pack-") {
				names = append(names, e.Name())
			}
		}
	}
	return names, err
}

// fillStore gives a store what it lacks. It fails with os.ErrNotExist if a gc
// deleted something meanwhile.
func (r *Repository) fillStore(store string, packs []string) error {
	objects := filepath.Join(r.CommonDir, "objects")
	for _, dir := range []string{"pack", "info"} {
		if err := os.MkdirAll(filepath.Join(store, dir), 0o777); err != nil {
			return err
		}
	}
	if err := r.lendAlternates(store); err != nil {
		return err
	}
	// An index comes after its pack, so that no git sees the one without the other.
	slices.SortStableFunc(packs, func(a, b string) int { return strings.Compare(filepath.Ext(b), filepath.Ext(a)) })
	for _, name := range packs {
		if err := linkFile(filepath.Join(objects, "pack", name), filepath.Join(store, "pack", name)); err != nil {
			return err
		}
	}
	slices.Sort(packs)
	for first := range 256 {
		if err := lendLoose(objects, store, fmt.Sprintf("%02x", first)); err != nil {
			return err
		}
	}
	return nil
}

// lendLoose links the loose objects of one directory. A directory in which
// nothing was made since the last time is passed over.
func lendLoose(objects, store, name string) error {
	from, to := filepath.Join(objects, name), filepath.Join(store, name)
	now := time.Now()
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// Times of directories are coarse: a second between them is sure to be one.
	if seen, err := os.Stat(to); err == nil && seen.ModTime().Sub(info.ModTime()) > time.Second {
		return nil
	}
	entries, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "tmp_") || !e.Type().IsRegular() {
			continue
		}
		if err := linkFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return os.Chtimes(to, now, now)
}

// lendAlternates lets a store borrow from where the repository borrows itself.
func (r *Repository) lendAlternates(store string) error {
	b, err := readPlain(filepath.Join(r.CommonDir, "objects", "info", "alternates"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var text strings.Builder
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") && !filepath.IsAbs(line) {
			line = filepath.ToSlash(filepath.Join(r.CommonDir, "objects", line))
		}
		text.WriteString(line + "\n")
	}
	return writeIfChanged(filepath.Join(store, "info", "alternates"), text.String())
}

// linkFile gives a file a second name, or makes a copy where that cannot be.
func linkFile(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), "tmp_lend_")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(0o444), out.Close()); err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name())
	}
	return err
}

// lender returns the store that a checkout borrows from.
func (r *Repository) lender(borrower string) (string, error) {
	found, err := filepath.Glob(filepath.Join(globLiteral(r.storesDir()), "*", borrowers, globLiteral(borrower)))
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s borrows objects from no store", borrower))
	}
	slices.Sort(found)
	return filepath.Dir(filepath.Dir(found[0])), nil
}

// globLiteral keeps a path from being taken for a pattern.
func globLiteral(path string) string {
	if filepath.Separator == '\\' {
		return path // there is no escape there, and brackets are rare
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// returnObjects notes that a checkout does not borrow any more.
func (r *Repository) returnObjects(borrower string) {
	if store, err := r.lender(borrower); err == nil {
		_ = os.Remove(filepath.Join(store, borrowers, borrower))
	}
}

// SweepStores lets go of what isolated checkouts needed that are gone for good,
// which keep says of the names of their admin directories, and deletes stores
// that nobody borrows from and that the next checkout would not get. The caller
// holds the repository's lock.
func (r *Repository) SweepStores(keep func(admin string) bool) error {
	stores, err := os.ReadDir(r.storesDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	used := false
	packs, err := r.packFiles()
	errs = append(errs, err)
	for _, store := range stores {
		dir := filepath.Join(r.storesDir(), store.Name())
		list, _ := os.ReadDir(filepath.Join(dir, borrowers))
		live := 0
		for _, b := range list {
			if keep(b.Name()) {
				live++
				continue
			}
			errs = append(errs, os.Remove(filepath.Join(dir, borrowers, b.Name())), os.RemoveAll(r.syncDirOf(b.Name())))
		}
		used = used || live > 0
		if live == 0 && store.Name() != storeName(packs) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	if !used {
		errs = append(errs, os.RemoveAll(r.storesDir()))
	}
	return errors.Join(errs...)
}
