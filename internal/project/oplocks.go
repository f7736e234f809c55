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
	"github.com/croft-sh/croft/internal/git"
)

// draft is held while something is made in two places that no operation in
// the journal speaks of. It names the ref that is one of them, for whoever
// comes after a crash.
type draft struct{ lock *flock.Lock }

// The kinds of drafts, which begin the names of their files.
const (
	DraftSnapshot = "snapshot-" // the files of a snapshot, then the ref by which they are found
)

// BeginDraft says that something is being made.
func (p *Projects) BeginDraft(kind string, r *Project, id croft.ID, ref string) (draft, error) {
	path := p.Ops.LockPath(kind + string(id))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return draft{}, err
	}
	l, err := flock.New(path)
	if err != nil {
		return draft{}, err
	}
	d := draft{l}
	if _, err := l.File().WriteString(string(r.ID) + " " + ref); err != nil {
		d.End()
		return draft{}, err
	}
	return d, nil
}

func (d draft) End() {
	_ = os.Remove(d.lock.File().Name())
	_ = d.lock.Unlock()
}

func isDraft(name string) bool {
	return strings.HasPrefix(name, DraftSnapshot)
}

// sweepDrafts finishes or takes back what was being made in a repository by
// processes that died.
func (p *Projects) sweepDrafts(ctx context.Context, r *Project) {
	paths, _ := filepath.Glob(p.Ops.LockPath("*-*"))
	for _, path := range paths {
		if !isDraft(filepath.Base(path)) {
			continue
		}
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
	if _, err := p.Pinned(ctx, r, ref); errors.Is(err, git.ErrNoRef) {
		if err := DropRef(ctx, r, ref); err != nil {
			return false
		}
		return fsx.RemoveOwn(p.SecretsDir(r, croft.ID(filepath.Base(ref)))) == nil
	}
	return true
}

// SweepLocks removes the lock files that processes left which died. Drafts that say
// what was being made are left to those who work in their repository.
func (p *Projects) SweepLocks(ctx context.Context) {
	p.sweepDamaged()
	p.Ops.SweepLocks(ctx, func(name string, size int64) bool { return isDraft(name) && size > 0 })
}
