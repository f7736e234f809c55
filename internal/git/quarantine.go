package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/object"
)

// quarantine is an object directory of its own for what is only tried: it sees
// the repository's objects, and leaves nothing there. Nothing in it is synced:
// what is to stay is written anew by [quarantine.keep].
type quarantine struct {
	repo      *Repository
	placement Placement
	dir       string
	env       []string
	discard   func()
}

func (r *Repository) quarantine(where Placement) (*quarantine, error) {
	if where == InMemory && !fsx.HasMemoryDir() {
		where = OnDisk
	}
	dir, remove, err := r.tempDir(where)
	if err != nil {
		return nil, err
	}
	return &quarantine{repo: r, placement: where, dir: dir, discard: remove, env: []string{
		"GIT_OBJECT_DIRECTORY=" + dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoteInList(filepath.Join(r.CommonDir, "objects")),
	}}, nil
}

var unsynced = [][2]string{{"core.fsync", "none"}}

func (q *quarantine) run(ctx context.Context, args ...string) (string, error) {
	out, err := q.repo.git.run(ctx, door{repo: q.repo}, call{args: args, env: q.env, config: unsynced})
	return strings.TrimSpace(string(out)), err
}

func (q *quarantine) path(oid string) string { return filepath.Join(q.dir, oid[:2], oid[2:]) }

// write adds an object.
func (q *quarantine) write(kind string, data []byte) (string, error) {
	f, err := os.CreateTemp(q.dir, "tmp_obj_")
	if err != nil {
		return "", err
	}
	oid, err := q.repo.objectFormat().Deflate(f, kind, int64(len(data)), bytes.NewReader(data))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.MkdirAll(filepath.Dir(q.path(oid)), 0o777); err != nil {
		return "", err
	}
	return oid, os.Rename(f.Name(), q.path(oid))
}

// read reads an object that was written here, or else one of the repository,
// which has to be what its name says.
func (q *quarantine) read(ctx context.Context, oid string) (object.Object, error) {
	o, err := q.readOwn(oid)
	if errors.Is(err, os.ErrNotExist) {
		return q.repo.readVerified(ctx, oid)
	}
	return o, err
}

// readOwn reads an object that was written here, or fails with
// os.ErrNotExist.
func (q *quarantine) readOwn(oid string) (object.Object, error) {
	f, err := os.Open(q.path(oid))
	if err != nil {
		return object.Object{}, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return object.Object{}, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return object.Object{}, err
	}
	head, data, ok := bytes.Cut(text, []byte{0})
	kind, size, _ := strings.Cut(string(head), " ")
	if n, err := strconv.ParseInt(size, 10, 64); !ok || err != nil || n != int64(len(data)) {
		return object.Object{}, fmt.Errorf("%s: not an object", oid)
	}
	return object.Object{OID: oid, Type: kind, Size: int64(len(data)), Data: data}, nil
}
