package git

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Batch writes objects that appear together: each lies under a temporary name
// until Flush has all of them on disk. To wait for the disk once for many
// objects takes a fraction of the time. Several goroutines may write.
type Batch struct {
	repo   *Repository
	mu     sync.Mutex
	staged map[string]string // object name → temporary file
}

// Batch begins a batch. Call Flush to keep what it wrote, and Discard after
// all.
func (r *Repository) Batch() *Batch { return &Batch{repo: r, staged: map[string]string{}} }

// WriteBlob adds data as an object and returns its name.
func (b *Batch) WriteBlob(data []byte) (string, error) {
	return b.write("blob", int64(len(data)), bytes.NewReader(data))
}

// WriteBlobFrom adds size bytes of a reader as an object. A reader that has
// fewer or more is an error: the file changed while it was read.
func (b *Batch) WriteBlobFrom(in io.Reader, size int64) (string, error) {
	return b.write("blob", size, in)
}

// WriteTree adds a tree and returns its name.
func (b *Batch) WriteTree(entries []TreeEntry) (string, error) {
	text, err := treeText(entries)
	if err != nil {
		return "", err
	}
	return b.write("tree", int64(len(text)), bytes.NewReader(text))
}

// treeText is a tree as git stores it.
func treeText(entries []TreeEntry) ([]byte, error) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b TreeEntry) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	var text bytes.Buffer
	for _, e := range sorted {
		oid, err := hex.DecodeString(e.OID)
		if err != nil || strings.ContainsAny(e.Name, "/\x00") || e.Name == "" {
			return nil, fmt.Errorf("not a tree entry: %q", e.Name)
		}
		text.WriteString(e.Mode + " " + e.Name + "\x00")
		text.Write(oid)
	}
	return text.Bytes(), nil
}

// WriteCommit adds a commit and returns its name.
func (b *Batch) WriteCommit(c Commit) (string, error) {
	text := c.text()
	return b.write("commit", int64(len(text)), bytes.NewReader(text))
}

// WriteTree stores a tree and returns its name.
func (r *Repository) WriteTree(entries []TreeEntry) (string, error) {
	return r.alone(func(b *Batch) (string, error) { return b.WriteTree(entries) })
}

// WriteCommit stores a commit and returns its name.
func (r *Repository) WriteCommit(c Commit) (string, error) {
	return r.alone(func(b *Batch) (string, error) { return b.WriteCommit(c) })
}

// alone writes one object in a batch of its own.
func (r *Repository) alone(write func(*Batch) (string, error)) (string, error) {
	b := r.Batch()
	defer b.Discard()
	oid, err := write(b)
	if err != nil {
		return "", err
	}
	return oid, b.Flush()
}

// write stages an object.
func (b *Batch) write(kind string, size int64, data io.Reader) (string, error) {
	f, err := os.CreateTemp(filepath.Join(b.repo.CommonDir, "objects"), "tmp_obj_")
	if err != nil {
		return "", err
	}
	oid, err := b.repo.deflate(f, kind, size, data)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, twice := b.staged[oid]; twice || b.repo.freshen(oid) {
		return oid, os.Remove(f.Name())
	}
	b.staged[oid] = f.Name()
	return oid, nil
}

// syncers are how many files are synced at once; file systems write their
// journal once for those that wait together.
const syncers = 32

// Flush makes the objects durable and then gives them their names.
func (b *Batch) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	files := make(chan string)
	errs := make([]error, min(syncers, len(b.staged)))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for name := range files {
				errs[i] = errors.Join(errs[i], syncObject(name))
			}
		})
	}
	for _, name := range b.staged {
		files <- name
	}
	close(files)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	objects := filepath.Join(b.repo.CommonDir, "objects")
	dirs := []string{objects}
	for oid, name := range b.staged {
		if err := b.place(name, oid); err != nil {
			return err
		}
		dirs = append(dirs, filepath.Join(objects, oid[:2]))
		delete(b.staged, oid)
	}
	return syncAll(dirs...)
}

// place gives a staged object its name.
func (b *Batch) place(name, oid string) (err error) {
	dir := filepath.Join(b.repo.CommonDir, "objects", oid[:2])
	for range 3 { // a gc may remove the empty directory meanwhile
		if err = os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err = os.Rename(name, filepath.Join(dir, oid[2:])); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return err
}

// Discard removes what was not flushed.
func (b *Batch) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for oid, name := range b.staged {
		_ = os.Remove(name)
		delete(b.staged, oid)
	}
}
