package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
)

// TakeRequested takes the lease that a request asks for.
func (svc *Workspaces) TakeRequested(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	asked, err := svc.askedLease(req)
	if err != nil {
		return nil, err // before the workspace is looked for
	}
	if err := layout.CheckKey(req.Key); req.Key != "" && err != nil {
		return nil, err
	}
	r, rec, err := svc.findLeased(ctx, req)
	if err == nil {
		err = svc.Recover(ctx, r.ID)
	}
	if err != nil {
		return nil, err
	}
	asked.Workspace = rec.Workspace.ID
	key := journal.Key{Repo: r.ID, Verb: "hold", Key: req.Key}
	req.Key, req.Repo, req.Workspace = "", "", string(rec.Workspace.ID)
	key.Request = once.DigestOf(req)
	if err := svc.takeLease(ctx, r, rec, &asked, key); err != nil {
		return nil, explain.WithWorkspace(rec.Workspace.Name, svc.VanishedError(ctx, rec, err))
	}
	if asked.Owner == owner.Self() {
		svc.leases.add(asked)
	}
	asked.Process = owner.Name(asked.Owner)
	return &asked, failpoint.Hit("lease.taken")
}

// findLeased finds the workspace of a request. An ID needs no repository beside it.
func (svc *Workspaces) findLeased(ctx context.Context, req croft.LeaseRequest) (*project.Project, journal.Record, error) {
	if id := croft.RefToID(req.Workspace); req.Repo == "" && project.IsID(string(id)) {
		if r, rec, err := svc.FindByID(ctx, id); err == nil {
			return r, rec, nil
		}
	}
	s, err := svc.Locate(ctx, req.Repo)
	if err != nil {
		return nil, journal.Record{}, err
	}
	rec, err := svc.Find(ctx, s, req.Workspace)
	return s.Project, rec, err
}

// askedLease returns the lease that a request asks for, without its workspace. It fails with
// InvalidRequest if its owner would have to be seen and is not, or its TTL is out of bounds.
func (svc *Workspaces) askedLease(req croft.LeaseRequest) (croft.Lease, error) {
	cfg := svc.Settings.Config().Lease
	l := croft.Lease{ID: project.NewID(), Owner: req.Owner, Term: req.Term, Mode: req.Mode, TTL: cmp.Or(req.TTL, croft.Duration(cfg.TTL))}
	if most := croft.Duration(max(cfg.MaxTTL, cfg.TTL)); l.TTL < croft.Duration(time.Second) || l.TTL > most {
		return l, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("a lease lives for a time between 1s and %v, not for %v", most, l.TTL), Hint: "lease.max_ttl"}
	}
	switch o := req.Owner; {
	case o == (croft.Owner{}):
		l.Owner = owner.Self()
	case o.Host == "":
		id, seen := proc.Of(o.PID)
		if !seen {
			return l, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no process %d that could hold a lease", o.PID), Hint: "croft hold NAME --pid $$"}
		}
		l.Owner = owner.Of(id)
	case o.PID < 0 || slices.ContainsFunc([]string{o.Host, o.Boot, o.Space, o.Start}, isNoName):
		return l, &croft.Error{Code: croft.InvalidRequest, Message: "the owner of the lease has a field that is too long, or no plain text"}
	}
	switch life := owner.Life(l.Owner); {
	case life == proc.Dead:
		return l, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("process %d has ended", l.Owner.PID)}
	case life == proc.Unknown && l.Term == croft.TermProcess:
		return l, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("process %d cannot be seen from here: its lease has to be renewed", l.Owner.PID)}
	}
	return l, nil
}

// isNoName reports whether a text cannot stand in a message.
func isNoName(s string) bool {
	return len(s) > 255 || strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}

// takeLease takes a lease. It sets what is not known before: its epoch and its expiry; and
// its ID and mode, if the owner has one already.
func (svc *Workspaces) takeLease(ctx context.Context, r *project.Project, rec journal.Record, l *croft.Lease, key journal.Key) error {
	isolated := rec.Workspace.Mode != croft.ModeLegacy
	if isolated {
		if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
			return r.BrokenNowError(ctx, rec, h)
		}
	}
	if rec.Workspace.State != croft.Ready {
		return project.NotReadyError(croft.WorkspaceBroken, rec)
	}
	if err := svc.wake(ctx, r, rec); err != nil {
		return err
	}
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
		if err := failpoint.Hit("lease.locked"); err != nil {
			return err
		}
		return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
			now, err := tx.Record(rec.Workspace.ID)
			if err != nil || now.Workspace.State == croft.Trashed {
				return project.WorkspaceNotFoundError("", rec.Workspace.Name)
			}
			return svc.putLease(tx, now, l, key)
		})
	}
	if isolated {
		return svc.UnderLock(ctx, r, take)
	}
	return take()
}

