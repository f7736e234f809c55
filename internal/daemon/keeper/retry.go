package keeper

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
)

// maxRetry is how many times the first wait the last one is, before a merge that waits for the
// user is tried again.
const maxRetry = 16

// waiting are merges that wait for the user, with when each is tried again.
type waiting map[croft.ID]*retry

// retry is when a merge is tried again.
type retry struct {
	wait time.Duration // from the next end of a try
	at   time.Time     // zero: it is being tried
}

// arm has a merge tried again, after the first wait if it was not tried before.
func (w waiting) arm(id croft.ID, first time.Duration) {
	if w[id] == nil {
		w[id] = &retry{wait: first}
	}
	w[id].at = time.Now().Add(w[id].wait)
}

// next returns when the first of the merges is tried again, or the zero time.
func (w waiting) next() (at time.Time) {
	for _, r := range w {
		if !r.at.IsZero() && (at.IsZero() || r.at.Before(at)) {
			at = r.at
		}
	}
	return at
}

// take reports whether a merge is to be tried again now, and doubles the waits of those that
// are.
func (w waiting) take(now time.Time, most time.Duration) (isDue bool) {
	for _, r := range w {
		if !r.at.IsZero() && !r.at.After(now) {
			r.at, r.wait, isDue = time.Time{}, min(2*r.wait, most), true
		}
	}
	return isDue
}

// seekWaiting finds the merges that wait for the user and of which no event told this process,
// and forgets those that wait no more.
func (k *Keeper) seekWaiting(ctx context.Context) {
	there := map[croft.ID]croft.ID{} // the project of each
	for m, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Merge], error) {
		return k.o.Service.Merges(ctx, croft.MergesRequest{Repos: croft.ScopeAll, Page: page})
	}) {
		if err != nil {
			if ctx.Err() == nil {
				k.fail("retry", "", err)
			}
			return
		}
		if m.State == croft.MergeDone && isRetried(m) {
			there[m.ID] = m.RepoID
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, repo := range there {
		one := k.repos[repo]
		if one == nil {
			continue
		}
		if r := one.waiting[id]; r == nil || r.at.IsZero() && !one.trying { // its event was missed
			one.waiting.arm(id, k.o.Times.Retry)
			signal(k.work)
		}
	}
	for _, one := range k.repos {
		for id := range one.waiting {
			if there[id] == "" {
				delete(one.waiting, id)
			}
		}
	}
}

// due returns the projects whose merges are to be tried again.
func (k *Keeper) due(now time.Time) []croft.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []croft.ID
	for id, one := range k.repos {
		if one.trying {
			continue
		}
		if isDue := one.waiting.take(now, maxRetry*k.o.Times.Retry); isDue || one.atOnce {
			one.trying, one.atOnce = true, false
			ids = append(ids, id)
		}
	}
	return ids
}

// tryAgain has the merges of a project tried again that wait for the user. It waits for checks
// in the background: those of one project do not keep another one waiting. An event says if a
// merge still waits.
func (k *Keeper) tryAgain(ctx context.Context, id croft.ID) {
	k.running.Go(func() {
		_, err := k.o.Service.DriveLanes(ctx, croft.DriveRequest{Repo: croft.ByID(id)})
		k.o.Metrics.Add("croft_keeper_retries_total", 1)
		if err != nil && ctx.Err() == nil {
			k.fail("retry", id, err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if one := k.repos[id]; one != nil {
			one.trying = false
		}
	})
}
