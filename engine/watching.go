package engine

import (
	"context"
	"time"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/watch"
)

// Watching says whether an engine watches the files of workspaces.
type Watching string

// What an engine watches.
const (
	WatchNothing Watching = ""
	// WatchFiles has the system tell what is touched, so that what nobody touched is not looked at
	// again. It is for a process that lives for long.
	WatchFiles Watching = "files"
)

// Watched is how far the files of workspaces are watched.
type Watched struct {
	Workspaces  int    // those of which it is known that nothing was touched
	Directories int    // that are watched
	Most        int    // the limit of Directories
	Overflows   int    // how often the system had more to tell than it keeps
	Touched     int    // how often something was told of a workspace
	Why         string // why not everything is watched; empty: nothing prevents it
}

// Times of the walks that are made although nothing was told.
const (
	renewTick  = 2 * time.Second
	renewAfter = 40 * time.Second // an answer holds for a minute
	renewMost  = 200              // at a time
	renewShare = 0.006            // of a core
)

// watch begins to watch.
func (e *Engine) watch() {
	e.watches = watch.Open(watch.Options{})
	e.watching.Go(func() {
		wait := renewTick
		for {
			select {
			case <-e.projects.Lifetime.Closing():
				return
			case <-time.After(wait):
			}
			wait = e.renewWatched()
		}
	})
}

// renewWatched walks again what was walked long ago, and returns when it is to be called next.
func (e *Engine) renewWatched() time.Duration {
	ctx, leave, err := e.projects.Lifetime.Enter(context.Background())
	if err != nil {
		return renewTick
	}
	defer leave()
	began := time.Now()
	git.RenewWatched(ctx, e.watches, renewAfter, renewMost)
	return max(renewTick, time.Duration(float64(time.Since(began))/renewShare))
}

// closeWatches ends what watch began.
func (e *Engine) closeWatches() {
	e.watching.Wait()
	e.watches.Close()
}

// Watched says how far the files of workspaces are watched now.
func (e *Engine) Watched() Watched {
	s := e.watches.State()
	return Watched{
		Workspaces: s.Checkouts, Directories: s.Watches, Most: s.Most, Overflows: s.Overflows, Touched: s.Touched, Why: string(s.Why),
	}
}
