package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// submitMerge commits what is uncommitted and submits a workspace's work.
func (e *Engine) submitMerge(ctx context.Context, s standing, req croft.MergeRequest) (*croft.Merge, error) {
	key := journal.Key{Repo: s.id, Verb: "merge", Key: req.Key}
	req.Repo = ""
	return e.once(ctx, &key, req, func() (*croft.Merge, error) {
		rec, err := e.find(ctx, s, req.Workspace)
		if err != nil {
			return nil, err
		}
		m, err := e.submit(ctx, s.repo, rec, submission{req: req, key: key})
		return m, explain.About(rec.Workspace.Name, err)
	})
}

// submission is what submit is asked for.
type submission struct {
	req     croft.MergeRequest
	key     journal.Key
	message string // of the commit of what is uncommitted; empty: the usual one
}

// submit commits a workspace's work and puts it in the queue of its target.
func (e *Engine) submit(ctx context.Context, r *repo, rec journal.Record, sub submission) (*croft.Merge, error) {
	w, req := rec.Workspace, sub.req
	if w.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the agent wrote in the project itself; there is nothing to merge"}
	}
	m := journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindMerge, Workspace: w.Name, WorkspaceID: w.ID, Target: cmp.Or(req.Target, w.Target),
			Strategy: req.Strategy, Status: croft.MergePending, State: croft.MergeQueued, Priority: req.Priority,
		},
		RepoID: r.id, Act: newID(), After: req.After, Text: req.Message,
	}
	e.sign(&m.Merge)
	var err error
	if m.Target, err = e.branchOf(ctx, r, m.Target); err != nil {
		return nil, err
	}
	if err := e.checkSubmission(ctx, r, w, m.Merge); err != nil {
		return nil, err
	}
	if m.Head, m.HeldBack, err = e.commitWork(ctx, r, rec, sub.message); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("merge.committed"); err != nil {
		return nil, err
	}
	if err := r.trees.At(specOf(rec)).KeepSubmodules(ctx, m.Head); err != nil {
		return nil, err
	}
	if isEmpty, err := r.isEmpty(ctx, w, m.Merge); err != nil || isEmpty {
		if err != nil {
			return nil, err
		}
		return e.endNothing(ctx, m, sub.key)
	}
	return e.enqueue(ctx, rec, m, sub.key)
}

// isEmpty reports whether a workspace has no commit of its own. One whose commits
// the target has is another matter: its work is done.
func (r *repo) isEmpty(ctx context.Context, w croft.Workspace, m croft.Merge) (bool, error) {
	if m.Head == "" || m.Head != w.Base {
		return false, nil
	}
	tip, err := r.git.ReadRef(ctx, "refs/heads/"+m.Target)
	if err != nil {
		return false, targetNotFound(m.Target, err)
	}
	return r.git.IsAncestor(ctx, m.Head, tip)
}

// endNothing ends the merge of an empty workspace, which may be one that is about
// to be used: it stays as it is.
func (e *Engine) endNothing(ctx context.Context, m journal.Merge, key journal.Key) (*croft.Merge, error) {
	m.SubmittedAt = e.now()
	m.EndEmpty("nothing to merge; the workspace stays", m.SubmittedAt)
	return &m.Merge, e.journal.Update(ctx, func(tx *journal.Tx) error {
		if key.Key != "" {
			key.Operation = m.ID
			if err := tx.PutKey(key); err != nil {
				return err
			}
		}
		return tx.PutMerge(m)
	})
}

func (e *Engine) checkSubmission(ctx context.Context, r *repo, w croft.Workspace, m croft.Merge) error {
	switch m.Target {
	case "":
		return &croft.Error{Code: croft.InvalidRequest, Message: "the workspace has no target branch", Hint: "croft merge --into BRANCH " + w.Name}
	case w.Branch:
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is the workspace's own branch", m.Target)}
	}
	if err := checkStrategy(m.Strategy); err != nil {
		return err
	}
	if _, err := r.git.ReadRef(ctx, "refs/heads/"+m.Target); err != nil {
		return targetNotFound(m.Target, err)
	}
	return e.refuseIsolatedTarget(ctx, r, m)
}

// checkStrategy refuses a strategy that there is not. A merge that waited since an
// earlier version may have one.
func checkStrategy(s croft.Strategy) error {
	if slices.Contains([]croft.Strategy{"", croft.StrategyNoFF, croft.StrategySquash}, s) {
		return nil
	}
	err := &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no strategy %q", s), Details: "no-ff, squash"}
	if s == "rebase" {
		err.Message, err.Hint = `the strategy "rebase" is gone: it lost what merge commits hold`, "--strategy squash, which gives a linear history too"
	}
	return err
}

func targetNotFound(target string, err error) error {
	if !errors.Is(err, git.ErrNoRef) {
		return err
	}
	return &croft.Error{Code: croft.TargetNotFound, Message: fmt.Sprintf("there is no branch %q", target), Hint: "git branch"}
}

