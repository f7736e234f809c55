package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/snapshot"
)

const snapshotRefs = "refs/croft/snapshot/"

func snapshotRef(workspace, id croft.ID) string {
	return snapshotRefs + string(workspace) + "/" + string(id)
}

// Snapshot saves the state of a workspace.
func (e *Engine) Snapshot(ctx context.Context, req croft.SnapshotRequest) (*croft.Snapshot, error) {
	s, err := e.at(ctx, req.Repo)
	if err != nil {
		return nil, explain("snapshot", req.Workspace, err)
	}
	if err := e.recover(ctx, s.id); err != nil { // half of a rewind is not a state
		return nil, explain("snapshot", req.Workspace, err)
	}
	rec, err := e.find(ctx, s, req.Workspace)
	if err != nil {
		return nil, explain("snapshot", req.Workspace, err)
	}
	saved, err := e.save(ctx, s.repo, rec)
	if err != nil {
		return nil, explain("snapshot", rec.Workspace.Name, err)
	}
	return saved, nil
}

// save stores the state of a workspace and pins it.
func (e *Engine) save(ctx context.Context, r *repo, rec journal.Record) (*croft.Snapshot, error) {
	w := rec.Workspace
	if w.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation has no state of its own"}
	}
	if w.State == croft.Creating {
		return nil, &croft.Error{Code: croft.WorkspaceBusy, Message: "the workspace is being made or brought back", Hint: "croft list"}
	}
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		return nil, broken(rec, h)
	}
	id := newID()
	d, err := e.draft(draftSnapshot, r, id, snapshotRef(w.ID, id))
	if err != nil {
		return nil, err
	}
	pinned := false
	defer func() {
		if !pinned { // nothing would ever find them again
			_ = os.RemoveAll(e.secretsDir(id))
		}
		d.end()
	}()
	saved, err := snapshot.Save(ctx, r.trees.At(specOf(rec)), snapshot.Selection{
		Ignored: r.cfg.Snapshot.Ignored, Secrets: r.cfg.Snapshot.Secrets, SecretsDir: e.secretsDir(id),
		Message: "Snapshot of " + w.Name,
		Pin: func(commit string) error {
			if err := failpoint.Hit("snapshot.saved"); err != nil {
				return err
			}
			err := r.git.UpdateRefs(ctx, git.RefUpdate{Ref: snapshotRef(w.ID, id), New: commit})
			pinned = err == nil
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	if err := failpoint.Hit("snapshot.pinned"); err != nil {
		return nil, err
	}
	out := &croft.Snapshot{
		ID: id, Workspace: w.ID, Name: w.Name, Commit: saved.Commit, Files: saved.Files, Bytes: saved.Bytes, CreatedAt: e.now(),
	}
	return out, e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.Emit(e.event(croft.EventWorkspaceSaved, rec)) })
}

// secretsDir is where a snapshot keeps the files that only the user may read.
func (e *Engine) secretsDir(id croft.ID) string {
	return filepath.Join(e.set.Config().StateDir, "secrets", string(id))
}

// Snapshots lists the snapshots of a repository.
func (e *Engine) Snapshots(ctx context.Context, dir string) ([]croft.Snapshot, error) {
	s, err := e.at(ctx, dir)
	if err != nil {
		return nil, explain("snapshot", "", err)
	}
	list, err := e.snapshots(ctx, s.repo)
	return list, explain("snapshot", "", err)
}

