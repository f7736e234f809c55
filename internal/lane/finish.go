package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/run"
	"github.com/croft-sh/croft/internal/shellword"
)

// FinishWork commits the work of an agent that has ended, and releases the lease of the
// request. If the agent succeeded, the work is submitted to the lane or left pending for
// a person, as the policy of the request or else the layout says; FinishWork does not
// wait for the lane. Other work is left pending. For a legacy workspace only the end is
// recorded. A Key makes the request repeatable.
func (svc *Lanes) FinishWork(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	req.Outcome = cmp.Or(req.Outcome, croft.Succeeded)
	s, err := svc.finishingIn(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := svc.Recover(ctx, s.ID); err != nil {
		return nil, err
	}
	// A repeated request is recognised by the words of the request: the workspace that
	// they name may be removed by then.
	words := struct {
		Workspace string
		Outcome   croft.Outcome
		Policy    croft.MergePolicy
	}{cmp.Or(req.Workspace, s.Place.WorkDir), req.Outcome, req.Policy}
	if req.Lease != nil {
		words.Workspace = string(req.Lease.Workspace)
	}
	key := journal.Key{Repo: s.ID, Verb: "finish", Key: req.Key}
	return svc.RunOnce(ctx, &key, words, func() (*croft.Merge, error) { return svc.finishNew(ctx, s, req, key) })
}

// finishingIn finds the repository of a finish request.
func (svc *Lanes) finishingIn(ctx context.Context, req croft.FinishRequest) (project.Location, error) {
	if req.Lease == nil {
		return svc.Locate(ctx, req.Repo)
	}
	rec, err := svc.Journal.Record(ctx, req.Lease.Workspace)
	if errors.Is(err, journal.ErrNotFound) {
		return project.Location{}, project.WorkspaceNotFoundError("", string(req.Lease.Workspace))
	}
	if err != nil {
		return project.Location{}, err
	}
	r, err := svc.ByID(ctx, rec.RepoID)
	return project.Location{Project: r}, err
}

func (svc *Lanes) finishNew(ctx context.Context, s project.Location, req croft.FinishRequest, key journal.Key) (*croft.Merge, error) {
	r := s.Project
	if req.Lease != nil {
		req.Workspace = string(req.Lease.Workspace)
	}
	rec, err := svc.Find(ctx, s, req.Workspace)
	if err != nil {
		return nil, err
	}
	if err := run.CheckFinish(rec.Run, req); err != nil {
		return nil, explain.WithWorkspace(rec.Workspace.Name, err)
	}
	if err := svc.Claim(ctx, rec, req.IfRevision, once.Name(key)); err != nil {
		return nil, err
	}
	_, inside := svc.ActorOfCall(ctx)
	req.Policy = run.PolicyFor(rec.Run, inside, req.Policy)
	end := func(*journal.Tx) error { return nil }
	if req.Lease != nil {
		if err := svc.Workspaces.CheckLease(ctx, rec, *req.Lease); err != nil {
			return nil, explain.WithWorkspace(rec.Workspace.Name, err)
		}
		end = func(tx *journal.Tx) error { return svc.Workspaces.EndLease(tx, *req.Lease) }
	}
	m, err := svc.finishAs(ctx, r, rec, req, key, end)
	if err == nil && req.Lease != nil {
		err = svc.Workspaces.ClearLeaseLock(ctx, rec)
	}
	return m, explain.WithWorkspace(rec.Workspace.Name, err)
}

// finishAs does what becomes of the work of an agent that has ended. end ends the agent's
// lease in the transaction that records this.
func (svc *Lanes) finishAs(ctx context.Context, r *project.Project, rec journal.Record, req croft.FinishRequest, key journal.Key, end func(*journal.Tx) error) (*croft.Merge, error) {
	if rec.Workspace.Mode == croft.ModeLegacy {
		return svc.finishDirect(ctx, r, rec, req.Outcome, end)
	}
	if req.Outcome == croft.Succeeded && isMergedAtFinish(r, rec, req.Policy) {
		return svc.submitWork(ctx, r, rec, submission{key: key, message: req.Message, also: end, outcome: req.Outcome})
	}
	return svc.leavePending(ctx, r, rec, req, key, end)
}

// setFinished records in a workspace's record how its agent ended, and which commit that
// left to merge.
func setFinished(rec *journal.Record, outcome croft.Outcome, m journal.Merge) {
	rec.Workspace.Finished = &croft.Finished{Outcome: outcome, Head: m.Head, At: m.SubmittedAt}
}

// isMergedAtFinish reports whether the work of an agent that succeeded is merged.
func isMergedAtFinish(r *project.Project, rec journal.Record, policy croft.MergePolicy) bool {
	switch policy {
	case croft.MergeAlways:
		return true
	case croft.MergeNever:
		return false
	}
	l, err := layout.Preset(cmp.Or(rec.Workspace.Layout, r.Config.Layout))
	return err == nil && l.Finish == layout.FinishMerge
}

// finishDirect records the end of an agent that wrote in the project itself: there is
// nothing to merge.
func (svc *Lanes) finishDirect(ctx context.Context, r *project.Project, rec journal.Record, outcome croft.Outcome, end func(*journal.Tx) error) (*croft.Merge, error) {
	w := rec.Workspace
	m := &croft.Merge{
		RepoID: r.ID, Kind: croft.KindMerge, WorkspaceName: w.Name, Workspace: w.ID, State: croft.MergeDone, Message: "the agent wrote in the project itself",
		SubmittedAt: svc.Now(), EndedAt: svc.Now(),
	}
	setFinished(&rec, outcome, journal.Merge{Merge: *m})
	return m, svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(end(tx), tx.Emit(svc.WorkspaceEvent(croft.EventWorkspaceFinished, rec)), svc.Note(tx, "finish", r.ID, rec))
	})
}