// wake records that a process will work in a workspace again, if the machine was restarted.
// If the files are damaged, the next commit reports it. If they are not, that is recorded
// before the process changes them.
func (svc *Workspaces) wake(ctx context.Context, r *project.Project, rec journal.Record) error {
	boot := proc.Here().Boot
	if rec.Boot == boot {
		return nil
	}
	if _, err := svc.Commits.Verify(ctx, r, rec); err != nil {
		return err
	}
	rec, err := svc.Journal.Record(ctx, rec.Workspace.ID)
	if err != nil {
		return err
	}
	rec.Wake(boot)
	return svc.SaveRecord(ctx, &rec, nil)
}

// ownLeases has the leases that were taken through this engine in the name of its process.
type ownLeases struct {
	mu   sync.Mutex
	byID map[croft.ID]croft.Lease
}

func (h *ownLeases) add(l croft.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = map[croft.ID]croft.Lease{}
	}
	h.byID[l.ID] = l
}

func (h *ownLeases) find(id croft.ID) (croft.Lease, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.byID[id]
	return l, ok
}

func (h *ownLeases) forget(id croft.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byID, id)
}

func (h *ownLeases) ids() []croft.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.byID))
}

// RenewLease extends a lease from now on by its TTL. It fails with LeaseLost if there is no
// such lease.
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
		if agent := croft.ActorFrom(ctx).Workspace; agent != "" && agent != l.Workspace {
			return leaseLostError() // an agent prolongs no lease of another's
		}
		l.ExpiresAt = svc.Now().Add(time.Duration(cmp.Or(l.TTL, croft.Duration(svc.Settings.Config().Lease.TTL))))
		return tx.PutLease(l)
	})
	if errors.Is(err, journal.ErrNotFound) {
		svc.leases.forget(req.Lease)
		return nil, leaseLostError()
	}
	if err != nil {
		return nil, err
	}
	return &l, nil
}

func leaseLostError() error {
	return &croft.Error{Code: croft.LeaseLost, Message: "the lease was released, reaped, or taken over"}
}

// reviveLease returns a lease that was taken through this engine and that the database has
// lost, so that it is recorded again. It deletes the lease without an owner that the
// workspace was given meanwhile. An exclusive lease stays lost, and so does one from before
// an exclusive lease.
func reviveLease(tx *journal.Tx, own croft.Lease) (croft.Lease, error) {
	rec, err := tx.Record(own.Workspace)
	if err != nil || rec.Workspace.State == croft.Trashed || own.Mode == croft.LeaseExclusive || own.Epoch != rec.LeaseEpoch {
		return croft.Lease{}, journal.ErrNotFound
	}
	others, err := tx.LeasesOf(own.Workspace)
	for _, l := range others {
		if l.Owner == (croft.Owner{}) {
			err = errors.Join(err, tx.DeleteLease(l.ID))
		}
	}
	return own, err
}

// ReleaseLease releases a lease. It is no error if the lease is released already.
func (svc *Workspaces) ReleaseLease(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error) {
	if !project.IsID(string(req.Lease)) { // no lease ever had such an ID
		return nil, &croft.Error{Code: croft.LeaseLost, Message: fmt.Sprintf("there is no lease %q", req.Lease), Hint: "croft list"}
	}
	return &croft.Released{Lease: req.Lease}, svc.deleteLease(ctx, req.Lease)
}

// ReleaseAll releases the leases that were taken through this engine for its process.
func (svc *Workspaces) ReleaseAll(ctx context.Context) []error {
	var errs []error
	for _, id := range svc.leases.ids() {
		errs = append(errs, explain.Error("release", "", svc.deleteLease(ctx, id)))
	}
	return errs
}

func (svc *Workspaces) deleteLease(ctx context.Context, lease croft.ID) error {
	svc.leases.forget(lease)
	var l croft.Lease
	var rec journal.Record
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if l, err = tx.Lease(lease); err != nil {
			return err
		}
		if rec, err = tx.Record(l.Workspace); err != nil {
			return err
		}
		return svc.endLease(tx, rec, l)
	})
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = svc.ClearLeaseLock(ctx, rec)
	}
	return explain.WithWorkspace(rec.Workspace.Name, err)
}

