package scope

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/croft-sh/croft"
)

// merge finds a merge of the workspace by its ID.
func (w *workspace) merge(ctx context.Context, me own, ref croft.Ref) (*croft.Merge, error) {
	m, err := w.svc.Merge(ctx, croft.GetRequest{Repo: me.repo(), Ref: ref})
	if err != nil && isGone(err) || err == nil && m.Workspace != w.id {
		return nil, notFound(croft.MergeNotFound, "merge", "merge", ref)
	}
	return m, err
}

// hideOther takes out of a path in conflict who brought the other side.
func hideOther(c *croft.ConflictedPath) { c.Against, c.At, c.Subject = "", time.Time{}, "" }

// trimMerge takes the names of other workspaces out of a merge.
func trimMerge(m *croft.Merge) *croft.Merge {
	if m == nil {
		return nil
	}
	out := *m
	out.Conflicts = slices.Clone(m.Conflicts)
	for i := range out.Conflicts {
		hideOther(&out.Conflicts[i])
	}
	if out.Reason == croft.BranchInUse {
		out.Message, out.Details, out.Hint = inUse, "", ""
	}
	return &out
}

// inUse is what BranchInUse says without the name and the path of the workspace that has the branch.
const inUse = "the target is the branch of another workspace: a merge would not reach it"

// trimmedMerge returns the answer of a call, or its error, without the names of other workspaces.
func trimmedMerge(m *croft.Merge, err error) (*croft.Merge, error) {
	if e, ok := errors.AsType[*croft.Error](err); ok && e.Code == croft.BranchInUse {
		err = &croft.Error{Code: e.Code, Op: e.Op, Workspace: e.Workspace, Message: inUse}
	}
	return trimMerge(m), err
}

// Finish says that the agent has ended. A lease must be the workspace's.
func (w *workspace) Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	ctx, me, err := w.target(ctx, "finish", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Key = w.ownKey(req.Key)
	if req.Lease != nil {
		lease, err := w.ownLease(ctx, req.Lease.ID)
		if err != nil {
			return nil, err
		}
		req.Lease = lease
		return trimmedMerge(w.svc.Finish(ctx, req))
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return trimmedMerge(w.svc.Finish(ctx, req))
}

// SubmitMerge submits the work to the workspace's own target, in the order of the queue.
func (w *workspace) SubmitMerge(ctx context.Context, req croft.MergeRequest) (*croft.Merge, error) {
	if req.Priority > 0 {
		return w.denied.SubmitMerge(ctx, req)
	}
	ctx, req, err := w.mergeRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	return trimmedMerge(w.svc.SubmitMerge(ctx, req))
}

func (w *workspace) Resolve(ctx context.Context, req croft.MergeRequest) (*croft.Resolution, error) {
	ctx, req, err := w.mergeRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	res, err := w.svc.Resolve(ctx, req)
	if err != nil {
		return nil, err
	}
	res.Workspace = *trim(&res.Workspace)
	for i := range res.Conflicts {
		hideOther(&res.Conflicts[i])
	}
	return res, nil
}

func (w *workspace) mergeRequest(ctx context.Context, req croft.MergeRequest) (context.Context, croft.MergeRequest, error) {
	ctx, me, err := w.target(ctx, "merge", req.Repo, req.Workspace)
	if err != nil {
		return ctx, req, err
	}
	if !me.isTarget(req.Target) {
		return ctx, req, notFound(croft.TargetNotFound, "merge", "target", req.Target)
	}
	if req.Review != "" {
		if _, err := w.review(ctx, me, croft.ByID(req.Review)); err != nil {
			return ctx, req, err
		}
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return ctx, req, nil
}

func (w *workspace) Merge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	if !me.isIn(req.Repo) {
		return nil, notFound(croft.MergeNotFound, "merge", "merge", req.Ref)
	}
	return trimmedMerge(w.merge(ctx, me, req.Ref))
}

func (w *workspace) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := w.merge(ctx, me, croft.ByID(req.Merge)); err != nil {
		return nil, err
	}
	return trimmedMerge(w.svc.WaitMerge(ctx, req))
}

