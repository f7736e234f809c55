package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// Damage is a file with objects that is not as git wrote it.
type Damage struct {
	File  string
	Store string // the store that it belongs to; empty for the repository's own
	What  string // one sentence
}

// VerifyObjects looks for damage in the repository's packs, and in the packs and
// loose objects of the stores that isolated checkouts borrow from. Every file is
// read once: what was whole and has not been touched since is not read again.
func (r *Repository) VerifyObjects(ctx context.Context) ([]Damage, error) {
	v := &verifying{r: r, known: map[string]string{}, now: map[string]string{}}
	if b, err := os.ReadFile(r.verifiedFile()); err == nil {
		_ = json.Unmarshal(b, &v.known) // without it all files are read
	}
	own := filepath.Join(r.CommonDir, "objects")
	err := v.packs(ctx, own, "")
	stores, _ := filepath.Glob(filepath.Join(globLiteral(r.storesDir()), "*"))
	for _, store := range stores {
		if err == nil {
			err = v.packs(ctx, store, store)
		}
		for first := 0; first < 256 && err == nil; first++ {
			err = v.loose(ctx, store, fmt.Sprintf("%02x", first))
		}
	}
	return v.found, errors.Join(err, v.remember())
}

func (r *Repository) verifiedFile() string { return filepath.Join(r.Dir, "verified") }

type verifying struct {
	r          *Repository
	known, now map[string]string // the stamps of whole files
	found      []Damage
}

// settled is how long a file must not have been touched for its stamp to tell
// all later changes from it.
const settled = 2 * time.Second

// stampFor returns what changes whenever a file is written: nobody can set back
// the time of the last change of an inode.
func stampFor(path string) (stamp string, isSettled bool, err error) {
	st, err := index.Lstat(path)
	if err != nil {
		return "", false, err
	}
	return st.Stamp(), time.Since(st.Changed()) > settled && time.Since(st.ModTime) > settled, nil
}

// file looks at one file, unless that was done before. What is wrong with it is
// an empty text if it is whole.
func (v *verifying) file(ctx context.Context, path, store string, look func(*os.File) (wrong string, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stamp, isSettled, err := stampFor(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a gc is at work
	}
	if err != nil {
		return err
	}
	if v.known[path] == stamp {
		v.now[path] = stamp
		return nil
	}
	f, err := fsx.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, fsx.ErrNotRegular):
		v.found = append(v.found, Damage{path, store, "It is not a regular file."})
		return nil
	case err != nil:
		return err
	}
	defer f.Close()
	wrong, err := look(f)
	if err != nil {
		return err
	}
	if wrong != "" {
		v.found = append(v.found, Damage{path, store, wrong})
	} else if isSettled {
		v.now[path] = stamp
	}
	return nil
}

