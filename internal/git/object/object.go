// Package object owns git's objects as bytes: how trees and commits are encoded, how
// objects are named, how they are written loose and in packs, and how the files that have
// them are read and rehashed. It starts no process and reads no configuration; it touches
// only the object directories that it is given.
//
// Git itself cannot be used, for two reasons. It syncs what it writes, but not the
// directory of a new object, and a process for each object of a snapshot costs more than
// the snapshot (decisions 0012 and 0015). And it does not verify that the content of an
// object matches its name when it reads one, while an agent can write the object directory
// of the repository that it works in; `git fsck` of a few objects takes a process and
// reads one copy of several (decision 0034).
//
// An object is on disk before it gets its name, after the objects that it references;
// nothing is written through a symbolic link; nothing that is read is used before it was
// hashed, every length and offset is checked, and no more is read than the size in a
// header says.
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

// Object is a git object. Data is empty if only type and size were requested.
type Object struct {
	OID, Type string
	Size      int64
	Data      []byte
}

// ErrMissing says that a name resolves to no object.
var ErrMissing = errors.New("no such object")

// ErrForged says that the content of an object does not match its name. Git does not
// verify this when it reads one.
var ErrForged = errors.New("the object is not what its name says")

// ForgedError names an object whose content does not match its name.
type ForgedError struct {
	OID  string
	Path string // in the tree that has it; empty for a commit or the top
	File string // the file that has it
}

func (e *ForgedError) Error() string {
	at := ""
	if e.Path != "" {
		at = fmt.Sprintf(" (%q)", e.Path)
	}
	return fmt.Sprintf("object %s%s in %s is not what its name says", e.OID, at, e.File)
}

// Unwrap returns [ErrForged].
func (e *ForgedError) Unwrap() error { return ErrForged }

// MissingError names an object that does not exist.
type MissingError struct {
	OID  string
	Path string // in the tree that has it; empty for a commit or the top
}

func (e *MissingError) Error() string { return e.OID + ": " + ErrMissing.Error() }

// Unwrap returns [ErrMissing].
func (e *MissingError) Unwrap() error { return ErrMissing }

// IsOID reports whether a text can be an object name, in either format.
func IsOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// Format is the hash function of object names, as in extensions.objectFormat. Anything but
// [SHA256] is SHA-1.
type Format string

// SHA256 is the format with object names of 64 digits.
const SHA256 Format = "sha256"

// NewHash returns a new SHA-256 or SHA-1 hash, as the format says.
func (f Format) NewHash() hash.Hash {
	if f == SHA256 {
		return sha256.New()
	}
	return sha1.New()
}

// Size is the length of an object name in bytes.
func (f Format) Size() int {
	if f == SHA256 {
		return sha256.Size
	}
	return sha1.Size
}

// HexLen is the length of an object name in hexadecimal.
func (f Format) HexLen() int { return 2 * f.Size() }

// Hash returns the name of an object.
func (f Format) Hash(kind string, text []byte) []byte {
	h := f.NewHash()
	_, _ = io.WriteString(h, kind+" "+strconv.Itoa(len(text))+"\x00")
	h.Write(text)
	return h.Sum(nil)
}

// HashBlob returns the name that size bytes of a reader would have as a blob, and stores
// nothing.
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

// deflaters has compressors of type *zlib.Writer.
var deflaters sync.Pool

// deflater returns a compressor. They are reused: to make one takes longer than to
// compress a small file.
func deflater(w io.Writer) *zlib.Writer {
	if z, ok := deflaters.Get().(*zlib.Writer); ok {
		z.Reset(w)
		return z
	}
	z, _ := zlib.NewWriterLevel(w, zlib.BestSpeed) // the level is valid
	return z
}
