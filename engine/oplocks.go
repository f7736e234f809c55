package engine

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
	draftSnapshot = "snapshot-" // the files of a snapshot, then the ref by which they are found
)

// draft says that something is being made.
func (e *Engine) draft(kind string, r *repo, id croft.ID, ref string) (draft, error) {
	path := e.ops.LockPath(kind + string(id))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return draft{}, err
	}
	l, err := flock.New(path)
	if err != nil {
		return draft{}, err
	}
	d := draft{l}
	if _, err := l.File().WriteString(string(r.id) + " " + ref); err != nil {
		d.end()
		return draft{}, err
	}
	return d, nil
}

func (d draft) end() {
	_ = os.Remove(d.lock.File().Name())
	_ = d.lock.Unlock()
}

func isDraft(name string) bool {
	return strings.HasPrefix(name, draftSnapshot)
}

// sweepDrafts finishes or takes back what was being made in a repository by
// processes that died.
func (e *Engine) sweepDrafts(ctx context.Context, r *repo) {
	paths, _ := filepath.Glob(e.ops.LockPath("*-*"))
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
		if err == nil && (len(b) == 0 || croft.ID(repo) == r.id && e.settleDraft(ctx, r, ref)) {
			_ = os.Remove(path)
		}
		_ = l.Unlock()
	}
}

func (e *Engine) settleDraft(ctx context.Context, r *repo, ref string) bool {
	if _, err := e.pinned(ctx, r, ref); errors.Is(err, git.ErrNoRef) {
		if err := dropRef(ctx, r, ref); err != nil {
			return false
		}
		return fsx.RemoveOwn(e.secretsDir(r, croft.ID(filepath.Base(ref)))) == nil
	}
	return true
}

// sweepLocks removes the lock files that processes left which died. Drafts that say
// what was being made are left to those who work in their repository.
func (e *Engine) sweepLocks(ctx context.Context) {
	e.sweepDamaged()
	e.ops.SweepLocks(ctx, func(name string, size int64) bool { return isDraft(name) && size > 0 })
}
