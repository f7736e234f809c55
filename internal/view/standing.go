package view

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// standing is what the small files of a checkout, and of its admin directory, say. As long as it is known that
// nothing in them was touched, it is not read again.
type standing struct {
	since      uint64    // see [git.Worktree.Untouched]; 0: it was read now
	of         [3]string // the checkout
	health     checkout.Health
	isLocked   bool // by a person
	lockReason string
	ref, head  string // what HEAD names, and the commit of that; empty: they are read each time
	active     time.Time
}

// standings are those that are known, by workspace.
type standings struct {
	mu sync.Mutex
	of map[croft.ID]standing
}

// maxStandings bounds them; beyond it they are read again.
const maxStandings = 20_000

// standingOf returns how a checkout stands.
func (v *view) standingOf(rec journal.Record, tree *git.Worktree) standing {
	spec := project.SpecOf(rec)
	of := [3]string{tree.Path, tree.Admin, string(spec.Identity)}
	var since uint64
	if v.r.Git.HasNativeRefs() && !tree.IsIsolated() { // the git directory of an isolated one is not watched
		since = v.moment.Untouched(tree)
	}
	if since != 0 {
		v.known.mu.Lock()
		known, ok := v.known.of[rec.Workspace.ID]
		v.known.mu.Unlock()
		if ok && known.since == since && known.of == of {
			v.stands.Store(rec.Workspace.ID, known)
			return known
		}
	}
	s := standing{since: since, of: of, health: v.r.Trees.Health(spec)}
	if reason, personal, err := project.IsLockedByPerson(tree); err == nil && personal {
		s.isLocked, s.lockReason = true, reason
	}
	if since == 0 {
		return s
	}
	if s.ref, _ = tree.HeadRef(); s.ref != "" {
		s.head, _ = v.refs.Ref(s.ref)
	}
	s.active = lastWritten(tree.Path, filepath.Join(tree.Admin, "index"), headLog(tree))
	if tree.Untouched() == since { // what was read is from in between
		v.known.keep(rec.Workspace.ID, s)
	}
	return s
}

func (k *standings) keep(id croft.ID, s standing) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) > maxStandings {
		k.of = map[croft.ID]standing{}
	}
	k.of[id] = s
}

// headLog is the log of a checkout's HEAD. It lies in a directory of its own, which is not watched; but git locks HEAD,
// in the admin directory, to write it.
func headLog(tree *git.Worktree) string { return filepath.Join(tree.Admin, "logs", "HEAD") }

// lastWritten returns when one of the paths was last written.
func lastWritten(paths ...string) time.Time {
	var last time.Time
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// headIn returns what a checkout has checked out.
func (v *view) headIn(ctx context.Context, s standing, tree *git.Worktree) (branch, oid string, err error) {
	if s.ref == "" {
		return v.head(ctx, tree)
	}
	oid, err = v.refs.Ref(s.ref)
	if errors.Is(err, refs.ErrNoRef) {
		err = nil
	}
	return strings.TrimPrefix(s.ref, "refs/heads/"), oid, err
}
