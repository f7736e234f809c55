package client_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// renewing is a Service whose first renewal never ends.
type renewing struct {
	croft.UnimplementedService
	began    chan struct{}
	renewals atomic.Int32
}

func (r *renewing) Renew(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error) {
	if r.renewals.Add(1) == 1 {
		close(r.began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &croft.Lease{ID: req.Lease}, nil
}

// TestRenewalIsRepeated: a lease is not lost because the daemon was killed while it was
// renewed. It is the same whether the daemon had done it already.
func TestRenewalIsRepeated(t *testing.T) {
	svc := &renewing{began: make(chan struct{})}
	s := newServer(t, svc)
	c := s.open(20 * time.Second)
	renewed := make(chan error)
	go func() {
		_, err := c.Renew(t.Context(), croft.RenewRequest{Lease: "l"})
		renewed <- err
	}()
	<-svc.began
	s.stop()
	s.start()
	select {
	case err := <-renewed:
		if err != nil || svc.renewals.Load() != 2 {
			t.Errorf("%v after %d renewals", err, svc.renewals.Load())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call does not end")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
