package odb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
)

// An isolated checkout uses the objects of its repository as alternates, and git does not
// write an object that an alternate has: not even one that is unreachable there and that
// the next gc of the repository deletes. So the alternate of a checkout is not the
// repository's own object directory but a store of Croft's, from which nothing is deleted
// while a checkout uses it. Objects that a gc of the repository deletes or repacks stay
// there.
//
// The files of a store are copies, which may share blocks on the file system but not the
// inode: an agent that writes to one of them damages the store and not the project. With
// LendLinks they are hard links, which cost nothing and protect nothing.
//
// A store is named after its packs: after a gc or a fetch has changed those of the
// repository, the next checkout gets another store. Loose objects are added to the
// existing one.

// StoresDir is the directory of the alternates stores.
func (r *Repository) StoresDir() string { return filepath.Join(r.Dir, "objects") }

// StoreUsers is the directory of a store with one empty file for each checkout that uses
// it, by the name of its admin directory.
const StoreUsers = "borrowers"

// lockStores takes the lock under which stores are filled and swept.
func (r *Repository) lockStores(ctx context.Context) (*flock.Lock, error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	return flock.Acquire(ctx, filepath.Join(r.Dir, "objects.lock"))
}

// PrepareStore fills the store for the next isolated checkout ahead of time: when that is
// made, the repository is locked, and little is left to copy.
func (r *Repository) PrepareStore(ctx context.Context) error {
	l, err := r.lockStores(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	_, err = r.fillStoreFor(ctx, nil)
	return err
}

// AssignStore returns a store with all objects that the repository has now, and records
// the borrower in it. The caller holds the repository's lock.
func (r *Repository) AssignStore(ctx context.Context, borrower string) (string, error) {
	l, err := r.lockStores(ctx)
	if err != nil {
		return "", err
	}
	defer l.Unlock()
	return r.fillStoreFor(ctx, &borrower)
}

// fillStoreFor fills a store until the packs are the same before and after.
func (r *Repository) fillStoreFor(ctx context.Context, borrower *string) (string, error) {
	for range 5 {
		packs, err := r.PackFiles()
		if err != nil {
			return "", err
		}
		store := filepath.Join(r.StoresDir(), r.StoreName(packs))
		if err := os.MkdirAll(filepath.Join(store, StoreUsers), 0o777); err != nil {
			return "", err
		}
		if borrower != nil {
			// The borrower is recorded first: a store with one is not swept.
			if err := os.WriteFile(filepath.Join(store, StoreUsers, *borrower), nil, 0o666); err != nil {
				return "", err
			}
		}
		if err := r.fillStore(ctx, store, packs); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		} else if err == nil {
			// A concurrent gc may have moved loose objects into a pack that did not exist
			// when the packs were listed.
			if again, err := r.PackFiles(); err != nil || slices.Equal(packs, again) {
				return store, err
			}
		}
		if borrower != nil {
			if err := os.Remove(filepath.Join(store, StoreUsers, *borrower)); err != nil {
				return "", err
			}
		}
	}
	return "", fmt.Errorf("the packs of %s never stand still", r.CommonDir)
}

// StoreName returns the name of the store with the given packs. Hard links and copies are
// never in one store.
func (r *Repository) StoreName(packs []packFile) string {
	var names []string
	for _, p := range packs {
		names = append(names, p.name)
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	name := hex.EncodeToString(sum[:8])
	if r.Git.Options.Lending == gitcmd.LendLinks {
		name += "-linked"
	}
	return name
}

// StoreOf returns the store that a checkout uses.
func (r *Repository) StoreOf(borrower string) (string, error) {
	found, err := filepath.Glob(filepath.Join(gitdir.GlobLiteral(r.StoresDir()), "*", StoreUsers, gitdir.GlobLiteral(borrower)))
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s borrows objects from no store", borrower))
	}
	slices.Sort(found)
	return filepath.Dir(filepath.Dir(found[0])), nil
}

// ReleaseStore removes the record that a checkout uses a store.
func (r *Repository) ReleaseStore(borrower string) {
	if store, err := r.StoreOf(borrower); err == nil {
		_ = os.Remove(filepath.Join(store, StoreUsers, borrower))
	}
}

// SweepStores removes the records of isolated checkouts for whose admin directory keep is
// false, and deletes stores that no checkout uses and that the next one would not get. The
// caller holds the repository's lock.
func (r *Repository) SweepStores(ctx context.Context, keep func(admin string) bool) error {
	stores, err := os.ReadDir(r.StoresDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := r.lockStores(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	var errs []error
	used := false
	packs, err := r.PackFiles()
	errs = append(errs, err)
	for _, store := range stores {
		dir := filepath.Join(r.StoresDir(), store.Name())
		list, _ := os.ReadDir(filepath.Join(dir, StoreUsers))
		live := 0
		for _, b := range list {
			if keep(b.Name()) {
				live++
				continue
			}
			errs = append(errs, os.Remove(filepath.Join(dir, StoreUsers, b.Name())), os.RemoveAll(r.SyncStateDirOf(b.Name())))
		}
		used = used || live > 0
		if live == 0 && store.Name() != r.StoreName(packs) {
			errs = append(errs, r.removeStore(store.Name()))
		}
	}
	if !used {
		errs = append(errs, os.RemoveAll(r.StoresDir()), os.RemoveAll(r.looseRecordDir()))
	}
	return errors.Join(errs...)
}

func (r *Repository) removeStore(name string) error {
	return errors.Join(os.RemoveAll(filepath.Join(r.looseRecordDir(), name)), os.RemoveAll(filepath.Join(r.StoresDir(), name)))
}
