package object

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Dir is an object directory of Croft's own, where no agent can write: a quarantine. Its
// objects are loose, and not synced to disk.
type Dir struct {
	Path   string
	Format Format
}

// File is the path of an object.
func (d Dir) File(oid string) string { return filepath.Join(d.Path, oid[:2], oid[2:]) }

// Write adds an object, and returns its name.
func (d Dir) Write(kind string, data []byte) (string, error) {
	f, err := os.CreateTemp(d.Path, "tmp_obj_")
	if err != nil {
		return "", err
	}
	oid, err := d.Format.Deflate(f, kind, int64(len(data)), bytes.NewReader(data))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.MkdirAll(filepath.Dir(d.File(oid)), 0o777); err != nil {
		return "", err
	}
	return oid, os.Rename(f.Name(), d.File(oid))
}

// Read reads an object, or fails with os.ErrNotExist.
func (d Dir) Read(oid string) (Object, error) { return d.read(oid, &inflater{}) }

func (d Dir) read(oid string, in *inflater) (Object, error) {
	f, err := os.Open(d.File(oid))
	if err != nil {
		return Object{}, err
	}
	defer f.Close()
	z, err := in.open(f)
	if err != nil {
		return Object{}, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return Object{}, err
	}
	head, data, ok := bytes.Cut(text, []byte{0})
	kind, size, _ := strings.Cut(string(head), " ")
	if n, err := strconv.ParseInt(size, 10, 64); !ok || err != nil || n != int64(len(data)) {
		return Object{}, fmt.Errorf("%s: not an object", oid)
	}
	return Object{OID: oid, Type: kind, Size: int64(len(data)), Data: data}, nil
}

// Copy writes the content of an object to w, or fails with os.ErrNotExist.
func (d Dir) Copy(ctx context.Context, w io.Writer, oid string) (Object, error) {
	f, err := os.Open(d.File(oid))
	if err != nil {
		return Object{}, err
	}
	defer f.Close()
	z, err := (&inflater{}).open(f)
	if err != nil {
		return Object{}, err
	}
	in := bufio.NewReader(z)
	head, err := in.ReadString(0)
	if err != nil {
		return Object{}, fmt.Errorf("%s: not an object", oid)
	}
	kind, size, _ := strings.Cut(strings.TrimSuffix(head, "\x00"), " ")
	o := Object{OID: oid, Type: kind}
	if o.Size, err = strconv.ParseInt(size, 10, 64); err != nil {
		return Object{}, fmt.Errorf("%s: not an object", oid)
	}
	return o, copyContext(ctx, w, in)
}
