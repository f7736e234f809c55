package scope

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
)

// collect gathers the items of a list that keep lets pass, page by page. keep may change an
// item. With a limit it asks for pages of that size until one has an item that passes, so that
// a page may have fewer items than the limit, or after many pages none, while there are more.
func collect[T any](want croft.Page, list func(croft.Page) (*croft.List[T], error), keep func(*T) bool) (*croft.List[T], error) {
	out := &croft.List[T]{Items: []T{}}
	page := want
	for asked := 0; ; asked++ {
		part, err := list(page)
		if err != nil {
			return nil, err
		}
		if asked == 0 {
			out.Cursor = part.Cursor
		}
		out.Unseen = append(out.Unseen, part.Unseen...)
		for _, item := range part.Items {
			if keep(&item) {
				out.Items = append(out.Items, item)
			}
		}
		out.Next = part.Next
		if part.Next == "" || want.Limit > 0 && (len(out.Items) > 0 || asked == maxPages) {
			return out, nil
		}
		page.After = part.Next
	}
}

// maxPages is how many pages are read for one that has nothing of the caller's.
const maxPages = 100

func onlyID(ids []croft.ID, id croft.ID) []croft.ID {
	return slices.DeleteFunc(ids, func(other croft.ID) bool { return other != id })
}

func (w *workspace) TakeLease(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	ctx, me, err := w.target(ctx, "hold", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return w.svc.TakeLease(ctx, req)
}

// ownLease renews a lease and refuses one of another workspace, which an engine does not renew
// for an agent either.
func (w *workspace) ownLease(ctx context.Context, id croft.ID) (*croft.Lease, error) {
	lost := &croft.Error{Code: croft.LeaseLost, Op: "renew", Message: "the lease was released, reaped, or taken over"}
	lease, err := w.svc.Renew(ctx, croft.RenewRequest{Lease: id})
	if errors.Is(err, croft.LeaseLost) || err == nil && lease.Workspace != w.id {
		return nil, lost
	}
	return lease, err
}

func (w *workspace) Renew(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error) {
	ctx, _, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	return w.ownLease(ctx, req.Lease)
}

// Release ends a lease of the workspace. For others it answers as for one that has ended.
func (w *workspace) Release(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error) {
	ctx, _, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	_, err = w.ownLease(ctx, req.Lease)
	switch {
	case errors.Is(err, croft.LeaseLost):
		return &croft.Released{Lease: req.Lease}, nil
	case err != nil:
		return nil, err
	}
	return w.svc.Release(ctx, req)
}

func (w *workspace) Save(ctx context.Context, req croft.SaveRequest) (*croft.Saved, error) {
	ctx, me, err := w.target(ctx, "save", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return w.svc.Save(ctx, req)
}

func (w *workspace) TakeSnapshot(ctx context.Context, req croft.SnapshotRequest) (*croft.Snapshot, error) {
	ctx, me, err := w.target(ctx, "snapshot", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return w.svc.TakeSnapshot(ctx, req)
}

func (w *workspace) Snapshot(ctx context.Context, req croft.GetRequest) (*croft.Snapshot, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	return w.snapshot(ctx, me, req)
}

func (w *workspace) snapshot(ctx context.Context, me own, req croft.GetRequest) (*croft.Snapshot, error) {
	none := notFound(croft.SnapshotNotFound, "snapshot", "snapshot", req.Ref)
	if !me.isIn(req.Repo) {
		return nil, none
	}
	found, err := w.svc.Snapshot(ctx, croft.GetRequest{Repo: me.repo(), Ref: req.Ref})
	if err != nil && isGone(err) || err == nil && found.Workspace != w.id {
		return nil, none
	}
	return found, err
}

func (w *workspace) Snapshots(ctx context.Context, req croft.SnapshotsRequest) (*croft.List[croft.Snapshot], error) {
	ctx, me, err := w.inRepo(ctx, "snapshot", req.Repo)
	if err != nil {
		return nil, err
	}
	return collect(req.Page, func(p croft.Page) (*croft.List[croft.Snapshot], error) {
		return w.svc.Snapshots(ctx, croft.SnapshotsRequest{Repo: me.repo(), Page: p})
	}, func(s *croft.Snapshot) bool { return s.Workspace == w.id })
}

func (w *workspace) Trash(ctx context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error) {
	ctx, me, err := w.inRepo(ctx, "trash", req.Repo)
	if err != nil {
		return nil, err
	}
	return collect(req.Page, func(p croft.Page) (*croft.List[croft.TrashItem], error) {
		return w.svc.Trash(ctx, croft.TrashRequest{Repo: me.repo(), Page: p})
	}, func(item *croft.TrashItem) bool { return item.ID == w.id })
}

// Restore restores the workspace, or puts it back to one of its snapshots.
func (w *workspace) Restore(ctx context.Context, req croft.RestoreRequest) (*croft.Workspace, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	none := notFound(croft.WorktreeNotFound, "restore", "workspace or snapshot", req.Ref)
	if !me.isIn(req.Repo) || req.Ref == "" {
		return nil, none
	}
	if me.isNamed(req.Ref) {
		req.Repo, req.Ref = me.repo(), me.ref()
		req.Key = w.ownKey(req.Key)
		return trimmed(w.svc.Restore(ctx, req))
	}
	saved, err := w.snapshot(ctx, me, croft.GetRequest{Ref: req.Ref})
	switch {
	case errors.Is(err, croft.SnapshotNotFound):
		return nil, none
	case err != nil:
		return nil, err
	}
	req.Repo, req.Ref = me.repo(), croft.ByID(saved.ID)
	req.Key = w.ownKey(req.Key)
	return trimmed(w.svc.Restore(ctx, req))
}

// History lists the acts that concern the workspace alone.
func (w *workspace) History(ctx context.Context, req croft.HistoryRequest) (*croft.List[croft.Operation], error) {
	ctx, me, err := w.inRepo(ctx, "history", req.Repo)
	if err != nil {
		return nil, err
	}
	return collect(req.Page, func(p croft.Page) (*croft.List[croft.Operation], error) {
		return w.svc.History(ctx, croft.HistoryRequest{Repo: me.repo(), Page: p})
	}, w.isMine)
}

// isMine reports whether an act concerns the workspace and no other one.
func (w *workspace) isMine(op *croft.Operation) bool {
	return op.Workspace == w.id && !slices.ContainsFunc(op.Workspaces, func(id croft.ID) bool { return id != w.id })
}

func (w *workspace) Operation(ctx context.Context, req croft.GetRequest) (*croft.Operation, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	none := notFound(croft.OperationNotFound, "history", "operation", req.Ref)
	if !me.isIn(req.Repo) {
		return nil, none
	}
	op, err := w.svc.Operation(ctx, croft.GetRequest{Repo: me.repo(), Ref: req.Ref})
	if err != nil && isGone(err) || err == nil && !w.isMine(op) {
		return nil, none
	}
	return op, err
}

// PlanUndo plans the undoing of an act of the workspace's own agent.
func (w *workspace) PlanUndo(ctx context.Context, req croft.UndoRequest) (*croft.UndoPlan, error) {
	ctx, req, err := w.undoRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	plan, err := w.svc.PlanUndo(ctx, req)
	if err != nil {
		return nil, err
	}
	plan.Later = slices.DeleteFunc(plan.Later, func(op croft.Operation) bool { return !w.isMine(&op) })
	return plan, nil
}

func (w *workspace) Undo(ctx context.Context, req croft.UndoRequest) (*croft.Operation, error) {
	ctx, req, err := w.undoRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	return w.svc.Undo(ctx, req)
}

// undoRequest refuses what the agent did not do itself. The act has to be named: the last one
// of this actor may concern other workspaces.
func (w *workspace) undoRequest(ctx context.Context, req croft.UndoRequest) (context.Context, croft.UndoRequest, error) {
	if req.Operation == "" {
		return ctx, req, &croft.Error{Code: croft.InvalidRequest, Op: "undo", Message: "a workspace's token has to name the operation to undo"}
	}
	op, err := w.Operation(ctx, croft.GetRequest{Repo: req.Repo, Ref: croft.ByID(req.Operation)})
	if err != nil {
		return ctx, req, err
	}
	if op.ActorWorkspace != w.id || req.Mode != croft.RemoveSafe {
		return ctx, req, deniedError("Undo")
	}
	ctx, me, err := w.find(ctx)
	req.Repo = me.repo()
	req.Key = w.ownKey(req.Key)
	return ctx, req, err
}