// ClearLeaseLock removes git's lock of a workspace once its last lease is released.
func (svc *Workspaces) ClearLeaseLock(ctx context.Context, rec journal.Record) error {
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

func (svc *Workspaces) emitLease(tx *journal.Tx, kind string, rec journal.Record, lease croft.ID) error {
	e := svc.WorkspaceEvent(kind, rec)
	e.Lease = lease
	return tx.Emit(e)
}

func (svc *Workspaces) endLease(tx *journal.Tx, rec journal.Record, l croft.Lease) error {
	return errors.Join(tx.DeleteLease(l.ID), svc.emitLease(tx, croft.EventLeaseReleased, rec, l.ID))
}

// CheckLease fails with LeaseLost if a lease that a request names is not in force: it was
// released, reaped or taken over, or is another workspace's.
func (svc *Workspaces) CheckLease(ctx context.Context, rec journal.Record, named croft.Lease) error {
	leases, err := svc.Journal.Leases(ctx, rec.RepoID)
	if err == nil {
		_, err = leaseInForce(rec, leases[rec.Workspace.ID], named)
	}
	return err
}

// EndLease ends, in a transaction, a lease that a request names. It fails as CheckLease
// does. The caller calls ClearLeaseLock afterwards.
func (svc *Workspaces) EndLease(tx *journal.Tx, named croft.Lease) error {
	rec, err := tx.Record(named.Workspace)
	if err != nil {
		return err
	}
	leases, err := tx.LeasesOf(named.Workspace)
	if err != nil {
		return err
	}
	l, err := leaseInForce(rec, leases, named)
	if err != nil {
		return err
	}
	svc.leases.forget(l.ID)
	return svc.endLease(tx, rec, l)
}

// leaseInForce finds a lease that a request names among those of a workspace.
func leaseInForce(rec journal.Record, leases []croft.Lease, named croft.Lease) (croft.Lease, error) {
	for _, l := range leases {
		if l.ID == named.ID && l.Epoch == rec.LeaseEpoch && (named.Epoch == 0 || named.Epoch == l.Epoch) {
			return l, nil
		}
	}
	return croft.Lease{}, leaseLostError()
}

// putLease records a lease, and deletes the leases of dead owners, which would make the
// workspace an orphan once this lease is released. It deletes the leases that have expired,
// too, where they or the new one are exclusive: they are lost. An owner keeps its exclusive
// lease, and one for the term of its process. So does a caller that repeats its request
// under the same key, as the new owner if its process is another one.
func (svc *Workspaces) putLease(tx *journal.Tx, rec journal.Record, l *croft.Lease, key journal.Key) error {
	l.ExpiresAt = svc.Now().Add(time.Duration(l.TTL))
	if key.Key != "" {
		used, err := tx.FindKey(key.Repo, key.Verb, key.Key)
		if err == nil {
			return repeatLease(tx, rec, l, key, used)
		}
		if !errors.Is(err, journal.ErrNotFound) {
			return err
		}
	}
	others, err := tx.LeasesOf(rec.Workspace.ID)
	if err != nil {
		return err
	}
	isNew := true
	l.Epoch = rec.LeaseEpoch
	for _, o := range others {
		isActive := project.IsActive(o, svc.Now())
		isExclusive := o.Mode == croft.LeaseExclusive || l.Mode == croft.LeaseExclusive
		isOwn := o.Owner == l.Owner && (o.Mode == croft.LeaseExclusive && isActive || !isExclusive && l.Term == croft.TermProcess && o.Term == l.Term)
		switch {
		case isOwn:
			isNew, l.ID, l.Mode, l.Epoch = false, o.ID, o.Mode, o.Epoch
		case isExclusive && isActive:
			return project.LeasedError(rec, o)
		case !isExclusive && owner.Life(o.Owner) != proc.Dead:
			continue
		}
		if err := tx.DeleteLease(o.ID); err != nil {
			return err
		}
	}
	if isNew && l.Mode == croft.LeaseExclusive {
		rec.LeaseEpoch++
		l.Epoch = rec.LeaseEpoch
		if err := tx.PutRecord(rec); err != nil {
			return err
		}
	}
	if key.Key != "" {
		key.Operation = l.ID
		if err := tx.PutKey(key); err != nil {
			return err
		}
	}
	return errors.Join(tx.PutLease(*l), svc.emitLease(tx, croft.EventLeaseTaken, rec, l.ID))
}

// repeatLease prolongs the lease that was taken under a key, for the owner that asks now.
func repeatLease(tx *journal.Tx, rec journal.Record, l *croft.Lease, key, used journal.Key) error {
	if used.Request != key.Request {
		return once.KeyConflictError(key.Key)
	}
	others, err := tx.LeasesOf(rec.Workspace.ID)
	if err != nil {
		return err
	}
	old, err := leaseInForce(rec, others, croft.Lease{ID: used.Operation})
	if err != nil {
		return err
	}
	l.ID, l.Mode, l.Epoch = old.ID, old.Mode, old.Epoch
	return errors.Join(tx.DeleteLease(old.ID), tx.PutLease(*l))
}
