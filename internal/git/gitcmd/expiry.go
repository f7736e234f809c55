package gitcmd

import (
	"sync"
	"time"
)

// defaultIdle is how long an idle git process is kept.
const defaultIdle = 30 * time.Second

// Expiry ends a git process that has been idle for a while. It uses a timer and no
// goroutine. Its methods are called under the lock that is passed to After.
type Expiry struct {
	timer *time.Timer
	until time.Time
}

// After calls end, under the lock, after idle without another call of After.
func (x *Expiry) After(idle time.Duration, mu *sync.Mutex, end func()) {
	x.until = time.Now().Add(idle)
	if x.timer != nil {
		x.timer.Reset(idle)
		return
	}
	x.timer = time.AfterFunc(idle, func() {
		mu.Lock()
		defer mu.Unlock()
		if left := time.Until(x.until); left > 0 { // After was called while the timer waited for the lock
			x.timer.Reset(left)
			return
		}
		end()
	})
}

// Stop stops the timer.
func (x *Expiry) Stop() {
	if x.timer != nil {
		x.timer.Stop()
	}
}

// IdleTime returns how long an idle git process is kept.
func (g *Git) IdleTime() time.Duration {
	if g.Options.Idle > 0 {
		return g.Options.Idle
	}
	return defaultIdle
}
