package object

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// Damage is a damaged pack or loose object.
type Damage struct {
	File  string
	Store string // the store that it belongs to; empty: the repository's own
	What  string // one sentence
}

// Verifier looks for damage in packs and loose objects. A file that was verified and has
// not been written since is not read again.
type Verifier struct {
	Format   Format
	Original string // the repository's own object directory, of which stores have copies

	// Stamp returns a text that changes whenever a file is written, and whether the last
	// write was so long ago that every later one shows.
	Stamp func(path string) (stamp string, isSettled bool, err error)

	Known, Now map[string]string // the stamps of undamaged files, from before and from now
	Found      []Damage
}

// file verifies one file with look, unless that was done before. look returns "" if the
// file is undamaged.
func (v *Verifier) file(ctx context.Context, path, store string, look func(*os.File) (wrong string, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stamp, isSettled, err := v.Stamp(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a concurrent gc has deleted it
	}
	if err != nil {
		return err
	}
	if v.Known[path] == stamp {
		v.Now[path] = stamp
		return nil
	}
	f, err := fsx.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, fsx.ErrNotRegular):
		v.Found = append(v.Found, Damage{path, store, "It is not a regular file."})
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
		v.Found = append(v.Found, Damage{path, store, wrong})
	} else if isSettled {
		v.Now[path] = stamp
	}
	return nil
}

// Packs verifies the packs of an object directory. One of a store must be the same as the
// repository's of that name.
func (v *Verifier) Packs(ctx context.Context, objects, store string) error {
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
			sum, wrong, err := v.checkSum(ctx, f)
			if wrong != "" || err != nil {
				return wrong, err
			}
			if ext == ".idx" && !v.isIndexOf(f, strings.TrimSuffix(path, ext)+".pack") {
				return "It is the index of another pack.", nil
			}
			original := filepath.Join(v.Original, "pack", e.Name())
			if there, err := v.lastBytes(original, 1); store != "" && err == nil && !bytes.Equal(there, sum) && v.isVerified(original) {
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

// packHeader is the size of a pack's header: signature, version and number of objects.
const packHeader = 12

// checkSum verifies the checksum at the end of a pack or its index.
func (v *Verifier) checkSum(ctx context.Context, f *os.File) (sum []byte, wrong string, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	h := v.Format.NewHash()
	at := info.Size() - int64(h.Size())
	least := int64(h.Size()) // the checksum of its pack
	if filepath.Ext(f.Name()) == ".pack" {
		least = packHeader // git writes packs without objects, too
	}
	if at < least {
		return nil, "It is cut off.", nil
	}
	if err := copyContext(ctx, h, io.LimitReader(f, at)); err != nil {
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

// isIndexOf reports whether an index has the checksum of a pack, or there is no such pack.
func (v *Verifier) isIndexOf(index *os.File, pack string) bool {
	want, err := v.lastBytes(index.Name(), 2)
	if err != nil {
		return true // the pack was just deleted
	}
	have, err := v.lastBytes(pack, 1)
	return err != nil || bytes.Equal(have, want)
}

// lastBytes returns the last checksum in a file, or the one before.
func (v *Verifier) lastBytes(path string, nth int64) ([]byte, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := make([]byte, v.Format.NewHash().Size())
	if _, err := f.Seek(-nth*int64(len(sum)), io.SeekEnd); err != nil {
		return nil, err
	}
	_, err = io.ReadFull(f, sum)
	return sum, err
}

// isVerified reports whether a file of the repository was verified to be undamaged.
func (v *Verifier) isVerified(path string) bool {
	for _, d := range v.Found {
		if d.File == path {
			return false
		}
	}
	return true
}

// Loose verifies the loose objects of one directory of a store.
func (v *Verifier) Loose(ctx context.Context, store, first string) error {
	entries, err := os.ReadDir(filepath.Join(store, first))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !IsOID(first + e.Name()) {
			continue
		}
		err := v.file(ctx, filepath.Join(store, first, e.Name()), store, func(f *os.File) (string, error) {
			h := v.Format.NewHash()
			z, err := zlib.NewReader(f)
			if err == nil {
				err = copyContext(ctx, h, z)
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
