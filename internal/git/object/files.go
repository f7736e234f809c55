package object

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// Files are the packs and loose objects of object directories. Git searches several files
// for an object and takes the first copy that it finds, which need not be the same in
// every process. So the content of an object counts as verified only if each copy matches
// its name.
type Files struct {
	format Format
	dirs   []string
	packs  []*objectPack
	zlib   inflater

	listed map[string]bool // packs, by path without extension

	// Partial says that blobs may be missing: git fetches them from a remote when they are
	// needed, and hashes them then.
	Partial bool
}

// OpenFiles opens object directories.
func OpenFiles(format Format, dirs ...string) (*Files, error) {
	o := &Files{format: format, dirs: dirs, listed: map[string]bool{}}
	if _, err := o.listPacks(); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// listPacks opens the packs that exist now, and reports whether one of them is new. Packs
// that were deleted since stay open: their content has not changed.
func (o *Files) listPacks() (hasNew bool, err error) {
	for _, dir := range o.dirs {
		entries, err := os.ReadDir(filepath.Join(dir, "pack"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		for _, e := range entries {
			name, isIndex := strings.CutSuffix(e.Name(), ".idx")
			base := filepath.Join(dir, "pack", name)
			if !isIndex || o.listed[base] {
				continue
			}
			p, err := openObjectPack(o, base)
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, errPack) {
				continue // git skips it, too
			}
			if err != nil {
				return false, err
			}
			o.packs, o.listed[base], hasNew = append(o.packs, p), true, true
		}
	}
	return hasNew, nil
}

// Close closes the files.
func (o *Files) Close() {
	for _, p := range o.packs {
		p.close()
	}
}

// Keep says whether the content of an object is needed. That of a large blob is never
// kept.
type Keep int

// Whether the content is needed.
const (
	KeepNothing Keep = iota
	KeepContents
)

// maxInMemory is the size of the largest object that is built from deltas in memory. Git
// makes no deltas of larger ones.
const maxInMemory = 512 << 20

// maxKept is the size of the largest blob whose content is kept.
const maxKept = 16 << 20

// maxTreeText is the size of the largest tree or commit that is read.
const maxTreeText = 256 << 20

// Verify rehashes every copy of an object. It fails with a *ForgedError if the content of
// one does not match the name, and with a *MissingError if there is none.
func (o *Files) Verify(ctx context.Context, oid string, keep Keep) (Object, error) {
	raw, err := hex.DecodeString(oid)
	if err != nil || len(raw)*2 != o.format.HexLen() {
		return Object{}, fmt.Errorf("%q: %w", oid, ErrMissing)
	}
	found, err := o.verifyOnce(ctx, oid, raw, keep)
	// A concurrent git may have repacked the object since the packs were listed.
	for try, hasNew := 0, true; errors.Is(err, ErrMissing) && hasNew && try < maxListings; try++ {
		var lerr error
		if hasNew, lerr = o.listPacks(); lerr != nil {
			return Object{}, lerr
		}
		found, err = o.verifyOnce(ctx, oid, raw, keep)
	}
	return found, err
}

// maxListings bounds how often the packs are listed again for one object.
const maxListings = 5

func (o *Files) verifyOnce(ctx context.Context, oid string, raw []byte, keep Keep) (Object, error) {
	var found Object
	for _, dir := range o.dirs {
		path := filepath.Join(dir, oid[:2], oid[2:])
		f, err := fsx.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Object{}, err
		}
		got, err := o.loose(ctx, f, keep)
		_ = f.Close()
		if err := o.copyError(ctx, err, got, oid, path); err != nil {
			return Object{}, err
		}
		found = got
	}
	for _, p := range o.packs {
		at, isThere, err := p.find(raw)
		if err != nil {
			return Object{}, &ForgedError{OID: oid, File: p.base + ".idx"}
		}
		if !isThere {
			continue
		}
		got, err := p.hashed(ctx, at, keep)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := o.copyError(ctx, err, got, oid, p.base+".pack"); err != nil {
			return Object{}, err
		}
		found = got
	}
	if found.OID == "" {
		return Object{}, &MissingError{OID: oid}
	}
	return found, nil
}

// copyError returns a *ForgedError if a copy of an object could not be read or has another
// name than oid, and the error of ctx if that has ended.
func (o *Files) copyError(ctx context.Context, err error, got Object, oid, file string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || got.OID != oid {
		return &ForgedError{OID: oid, File: file}
	}
	return nil
}

// loose hashes a loose object.
func (o *Files) loose(ctx context.Context, f io.Reader, keep Keep) (Object, error) {
	z, err := o.zlib.open(f)
	if err != nil {
		return Object{}, err
	}
	h := o.format.NewHash()
	head := make([]byte, 32)
	n, err := io.ReadFull(z, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Object{}, err
	}
	h.Write(head[:n])
	end := bytes.IndexByte(head[:n], 0)
	if end < 0 {
		return Object{}, errNoHeader
	}
	kind, size, _ := strings.Cut(string(head[:end]), " ")
	length, err := strconv.ParseInt(size, 10, 64)
	rest := length - int64(n-end-1)
	if err != nil || rest < 0 || kind != "blob" && length > maxTreeText {
		return Object{}, errNoHeader
	}
	var text bytes.Buffer
	out := io.Writer(h)
	if keep == KeepContents && (kind != "blob" || length <= maxKept) {
		text.Write(head[end+1 : n])
		out = io.MultiWriter(h, &text)
	}
	more := &io.LimitedReader{R: z, N: rest + 1} // one byte more, to notice content beyond the size in the header
	if err := copyContext(ctx, out, more); err != nil {
		return Object{}, err
	}
	if more.N != 1 {
		return Object{}, errNoHeader
	}
	return Object{OID: hex.EncodeToString(h.Sum(nil)), Type: kind, Size: length, Data: text.Bytes()}, nil
}

var errNoHeader = errors.New("not an object")

// startHash returns a hash with the header of an object written to it.
func (o *Files) startHash(kind string, size int64) hash.Hash {
	h := o.format.NewHash()
	_, _ = io.WriteString(h, kind+" "+strconv.FormatInt(size, 10)+"\x00")
	return h
}

// copyContext copies until the context ends.
func copyContext(ctx context.Context, to io.Writer, from io.Reader) error {
	const piece = 4 << 20
	for {
		n, err := io.CopyN(to, from, piece)
		if errors.Is(err, io.EOF) && n < piece {
			return nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}
