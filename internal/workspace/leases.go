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

// HoldByID takes a lease and renews it until it is released or the engine is
// closed.
func (svc *Workspaces) HoldByID(ctx context.Context, workspace croft.ID) (*croft.Lease, error) {
	r, rec, err := svc.FindByID(ctx, workspace)
	if err != nil {
		return nil, err
	}
	l, err := svc.TakeLease(ctx, r, rec, croft.Lease{Owner: project.Self()})
	if err != nil {
		return nil, explain.About(rec.Workspace.Name, svc.Vanished(ctx, rec, err))
	}
	svc.keepRenewing(*l)
	return l, nil
}

// TakeLease takes a lease on a workspace for an owner.
func (svc *Workspaces) TakeLease(ctx context.Context, r *project.Project, rec journal.Record, asked croft.Lease) (*croft.Lease, error) {
	isolated := rec.Workspace.Mode != croft.ModeLegacy
	if isolated {
		if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
			return nil, r.BrokenNow(ctx, rec, h)
		}
	}
	if rec.Workspace.State != croft.Ready {
		return nil, project.NotReady(croft.WorkspaceBroken, rec)
	}
	if boot := proc.Here().Boot; rec.Boot != boot {
		// A process works in it again after a restart of the machine. Damage that is
		// found is reported by whatever commits; that none was found is recorded
		// before the files change.
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
				return project.WorkspaceNotFound("", rec.Workspace.Name)
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

// leaseExpiry returns when a lease that is taken now expires.
func (svc *Workspaces) leaseExpiry(r *project.Project) time.Time {
	return svc.Now().Add(time.Duration(r.Config.Lease.TTL))
}

// holding is a lease that this engine renews.
type holding struct {
	lease  croft.Lease
	cancel context.CancelFunc
}

// heldLeases are the leases that this engine renews.
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

// end stops the renewing of a lease.
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

// keepRenewing renews a lease three times in its life, until it is released. A renewal is
// no call: Close ends it by releasing the lease, and waits for it.
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
				if _, err := svc.RenewLease(ctx, l.ID); errors.Is(err, croft.LeaseLost) {
					return
				}
			}
		}
	})
	if !isOpen {
		svc.leases.end(l.ID)
	}
}

// RenewLease prolongs a lease.
func (svc *Workspaces) RenewLease(ctx context.Context, lease croft.ID) (*croft.Lease, error) {
	own, isOwn := svc.leases.find(lease)
	var l croft.Lease
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if l, err = tx.Lease(lease); errors.Is(err, journal.ErrNotFound) && isOwn {
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

// reviveLease finds a lease that this engine holds and that the database has
// lost, which is no reason for the workspace to be without it. It takes the
// place of the one that the workspace was given meanwhile.
func reviveLease(tx *journal.Tx, h holding) (croft.Lease, error) {
	rec, err := tx.Record(h.lease.Workspace)
	if err != nil || rec.Workspace.State == croft.Trashed {
		return croft.Lease{}, journal.ErrNotFound
	}
	others, err := tx.LeasesOf(h.lease.Workspace)
	for _, l := range others {
		if l.Owner == (croft.Owner{}) {
			err = errors.Join(err, tx.DropLease(l.ID))
		}
	}
	return h.lease, err
}

// ReleaseLease gives a lease back.
func (svc *Workspaces) ReleaseLease(ctx context.Context, lease croft.ID) error {
	if !project.IsID(string(lease)) { // none ever was called so
		return &croft.Error{Code: croft.LeaseLost, Message: fmt.Sprintf("there is no lease %q", lease), Hint: "croft list"}
	}
	return svc.dropLease(ctx, lease)
}

// ReleaseAll gives back the leases that are renewed here.
func (svc *Workspaces) ReleaseAll(ctx context.Context) []error {
	var errs []error
	for _, id := range svc.leases.ids() {
		errs = append(errs, explain.Error("release", "", svc.dropLease(ctx, id)))
	}
	return errs
}

func (svc *Workspaces) dropLease(ctx context.Context, lease croft.ID) error {
	svc.leases.end(lease)
	var l croft.Lease
	var rec journal.Record
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if l, err = tx.Lease(lease); err != nil {
			return err
		}
		if err := tx.DropLease(lease); err != nil {
			return err
		}
		if rec, err = tx.Record(l.Workspace); err != nil {
			return err
		}
		return tx.Emit(svc.WorkspaceEvent(croft.EventLeaseReleased, rec))
	})
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = svc.dropLeaseLock(ctx, rec)
	}
	return explain.About(rec.Workspace.Name, err)
}

// dropLeaseLock takes git's lock away when the last lease is gone.
func (svc *Workspaces) dropLeaseLock(ctx context.Context, rec journal.Record) error {
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

// putLease records a lease, and deletes those of owners that are dead: they must not
// make an orphan of the workspace when this one is released. A process that has a lease
// gets the same one again.
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
			if err := tx.DropLease(o.ID); err != nil {
				return err
			}
		}
	}
	if err := tx.PutLease(*l); err != nil {
		return err
	}
	return tx.Emit(svc.WorkspaceEvent(croft.EventLeaseTaken, rec))
}