func (w *workspace) Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	if req.Repos != croft.ScopeAll && !me.isIn(req.Repo) {
		return nil, notFound(croft.NotARepo, "queue", "project", req.Repo)
	}
	req.Repo, req.Repos = me.repo(), croft.ScopeNamed
	return collect(req.Page, func(p croft.Page) (*croft.List[croft.Merge], error) {
		req.Page = p
		return w.svc.Merges(ctx, req)
	}, func(m *croft.Merge) bool {
		*m = *trimMerge(m)
		return m.Workspace == w.id
	})
}

func (w *workspace) CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := w.merge(ctx, me, croft.ByID(req.Merge)); err != nil {
		return nil, err
	}
	return w.svc.CheckLog(ctx, req)
}

// ChangeQueue holds, releases and cancels merges of the workspace. It puts none before the
// others', and releases none that a person holds. With a key the merges are named by their IDs,
// so that the same request means the same merges again.
func (w *workspace) ChangeQueue(ctx context.Context, req croft.QueueRequest) (*croft.QueueResult, error) {
	if req.Action == croft.QueueFirst {
		return w.denied.ChangeQueue(ctx, req)
	}
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	if !me.isIn(req.Repo) {
		return nil, notFound(croft.NotARepo, "queue", "project", req.Repo)
	}
	merges, err := w.queued(ctx, me, req)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Merges = me.repo(), nil
	req.Key = w.ownKey(req.Key)
	for _, m := range merges {
		if req.Action == croft.QueueRelease && m.IsHeld && (m.Hold == nil || m.Hold.ActorWorkspace != w.id) {
			return w.denied.ChangeQueue(ctx, req)
		}
		req.Merges = append(req.Merges, croft.ByID(m.ID))
	}
	if len(req.Merges) == 0 { // without any it would mean all
		return &croft.QueueResult{Merges: []croft.Merge{}}, nil
	}
	res, err := w.svc.ChangeQueue(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range res.Merges {
		res.Merges[i] = *trimMerge(&res.Merges[i])
	}
	return res, nil
}

// queued returns the merges that a request for the queue means, in its order.
func (w *workspace) queued(ctx context.Context, me own, req croft.QueueRequest) ([]croft.Merge, error) {
	var waiting []croft.Merge
	byName := len(req.Merges) == 0 || slices.ContainsFunc(req.Merges, func(ref croft.Ref) bool { return me.isNamed(ref) })
	if byName {
		if req.Key != "" {
			return nil, &croft.Error{Code: croft.InvalidRequest, Op: "queue", Message: "with a key, a workspace's token has to name merges by their IDs"}
		}
		list, err := w.Merges(ctx, croft.MergesRequest{Target: req.Target})
		if err != nil {
			return nil, err
		}
		waiting = list.Items
	}
	if len(req.Merges) == 0 {
		return waiting, nil
	}
	var found []croft.Merge
	for _, ref := range req.Merges {
		if ref != "" && me.isNamed(ref) {
			found = append(found, waiting...)
			continue
		}
		m, err := w.merge(ctx, me, ref)
		if err != nil {
			return nil, err
		}
		found = append(found, *m)
	}
	return found, nil
}

func (w *workspace) PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error) {
	ctx, req, err := w.revertRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	plan, err := w.svc.PlanRevert(ctx, req)
	if err != nil {
		return nil, err
	}
	plan.Merge = *trimMerge(&plan.Merge)
	for i := range plan.Conflicts {
		hideOther(&plan.Conflicts[i])
	}
	plan.LaterNames = nil
	return plan, nil
}

func (w *workspace) SubmitRevert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error) {
	ctx, req, err := w.revertRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	return trimmedMerge(w.svc.SubmitRevert(ctx, req))
}

// revertRequest takes a merge by its ID only: a name or a commit may mean another's.
func (w *workspace) revertRequest(ctx context.Context, req croft.RevertRequest) (context.Context, croft.RevertRequest, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return ctx, req, err
	}
	ref := req.Ref
	if req.Merge != "" {
		ref = croft.ByID(req.Merge)
	}
	if !me.isIn(req.Repo) || req.Merge != "" && req.Ref != "" {
		return ctx, req, notFound(croft.MergeNotFound, "revert", "merge", ref)
	}
	m, err := w.merge(ctx, me, ref)
	if err != nil {
		return ctx, req, err
	}
	req.Repo, req.Merge, req.Ref = me.repo(), m.ID, ""
	req.Key = w.ownKey(req.Key)
	return ctx, req, nil
}

