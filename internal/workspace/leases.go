package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
)

// HoldByID takes a lease on a workspace, and renews it until it is released or the
// engine is closed.
func (svc *Workspaces) HoldByID(ctx context.Context, req croft.HoldRequest) (*croft.Lease, error) {
	r, rec, err := svc.FindByID(ctx, req.Workspace)
	if err != nil {
		return nil, err
	}
	l, err := svc.TakeLease(ctx, r, rec, croft.Lease{Owner: project.Self()})
	if err != nil {
		return nil, explain.WithWorkspace(rec.Workspace.Name, svc.VanishedError(ctx, rec, err))
	}
	svc.keepRenewing(*l)
	return l, nil
}

// HoldForProcess takes a lease on a workspace for another process of this machine, for as
// long as that process lives.
func (svc *Workspaces) HoldForProcess(ctx context.Context, s project.Location, rec journal.Record, req croft.LeaseRequest) (*croft.Lease, error) {
	owner, err := OwnerFor(req)
	if err != nil {
		return nil, err
	}
	return svc.TakeLease(ctx, s.Project, rec, croft.Lease{Owner: owner, Term: croft.TermProcess})
}

// OwnerFor returns the process that a request names as the owner of a lease. It fails with
// InvalidRequest if the process cannot be seen.
func OwnerFor(req croft.LeaseRequest) (croft.Owner, error) {
	id, seen := proc.Of(req.PID)
	if !seen {
		return croft.Owner{}, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no process %d that could hold a lease", req.PID), Hint: "croft hold NAME --pid $$"}
	}
	return project.OwnerOf(id), nil
}

// TakeLease takes a lease on a workspace for the owner and the term in asked.
func (svc *Workspaces) TakeLease(ctx context.Context, r *project.Project, rec journal.Record, asked croft.Lease) (*croft.Lease, error) {
	isolated := rec.Workspace.Mode != croft.ModeLegacy
	if isolated {
		if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
			return nil, r.BrokenNowError(ctx, rec, h)
		}
	}
	if rec.Workspace.State != croft.Ready {
		return nil, project.NotReadyError(croft.WorkspaceBroken, rec)
	}
	if boot := proc.Here().Boot; rec.Boot != boot {
		// The machine was restarted, and a process will work in the workspace again. If
		// the files are damaged, the next commit reports it. If they are not, that is
		// recorded before the process changes them.
		if _, err := svc.Commits.Verify(ctx, r, rec); err != nil {
			return nil, err
		}
		var err error
		if rec, err = svc.Journal.Record(ctx, rec.Workspace.ID); err != nil {
			return nil, err
		}
		rec.Wake(boot)
		if err := svc.SaveRecord(ctx, &rec, nil); err != nil {
			return nil, err
		}
	}
	l := &croft.Lease{ID: project.NewID(), Workspace: rec.Workspace.ID, Owner: asked.Owner, Term: asked.Term, ExpiresAt: svc.leaseExpiry(r)}
	take := func() error {
		if isolated {
			tree := r.Trees.At(project.SpecOf(rec))
			if _, locked, err := tree.LockReason(); err != nil {
				return err
			} else if !locked {
				if err := tree.SetLock(leaseLock); err != nil {
					return err
				}
			}
		}
		return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
			if now, err := tx.Record(rec.Workspace.ID); err != nil || now.Workspace.State == croft.Trashed {
				return project.WorkspaceNotFoundError("", rec.Workspace.Name)
			}
			return svc.putLease(tx, rec, l)
		})
	}
	var err error
	if isolated {
		err = svc.UnderLock(ctx, r, take)
	} else {
		err = take()
	}
	l.Process = project.OwnerName(l.Owner)
	return l, err
}

// leaseExpiry returns the time at which a lease that is taken now expires.
func (svc *Workspaces) leaseExpiry(r *project.Project) time.Time {
	return svc.Now().Add(time.Duration(r.Config.Lease.TTL))
}

// holding is a lease that this engine renews.
type holding struct {
	lease  croft.Lease
	cancel context.CancelFunc
}

// heldLeases has the leases that this engine renews.
type heldLeases struct {
	mu   sync.Mutex
	byID map[croft.ID]holding
}

func (h *heldLeases) add(l holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = map[croft.ID]holding{}
	}
	h.byID[l.lease.ID] = l
}

func (h *heldLeases) find(id croft.ID) (holding, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.byID[id]
	return l, ok
}

// end stops renewing a lease.
func (h *heldLeases) end(id croft.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l, ok := h.byID[id]; ok {
		l.cancel()
		delete(h.byID, id)
	}
}

func (h *heldLeases) ids() []croft.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.byID))
}

// keepRenewing renews a lease in the background, three times within its term, until it is
// released or lost. Close of the engine stops this by releasing the lease, and waits for it
// to end.
func (svc *Workspaces) keepRenewing(l croft.Lease) {
	ctx, cancel := context.WithCancel(context.Background())
	svc.leases.add(holding{l, cancel})
	every := time.Duration(svc.Settings.Config().Lease.TTL) / 3
	isOpen := svc.Lifetime.TryGo(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, err := svc.RenewLease(ctx, croft.RenewRequest{Lease: l.ID}); errors.Is(err, croft.LeaseLost) {
					return
				}
			}
		}
	})
	if !isOpen {
		svc.leases.end(l.ID)
	}
}