func (e *Engine) snapshots(ctx context.Context, r *repo) ([]croft.Snapshot, error) {
	refs, err := r.git.Refs(ctx, snapshotRefs)
	if err != nil {
		return nil, err
	}
	list := []croft.Snapshot{}
	for _, ref := range refs {
		workspace, id, ok := strings.Cut(strings.TrimPrefix(ref.Name, snapshotRefs), "/")
		d, err := snapshot.Describe(ctx, r.git, ref.OID)
		if !ok || errors.Is(err, snapshot.ErrFormat) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, croft.Snapshot{
			ID: croft.ID(id), Workspace: croft.ID(workspace), Name: strings.TrimPrefix(d.Message, "Snapshot of "),
			Commit: ref.OID, Files: d.Files, Bytes: d.Bytes, CreatedAt: d.CreatedAt,
		})
	}
	slices.SortStableFunc(list, func(a, b croft.Snapshot) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// findSnapshot looks a snapshot up by its ID.
func (e *Engine) findSnapshot(ctx context.Context, r *repo, id string) (*croft.Snapshot, error) {
	list, err := e.snapshots(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if string(s.ID) == id {
			return &s, nil
		}
	}
	return nil, nil
}

// rewinding is what a rewind is going to do: bring a workspace from one
// snapshot, which was taken for that, to another.
type rewinding struct {
	From croft.Snapshot `json:"from"`
	To   croft.Snapshot `json:"to"`
}

// rewind brings a workspace back to a snapshot, in place. One that is in the
// trash is restored first; what it is now is saved first.
func (e *Engine) rewind(ctx context.Context, r *repo, to croft.Snapshot, a act) error {
	rec, err := e.journal.Record(ctx, to.Workspace)
	if errors.Is(err, journal.ErrNotFound) {
		return notFound("restore", to.Name)
	}
	if err == nil && rec.Workspace.State == croft.Trashed {
		err = e.restoreOne(ctx, r, rec, a)
		rec.Workspace.State = croft.Ready
	}
	if err == nil {
		err = errors.Join(e.guard(ctx, r, rec, croft.RemoveForce), r.guardLock(rec))
	}
	if err == nil {
		err = e.guardBranch(ctx, r, rec, to)
	}
	if err != nil {
		return err
	}
	// What is saved now must be what is rewound, so nobody else rewinds it in
	// between.
	l, err := e.claimRewind(ctx, rec)
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	return e.rewindClaimed(ctx, r, rec, to, a)
}

// claimRewind lets one process at a time rewind a workspace.
func (e *Engine) claimRewind(ctx context.Context, rec journal.Record) (*flock.Lock, error) {
	busy := &croft.Error{Code: croft.WorkspaceBusy, Message: "the workspace is being removed or brought back", Hint: "croft history"}
	path := e.opLock("rewind-" + rec.Workspace.ID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l, err := flock.Try(path)
	if errors.Is(err, flock.ErrHeld) {
		return nil, busy
	}
	if err != nil {
		return nil, err
	}
	if !isAt(l.File(), path) { // whoever had it has just removed it
		_ = l.Unlock()
		return nil, busy
	}
	err = e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, kind := range []string{"rewind", "remove", "restore"} {
			if _, err := tx.RunningOn(kind, rec.Workspace.ID); !errors.Is(err, journal.ErrNotFound) {
				return cmp.Or[error](err, busy)
			}
		}
		return nil
	})
	if err != nil {
		_ = l.Unlock()
		return nil, err
	}
	return l, nil
}

// isAt reports whether an open file is the one at a path.
func isAt(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(have, now)
}

// rewindClaimed writes a rewind down and carries it out. What fails is taken
// back.
func (e *Engine) rewindClaimed(ctx context.Context, r *repo, rec journal.Record, to croft.Snapshot, a act) error {
	from, err := e.save(ctx, r, rec)
	if err != nil {
		return err
	}
	op, err := e.begin(a, "rewind", r)
	if err != nil {
		return err
	}
	defer op.close()
	how := rewinding{From: *from, To: to}
	if op.Input, err = json.Marshal(how); err != nil {
		return err
	}
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if err := e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.Begin(op.Operation) }); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err = failpoint.Hit("rewind.journalled"); err == nil {
		err = e.carryRewind(ctx, r, op, how)
	}
	if err == nil {
		return nil
	}
	if back := e.carryRewind(ctx, r, op, rewinding{From: how.To, To: how.From}); back != nil {
		return errors.Join(err, back) // the journal still says what was begun
	}
	return errors.Join(err, e.end(ctx, op.Operation, journal.OpUndone, err.Error()))
}

