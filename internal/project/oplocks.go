package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/refs"
)

// DraftSnapshot begins the names of the lock files of drafts. A process holds a draft
// while it writes the files of a snapshot and then the ref that names them, because the
// journal has no operation for that. The lock file contains the ref, so that another
// process can settle the draft after a crash.
const DraftSnapshot = "snapshot-"

// BeginDraft makes and takes the lock file of a snapshot that is being made. The caller
// calls end when the snapshot is made or has failed.
func (p *Projects) BeginDraft(r *Project, id croft.ID, ref string) (end func(), err error) {
	path := p.Ops.LockPath(DraftSnapshot + string(id))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l, err := flock.New(path)
	if err != nil {
		return nil, err
	}
	end = func() {
		_ = os.Remove(path)
		_ = l.Unlock()
	}
	if _, err := l.File().WriteString(string(r.ID) + " " + ref); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// sweepDrafts settles the drafts of a repository whose processes died: it keeps a
// snapshot that is pinned, and deletes the ref and the private files of one that is
// not.
func (p *Projects) sweepDrafts(ctx context.Context, r *Project) {
	paths, _ := filepath.Glob(p.Ops.LockPath(DraftSnapshot + "*"))
	for _, path := range paths {
		l, err := flock.TryExisting(path)
		if err != nil {
			continue
		}
		b, err := os.ReadFile(path)
		repo, ref, _ := strings.Cut(string(b), " ")
		// An empty file was made by a process that died before it wrote.
		if err == nil && (len(b) == 0 || croft.ID(repo) == r.ID && p.settleDraft(ctx, r, ref)) {
			_ = os.Remove(path)
		}
		_ = l.Unlock()
	}
}

func (p *Projects) settleDraft(ctx context.Context, r *Project, ref string) bool {
	if _, err := p.Pinned(ctx, r, ref); errors.Is(err, refs.ErrNoRef) {
		if err := DeleteRef(ctx, r, ref); err != nil {
			return false
		}
		return fsx.RemoveOwn(p.SecretsDir(r, croft.ID(filepath.Base(ref)))) == nil
	}
	return true
}

// SweepLocks deletes the lock files of processes that died, and old damaged databases.
// A draft that is not empty stays for Recover in its repository.
func (p *Projects) SweepLocks(ctx context.Context) {
	p.sweepDamaged(ctx)
	p.Ops.SweepLocks(ctx, func(name string, size int64) bool { return strings.HasPrefix(name, DraftSnapshot) && size > 0 })
}