// RenewLease extends a lease from now on. It fails with LeaseLost if there is no such
// lease.
func (svc *Workspaces) RenewLease(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error) {
	own, isOwn := svc.leases.find(req.Lease)
	var l croft.Lease
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if l, err = tx.Lease(req.Lease); errors.Is(err, journal.ErrNotFound) && isOwn {
			l, err = reviveLease(tx, own)
		}
		if err != nil {
			return err
		}
		l.ExpiresAt = svc.Now().Add(time.Duration(svc.Settings.Config().Lease.TTL))
		return tx.PutLease(l)
	})
	if errors.Is(err, journal.ErrNotFound) {
		return nil, &croft.Error{Code: croft.LeaseLost, Message: "the lease was released or reaped"}
	}
	if err != nil {
		return nil, err
	}
	return &l, nil
}

// reviveLease returns a lease that this engine renews and that the database has lost,
// so that it is recorded again. It deletes the lease without an owner that the
// workspace was given meanwhile.
func reviveLease(tx *journal.Tx, h holding) (croft.Lease, error) {
	rec, err := tx.Record(h.lease.Workspace)
	if err != nil || rec.Workspace.State == croft.Trashed {
		return croft.Lease{}, journal.ErrNotFound
	}
	others, err := tx.LeasesOf(h.lease.Workspace)
	for _, l := range others {
		if l.Owner == (croft.Owner{}) {
			err = errors.Join(err, tx.DeleteLease(l.ID))
		}
	}
	return h.lease, err
}

// ReleaseLease releases a lease. It is no error if the lease is released already.
func (svc *Workspaces) ReleaseLease(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error) {
	if !project.IsID(string(req.Lease)) { // no lease ever had such an ID
		return nil, &croft.Error{Code: croft.LeaseLost, Message: fmt.Sprintf("there is no lease %q", req.Lease), Hint: "croft list"}
	}
	return &croft.Released{Lease: req.Lease}, svc.deleteLease(ctx, req.Lease)
}

// ReleaseAll releases all leases that this engine renews.
func (svc *Workspaces) ReleaseAll(ctx context.Context) []error {
	var errs []error
	for _, id := range svc.leases.ids() {
		errs = append(errs, explain.Error("release", "", svc.deleteLease(ctx, id)))
	}
	return errs
}

func (svc *Workspaces) deleteLease(ctx context.Context, lease croft.ID) error {
	svc.leases.end(lease)
	var l croft.Lease
	var rec journal.Record
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if l, err = tx.Lease(lease); err != nil {
			return err
		}
		if err := tx.DeleteLease(lease); err != nil {
			return err
		}
		if rec, err = tx.Record(l.Workspace); err != nil {
			return err
		}
		e := svc.WorkspaceEvent(croft.EventLeaseReleased, rec)
		e.Lease = lease
		return tx.Emit(e)
	})
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = svc.clearLeaseLock(ctx, rec)
	}
	return explain.WithWorkspace(rec.Workspace.Name, err)
}

// clearLeaseLock removes git's lock of a workspace once its last lease is released.
func (svc *Workspaces) clearLeaseLock(ctx context.Context, rec journal.Record) error {
	if rec.Workspace.Mode == croft.ModeLegacy || rec.Workspace.State == croft.Trashed {
		return nil
	}
	r, err := svc.ByID(ctx, rec.RepoID)
	if err != nil {
		return err
	}
	return svc.UnderLock(ctx, r, func() error {
		leases, err := svc.Journal.Leases(ctx, r.ID)
		if err != nil {
			return err
		}
		tree := r.Trees.At(project.SpecOf(rec))
		reason, locked, err := tree.LockReason()
		if err != nil || !locked || reason != leaseLock || len(leases[rec.Workspace.ID]) > 0 {
			return err
		}
		return tree.ClearLock()
	})
}

// putLease records a lease, and deletes the leases of dead owners, which would make the
// workspace an orphan once this lease is released. If the lease is for the term of its
// process, and that process has one already, it keeps that lease's ID.
func (svc *Workspaces) putLease(tx *journal.Tx, rec journal.Record, l *croft.Lease) error {
	others, err := tx.LeasesOf(rec.Workspace.ID)
	if err != nil {
		return err
	}
	for _, o := range others {
		switch {
		case l.Term == croft.TermProcess && o.Term == l.Term && o.Owner == l.Owner:
			l.ID = o.ID
		case project.Liveness(o.Owner) == proc.Dead:
			if err := tx.DeleteLease(o.ID); err != nil {
				return err
			}
		}
	}
	if err := tx.PutLease(*l); err != nil {
		return err
	}
	e := svc.WorkspaceEvent(croft.EventLeaseTaken, rec)
	e.Lease = l.ID
	return tx.Emit(e)
}
