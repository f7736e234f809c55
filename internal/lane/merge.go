package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/page"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// listLimit is how many merges that have ended are listed unless the caller asks for
// more.
const listLimit = 100

// SubmitSeen commits the uncommitted files of a workspace and submits its work; it does
// not wait for the merge. If a merge of the workspace into the same target still waits,
// it updates that one. A workspace without a commit of its own is not queued: the merge
// has ended at once, and brings nothing. A Key makes the request repeatable. It fails with
// WorkChanged if the work is not the one that seen returns.
func (svc *Lanes) SubmitSeen(ctx context.Context, s project.Location, req croft.MergeRequest, seen func(journal.Record) (git.Seen, error)) (*croft.Merge, error) {
	key := journal.Key{Repo: s.ID, Verb: "merge", Key: req.Key}
	req.Repo = ""
	return svc.RunOnce(ctx, &key, req, func() (*croft.Merge, error) {
		rec, err := svc.Find(ctx, s, req.Workspace)
		if err != nil {
			return nil, err
		}
		if err := svc.Claim(ctx, rec, req.IfRevision, once.Name(key)); err != nil {
			return nil, err
		}
		sub := submission{req: req, key: key}
		if sub.seen, err = seen(rec); err != nil {
			return nil, err
		}
		m, err := svc.submitWork(ctx, s.Project, rec, sub)
		return m, explain.WithWorkspace(rec.Workspace.Name, err)
	})
}

// ListMerges lists the merges of a project that wait, and those that the next run of the
// queue resubmits; with ScopeAll all merges, the last first. It lists only merges into
// req.Target, if there is one, and at most as many as the limit.
func (svc *Lanes) ListMerges(ctx context.Context, s project.Location, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	req.Limit = cmp.Or(req.Limit, listLimit)
	list := svc.Journal.Waiting
	if req.Scope == croft.ScopeAll {
		list = svc.Journal.Merges
	}
	found, err := list(ctx, s.ID, req.Target, page.Reach(req.Page))
	if err != nil {
		return nil, err
	}
	if req.Scope != croft.ScopeAll {
		again, err := svc.listRetryable(ctx, s.Project, req.Target)
		if err != nil {
			return nil, err
		}
		for _, m := range again {
			if m.Reason == croft.ChecksUntrusted { // what was said when it stayed pending is not so any more
				m.Message, m.Details, m.Hint = "the target's checks are approved now", "", "croft queue run"
			}
			found = append(found, m)
		}
	}
	out := make([]croft.Merge, len(found))
	for i, m := range found {
		out[i] = svc.shown(ctx, s.Project, m)
	}
	if req.Scope == croft.ScopeAll {
		if err := svc.setBecame(ctx, found, out); err != nil {
			return nil, err
		}
	}
	return page.Cut(out, req.Page, page.Listed, page.Merge)
}

// ChangeQueue holds, releases, cancels or moves to the front merges that wait, and those
// that the next run of the queue resubmits: those that the request names, or all. It
// returns them as they are after that. One that a driver is working on, and a named one
// that has ended meanwhile, is returned unchanged. With DryRunOn nothing is changed.
func (svc *Lanes) ChangeQueue(ctx context.Context, s project.Location, req croft.QueueRequest) (*croft.QueueResult, error) {
	if req.IfRevision != 0 && len(req.Merges) != 1 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "a revision is that of one merge, and the request names another number of them"}
	}
	if req.Reason != "" && req.Action != croft.QueueHold {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "only a hold has a reason"}
	}
	if err := layout.CheckReason(req.Reason); err != nil {
		return nil, err
	}
	if req.DryRun != croft.DryRunOn {
		if err := svc.settleInterrupted(ctx, s.Project, req.Target); err != nil {
			return nil, err
		}
	}
	again, err := svc.listRetryable(ctx, s.Project, req.Target)
	if err != nil {
		return nil, err
	}
	waiting := func(tx *journal.Tx) ([]journal.Merge, error) {
		all, err := tx.Waiting(s.ID, req.Target, -1)
		for _, m := range again {
			now, merr := tx.Merge(m.ID)
			if err = cmp.Or(err, merr); isStillEnded(now, m) {
				all = append(all, now)
			}
		}
		return all, err
	}
	meant, err := svc.meantMerges(ctx, req, waiting)
	if err != nil {
		return nil, err
	}
	if err := failpoint.Hit("queue.found"); err != nil {
		return nil, err
	}
	res := &croft.QueueResult{}
	return res, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		res.Merges = []croft.Merge{}
		var records []journal.Record
		all, err := waiting(tx)
		if err != nil {
			return err
		}
		highest := 0
		for _, m := range all {
			highest = max(highest, m.Priority)
		}
		for _, m := range all {
			if !meant[m.ID] {
				continue
			}
			if err := journal.CheckRevision(m.Revision, req.IfRevision); err != nil {
				return explain.WithWorkspace(m.WorkspaceName, err)
			}
			if req.DryRun == croft.DryRunOn && isAtWork(m) && svc.IsUnrun(s.Project, m.Target) {
				m = attempt.Requeued(m) // nobody begins in this transaction
			}
			if isAtWork(m) || req.DryRun == croft.DryRunOn {
				res.Merges = append(res.Merges, m.Merge)
				continue
			}
			if err := svc.applyQueueAction(tx, &m, req, highest); err != nil {
				return err
			}
			res.Merges = append(res.Merges, m.Merge)
			records = append(records, journal.Record{Workspace: croft.Workspace{ID: m.Workspace, Name: m.WorkspaceName}})
		}
		ended, err := endedMeanwhile(tx, req, meant, all)
		if err != nil {
			return err
		}
		res.Merges = append(res.Merges, ended...)
		if len(records) > 0 {
			err = svc.Note(tx, "queue "+string(req.Action), s.ID, records...)
		}
		return errors.Join(err, once.Answer(ctx, tx, res))
	})
}

