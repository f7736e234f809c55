package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/parallel"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// submission is the input of submitWork.
type submission struct {
	req     croft.MergeRequest
	key     journal.Key
	message string // of the commit of uncommitted files; empty: the usual one
	seen    git.Seen
	also    func(*journal.Tx) error // in the transaction that records the merge; may be nil
	outcome croft.Outcome           // of the agent that has ended; empty: nobody said that one has
}

// prepared is a submission whose work is committed and not recorded yet.
type prepared struct {
	submission
	merge   journal.Merge
	isEmpty bool     // the workspace has no commit of its own
	landed  croft.ID // the merge by which the target has the work already, if it does
}

// SubmitEach submits the work of several workspaces, as SubmitSeen does that of one: it looks at
// them on all cores, and records all merges in one transaction, in the order of the request. A
// workspace that cannot be submitted has a merge that has ended, with the reason, and does not
// stop the others. It fails, before it commits anything, if a workspace does not exist.
func (svc *Lanes) SubmitEach(ctx context.Context, s project.Location, req croft.SubmitMergesRequest) (*croft.SubmitResult, error) {
	records, err := svc.recordsToSubmit(ctx, s, req)
	if err != nil {
		return nil, err
	}
	work, failed := make([]prepared, len(records)), make([]error, len(records))
	parallel.EachLong(len(records), func(i int) {
		if failed[i] = ctx.Err(); failed[i] != nil {
			return
		}
		one := croft.MergeRequest{Target: req.Target, Strategy: req.Strategy, Message: req.Message, Priority: req.Priority, After: req.After}
		work[i], failed[i] = svc.commitSubmission(ctx, s.Project, records[i], submission{req: one})
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	res := &croft.SubmitResult{}
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		res.Merges = make([]croft.Merge, 0, len(records))
		for i, rec := range records {
			if failed[i] != nil {
				res.Merges = append(res.Merges, unsubmitted(s.Project, rec, failed[i]))
				continue
			}
			m, err := svc.recordPrepared(tx, work[i])
			if err != nil {
				return err
			}
			res.Merges = append(res.Merges, m)
		}
		return once.Answer(ctx, tx, res)
	})
	if err != nil {
		return nil, err
	}
	merges := make([]*croft.Merge, len(res.Merges))
	for i := range res.Merges {
		merges[i] = &res.Merges[i]
	}
	return res, errors.Join(failpoint.Hit("merge.queued"), svc.tidyLanded(ctx, s.Project, merges...))
}

// unsubmitted describes the merge of a workspace that cannot be submitted.
func unsubmitted(r *project.Project, rec journal.Record, cause error) croft.Merge {
	why := croft.AsError("merge", explain.Error("merge", rec.Workspace.Name, cause))
	return croft.Merge{
		RepoID: r.ID, Kind: croft.KindMerge, WorkspaceName: rec.Workspace.Name, Workspace: rec.Workspace.ID, State: croft.MergeDone, Status: croft.MergePending,
		Reason: why.Code, Message: why.Message, Details: why.Details, Hint: why.Hint,
	}
}

// recordsToSubmit returns the records of the workspaces that a request names, each once. A
// repeated call with a key means those that the first call found.
func (svc *Lanes) recordsToSubmit(ctx context.Context, s project.Location, req croft.SubmitMergesRequest) ([]journal.Record, error) {
	if len(req.Workspaces) == 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "no workspace is named", Fields: map[string]string{"field": "workspaces"}}
	}
	ids, err := once.Pin(ctx, "workspaces", func() (ids []croft.ID, err error) {
		for _, ref := range req.Workspaces {
			rec, err := svc.Find(ctx, s, ref)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(ids, rec.Workspace.ID) {
				ids = append(ids, rec.Workspace.ID)
			}
		}
		return ids, nil
	})
	if err != nil {
		return nil, err
	}
	records := make([]journal.Record, len(ids))
	for i, id := range ids {
		if records[i], err = svc.Journal.Record(ctx, id); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// submitWork commits a workspace's work and puts it in the queue of its target.
func (svc *Lanes) submitWork(ctx context.Context, r *project.Project, rec journal.Record, sub submission) (*croft.Merge, error) {
	work, err := svc.commitSubmission(ctx, r, rec, sub)
	if err != nil {
		return nil, err
	}
	var m croft.Merge
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		m, err = svc.recordPrepared(tx, work)
		return err
	})
	if err != nil || work.isEmpty {
		return &m, err
	}
	return &m, errors.Join(failpoint.Hit("merge.queued"), svc.tidyLanded(ctx, r, &m))
}

