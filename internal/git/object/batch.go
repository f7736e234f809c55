package object

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
)

// Batch writes objects that appear together: they have temporary names until Flush has all
// of them on disk. Its methods may be called concurrently.
type Batch struct {
	store Store
	limit int64 // size of the largest object that is packed
	anew  bool  // existing files are replaced

	mu     sync.Mutex
	seen   map[string]bool // packed objects, by their raw names
	loose  []stagedObject  // in the order in which they were written
	staged map[string]bool // the names of loose objects
	old    []string        // large objects that existed before
	pack   packBuffer      // objects that are not in a temporary file yet
	packs  []stagedPack
	kept   []string // .keep files of the packs, until a ref names their objects

	filesMu sync.Mutex
	files   *fsx.Tree // open directories
}

// stagedObject is an object in a temporary file.
type stagedObject struct{ oid, file string }

// The limits of what is packed.
const (
	PackLimit  = 1 << 20  // larger objects are written loose
	packMemory = 32 << 20 // how many bytes are compressed before a pack is written
)

// NewBatch begins a batch of loose objects: only pruning deletes those, however long it
// takes until a ref names them. The caller calls Flush to keep what was written, and
// Discard in any case.
func NewBatch(s Store) *Batch { return newBatch(s, -1) }

// NewPackBatch begins a batch whose small objects go into one pack, so that two files are
// synced for all of them. A large object is written loose, so that a later batch finds it.
// The caller calls Discard once a ref names the objects, or if no ref is going to.
func NewPackBatch(s Store) *Batch { return newBatch(s, PackLimit) }

// NewReplacingBatch is NewBatch for objects that cannot be read: existing files are
// replaced.
func NewReplacingBatch(s Store) *Batch {
	b := NewBatch(s)
	b.anew = true
	return b
}

func newBatch(s Store, limit int64) *Batch {
	return &Batch{store: s, limit: limit, seen: map[string]bool{}, staged: map[string]bool{}}
}

// WriteBlob adds data as a blob and returns its name.
func (b *Batch) WriteBlob(data []byte) (string, error) {
	return b.write("blob", int64(len(data)), bytes.NewReader(data), "")
}

// WriteBlobFrom adds size bytes of a reader as a blob. It fails if the reader has fewer or
// more: the file changed while it was read.
func (b *Batch) WriteBlobFrom(in io.Reader, size int64) (string, error) {
	return b.write("blob", size, in, "")
}

// WriteBlobUnless is WriteBlobFrom for content that may be the existing blob there: then
// nothing is added.
func (b *Batch) WriteBlobUnless(there string, in io.Reader, size int64) (string, error) {
	return b.write("blob", size, in, there)
}

// WriteTree adds a tree and returns its name.
func (b *Batch) WriteTree(entries []TreeEntry) (string, error) {
	text, err := EncodeTree(entries)
	if err != nil {
		return "", err
	}
	return b.write("tree", int64(len(text)), bytes.NewReader(text), "")
}

// WriteCommit adds a commit and returns its name.
func (b *Batch) WriteCommit(c Commit) (string, error) {
	text := c.Encode()
	return b.write("commit", int64(len(text)), bytes.NewReader(text), "")
}

// Write adds an object of any type, and returns its name.
func (b *Batch) Write(kind string, size int64, data io.Reader) (string, error) {
	return b.write(kind, size, data, "")
}

// write stages an object, unless it is the existing object there.
func (b *Batch) write(kind string, size int64, data io.Reader, there string) (string, error) {
	if size > b.limit {
		return b.writeLoose(kind, size, data, there)
	}
	text := make([]byte, size+1)
	n, err := io.ReadFull(data, text)
	if err == nil || int64(n) < size || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", otherSize(kind, size, err)
	}
	text = text[:size]
	oid := b.store.Format.Hash(kind, text)
	if there == hex.EncodeToString(oid) || !b.markSeen(oid) {
		return hex.EncodeToString(oid), nil
	}
	e, err := packObject(kind, oid, text)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pack.add(e)
	if b.pack.size > packMemory {
		err = b.stagePack()
	}
	return hex.EncodeToString(oid), err
}

func otherSize(kind string, size int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s of %d bytes has another size now: %w", kind, size, err)
}

// IsThere reports whether the repository has all objects of the batch already.
func (b *Batch) IsThere(ctx context.Context) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for raw := range b.seen {
		if err := b.store.Has(ctx, hex.EncodeToString([]byte(raw))); err != nil {
			return false
		}
	}
	return len(b.loose) == 0
}

// markSeen records that the batch has an object, and reports whether it did not have it
// before.
func (b *Batch) markSeen(oid []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[string(oid)] {
		return false
	}
	b.seen[string(oid)] = true
	return true
}

// stagePack writes the objects that were packed so far to temporary files.
func (b *Batch) stagePack() error {
	if len(b.pack.entries) == 0 {
		return nil
	}
	var p stagedPack
	err := b.inDir("objects/pack", func(d *fsx.TreeDir) (err error) {
		p, err = b.pack.write(d, b.store.Format)
		return err
	})
	if err != nil {
		return err
	}
	b.packs, b.pack = append(b.packs, p), packBuffer{}
	return nil
}