// carryRewind does what the journal says, again if it was begun before.
func (e *Engine) carryRewind(ctx context.Context, r *repo, op *operation, how rewinding) error {
	rec, err := e.journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		rec.Workspace.State = croft.Ready // what is left of it is for the doctor to judge
		return e.journal.Update(ctx, func(tx *journal.Tx) error {
			return errors.Join(tx.Put(rec), tx.End(op.ID, journal.OpUndone, "the workspace is "+string(h), e.now()))
		})
	}
	// Until it is done the workspace is nobody's to commit from. Its copy in the
	// repository does not say so: without the database, a workspace that is being
	// made is taken back, and this one holds work.
	rec.Workspace.State = croft.Creating
	if err := e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.Put(rec) }); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.begun"); err != nil {
		return err
	}
	spec := specOf(rec)
	spec.Inherit = op.inherit()
	tree := r.trees.At(spec)
	if err := e.moveBranch(ctx, r, tree, how); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.branch"); err != nil {
		return err
	}
	files := snapshot.Files{Worktree: tree, SecretsDir: e.secretsDir(how.To.ID), Workers: 1}
	if err := snapshot.Rewind(ctx, how.From.Commit, how.To.Commit, files); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.files"); err != nil {
		return err
	}
	rec.Workspace.State = croft.Ready
	return e.saveRecord(ctx, r, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(e.event(croft.EventWorkspaceRestored, rec)), tx.End(op.ID, journal.OpDone, "", e.now()))
	})
}

// guardBranch refuses a rewind that would move a branch whose tip nothing else
// keeps: the snapshot that is taken before keeps what is checked out now.
func (e *Engine) guardBranch(ctx context.Context, r *repo, rec journal.Record, to croft.Snapshot) error {
	head, err := snapshot.HeadOf(ctx, r.git, to.Commit)
	if errors.Is(err, snapshot.ErrFormat) {
		return &croft.Error{Code: croft.WorktreeNotFound, Message: "the snapshot cannot be read any more", Details: err.Error(), Hint: "croft snapshot --list"}
	}
	if err != nil || head.Branch == "" {
		return err
	}
	tree := r.trees.At(specOf(rec))
	if used := r.git.CheckedOut(head.Branch, tree.Admin); len(used) > 0 {
		return branchInUse(head.Branch, used[0])
	}
	branch, _, err := tree.Head(ctx)
	if err != nil || branch == head.Branch {
		return err
	}
	tip, err := r.git.ReadRef(ctx, "refs/heads/"+head.Branch)
	switch {
	case errors.Is(err, git.ErrNoRef):
		return nil
	case err != nil || tip == head.OID:
		return err
	}
	return &croft.Error{
		Code: croft.BranchExists, Message: fmt.Sprintf("branch %q has moved since, and the workspace is not on it", head.Branch), Details: tip,
		Hint: "git switch " + head.Branch,
	}
}

func branchInUse(branch, where string) error {
	return &croft.Error{
		Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", branch), Details: where, Hint: "git worktree list",
	}
}

// moveBranch puts the branch that the snapshot had checked out where it was.
// Where it is now is kept by the snapshot that was taken before.
func (e *Engine) moveBranch(ctx context.Context, r *repo, tree *git.Worktree, how rewinding) error {
	head, err := snapshot.HeadOf(ctx, r.git, how.To.Commit)
	if err != nil || head.Branch == "" {
		return err
	}
	if used := r.git.CheckedOut(head.Branch, tree.Admin); len(used) > 0 {
		return branchInUse(head.Branch, used[0])
	}
	ref := "refs/heads/" + head.Branch
	now, err := r.git.ReadRef(ctx, ref)
	switch {
	case errors.Is(err, git.ErrNoRef) && head.OID == "": // it had no commit then, and has none now
		return nil
	case errors.Is(err, git.ErrNoRef):
		return r.git.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: head.OID})
	case err != nil || now == head.OID:
		return err
	}
	return r.git.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: head.OID, Old: now})
}

// recoverRewind finishes a rewind whose process died.
func (e *Engine) recoverRewind(ctx context.Context, r *repo, op journal.Operation) error {
	var how rewinding
	if err := json.Unmarshal(op.Input, &how); err != nil {
		return err
	}
	if r.git == nil {
		return e.end(ctx, op, journal.OpUndone, "the repository is gone")
	}
	if head, err := snapshot.HeadOf(ctx, r.git, how.To.Commit); err == nil && head.Branch != "" {
		r.git.DropRemains(op.StartedAt, "refs/heads/"+head.Branch, recordRef(how.To.Workspace))
	}
	return e.carryRewind(ctx, r, &operation{Operation: op}, how)
}
