package lane

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
)

// newBook begins the record of a batch.
func (svc *Lanes) newBook(r *project.Project, l landing, steps []merge.Step) *attempt.Book {
	b := attempt.Batch{ID: project.NewID(), Repo: r.ID, Target: l.target, Checks: l.rules.Checks, Now: svc.Now}
	for _, step := range steps {
		b.Merges = append(b.Merges, itemOf(l.items, step.ID))
	}
	return attempt.New(b)
}

// tryOf is the tree of a whole stack.
func tryOf(steps []merge.Step) merge.Try {
	top := steps[len(steps)-1]
	return merge.Try{Count: len(steps), Commit: top.Commit, Tree: top.Tree}
}

// watcher records the checks of a batch, for the calls that wait and for those that follow the
// events. It ignores errors, so that the checks run all the same: what is lost is written with the next
// change.
type watcher struct {
	svc  *Lanes
	book *attempt.Book
}

// CheckBegan records which check runs.
func (w watcher) CheckBegan(ctx context.Context, c croft.Check) {
	w.book.CheckBegan(c)
	_ = w.book.Save(ctx, w.svc.Journal, func(m *journal.Merge) { m.EnterCheck(c.Command) })
}

// CheckPrinted tells of output.
func (w watcher) CheckPrinted(ctx context.Context, c croft.Check, out croft.CheckOutput) {
	w.book.CheckPrinted(c, out)
	if c.State == croft.TryRunning {
		_ = w.book.SaveEvents(ctx, w.svc.Journal)
	}
}

// CheckEnded records the end of a check; it is written with the next change.
func (w watcher) CheckEnded(_ context.Context, c croft.Check) { w.book.CheckEnded(c) }

// ends records what came of a tree.
func (w watcher) ends(ctx context.Context, t merge.Try, v merge.Verdict) {
	if w.book.End(t, v) {
		_ = w.book.Save(ctx, w.svc.Journal, nil)
	}
}
