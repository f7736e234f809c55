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

// DraftSnapshot begins the names of the lock files of drafts. A draft is held while a
// process makes the files of a snapshot, and then the ref by which they are found: no
// operation in the journal speaks of them. The file names the ref, for the process that
// comes after a crash.
const DraftSnapshot = "snapshot-"

// BeginDraft says that a snapshot is being made, until the caller ends it.
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

// sweepDrafts finishes or rolls back the snapshots of a repository that processes were
// making when they died.
func (p *Projects) sweepDrafts(ctx context.Context, r *Project) {
	paths, _ := filepath.Glob(p.Ops.LockPath(DraftSnapshot + "*"))
	for _, path := range paths {
		l, err := flock.TryThere(path)
		if err != nil {
			continue
		}
		b, err := os.ReadFile(path)
		repo, ref, _ := strings.Cut(string(b), " ")
		// One that says nothing was made by a process that died at once.
		if err == nil && (len(b) == 0 || croft.ID(repo) == r.ID && p.settleDraft(ctx, r, ref)) {
			_ = os.Remove(path)
		}
		_ = l.Unlock()
	}
}

func (p *Projects) settleDraft(ctx context.Context, r *Project, ref string) bool {
	if _, err := p.Pinned(ctx, r, ref); errors.Is(err, refs.ErrNoRef) {
		if err := DropRef(ctx, r, ref); err != nil {
			return false
		}
		return fsx.RemoveOwn(p.SecretsDir(r, croft.ID(filepath.Base(ref)))) == nil
	}
	return true
}

// SweepLocks removes the lock files that processes left which died. Drafts that say
// what was being made are left to Recover in their repository.
func (p *Projects) SweepLocks(ctx context.Context) {
	p.sweepDamaged()
	p.Ops.SweepLocks(ctx, func(name string, size int64) bool { return strings.HasPrefix(name, DraftSnapshot) && size > 0 })
}