// commitSubmission commits a workspace's work, and makes the merge of it.
func (svc *Lanes) commitSubmission(ctx context.Context, r *project.Project, rec journal.Record, sub submission) (prepared, error) {
	w, req, work := rec.Workspace, sub.req, prepared{submission: sub}
	if w.Mode == croft.ModeLegacy {
		return work, &croft.Error{Code: croft.InvalidRequest, Message: "the agent wrote in the project itself; there is nothing to merge"}
	}
	m := journal.Merge{
		Merge: croft.Merge{
			ID: project.NewID(), RepoID: r.ID, Kind: croft.KindMerge, WorkspaceName: w.Name, Workspace: w.ID, Target: cmp.Or(req.Target, w.Target),
			Strategy: req.Strategy, Status: croft.MergePending, State: croft.MergeQueued, Priority: req.Priority,
		},
		Act: project.NewID(), After: req.After, Text: req.Message,
	}
	err := svc.Rules.SetSubmitter(ctx, r, &m)
	if err != nil {
		return work, err
	}
	if m.Target, err = svc.BranchOf(ctx, r, m.Target); err != nil {
		return work, err
	}
	if err := svc.checkSubmission(ctx, r, w, m.Merge); err != nil {
		return work, err
	}
	commit := svc.Commits.CommitSeen
	if sub.outcome == croft.Succeeded {
		commit = svc.Commits.CommitDone
	}
	if m.Head, m.HeldBack, err = commit(ctx, r, rec, sub.message, sub.seen); err != nil {
		return work, err
	}
	if err := failpoint.Hit("merge.committed"); err != nil {
		return work, err
	}
	if err := r.Trees.At(project.SpecOf(rec)).KeepSubmodules(ctx, m.Head); err != nil {
		return work, err
	}
	work.isEmpty, err = isEmpty(ctx, r, w, m.Merge)
	if err == nil && !work.isEmpty {
		svc.Rules.NoticeChecks(ctx, r, m.Target)
		work.landed, err = svc.landedBefore(ctx, r, w, m)
	}
	work.merge = m
	return work, err
}

// isEmpty reports whether a workspace has no commit of its own. A workspace whose
// commits the target already has is not empty: its work is done.
func isEmpty(ctx context.Context, r *project.Project, w croft.Workspace, m croft.Merge) (bool, error) {
	if m.Head == "" || m.Head != w.Base {
		return false, nil
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+m.Target)
	if err != nil {
		return false, project.TargetError(m.Target, err)
	}
	return r.Git.IsAncestor(ctx, m.Head, tip)
}

func (svc *Lanes) checkSubmission(ctx context.Context, r *project.Project, w croft.Workspace, m croft.Merge) error {
	switch m.Target {
	case "":
		return &croft.Error{Code: croft.InvalidRequest, Message: "the workspace has no target branch", Hint: "croft merge --into BRANCH " + shellword.Quote(w.Name)}
	case w.Branch:
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is the workspace's own branch", m.Target)}
	}
	if err := attempt.CheckStrategy(m.Strategy); err != nil {
		return err
	}
	if _, err := r.Git.ReadRef(ctx, "refs/heads/"+m.Target); err != nil {
		return project.TargetError(m.Target, err)
	}
	return svc.RefuseIsolatedTarget(ctx, r, m)
}

// recordPrepared records the merge of a submission. If one of the same kind, workspace and
// target is still queued, it updates that one instead; if a lane works on the same work, or it has
// landed, the submission is that merge. The merge of an empty workspace has ended with that, and
// the workspace stays: an agent may be about to use it.
func (svc *Lanes) recordPrepared(tx *journal.Tx, work prepared) (croft.Merge, error) {
	m := work.merge
	m.SubmittedAt = svc.Now()
	isQueued, isLanded := !work.isEmpty, false
	var err error
	switch {
	case work.isEmpty:
		m.EndEmpty("nothing to merge; the workspace stays", m.SubmittedAt)
	case work.landed != "":
		isLanded, err = attempt.JoinLanded(tx, &m, work.landed)
		isQueued = !isLanded
	}
	if isQueued && err == nil {
		isQueued, err = attempt.JoinWaiting(tx, &m)
	}
	if err != nil {
		return m.Merge, err
	}
	now, err := tx.Record(m.Workspace)
	if err != nil {
		return m.Merge, err
	}
	now.SawCommit(m.Head, len(m.HeldBack))
	if !work.isEmpty && !isLanded {
		now.Workspace.MergeStatus = croft.MergePending
	}
	err = svc.recordSubmission(tx, work.submission, m, &now)
	err = errors.Join(err, tx.PutMerge(&m), tx.PutRecord(now))
	if isQueued {
		err = errors.Join(err, tx.Emit(svc.MergeEvent(croft.EventMergeQueued, m)))
	}
	return m.Merge, err
}

// recordSubmission adds to the transaction that records the merge of a submission: its key,
// and the end of the agent, if that was said.
func (svc *Lanes) recordSubmission(tx *journal.Tx, sub submission, m journal.Merge, now *journal.Record) error {
	err := UseKey(tx, sub.key, m.ID)
	if err == nil && sub.also != nil {
		err = sub.also(tx)
	}
	if err == nil && sub.outcome != "" {
		setFinished(now, sub.outcome, m)
		e := svc.WorkspaceEvent(croft.EventWorkspaceFinished, *now)
		e.Operation = m.Act
		err = tx.Emit(e)
	}
	return err
}
