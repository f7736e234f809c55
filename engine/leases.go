package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// holdByID takes a lease and renews it until it is released or the engine is
// closed.
func (e *Engine) holdByID(ctx context.Context, workspace croft.ID) (*croft.Lease, error) {
	r, rec, err := e.byID(ctx, workspace)
	if err != nil {
		return nil, err
	}
	l, err := e.hold(ctx, r, rec, croft.Lease{Owner: self()})
	if err != nil {
		return nil, explain.About(rec.Workspace.Name, e.vanished(ctx, rec, err))
	}
	e.keepRenewing(*l)
	return l, nil
}

func (e *Engine) hold(ctx context.Context, r *repo, rec journal.Record, asked croft.Lease) (*croft.Lease, error) {
	isolated := rec.Workspace.Mode != croft.ModeLegacy
	if isolated {
		if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
			return nil, r.brokenNow(ctx, rec, h)
		}
	}
	if rec.Workspace.State != croft.Ready {
		return nil, notReady(croft.WorkspaceBroken, rec)
	}
	if boot := proc.Here().Boot; rec.Boot != boot {
		// Somebody works in it again after a restart. What is found is for those
		// who commit; that nothing was found is remembered before it changes.
		if _, err := e.verifyWorkspace(ctx, r, rec); err != nil {
			return nil, err
		}
		var err error
		if rec, err = e.journal.Record(ctx, rec.Workspace.ID); err != nil {
			return nil, err
		}
		rec.Wake(boot)
		if err := e.saveRecord(ctx, &rec, nil); err != nil {
			return nil, err
		}
	}
	l := &croft.Lease{ID: newID(), Workspace: rec.Workspace.ID, Owner: asked.Owner, Term: asked.Term, ExpiresAt: e.expiry(r)}
	take := func() error {
		if isolated {
			tree := r.trees.At(specOf(rec))
			if _, locked, err := tree.LockReason(); err != nil {
				return err
			} else if !locked {
				if err := tree.SetLock(leaseLock); err != nil {
					return err
				}
			}
		}
		return e.journal.Update(ctx, func(tx *journal.Tx) error {
			if now, err := tx.Record(rec.Workspace.ID); err != nil || now.Workspace.State == croft.Trashed {
				return notFound("", rec.Workspace.Name)
			}
			return e.putLease(tx, rec, l)
		})
	}
	var err error
	if isolated {
		err = e.underLock(ctx, r, take)
	} else {
		err = take()
	}
	l.Process = ownerName(l.Owner)
	return l, err
}

func (e *Engine) expiry(r *repo) time.Time {
	return e.now().Add(time.Duration(r.cfg.Lease.TTL))
}

// holding is a lease that this engine renews.
type holding struct {
	lease  croft.Lease
	cancel context.CancelFunc
}

// keepRenewing renews a lease three times in its life.
func (e *Engine) keepRenewing(l croft.Lease) {
	ctx, cancel := context.WithCancel(context.Background())
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		cancel()
		return
	}
	e.leases[l.ID] = holding{l, cancel}
	every := time.Duration(e.set.Config().Lease.TTL) / 3
	e.work.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, err := e.Renew(ctx, l.ID); errors.Is(err, croft.LeaseLost) {
					return
				}
			}
		}
	})
}

// renew prolongs a lease.
func (e *Engine) renew(ctx context.Context, lease croft.ID) (*croft.Lease, error) {
	e.mu.Lock()
	own, isOwn := e.leases[lease]
	e.mu.Unlock()
	var l croft.Lease
	err := e.journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if l, err = tx.Lease(lease); errors.Is(err, journal.ErrNotFound) && isOwn {
			l, err = stillHeld(tx, own)
		}
		if err != nil {
			return err
		}
		l.ExpiresAt = e.now().Add(time.Duration(e.set.Config().Lease.TTL))
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

// stillHeld finds a lease that this engine holds and that the database has
// lost, which is no reason for the workspace to be without it. It takes the
// place of the one that the workspace was given meanwhile.
func stillHeld(tx *journal.Tx, h holding) (croft.Lease, error) {
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

// releaseLease gives a lease back.
func (e *Engine) releaseLease(ctx context.Context, lease croft.ID) error {
	if !isID(string(lease)) { // none ever was called so
		return &croft.Error{Code: croft.LeaseLost, Message: fmt.Sprintf("there is no lease %q", lease), Hint: "croft list"}
	}
	return e.giveBack(ctx, lease)
}

func (e *Engine) giveBack(ctx context.Context, lease croft.ID) error {
	e.mu.Lock()
	if h, ok := e.leases[lease]; ok {
		h.cancel()
		delete(e.leases, lease)
	}
	e.mu.Unlock()
	var l croft.Lease
	var rec journal.Record
	err := e.journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if l, err = tx.Lease(lease); err != nil {
			return err
		}
		if err := tx.DropLease(lease); err != nil {
			return err
		}
		if rec, err = tx.Record(l.Workspace); err != nil {
			return err
		}
		return tx.Emit(e.event(croft.EventLeaseReleased, rec))
	})
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = e.dropLeaseLock(ctx, rec)
	}
	return explain.About(rec.Workspace.Name, err)
}

// dropLeaseLock takes git's lock away when the last lease is gone.
func (e *Engine) dropLeaseLock(ctx context.Context, rec journal.Record) error {
	if rec.Workspace.Mode == croft.ModeLegacy || rec.Workspace.State == croft.Trashed {
		return nil
	}
	r, err := e.repoByID(ctx, rec.RepoID)
	if err != nil {
		return err
	}
	return e.underLock(ctx, r, func() error {
		leases, err := e.journal.Leases(ctx, r.id)
		if err != nil {
			return err
		}
		tree := r.trees.At(specOf(rec))
		reason, locked, err := tree.LockReason()
		if err != nil || !locked || reason != leaseLock || len(leases[rec.Workspace.ID]) > 0 {
			return err
		}
		return tree.ClearLock()
	})
}
