package odb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// VerifyObjects looks for damage in the repository's packs, and in the packs and loose
// objects of the alternates stores. A file that was verified and has not been written
// since is not read again.
func (r *Repository) VerifyObjects(ctx context.Context) ([]object.Damage, error) {
	own := filepath.Join(r.CommonDir, "objects")
	v := &object.Verifier{Format: r.ObjectFormat(), Original: own, Stamp: StampFor, Known: map[string]string{}, Now: map[string]string{}}
	if b, err := os.ReadFile(r.VerifiedFile()); err == nil {
		_ = json.Unmarshal(b, &v.Known) // without it all files are read
	}
	err := v.Packs(ctx, own, "")
	stores, _ := filepath.Glob(filepath.Join(gitdir.GlobLiteral(r.StoresDir()), "*"))
	for _, store := range stores {
		if err == nil {
			err = v.Packs(ctx, store, store)
		}
		for first := 0; first < 256 && err == nil; first++ {
			err = v.Loose(ctx, store, fmt.Sprintf("%02x", first))
		}
	}
	return v.Found, errors.Join(err, r.rememberVerified(v.Now))
}

// VerifiedFile is the path of the file in which VerifyObjects records the files that it
// found whole.
func (r *Repository) VerifiedFile() string { return filepath.Join(r.Dir, "verified") }

// StampFor returns a string that changes whenever a file is written: it has the ctime,
// which no process can set.
func StampFor(path string) (stamp string, isSettled bool, err error) {
	st, err := index.Lstat(path)
	if err != nil {
		return "", false, err
	}
	return st.Stamp(), time.Since(st.Changed()) > fsx.CoarseGrain && time.Since(st.ModTime) > fsx.CoarseGrain, nil
}

// rememberVerified records the files that were verified.
func (r *Repository) rememberVerified(whole map[string]string) error {
	b, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	if r.Scratch != "" {
		return nil // nothing can be recorded: the objects are verified again next time
	}
	return fsx.ReplaceIfChanged(r.VerifiedFile(), string(b))
}

// RepairStore replaces a damaged file of a store by the repository's, which must be
// undamaged. A loose object may also come from a pack.
func (r *Repository) RepairStore(ctx context.Context, d object.Damage) error {
	rel, err := filepath.Rel(d.Store, d.File)
	if err != nil || d.Store == "" || filepath.Dir(d.Store) != r.StoresDir() || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s is not in a store", d.File)
	}
	l, err := r.lockStores(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	tmp := filepath.Join(d.Store, "mending")
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	defer os.Remove(tmp)
	original, err := r.repositoryFile(rel)
	if err == nil {
		err = fsx.Copy(original, tmp, 0o444)
	} else if oid := strings.ReplaceAll(filepath.ToSlash(rel), "/", ""); object.IsOID(oid) {
		err = r.unpackObject(ctx, oid, tmp)
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, object.ErrMissing) {
		return errors.New("the project does not have it any more")
	}
	if err != nil {
		return err
	}
	if err := errors.Join(fsx.SyncFile(tmp), os.Rename(tmp, d.File)); err != nil {
		return err
	}
	return fsx.SyncAll(filepath.Dir(d.File))
}

// repositoryFile returns the file at rel in the repository's object directories, which
// the file at rel in an alternates store is a copy of. It fails with os.ErrNotExist if
// there is none.
func (r *Repository) repositoryFile(rel string) (string, error) {
	dirs, err := gitdir.AlternatesOf(filepath.Join(r.CommonDir, "objects"))
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if info, err := os.Lstat(filepath.Join(dir, rel)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, rel), nil
		}
	}
	return "", os.ErrNotExist
}

// unpackObject writes an object as a loose object.
func (r *Repository) unpackObject(ctx context.Context, oid, to string) error {
	o, err := r.Read(ctx, oid)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	name, err := r.ObjectFormat().Deflate(f, o.Type, int64(len(o.Data)), bytes.NewReader(o.Data))
	if err = errors.Join(err, f.Close()); err == nil && name != oid {
		err = object.ErrMissing
	}
	return err
}