// leavePending commits the work and leaves it to a person to merge or discard it.
func (svc *Lanes) leavePending(ctx context.Context, r *project.Project, rec journal.Record, req croft.FinishRequest, key journal.Key, end func(*journal.Tx) error) (*croft.Merge, error) {
	w := rec.Workspace
	m := journal.Merge{
		Merge: croft.Merge{
			ID: project.NewID(), RepoID: r.ID, Kind: croft.KindMerge, WorkspaceName: w.Name, Workspace: w.ID, Target: w.Target, State: croft.MergeDone,
			Status: croft.MergePending, Message: "waits for croft merge or croft discard", Hint: "croft merge " + shellword.Quote(w.Name),
			SubmittedAt: svc.Now(), EndedAt: svc.Now(),
		},
		Act: project.NewID(),
	}
	svc.SetActor(ctx, &m)
	commit := svc.Commits.CommitSeen
	if req.Outcome == croft.Succeeded {
		commit = svc.Commits.CommitDone
	}
	var err error
	if m.Head, m.HeldBack, err = commit(ctx, r, rec, req.Message, git.Seen{}); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("finish.committed"); err != nil {
		return nil, err
	}
	// A target that cannot be read has none of the work, as far as is known.
	if nothing, err := isEmpty(ctx, r, w, m.Merge); nothing && err == nil {
		m.Message, m.Hint = "there is nothing to merge; waits for work, or croft discard", "croft discard "+shellword.Quote(w.Name)
	}
	landed, err := svc.landedBefore(ctx, r, w, m)
	if err != nil {
		return nil, err
	}
	if landed != "" {
		m.Message, m.Hint = "all of its work was merged before", "croft remove "+shellword.Quote(w.Name)
	}
	if req.Outcome != croft.Succeeded {
		m.Message = fmt.Sprintf("the agent %s; %s", map[croft.Outcome]string{croft.Failed: "failed", croft.Killed: "was killed"}[req.Outcome], m.Message)
	}
	if rec, err = svc.Journal.Record(ctx, w.ID); err != nil {
		return nil, err
	}
	if landed == "" {
		rec.Workspace.MergeStatus = croft.MergePending
	}
	rec.SawCommit(m.Head, len(m.HeldBack))
	setFinished(&rec, req.Outcome, m)
	return &m.Merge, svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(end(tx), UseKey(tx, key, m.ID), tx.PutMerge(&m), tx.Emit(svc.WorkspaceEvent(croft.EventWorkspaceFinished, rec)), tx.Emit(svc.MergeEvent(croft.EventMergePending, m)),
			svc.Note(tx, "finish", r.ID, rec))
	})
}
