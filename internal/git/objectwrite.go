package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Objects are written here, and not by a git process, because it saves one
// process for each, and because they are then known to be on disk: an object
// is synced before its name is used.

// WriteBlob stores data as an object and returns its name.
func (r *Repository) WriteBlob(data []byte) (string, error) {
	return r.writeObject("blob", int64(len(data)), bytes.NewReader(data))
}

// WriteBlobFrom stores size bytes of a reader as an object. A reader that has
// fewer or more is an error: the file changed while it was read.
func (r *Repository) WriteBlobFrom(in io.Reader, size int64) (string, error) {
	return r.writeObject("blob", size, in)
}

// HashBlob returns the name that size bytes of a reader would have as an
// object, and stores nothing.
func (r *Repository) HashBlob(in io.Reader, size int64) (string, error) {
	h := r.newHash()
	_, _ = io.WriteString(h, "blob "+strconv.FormatInt(size, 10)+"\x00")
	n, err := io.Copy(h, io.LimitReader(in, size+1))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// TreeEntry is one entry of a tree.
type TreeEntry struct {
	Mode string // "100644", "100755", "120000", "160000" or "40000"
	Name string // in a tree: one component; from ReadTree: the whole path
	OID  string
}

// IsFile reports whether it is a regular file, executable or not.
func (e TreeEntry) IsFile() bool { return e.Mode == "100644" || e.Mode == "100755" }

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
	Author    string // the same of the author alone, where that is somebody else
	Encoding  string // of the message, where it is not UTF-8
	Message   string
}

func (r *Repository) newHash() hash.Hash {
	if r.format.objectFormat == "sha256" {
		return sha256.New()
	}
	return sha1.New()
}

// writeObject writes one object.
func (r *Repository) writeObject(kind string, size int64, data io.Reader) (string, error) {
	return r.alone(func(b *Batch) (string, error) { return b.write(kind, size, data, "") })
}

// loosePath is where an object lies that has a file of its own.
func (r *Repository) loosePath(oid string) string {
	return filepath.Join(r.CommonDir, "objects", oid[:2], oid[2:])
}

// hashObject returns the name of an object.
func (r *Repository) hashObject(kind string, text []byte) []byte {
	h := r.newHash()
	_, _ = io.WriteString(h, kind+" "+strconv.Itoa(len(text))+"\x00")
	h.Write(text)
	return h.Sum(nil)
}

// freshen reports whether the object is there already, and makes it young
// again if it is: a gc deletes old objects that nothing names yet.
func (r *Repository) freshen(oid string) bool {
	path, now := r.loosePath(oid), time.Now()
	info, err := os.Lstat(path)
	// A power cut leaves empty files, which are no objects.
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && os.Chtimes(path, now, now) == nil
}

// deflate writes an object's header and data, compressed, and returns its
// name.
func (r *Repository) deflate(w io.Writer, kind string, size int64, data io.Reader) (string, error) {
	h := r.newHash()
	z := r.deflater(w)
	defer r.deflaters.Put(z)
	both := io.MultiWriter(h, z)
	if _, err := io.WriteString(both, kind+" "+strconv.FormatInt(size, 10)+"\x00"); err != nil {
		return "", err
	}
	n, err := io.Copy(both, io.LimitReader(data, size+1))
	if err != nil {
		return "", err
	}
	if n != size {
		return "", otherSize(kind, size, nil)
	}
	return hex.EncodeToString(h.Sum(nil)), z.Close()
}

// deflater returns a compressor. They are used again: to make one takes longer
// than to compress a small file.
func (r *Repository) deflater(w io.Writer) *zlib.Writer {
	if z, ok := r.deflaters.Get().(*zlib.Writer); ok {
		z.Reset(w)
		return z
	}
	z, _ := zlib.NewWriterLevel(w, zlib.BestSpeed) // the level is one that there is
	return z
}