// enqueue writes a merge down. One of the same workspace and target that still
// waits is brought up to date instead.
func (e *Engine) enqueue(ctx context.Context, rec journal.Record, m journal.Merge, key journal.Key) (*croft.Merge, error) {
	m.SubmittedAt = e.now()
	err := e.journal.Update(ctx, func(tx *journal.Tx) error {
		old, err := tx.WaitingOf(m.WorkspaceID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(old, func(o journal.Merge) bool {
			return o.State == croft.MergeQueued && o.Kind == m.Kind && o.Target == m.Target
		})
		if i >= 0 {
			m.ID, m.Act, m.SubmittedAt, m.IsHeld = old[i].ID, old[i].Act, old[i].SubmittedAt, old[i].IsHeld
			m.Priority = max(m.Priority, old[i].Priority)
		}
		if key.Key != "" {
			key.Operation = m.ID
			if err := tx.PutKey(key); err != nil {
				return err
			}
		}
		now, err := tx.Record(m.WorkspaceID)
		if err != nil {
			return err
		}
		now.Workspace.MergeStatus = croft.MergePending
		return errors.Join(tx.PutMerge(m), tx.Put(now), tx.Emit(e.mergeEvent(croft.EventMergeQueued, m)))
	})
	if err != nil {
		return nil, err
	}
	return &m.Merge, failpoint.Hit("merge.queued")
}

// listMerges lists merges.
func (e *Engine) listMerges(ctx context.Context, s standing, req croft.MergesRequest) ([]croft.Merge, error) {
	limit := req.Limit
	if limit <= 0 {
		limit = historyLimit
	}
	list := e.journal.Waiting
	if req.Scope == croft.ScopeAll {
		list = e.journal.Merges
	}
	found, err := list(ctx, s.id, req.Target, limit)
	if err != nil {
		return nil, err
	}
	if req.Scope != croft.ScopeAll && s.git != nil {
		again, err := e.retryable(ctx, s.repo, req.Target)
		if err != nil {
			return nil, err
		}
		found = append(found, again[:min(len(again), max(0, limit-len(found)))]...)
	}
	return shown(found), nil
}

func shown(found []journal.Merge) []croft.Merge {
	out := make([]croft.Merge, len(found))
	for i, m := range found {
		out[i] = m.Merge
	}
	return out
}

// changeQueue holds, releases or cancels merges that wait.
func (e *Engine) changeQueue(ctx context.Context, s standing, req croft.QueueRequest) ([]croft.Merge, error) {
	var again []journal.Merge
	if s.git != nil {
		var err error
		if again, err = e.retryable(ctx, s.repo, req.Target); err != nil {
			return nil, err
		}
	}
	var changed []croft.Merge
	err := e.journal.Update(ctx, func(tx *journal.Tx) error {
		changed = []croft.Merge{}
		var records []journal.Record
		all, err := tx.Waiting(s.id, req.Target, -1)
		for _, m := range again {
			now, merr := unchangedMerge(tx, m)
			if err = cmp.Or(err, merr); now != nil {
				all = append(all, *now)
			}
		}
		if err != nil {
			return err
		}
		if err := areWaiting(all, req.Merges); err != nil {
			return err
		}
		highest := 0
		for _, m := range all {
			highest = max(highest, m.Priority)
		}
		for _, m := range all {
			if len(req.Merges) > 0 && !slices.Contains(req.Merges, string(m.ID)) && !slices.Contains(req.Merges, m.Workspace) {
				continue
			}
			isLate := m.State != croft.MergeQueued && m.State != croft.MergeDone
			if isLate || req.DryRun == croft.DryRunOn {
				changed = append(changed, m.Merge)
				continue
			}
			if err := e.requeue(tx, &m, req.Action, highest); err != nil {
				return err
			}
			changed = append(changed, m.Merge)
			records = append(records, journal.Record{Workspace: croft.Workspace{ID: m.WorkspaceID, Name: m.Workspace}})
		}
		if len(records) == 0 {
			return nil
		}
		return e.note(tx, "queue "+string(req.Action), s.id, records...)
	})
	return changed, err
}

// areWaiting refuses a name of which nothing waits.
func areWaiting(waiting []journal.Merge, names []string) error {
	for _, name := range names {
		isThere := func(m journal.Merge) bool { return string(m.ID) == name || m.Workspace == name }
		if !slices.ContainsFunc(waiting, isThere) {
			return &croft.Error{
				Code: croft.MergeNotFound, Workspace: name, Message: "nothing of that name waits in the queue", Details: "Nothing was changed.",
				Hint: "croft queue",
			}
		}
	}
	return nil
}

func (e *Engine) requeue(tx *journal.Tx, m *journal.Merge, action croft.QueueAction, highest int) error {
	switch action {
	case croft.QueueHold:
		m.IsHeld = true
	case croft.QueueRelease:
		m.IsHeld = false
	case croft.QueueFirst:
		m.Priority = highest + 1
	case croft.QueueCancel:
		m.Cancel("taken out of the queue", "croft merge "+m.Workspace, e.now())
		return errors.Join(tx.PutMerge(*m), tx.Emit(e.mergeEvent(croft.EventMergeCanceled, *m)))
	default:
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no action %q", action)}
	}
	return tx.PutMerge(*m)
}

// mergeEvent tells what became of a merge.
func (e *Engine) mergeEvent(kind string, m journal.Merge) croft.Event {
	data, _ := json.Marshal(m.Merge)
	return croft.Event{Time: e.now(), Kind: kind, Repo: m.RepoID, Workspace: m.WorkspaceID, Data: data}
}
