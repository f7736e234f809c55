package mergetree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Quarantine is an object directory for merges that may be discarded: git reads the
// repository's objects through it, and writes only to it. Nothing in it is synced to disk;
// [Quarantine.KeepCommits] writes what is to stay to the repository.
type Quarantine struct {
	Repo      *Repository
	placement writers.Placement
	Dir       string
	Env       []string
	Discard   func()

	files *hereFiles // nil: git reads the objects of the repository
}

// NewQuarantine makes an empty quarantine. It is on disk if the machine has no directory in
// memory.
func (r *Repository) NewQuarantine(where writers.Placement) (*Quarantine, error) {
	if where == writers.InMemory && !fsx.HasMemoryDir() {
		where = writers.OnDisk
	}
	dir, remove, err := r.TempDirAt(where)
	if err != nil {
		return nil, err
	}
	files := &hereFiles{repo: r}
	discard := func() {
		files.close()
		remove()
	}
	return &Quarantine{Repo: r, placement: where, Dir: dir, Discard: discard, files: files, Env: []string{
		"GIT_OBJECT_DIRECTORY=" + dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + gitdir.QuoteInList(filepath.Join(r.CommonDir, "objects")),
	}}, nil
}

// hereFiles reads objects of a repository in this process, for several goroutines: a few of them are read
// sooner than a git process starts.
type hereFiles struct {
	repo *Repository

	mu    sync.Mutex
	files *object.Files // nil: not open
}

// read reads an object and verifies that its content matches its name, or reports that git has to be asked.
// It always does if a process runs that answers.
func (h *hereFiles) read(ctx context.Context, oid string) (object.Object, bool) {
	if h == nil || h.repo.ObjectProcess() != nil {
		return object.Object{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		files, err := h.repo.OpenObjects()
		if err != nil {
			return object.Object{}, false
		}
		h.files = files
	}
	o, err := h.files.Verify(ctx, oid, object.KeepContents)
	return o, err == nil && int64(len(o.Data)) == o.Size // the content of a large blob is not kept
}

func (h *hereFiles) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files != nil {
		h.files.Close()
		h.files = nil
	}
}

// Unsynced is the configuration of a git process whose objects need not survive a power
// cut. To compress what is soon deleted, or written once more, takes half the time of a merge.
var Unsynced = [][2]string{{"core.fsync", "none"}, {"core.looseCompression", "0"}}

func (q *Quarantine) run(ctx context.Context, args ...string) (string, error) {
	out, err := q.Repo.Git.Run(ctx, gitcmd.Target{Repo: q.Repo.Core()}, gitcmd.Call{Args: args, Env: q.Env, Config: Unsynced})
	return strings.TrimSpace(string(out)), err
}

// read reads an object of the quarantine, or else of the repository, whose content is
// verified against its name.
func (q *Quarantine) read(ctx context.Context, oid string) (object.Object, error) {
	o, err := q.OwnObjects().Read(oid)
	if !errors.Is(err, os.ErrNotExist) {
		return o, err
	}
	if o, isRead := q.files.read(ctx, oid); isRead {
		return o, nil
	}
	return q.Repo.ReadVerified(ctx, oid)
}

// OwnObjects is the object directory of the quarantine.
func (q *Quarantine) OwnObjects() object.Dir {
	return object.Dir{Path: q.Dir, Format: q.Repo.ObjectFormat()}
}

// KeepCommits copies commits, and all objects of the quarantine that they reach, to the
// repository. They are on disk when it returns, and are not pruned until release is
// called.
func (q *Quarantine) KeepCommits(ctx context.Context, commits ...string) (release func(), err error) {
	files, err := q.Repo.OpenObjects()
	if err != nil {
		return nil, err
	}
	defer files.Close()
	found, err := object.Reachable(ctx, q.OwnObjects(), filesFirst{files, q.Repo}, commits)
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

// filesFirst reads objects from the files of a repository, without a round trip to a
// process, and asks git for what it does not find or cannot verify there.
type filesFirst struct {
	files *object.Files
	repo  object.Reader
}

func (r filesFirst) Read(ctx context.Context, oid string) (object.Object, error) {
	if o, err := r.files.Verify(ctx, oid, object.KeepContents); err == nil && int64(len(o.Data)) == o.Size {
		return o, nil
	}
	return r.repo.Read(ctx, oid)
}

func (r filesFirst) Info(ctx context.Context, oid string) (object.Object, error) {
	return r.repo.Info(ctx, oid)
}

// fewObjects is the number of objects up to which loose objects are written instead of a
// pack: each pack makes every lookup of an object slower.
const fewObjects = 6

// Quarantine returns the session's quarantine.
func (a *Session) Quarantine() *Quarantine { return a.q }

// Objects returns the path of the session's object directory. Close removes it.
func (a *Session) Objects() string { return a.q.Dir }
