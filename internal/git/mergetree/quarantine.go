package mergetree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Quarantine is an object directory of its own for what is only tried: it sees
// the repository's objects, and leaves nothing there. Nothing in it is synced:
// what is to stay is written anew by [quarantine.keepCommits].
type Quarantine struct {
	Repo      *Repository
	placement writers.Placement
	Dir       string
	Env       []string
	Discard   func()
}

// NewQuarantine makes an empty quarantine.
func (r *Repository) NewQuarantine(where writers.Placement) (*Quarantine, error) {
	if where == writers.InMemory && !fsx.HasMemoryDir() {
		where = writers.OnDisk
	}
	dir, remove, err := r.TempDirAt(where)
	if err != nil {
		return nil, err
	}
	return &Quarantine{Repo: r, placement: where, Dir: dir, Discard: remove, Env: []string{
		"GIT_OBJECT_DIRECTORY=" + dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + gitdir.QuoteInList(filepath.Join(r.CommonDir, "objects")),
	}}, nil
}

// Unsynced is the configuration of a git whose objects need not survive a power cut.
var Unsynced = [][2]string{{"core.fsync", "none"}}

func (q *Quarantine) run(ctx context.Context, args ...string) (string, error) {
	out, err := q.Repo.Git.Run(ctx, gitcmd.Target{Repo: q.Repo.Core()}, gitcmd.Call{Args: args, Env: q.Env, Config: Unsynced})
	return strings.TrimSpace(string(out)), err
}

// read reads an object that was written here, or else one of the repository,
// which has to be what its name says.
func (q *Quarantine) read(ctx context.Context, oid string) (object.Object, error) {
	o, err := q.OwnObjects().Read(oid)
	if errors.Is(err, os.ErrNotExist) {
		return q.Repo.ReadVerified(ctx, oid)
	}
	return o, err
}

// OwnObjects are the objects that were written here.
func (q *Quarantine) OwnObjects() object.Dir {
	return object.Dir{Path: q.Dir, Format: q.Repo.ObjectFormat()}
}

// KeepCommits copies commits, and what they lead to as far as it was written here, into
// the repository. They are on disk when it returns; release lets go of them once
// something names them.
func (q *Quarantine) KeepCommits(ctx context.Context, commits ...string) (release func(), err error) {
	found, err := object.Reachable(ctx, q.OwnObjects(), q.Repo, commits)
	if err != nil {
		return nil, err
	}
	b := q.Repo.Batch()
	if len(found) > fewObjects {
		b = q.Repo.PackBatch()
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

// Quarantine is where the objects of the merges lie.
func (a *Session) Quarantine() *Quarantine { return a.q }

// Objects is the directory of what these attempts wrote. It is there until
// they are closed.
func (a *Session) Objects() string { return a.q.Dir }