func (w *workspace) Discard(ctx context.Context, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	if req.All != croft.ScopeNamed || req.Agreed != nil {
		return w.denied.Discard(ctx, req)
	}
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	for _, ref := range req.Workspaces {
		if ref == "" || !me.isIn(req.Repo) || !me.isNamed(ref) {
			return nil, notFound(croft.WorktreeNotFound, "discard", "workspace", ref)
		}
	}
	if len(req.Workspaces) == 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Op: "discard", Message: "no workspace is named"}
	}
	req.Repo, req.Workspaces = me.repo(), []croft.Ref{me.ref()}
	req.Key = w.ownKey(req.Key)
	res, err := w.svc.Discard(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range res.Merges {
		res.Merges[i] = *trimMerge(&res.Merges[i])
	}
	return res, nil
}

// review finds a review of the workspace by its ID.
func (w *workspace) review(ctx context.Context, me own, ref croft.Ref) (*croft.Review, error) {
	r, err := w.svc.Review(ctx, croft.GetRequest{Repo: me.repo(), Ref: ref})
	if err != nil && isGone(err) || err == nil && r.Workspace != w.id {
		return nil, notFound(croft.ReviewNotFound, "review", "review", ref)
	}
	return r, err
}

func (w *workspace) Review(ctx context.Context, req croft.GetRequest) (*croft.Review, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	if !me.isIn(req.Repo) {
		return nil, notFound(croft.ReviewNotFound, "review", "review", req.Ref)
	}
	return w.review(ctx, me, req.Ref)
}

func (w *workspace) CreateReview(ctx context.Context, req croft.ReviewRequest) (*croft.Review, error) {
	ctx, me, err := w.target(ctx, "review", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	if !me.isTarget(req.Target) {
		return nil, notFound(croft.TargetNotFound, "review", "target", req.Target)
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return w.svc.CreateReview(ctx, req)
}

func (w *workspace) SubmitApply(ctx context.Context, req croft.ApplyRequest) (*croft.Merge, error) {
	ctx, me, err := w.target(ctx, "apply", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	if _, err := w.review(ctx, me, croft.ByID(req.Review)); err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return trimmedMerge(w.svc.SubmitApply(ctx, req))
}

// source checks the source of a difference or a file: the workspace, one of its reviews, or
// one of its merges.
func (w *workspace) source(ctx context.Context, repo, ref croft.Ref, review, merge croft.ID, target string) (context.Context, own, error) {
	ctx, me, err := w.target(ctx, "diff", repo, ref)
	if err != nil {
		return ctx, me, err
	}
	if !me.isTarget(target) {
		return ctx, me, notFound(croft.TargetNotFound, "diff", "target", target)
	}
	if review != "" {
		if _, err := w.review(ctx, me, croft.ByID(review)); err != nil {
			return ctx, me, err
		}
	}
	if merge != "" {
		if _, err := w.merge(ctx, me, croft.ByID(merge)); err != nil {
			return ctx, me, err
		}
	}
	return ctx, me, nil
}

func (w *workspace) Diff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error) {
	ctx, me, err := w.source(ctx, req.Repo, req.Workspace, req.Review, req.Merge, req.Target)
	if err != nil {
		return nil, err
	}
	if req.Repo = me.repo(); req.Review == "" && req.Merge == "" {
		req.Workspace = me.ref()
	}
	return w.svc.Diff(ctx, req)
}

func (w *workspace) Commits(ctx context.Context, req croft.CommitsRequest) (*croft.Commits, error) {
	ctx, me, err := w.source(ctx, req.Repo, req.Workspace, "", "", req.Target)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return w.svc.Commits(ctx, req)
}

func (w *workspace) File(ctx context.Context, req croft.FileRequest) (*croft.FileContent, error) {
	ctx, me, err := w.source(ctx, req.Repo, req.Workspace, req.Review, req.Merge, req.Target)
	if err != nil {
		return nil, err
	}
	if req.Repo = me.repo(); req.Review == "" && req.Merge == "" {
		req.Workspace = me.ref()
	}
	file, err := w.svc.File(ctx, req)
	if errors.Is(err, croft.MergeNotFound) || errors.Is(err, croft.ReviewNotFound) { // gone meanwhile
		return nil, notFound(croft.FileNotFound, "file", "file", req.Path)
	}
	return file, err
}
