// Package object owns git's objects as bytes: how trees and commits are encoded,
// how objects are named, how they are written as files and packs, and how the
// files that hold them are read and hashed again. It starts no process and reads
// no configuration; it touches the object directories that it is given and
// nothing else.
//
// Git itself will not do, for two reasons. It syncs what it writes, but not the
// directory in which an object gets its name, and a process for each object of a
// snapshot costs more than the snapshot (decisions 0012 and 0015). And it does not
// look whether an object is what its name says when it reads one, while an agent
// can write the object directory of the repository that it works in; `git fsck` of
// a few objects takes a process and reads one copy of several (decision 0034).
//
// What holds here: an object is on disk before its name leads to it, and what it
// leads to was named before; nothing is written through a link; nothing that is
// read is believed before it was hashed, every length and offset is checked, and
// a text is read to no more than the size that its header says.
package object

import (
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Object is a git object. Data is empty where only information was asked for.
type Object struct {
	OID, Type string
	Size      int64
	Data      []byte
}

// ErrMissing says that a name leads to no object.
var ErrMissing = errors.New("no such object")

// ErrForged says that an object is not what its name says. Git itself does not
// look when it reads one.
var ErrForged = errors.New("the object is not what its name says")

// ForgedError says which object is not what its name says.
type ForgedError struct {
	OID  string
	Path string // in the tree that leads to it; empty for a commit or the top
	File string // that holds it
}

func (e *ForgedError) Error() string {
	at := ""
	if e.Path != "" {
		at = fmt.Sprintf(" (%q)", e.Path)
	}
	return fmt.Sprintf("object %s%s in %s is not what its name says", e.OID, at, e.File)
}

// Unwrap makes it an [ErrForged].
func (e *ForgedError) Unwrap() error { return ErrForged }

// MissingError says which object is in no file.
type MissingError struct {
	OID  string
	Path string // in the tree that leads to it; empty for a commit or the top
}

func (e *MissingError) Error() string { return e.OID + ": " + ErrMissing.Error() }

// Unwrap makes it an [ErrMissing].
func (e *MissingError) Unwrap() error { return ErrMissing }

// IsOID reports whether a text can be the name of an object, in either format.
func IsOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// Format is the hash by which a repository names its objects, as its setting
// extensions.objectFormat says it. Whatever is not [SHA256] is SHA-1.
type Format string

// SHA256 is the format of repositories whose objects have names of 64 digits.
const SHA256 Format = "sha256"

// NewHash returns a new SHA-256 or SHA-1 hash, as the format says.
func (f Format) NewHash() hash.Hash {
	if f == SHA256 {
		return sha256.New()
	}
	return sha1.New()
}

// Size is the length of a name in bytes.
func (f Format) Size() int {
	if f == SHA256 {
		return sha256.Size
	}
	return sha1.Size
}

// HexLen is the length of a name as text.
func (f Format) HexLen() int { return 2 * f.Size() }

// Hash returns the name of an object.
func (f Format) Hash(kind string, text []byte) []byte {
	h := f.NewHash()
	_, _ = io.WriteString(h, kind+" "+strconv.Itoa(len(text))+"\x00")
	h.Write(text)
	return h.Sum(nil)
}

// HashBlob returns the name that size bytes of a reader would have as an
// object, and stores nothing.
func (f Format) HashBlob(in io.Reader, size int64) (string, error) {
	h := f.NewHash()
	_, _ = io.WriteString(h, "blob "+strconv.FormatInt(size, 10)+"\x00")
	n, err := io.Copy(h, io.LimitReader(in, size+1))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// Deflate writes an object's header and data, compressed, and returns its
// name.
func (f Format) Deflate(w io.Writer, kind string, size int64, data io.Reader) (string, error) {
	h := f.NewHash()
	z := deflater(w)
	defer deflaters.Put(z)
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

// deflaters holds compressors, of type *zlib.Writer.
var deflaters sync.Pool

// deflater returns a compressor. They are used again: to make one takes longer
// than to compress a small file.
func deflater(w io.Writer) *zlib.Writer {
	if z, ok := deflaters.Get().(*zlib.Writer); ok {
		z.Reset(w)
		return z
	}
	z, _ := zlib.NewWriterLevel(w, zlib.BestSpeed) // the level is one that there is
	return z
}
