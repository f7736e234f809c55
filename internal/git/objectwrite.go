package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Objects are written here, and not by a git process, because it saves one
// process for each, and because they are then known to be on disk: a loose
// object is synced before its name is used.

// WriteBlob stores data as an object and returns its name.
func (r *Repository) WriteBlob(data []byte) (string, error) {
	return r.writeObject("blob", int64(len(data)), bytes.NewReader(data))
}

// WriteBlobFrom stores size bytes of a reader as an object. A reader that has
// fewer or more is an error: the file changed while it was read.
func (r *Repository) WriteBlobFrom(in io.Reader, size int64) (string, error) {
	return r.writeObject("blob", size, in)
}

// TreeEntry is one entry of a tree.
type TreeEntry struct {
	Mode string // "100644", "100755", "120000", "160000" or "40000"
	Name string // in a tree: one component; from ReadTree: the whole path
	OID  string
}

// WriteTree stores a tree and returns its name.
func (r *Repository) WriteTree(entries []TreeEntry) (string, error) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b TreeEntry) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	var b bytes.Buffer
	for _, e := range sorted {
		oid, err := hex.DecodeString(e.OID)
		if err != nil || strings.ContainsAny(e.Name, "/\x00") || e.Name == "" {
			return "", fmt.Errorf("not a tree entry: %q", e.Name)
		}
		b.WriteString(e.Mode + " " + e.Name + "\x00")
		b.Write(oid)
	}
	return r.writeObject("tree", int64(b.Len()), &b)
}

// sortKey puts directories where git has them: as if their names ended in a
// slash.
func (e TreeEntry) sortKey() string {
	if e.Mode == "40000" {
		return e.Name + "/"
	}
	return e.Name
}

// Commit is a commit to be written.
type Commit struct {
	Tree      string
	Parents   []string
	Signature string // name, address, time and zone, for author and committer
	Message   string
}

// WriteCommit stores a commit and returns its name.
func (r *Repository) WriteCommit(c Commit) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s\n", c.Signature, c.Signature, c.Message)
	return r.writeObject("commit", int64(b.Len()), &b)
}

func (r *Repository) newHash() hash.Hash {
	if r.format.objectFormat == "sha256" {
		return sha256.New()
	}
	return sha1.New()
}

// writeObject writes a loose object under a temporary name, and renames it
// when its name is known.
func (r *Repository) writeObject(kind string, size int64, data io.Reader) (string, error) {
	objects := filepath.Join(r.CommonDir, "objects")
	f, err := os.CreateTemp(objects, "tmp_obj_")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	oid, err := r.deflate(f, kind, size, data)
	if err == nil {
		err = f.Chmod(0o444)
	}
	there := err == nil && r.freshen(oid)
	if err == nil && !there {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil || there {
		return oid, err
	}
	dir := filepath.Join(objects, oid[:2])
	for range 3 { // a gc may remove the empty directory meanwhile
		if err = os.MkdirAll(dir, 0o777); err != nil {
			return "", err
		}
		if err = os.Rename(f.Name(), filepath.Join(dir, oid[2:])); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return oid, err
}

// freshen reports whether the object is there already, and makes it young
// again if it is: a gc deletes old objects that nothing names yet.
func (r *Repository) freshen(oid string) bool {
	path, now := filepath.Join(r.CommonDir, "objects", oid[:2], oid[2:]), time.Now()
	info, err := os.Stat(path)
	// A power cut leaves empty files, which are no objects.
	return err == nil && info.Size() > 0 && os.Chtimes(path, now, now) == nil
}

// deflate writes an object's header and data, compressed, and returns its
// name.
func (r *Repository) deflate(w io.Writer, kind string, size int64, data io.Reader) (string, error) {
	h := r.newHash()
	z, err := zlib.NewWriterLevel(w, zlib.BestSpeed)
	if err != nil {
		return "", err
	}
	both := io.MultiWriter(h, z)
	if _, err := io.WriteString(both, kind+" "+strconv.FormatInt(size, 10)+"\x00"); err != nil {
		return "", err
	}
	n, err := io.Copy(both, io.LimitReader(data, size+1))
	if err != nil {
		return "", err
	}
	if n != size {
		return "", fmt.Errorf("%s of %d bytes has another size now: %w", kind, size, io.ErrUnexpectedEOF)
	}
	return hex.EncodeToString(h.Sum(nil)), z.Close()
}
