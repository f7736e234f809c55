package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
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
	out := &croft.Resolution{Target: cmp.Or(req.Target, w.Target)}
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
	// What was not committed must not be lost in the merge, so it is committed,
	// and the whole state is saved.
	if _, err := e.save(ctx, s.repo, rec, ""); err != nil {
		return nil, err
	}
	if _, _, err := e.commitWork(ctx, s.repo, rec, ""); err != nil {
		return nil, err
	}
	id, err := s.git.Identity(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := tree.BringIn(ctx, out.Commit, out.Target, id)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		out.Conflicts = append(out.Conflicts, croft.ConflictedPath{Path: p})
	}
	view, err := e.viewOf(ctx, s.repo, w.ID)
	if err != nil {
		return nil, err
	}
	out.Workspace = *view
	return out, nil
}