// writeLoose stages a loose object.
func (b *Batch) writeLoose(kind string, size int64, data io.Reader, there string) (string, error) {
	var f *os.File
	err := b.inDir("objects", func(d *fsx.TreeDir) (err error) {
		f, err = d.CreateTemp("tmp_obj_")
		return err
	})
	if err != nil {
		return "", err
	}
	oid, err := b.store.Format.Deflate(f, kind, size, data)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if oid == there || b.staged[oid] {
		return oid, os.Remove(f.Name())
	}
	if !b.anew && b.store.freshen(oid) {
		b.old = append(b.old, b.store.LoosePath(oid))
		return oid, os.Remove(f.Name())
	}
	b.loose, b.staged[oid] = append(b.loose, stagedObject{oid, f.Name()}), true
	return oid, nil
}

// Flush syncs the objects to disk and renames them into place in the order in which they
// were written. A caller that writes an object after those that it references never leaves
// an incomplete one.
func (b *Batch) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.stagePack(); err != nil {
		return err
	}
	if err := b.sync(); err != nil {
		return err
	}
	objects := filepath.Join(b.store.CommonDir, "objects")
	var dirs []string
	for len(b.loose) > 0 {
		o := b.loose[0]
		if err := b.place(o.file, o.oid); err != nil {
			return err
		}
		dirs = append(dirs, objects, filepath.Dir(b.store.LoosePath(o.oid)))
		b.loose = b.loose[1:]
	}
	for len(b.packs) > 0 {
		if err := b.placePack(b.packs[0]); err != nil {
			return err
		}
		dirs = append(dirs, filepath.Join(objects, "pack"))
		b.packs = b.packs[1:]
	}
	for _, path := range b.old {
		dirs = append(dirs, objects, filepath.Dir(path))
	}
	return fsx.SyncAll(dirs...)
}

// sync syncs the content of all files to disk.
func (b *Batch) sync() error {
	names := slices.Clone(b.old) // of other processes, which may not have synced them
	for _, o := range b.loose {
		names = append(names, o.file)
	}
	for _, p := range b.packs {
		names = append(names, p.data, p.index)
	}
	var g errgroup.Group
	g.SetLimit(fsx.Syncers)
	for _, name := range names {
		g.Go(func() error {
			err := fsx.SyncReadOnly(name)
			if errors.Is(err, os.ErrNotExist) && slices.Contains(b.old, name) {
				return nil // it was packed meanwhile
			}
			return err
		})
	}
	return g.Wait()
}

// place renames a staged object to its name.
func (b *Batch) place(name, oid string) (err error) {
	for range maxPlaceTries {
		err = b.inDir("objects/"+oid[:2], func(*fsx.TreeDir) error { return nil })
		if err == nil {
			err = b.inDir("objects", func(d *fsx.TreeDir) error { return d.Rename(filepath.Base(name), oid[:2]+"/"+oid[2:]) })
		}
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return err
}

// maxPlaceTries bounds how often the rename of an object is tried: a gc removes empty
// directories, even one that was just made.
const maxPlaceTries = 20

// KeepText is the content of a .keep file.
const KeepText = "croft: until a ref names it\n"

// placePack renames a staged pack to its names. The .idx file comes last, because git
// looks for that. Until the batch is discarded a .keep file prevents other git processes
// from deleting the pack, whose objects no ref reaches yet.
func (b *Batch) placePack(p stagedPack) error {
	base := "pack-" + p.name
	return b.inDir("objects/pack", func(d *fsx.TreeDir) error {
		err := d.AddFile(base+".keep", []byte(KeepText))
		if errors.Is(err, os.ErrExist) { // another process writes the same pack, and removes the file itself
			base = "pack-" + b.store.Format.randomName()
			err = d.AddFile(base+".keep", []byte(KeepText))
		}
		if err != nil {
			return err
		}
		b.kept = append(b.kept, filepath.Join(b.store.CommonDir, "objects", "pack", base+".keep"))
		if err := d.Rename(filepath.Base(p.data), base+".pack"); err != nil {
			return err
		}
		return d.Rename(filepath.Base(p.index), base+".idx")
	})
}

// randomName returns a random name for a pack. Git does not check that the name matches the
// content.
func (f Format) randomName() string {
	name := make([]byte, f.Size())
	_, _ = rand.Read(name) // it never fails
	return hex.EncodeToString(name)
}

// inDir calls do in a directory of the repository, which is made if necessary. No symbolic
// link in its path is followed.
func (b *Batch) inDir(dir string, do func(*fsx.TreeDir) error) error {
	b.filesMu.Lock()
	defer b.filesMu.Unlock()
	if b.files == nil {
		b.files = fsx.OpenTree(b.store.CommonDir)
	}
	d, err := b.files.MakeDir(dir)
	if err == nil {
		err = do(d)
	}
	if errors.Is(err, os.ErrNotExist) { // an open directory may have been removed
		b.files.Close()
	}
	return err
}

// Discard removes what was not flushed, and the .keep files, so that git treats the rest
// as any object.
func (b *Batch) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if told := b.store.Packed; told != nil && len(b.kept) > 0 {
		defer told()
	}
	for _, o := range b.loose {
		_ = os.Remove(o.file)
	}
	b.loose = nil
	for _, p := range b.packs {
		_ = os.Remove(p.data)
		_ = os.Remove(p.index)
	}
	for _, name := range b.kept {
		_ = os.Remove(name)
	}
	b.filesMu.Lock()
	defer b.filesMu.Unlock()
	if b.files != nil {
		b.files.Close()
	}
	b.packs, b.kept, b.pack, b.seen = nil, nil, packBuffer{}, map[string]bool{}
}