// endedMeanwhile returns those of the merges that a request names which do not wait any
// more. It fails with a RevisionError if the request is bound to a revision: an end is a
// change.
func endedMeanwhile(tx *journal.Tx, req croft.QueueRequest, meant map[croft.ID]bool, waiting []journal.Merge) ([]croft.Merge, error) {
	if len(req.Merges) == 0 {
		return nil, nil
	}
	var ended []croft.Merge
	for _, id := range slices.Sorted(maps.Keys(meant)) {
		if !meant[id] || slices.ContainsFunc(waiting, func(m journal.Merge) bool { return m.ID == id }) {
			continue
		}
		m, err := tx.Merge(id)
		if err == nil {
			err = journal.CheckRevision(m.Revision, req.IfRevision)
		}
		if err != nil {
			return nil, explain.WithWorkspace(m.WorkspaceName, err)
		}
		ended = append(ended, m.Merge)
	}
	return ended, nil
}

// meantMerges returns the waiting merges that a request means: all, or the named ones. A
// repeated call with a key means those that the first call found.
func (svc *Lanes) meantMerges(ctx context.Context, req croft.QueueRequest, waiting func(*journal.Tx) ([]journal.Merge, error)) (map[croft.ID]bool, error) {
	return once.Pin(ctx, "merges", func() (map[croft.ID]bool, error) {
		meant := map[croft.ID]bool{}
		return meant, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
			clear(meant)
			all, err := waiting(tx)
			if err == nil {
				err = requireWaiting(all, req.Merges)
			}
			for _, m := range all {
				meant[m.ID] = len(req.Merges) == 0 || slices.ContainsFunc(req.Merges, func(ref croft.Ref) bool { return croft.RefNames(ref, m.ID, m.WorkspaceName) })
			}
			return err
		})
	})
}

// requireWaiting refuses names that no waiting merge has.
func requireWaiting(waiting []journal.Merge, names []string) error {
	for _, name := range names {
		isThere := func(m journal.Merge) bool { return croft.RefNames(name, m.ID, m.WorkspaceName) }
		if !slices.ContainsFunc(waiting, isThere) {
			return &croft.Error{
				Code: croft.MergeNotFound, Workspace: name, Message: "nothing of that name waits in the queue", Details: "Nothing was changed.",
				Hint: "croft queue",
			}
		}
	}
	return nil
}

// applyQueueAction holds, releases, cancels or moves to the front a waiting merge.
// highest is the highest priority in the queue.
func (svc *Lanes) applyQueueAction(tx *journal.Tx, m *journal.Merge, req croft.QueueRequest, highest int) error {
	switch req.Action {
	case croft.QueueHold:
		by := croft.MergeHold{Reason: req.Reason, At: svc.Now()}
		by.Actor, by.ActorWorkspace = svc.ActorOfCall(tx.Context())
		m.IsHeld, m.Hold = true, &by
	case croft.QueueRelease:
		m.IsHeld, m.Hold = false, nil
	case croft.QueueFirst:
		m.Priority = highest + 1
	case croft.QueueCancel:
		m.Cancel("taken out of the queue", "croft merge "+shellword.Quote(m.WorkspaceName), svc.Now())
		return errors.Join(tx.PutMerge(m), tx.Emit(svc.MergeEvent(croft.EventMergeCanceled, *m)))
	default:
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no action %q", req.Action)}
	}
	return tx.PutMerge(m)
}

// RunOnce calls act unless the key was used before; then it returns the merge of that
// call, even if the workspace is removed, or fails with KeyConflict if that was another
// request. Of several calls with one key at the same time, in this and other processes,
// one calls act and the others wait for its merge. Without a key it always calls act. It
// sets key.Request; act records the key with UseKey.
func (svc *Lanes) RunOnce(ctx context.Context, key *journal.Key, req any, act func() (*croft.Merge, error)) (*croft.Merge, error) {
	if key.Key == "" {
		return act()
	}
	if err := layout.CheckKey(key.Key); err != nil {
		return nil, err
	}
	key.Request = once.DigestOf(req)
	if m, err := svc.mergedBefore(ctx, *key); m != nil || err != nil {
		return m, err
	}
	l, err := once.Lock(ctx, *key, svc.Ops.LockPath)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	if m, err := svc.mergedBefore(ctx, *key); m != nil || err != nil {
		return m, err
	}
	return act()
}

// UseKey records that an idempotency key was used for a merge, if the request had a
// key.
func UseKey(tx *journal.Tx, key journal.Key, merge croft.ID) error {
	if key.Key == "" {
		return nil
	}
	key.Operation = merge
	return tx.PutKey(key)
}

// mergedBefore returns the merge that an idempotency key was used for, or nil.
func (svc *Lanes) mergedBefore(ctx context.Context, key journal.Key) (*croft.Merge, error) {
	used, err := svc.Journal.FindKey(ctx, key.Repo, key.Verb, key.Key)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case used.Request != key.Request:
		return nil, once.KeyConflictError(key.Key)
	}
	m, err := svc.Journal.Merge(ctx, used.Operation)
	if err != nil {
		return nil, err
	}
	return &m.Merge, nil
}