// packs looks at the packs of an object directory. One of a store has to be what
// the repository has under the same name.
func (v *verifying) packs(ctx context.Context, objects, store string) error {
	entries, err := os.ReadDir(filepath.Join(objects, "pack"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if !strings.HasPrefix(e.Name(), "pack-") || ext != ".pack" && ext != ".idx" && ext != ".rev" {
			continue
		}
		path := filepath.Join(objects, "pack", e.Name())
		err := v.file(ctx, path, store, func(f *os.File) (string, error) {
			sum, wrong, err := v.summed(ctx, f)
			if wrong != "" || err != nil {
				return wrong, err
			}
			if ext == ".idx" && !v.isOf(f, strings.TrimSuffix(path, ext)+".pack") {
				return "It is the index of another pack.", nil
			}
			original := filepath.Join(v.r.CommonDir, "objects", "pack", e.Name())
			if there, err := v.lastBytes(original, 1); store != "" && err == nil && !bytes.Equal(there, sum) && v.isWhole(original) {
				return "It is another one than the project's.", nil
			}
			return "", nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packHeader is what a pack begins with: its signature, version and the number of
// its objects.
const packHeader = 12

// summed compares the checksum that a file of a pack ends with.
func (v *verifying) summed(ctx context.Context, f *os.File) (sum []byte, wrong string, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	h := v.r.objectFormat().New()
	at := info.Size() - int64(h.Size())
	least := int64(h.Size()) // the checksum of its pack
	if filepath.Ext(f.Name()) == ".pack" {
		least = packHeader // git writes packs without objects, too
	}
	if at < least {
		return nil, "It is cut off.", nil
	}
	if err := object.CopyContext(ctx, h, io.LimitReader(f, at)); err != nil {
		return nil, "", err
	}
	sum = make([]byte, h.Size())
	if _, err := f.ReadAt(sum, at); err != nil {
		return nil, "", err
	}
	if !bytes.Equal(sum, h.Sum(nil)) {
		return nil, "Its contents do not have the checksum that they had when git wrote it.", nil
	}
	return sum, "", nil
}

// isOf reports whether an index names a pack, or there is no such pack.
func (v *verifying) isOf(index *os.File, pack string) bool {
	want, err := v.lastBytes(index.Name(), 2)
	if err != nil {
		return true // it has just gone
	}
	have, err := v.lastBytes(pack, 1)
	return err != nil || bytes.Equal(have, want)
}

// lastBytes returns the last checksum in a file, or the one before.
func (v *verifying) lastBytes(path string, nth int64) ([]byte, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := make([]byte, v.r.objectFormat().New().Size())
	if _, err := f.Seek(-nth*int64(len(sum)), io.SeekEnd); err != nil {
		return nil, err
	}
	_, err = io.ReadFull(f, sum)
	return sum, err
}

// isWhole reports whether a file of the repository was found to be whole.
func (v *verifying) isWhole(path string) bool {
	for _, d := range v.found {
		if d.File == path {
			return false
		}
	}
	return true
}

// loose looks at the loose objects of one directory of a store.
func (v *verifying) loose(ctx context.Context, store, first string) error {
	entries, err := os.ReadDir(filepath.Join(store, first))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !isHex(first + e.Name()) {
			continue
		}
		err := v.file(ctx, filepath.Join(store, first, e.Name()), store, func(f *os.File) (string, error) {
			h := v.r.objectFormat().New()
			z, err := zlib.NewReader(f)
			if err == nil {
				err = object.CopyContext(ctx, h, z)
			}
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err != nil || hex.EncodeToString(h.Sum(nil)) != first+e.Name() {
				return "It is not the object that it is called after.", nil
			}
			return "", nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remember keeps what was found to be whole.
func (v *verifying) remember() error {
	b, err := json.Marshal(v.now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(v.r.Dir, 0o700); err != nil {
		return err
	}
	return fsx.ReplaceIfChanged(v.r.verifiedFile(), string(b))
}

// MendStore replaces a damaged file of a store by the repository's, which must be
// whole. A loose object is also taken from a pack.
func (r *Repository) MendStore(ctx context.Context, d Damage) error {
	rel, err := filepath.Rel(d.Store, d.File)
	if err != nil || d.Store == "" || filepath.Dir(d.Store) != r.storesDir() || !filepath.IsLocal(rel) {
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
	original, err := r.original(rel)
	if err == nil {
		err = fsx.Copy(original, tmp, 0o444)
	} else if oid := strings.ReplaceAll(filepath.ToSlash(rel), "/", ""); isHex(oid) {
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

// original is the file of the repository that a file of a store is a copy of.
func (r *Repository) original(rel string) (string, error) {
	dirs, err := alternatesOf(filepath.Join(r.CommonDir, "objects"))
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

// unpackObject writes an object as a file of its own.
func (r *Repository) unpackObject(ctx context.Context, oid, to string) error {
	o, err := r.Read(ctx, oid)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	name, err := r.objectFormat().Deflate(f, o.Type, int64(len(o.Data)), bytes.NewReader(o.Data))
	if err = errors.Join(err, f.Close()); err == nil && name != oid {
		err = object.ErrMissing
	}
	return err
}
