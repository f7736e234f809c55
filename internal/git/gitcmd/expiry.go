package gitcmd

import (
	"sync"
	"time"
)

// DefaultIdle is for how long a git is kept that nobody asks.
const DefaultIdle = 30 * time.Second

// Expiry ends a git that nobody has asked for a while. It is a timer and nothing
// that runs. Its methods are called under the lock that it was made for.
type Expiry struct {
	timer *time.Timer
	until time.Time
}

// After has end called, under the lock, once it was not put off for that long.
func (x *Expiry) After(idle time.Duration, mu *sync.Mutex, end func()) {
	x.until = time.Now().Add(idle)
	if x.timer != nil {
		x.timer.Reset(idle)
		return
	}
	x.timer = time.AfterFunc(idle, func() {
		mu.Lock()
		defer mu.Unlock()
		if left := time.Until(x.until); left > 0 { // somebody asked while it waited for the lock
			x.timer.Reset(left)
			return
		}
		end()
	})
}

// Stop keeps the timer from ending anything.
func (x *Expiry) Stop() {
	if x.timer != nil {
		x.timer.Stop()
	}
}

// IdleTime is for how long a git is kept that nobody asks.
func (g *Git) IdleTime() time.Duration {
	if g.Options.Idle > 0 {
		return g.Options.Idle
	}
	return DefaultIdle
}
