package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// Resolve brings the target into a workspace.
func (e *Engine) Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
	ctx, leave, err := e.enter(ctx, "resolve", req)
	if err != nil {
		return nil, err
	}
	defer leave()
	out, err := e.resolve(ctx, req)
	return out, explain("resolve", req.Workspace, err)
}

func (e *Engine) resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
	s, err := e.at(ctx, req.Repo)
	if err != nil {
		return nil, err
	}
	if err := e.recover(ctx, s.id); err != nil {
		return nil, err
	}
	rec, err := e.find(ctx, s, req.Workspace)
	if err != nil {
		return nil, err
	}
	w := rec.Workspace
	if w.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the agent wrote in the project itself; there is nothing to resolve"}
	}
	if h := s.trees.Health(specOf(rec)); h != checkout.Intact {
		return nil, broken(rec, h)
	}
	out := &croft.Resolution{}
	if out.Target, err = e.branchOf(ctx, s.repo, cmp.Or(req.Target, w.Target)); err != nil {
		return nil, err
	}
	if out.Commit, err = s.git.ReadRef(ctx, "refs/heads/"+out.Target); err != nil {
		return nil, targetNotFound(out.Target, err)
	}
	tree := s.trees.At(specOf(rec))
	if what := tree.Progress(); what != "" {
		return nil, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("a %s is in progress in the workspace", what), Details: w.Path,
			Hint: "croft merge " + w.Name,
		}
	}
	if err := e.requireBranch(ctx, s.repo, rec); err != nil {
		return nil, err
	}
	// What was not committed must not be lost in the merge, so it is committed,
	// and the whole state is saved.
	before, err := e.save(ctx, s.repo, rec, "")
	if err != nil {
		return nil, e.vanished(ctx, rec, err)
	}
	op, err := e.beginResolve(ctx, s.repo, rec, *before)
	if err != nil {
		return nil, err
	}
	defer op.close()
	err = e.bringTarget(ctx, s.repo, rec, out)
	state, reason := journal.OpDone, ""
	if err != nil {
		state, reason = journal.OpUndone, err.Error()
	}
	if err := errors.Join(err, e.end(context.WithoutCancel(ctx), op.Operation, state, reason)); err != nil {
		return nil, err
	}
	view, err := e.viewOf(ctx, s.repo, w.ID)
	if err != nil {
		return nil, err
	}
	out.Workspace = *view
	return out, nil
}

// beginResolve writes a resolution down, with the snapshot that undoes it.
func (e *Engine) beginResolve(ctx context.Context, r *repo, rec journal.Record, before croft.Snapshot) (*operation, error) {
	op, err := e.begin(newAct(), "resolve", r)
	if err != nil {
		return nil, err
	}
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if op.Input, err = json.Marshal(rewinding{From: before}); err == nil {
		err = e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.Begin(op.Operation) })
	}
	if err != nil {
		op.close()
		return nil, err
	}
	return op, nil
}

// bringTarget commits what a workspace holds and merges the target into it.
func (e *Engine) bringTarget(ctx context.Context, r *repo, rec journal.Record, out *croft.Resolution) error {
	id := rec.Workspace.ID
	head, paths, err := e.commitAndBringIn(ctx, r, rec, out)
	if err != nil {
		return e.vanished(ctx, rec, explainBranch(rec, err))
	}
	for _, p := range paths {
		out.Conflicts = append(out.Conflicts, croft.ConflictedPath{Path: p})
	}
	return e.noteConflicts(ctx, r, id, out.Commit, head, paths)
}

// resolveTries is how often an agent may stage or write something between the
// commit of its work and the merge of the target.
const resolveTries = 3

// commitAndBringIn commits the work of a workspace and merges the target in. It
// returns the commit of the work, and the paths in conflict.
func (e *Engine) commitAndBringIn(ctx context.Context, r *repo, rec journal.Record, to *croft.Resolution) (head string, conflicts []string, err error) {
	for try := 1; ; try++ {
		if head, to.HeldBack, err = e.commitWork(ctx, r, rec, ""); err != nil {
			return "", nil, err
		}
		conflicts, err = e.bringIn(ctx, r, rec, journal.Merge{
			Merge: croft.Merge{Kind: croft.KindMerge, WorkspaceID: rec.Workspace.ID, Target: to.Target, Head: head},
		}, to.Commit)
		unclean, ok := errors.AsType[*git.UncleanError](err)
		if !ok {
			return head, conflicts, err
		}
		if try == resolveTries {
			return "", nil, &croft.Error{
				Code: croft.WorkspaceDirty, Message: fmt.Sprintf("files that are not committed are in the way of what %s has", to.Target),
				Details: cmp.Or(strings.Join(unclean.Files, "\n"), err.Error()), Hint: "git -C " + rec.Workspace.Path + " status",
			}
		}
	}
}

// bringIn merges a target's tip into a workspace, and returns the paths in
// conflict. If the work was taken back there, that is undone, as it is when the
// work is merged again: else it would be taken back here too.
func (e *Engine) bringIn(ctx context.Context, r *repo, rec journal.Record, m journal.Merge, tip string) ([]string, error) {
	tree, branch := r.trees.At(specOf(rec)), rec.Workspace.Branch
	id, err := r.git.Identity(ctx)
	if err != nil {
		return nil, err
	}
	it := merge.Item{Kind: m.Kind, Head: m.Head}
	if it.Undone, it.Reverted, err = e.undoneBy(ctx, m); err != nil || it.Undone == "" {
		if err != nil {
			return nil, err
		}
		return tree.BringIn(ctx, git.BringIn{Branch: branch, Commit: tip, Name: m.Target, Identity: id})
	}
	attempts, err := r.git.Attempts(git.OnDisk)
	if err != nil {
		return nil, err
	}
	defer attempts.Close()
	stack := merge.Stacker{Attempts: attempts, Identity: id, Now: e.opts.Now}
	again, back, err := stack.Again(ctx, tip, it)
	if err != nil {
		return nil, err
	}
	release, err := attempts.Keep(again)
	if err != nil {
		return nil, err
	}
	defer release()
	in := git.BringIn{Branch: branch, Commit: again, As: tip, Name: m.Target, Identity: id, Undone: it.Undone}
	for _, c := range back.Conflicts {
		in.Conflicts = append(in.Conflicts, c.Path)
	}
	return tree.BringIn(ctx, in)
}
