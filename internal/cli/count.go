package cli

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/croft-sh/croft"
)

// startCounted is startProgress with how many of several things are done, as the events of an act of that kind tell.
// It is about this project's only act of the kind with so many things: another one that runs at the same time may be
// counted in its place, for as long as the line is there.
func (a *app) startCounted(ctx context.Context, svc croft.Events, what, kind string, of int) (stop func()) {
	if of < 2 || !a.canAsk() || a.env.IsDumb || a.quiet {
		return a.startProgress(what)
	}
	ctx, cancel := context.WithCancel(ctx)
	var done atomic.Int64
	over := make(chan struct{})
	go func() {
		defer close(over)
		followCount(ctx, svc, kind, of, &done)
	}()
	end := a.startProgressOf(func() workStage {
		s := workStage{text: what}
		if n := done.Load(); n > 0 {
			s.count = fmt.Sprintf("%d of %d", n, of)
		}
		return s
	})
	return func() {
		cancel()
		<-over
		end()
	}
}

// followCount stores how many things of an act are done, until the context is over. After an error the count stays.
func followCount(ctx context.Context, svc croft.Events, kind string, of int, done *atomic.Int64) {
	for e, err := range svc.Events(ctx, croft.EventsRequest{From: croft.FromNow, Kinds: []string{croft.EventOperationProgressed}, Follow: croft.FollowNew}) {
		if err != nil {
			return
		}
		if e.After != nil && e.After.Progress != nil && e.After.Progress.Kind == kind && e.After.Progress.Total == of {
			done.Store(int64(e.After.Progress.Done))
		}
	}
}
