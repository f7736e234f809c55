package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// Resolve brings the target into a workspace.
func (e *Engine) Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
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
	if _, err := e.save(ctx, s.repo, rec, ""); err != nil {
		return nil, err
	}
	head, held, err := e.commitWork(ctx, s.repo, rec, "")
	if err != nil {
		return nil, err
	}
	paths, err := e.bringIn(ctx, s.repo, rec, journal.Merge{
		Merge: croft.Merge{Kind: croft.KindMerge, WorkspaceID: w.ID, Target: out.Target, Head: head},
	}, out.Commit)
	if err != nil {
		return nil, explainBranch(rec, err)
	}
	if err := e.noteConflicts(ctx, s.repo, w.ID, out.Commit, head, paths); err != nil {
		return nil, err
	}
	for _, p := range paths {
		out.Conflicts = append(out.Conflicts, croft.ConflictedPath{Path: p})
	}
	view, err := e.viewOf(ctx, s.repo, w.ID)
	if err != nil {
		return nil, err
	}
	out.Workspace, out.HeldBack = *view, held
	return out, nil
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
