package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/proc"
)

// signals cancels a context when an interrupt arrives. The command then rolls back what
// it has begun; a second interrupt ends the process at once.
type signals struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	arrived chan os.Signal
	isIdle  atomic.Bool // interrupts are for a child process
	allowed atomic.Int64
}

// patience is how long a canceled command may take to roll back. Then the process
// exits, and the next command rolls back the rest, as after a crash.
const patience = 20 * time.Second

func listenForSignals() *signals {
	s := &signals{arrived: make(chan os.Signal, 2)}
	s.allowed.Store(int64(patience))
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	signal.Notify(s.arrived, os.Interrupt, syscall.SIGTERM)
	go func() {
		for sig := range s.arrived {
			if s.isIdle.Load() && sig == os.Interrupt {
				continue
			}
			if s.ctx.Err() != nil {
				os.Exit(croft.ExitCanceled)
			}
			s.cancel(proc.SignaledError{Signal: sig})
			time.AfterFunc(time.Duration(s.allowed.Load()), func() { os.Exit(croft.ExitCanceled) })
		}
	}()
	return s
}

// stop ends the listening for signals and cancels the context.
func (s *signals) stop() {
	signal.Stop(s.arrived)
	s.cancel(nil)
}

// allow gives a canceled command another time than [patience] to end.
func (s *signals) allow(d time.Duration) { s.allowed.Store(int64(d)) }

// leaveToChild ignores interrupts until resume is called, for a shell on the same
// terminal, which gets them too. The signal's disposition in the system does not
// change: the shell would inherit it.
func (s *signals) leaveToChild() (resume func()) {
	s.isIdle.Store(true)
	return func() { s.isIdle.Store(false) }
}
