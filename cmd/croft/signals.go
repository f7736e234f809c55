package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/croft-sh/croft"
)

// signals turns interrupts into the end of a context. The first one asks for
// an end, which takes back what was begun; the second one does not wait.
type signals struct {
	ctx     context.Context
	cancel  context.CancelFunc
	arrived chan os.Signal
	isIdle  atomic.Bool // interrupts are a child's business
}

// patience is how long the end may take that was asked for. What is not taken
// back by then is left to the next command, as after a crash.
const patience = 20 * time.Second

func listen() *signals {
	s := &signals{arrived: make(chan os.Signal, 2)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	signal.Notify(s.arrived, os.Interrupt, syscall.SIGTERM)
	go func() {
		for sig := range s.arrived {
			if s.isIdle.Load() && sig == os.Interrupt {
				continue
			}
			if s.ctx.Err() != nil {
				os.Exit(croft.ExitCanceled)
			}
			s.cancel()
			time.AfterFunc(patience, func() { os.Exit(croft.ExitCanceled) })
		}
	}()
	return s
}

// stop gives the signals back.
func (s *signals) stop() {
	signal.Stop(s.arrived)
	s.cancel()
}

// leaveToChild lets a shell on the same terminal have the interrupts. They are
// not ignored in the sense of the system, which the shell would inherit.
func (s *signals) leaveToChild() (resume func()) {
	s.isIdle.Store(true)
	return func() { s.isIdle.Store(false) }
}
