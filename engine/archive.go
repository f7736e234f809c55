package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/snapshot"
)

// archive keeps what the workspace has checked out, and the tip of its branch,
// under refs that outlive both. It returns the tip of the branch, and what the
// caller has to sync.
func (e *Engine) archive(ctx context.Context, r *repo, rec journal.Record, tree *git.Worktree) (tip string, unsynced []string, err error) {
	w := rec.Workspace
	_, head, _ := tree.Head(ctx)
	tip, err = r.git.ReadRef(ctx, "refs/heads/"+w.Branch)
	if err != nil && !errors.Is(err, git.ErrNoRef) {
		return "", nil, err
	}
	// What is gone by now was archived by the process that began the removal.
	if head == "" {
		head = e.archived(ctx, r, archiveRef(w.ID), tip)
	}
	if tip == "" {
		tip = e.archived(ctx, r, archiveBranchRef(w.ID), head)
	}
	var pins []journal.Pin
	pin := func(ref, oid string) {
		if oid != "" {
			pins = append(pins, journal.Pin{Ref: ref, OID: oid})
		}
	}
	pin(archiveRef(w.ID), head)
	if tip != head {
		pin(archiveBranchRef(w.ID), tip)
	}
	own, err := tree.KeepOwn(ctx)
	if err != nil {
		return "", nil, err
	}
	pin(archiveOwnRef(w.ID), own)
	if tree.HasAdmin() {
		state, err := pinState(ctx, tree, cmp.Or(head, tip))
		if err != nil {
			return "", nil, err
		}
		pin(archiveStateRef(w.ID), state)
		if state != "" { // which is not found any more once the directory has moved
			unsynced, err = nil, e.pin(ctx, r, pins...)
			return e.withoutLost(ctx, r, pins, tip, unsynced, err)
		}
	}
	unsynced, err = e.pinUnsynced(ctx, r, pins...)
	return e.withoutLost(ctx, r, pins, tip, unsynced, err)
}

// withoutLost archives what is there where a commit is not: a disk lost it, or somebody
// deleted it. The branch stays then, as it is all that knows its name.
func (e *Engine) withoutLost(ctx context.Context, r *repo, pins []journal.Pin, tip string, unsynced []string, err error) (string, []string, error) {
	if !errors.Is(err, object.ErrMissing) {
		return tip, unsynced, err
	}
	var there []journal.Pin
	for _, p := range pins {
		_, err := r.git.Info(ctx, p.OID)
		switch {
		case err == nil:
			there = append(there, p)
		case !errors.Is(err, object.ErrMissing):
			return "", nil, err
		case p.OID == tip:
			tip = ""
		}
	}
	return tip, nil, e.pin(ctx, r, there...)
}

// pinState keeps what only the registration of a workspace knows, such as what is
// staged. That is there whether or not the directory is.
func pinState(ctx context.Context, tree *git.Worktree, head string) (string, error) {
	if tree.Registered() {
		return snapshot.Pin(ctx, tree)
	}
	p, err := tree.WithoutFiles(head)
	if err != nil {
		return "", err
	}
	state, err := snapshot.Pin(ctx, p.Worktree)
	if _, failed := errors.AsType[*git.Error](err); failed {
		err = nil // an index that git cannot read keeps nothing
	}
	return state, errors.Join(err, p.Close())
}

// archived is what a ref keeps, or else the other thing.
func (e *Engine) archived(ctx context.Context, r *repo, ref, otherwise string) string {
	if oid, err := e.pinned(ctx, r, ref); err == nil {
		return oid
	}
	return otherwise
}
