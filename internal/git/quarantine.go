package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/object"
)

// quarantine is an object directory of its own for what is only tried: it sees
// the repository's objects, and leaves nothing there. Nothing in it is synced:
// what is to stay is written anew by [quarantine.keepCommits].
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

// read reads an object that was written here, or else one of the repository,
// which has to be what its name says.
func (q *quarantine) read(ctx context.Context, oid string) (object.Object, error) {
	o, err := q.ownObjects().Read(oid)
	if errors.Is(err, os.ErrNotExist) {
		return q.repo.readVerified(ctx, oid)
	}
	return o, err
}

// ownObjects are the objects that were written here.
func (q *quarantine) ownObjects() object.Dir {
	return object.Dir{Path: q.dir, Format: q.repo.objectFormat()}
}

// keepCommits copies commits, and what they lead to as far as it was written here, into
// the repository. They are on disk when it returns; release lets go of them once
// something names them.
func (q *quarantine) keepCommits(ctx context.Context, commits ...string) (release func(), err error) {
	found, err := object.Reachable(ctx, q.ownObjects(), q.repo, commits)
	if err != nil {
		return nil, err
	}
	b := q.repo.Batch()
	if len(found) > fewObjects {
		b = q.repo.PackBatch()
	}
	for _, o := range found {
		if _, err := b.Write(o.Type, o.Size, bytes.NewReader(o.Data)); err != nil {
			b.Discard()
			return nil, err
		}
	}
	if err := b.Flush(); err != nil {
		b.Discard()
		return nil, err
	}
	return b.Discard, nil
}

// fewObjects are better off as files of their own than in a pack: each pack
// makes every look for an object slower.
const fewObjects = 6
