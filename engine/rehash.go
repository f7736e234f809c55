package engine

import (
	"context"
	"errors"

	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// rehash makes sure, right before a target moves, that what it is going to get is
// what its names say: the commits, and the trees and files of each step that the
// one below it does not have. A step that brings something else, or what is not there,
// is turned away, and the others wait for the next turn.
func (e *Engine) rehash(ctx context.Context, r *repo, steps []merge.Step, items []journal.Merge) (turnedAway bool, err error) {
	var spans []git.Span
	for _, step := range steps {
		spans = append(spans, git.Span{From: step.Parent, To: step.Commit}, git.Span{From: step.Head, To: step.Head})
	}
	i, err := r.git.Rehash(ctx, spans)
	_, isMissing := errors.AsType[*object.MissingError](err)
	if err == nil || i < 0 || !isMissing && !errors.Is(err, object.ErrForged) {
		return false, err
	}
	m := itemOf(items, steps[i/2].ID)
	if err := e.reject(ctx, r, m, nil, explain.Error("merge", m.Workspace, err)); err != nil {
		return false, err
	}
	return true, e.release(ctx, r, m.Target)
}
