package croft

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Revert submits a revert and waits until it has ended.
func Revert(ctx context.Context, svc Merges, req RevertRequest) (*Merge, error) {
	m, err := svc.SubmitRevert(ctx, req)
	if err != nil {
		return nil, err
	}
	return svc.WaitMerge(ctx, WaitRequest{Merge: m.ID})
}

// Apply submits a part of a review and waits until its merge has ended.
func Apply(ctx context.Context, svc Service, req ApplyRequest) (*Merge, error) {
	m, err := svc.SubmitApply(ctx, req)
	if err != nil {
		return nil, err
	}
	return svc.WaitMerge(ctx, WaitRequest{Merge: m.ID})
}

// Held is a lease that is renewed until it is released or lost, or its context ends.
type Held struct {
	Lease Lease // as it was taken
	svc   Leases
	stop  context.CancelFunc
	done  chan struct{}
	state context.Context // ends when the lease is lost
	lose  context.CancelCauseFunc
}

// Hold takes a lease and renews it three times within its TTL.
func Hold(ctx context.Context, svc Leases, req LeaseRequest) (*Held, error) {
	asked := time.Now()
	l, err := svc.TakeLease(ctx, req)
	if err != nil {
		return nil, err
	}
	h := &Held{Lease: *l, svc: svc, done: make(chan struct{})}
	h.state, h.lose = context.WithCancelCause(context.Background())
	ctx, h.stop = context.WithCancel(ctx)
	go h.renew(ctx, asked)
	return h, nil
}

// renew goes by the caller's clock: the Service's may differ.
func (h *Held) renew(ctx context.Context, since time.Time) {
	defer close(h.done)
	ttl := cmp.Or(time.Duration(h.Lease.TTL), time.Minute)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(ttl / 3):
		}
		asked := time.Now()
		attempt, cancel := context.WithTimeout(ctx, max(time.Until(since.Add(ttl)), ttl/3))
		_, err := h.svc.Renew(attempt, RenewRequest{Lease: h.Lease.ID})
		cancel()
		switch {
		case err == nil:
			since = asked
		case ctx.Err() != nil: // released
			return
		case errors.Is(err, LeaseLost), errors.Is(err, Closed), time.Since(since) >= ttl:
			h.lose(err)
			return
		}
	}
}

// Lost is closed when the lease was lost, or no renewal got through within its TTL.
func (h *Held) Lost() <-chan struct{} { return h.state.Done() }

// Err returns why the lease was lost, or nil.
func (h *Held) Err() error { return context.Cause(h.state) }

// Release ends the renewing and the lease.
func (h *Held) Release(ctx context.Context) error {
	h.stop()
	<-h.done
	_, err := h.svc.Release(ctx, ReleaseRequest{Lease: h.Lease.ID})
	return err
}
