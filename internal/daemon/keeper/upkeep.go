package keeper

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/croft-sh/croft"
)

// maxRetry is how many times the first wait the last one is, before a merge that waits for the
// user is tried again.
const maxRetry = 16

// keepHouse does the upkeep of projects and tries merges again, one at a time.
func (k *Keeper) keepHouse(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-k.work:
		case <-time.After(k.untilNext()):
		}
		for _, id := range k.due(time.Now()) {
			k.tryAgain(ctx, id)
		}
		if repo, ok := k.nextUpkeep(time.Now()); ok {
			k.collect(ctx, repo)
		}
	}
}

// untilNext is the time until something is due, between a tenth of the shortest interval and
// a minute.
func (k *Keeper) untilNext() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := time.Now().Add(time.Minute)
	for _, one := range k.repos {
		if one.upkeep.Before(next) {
			next = one.upkeep
		}
		if !one.retryAt.IsZero() && one.retryAt.Before(next) {
			next = one.retryAt
		}
	}
	return max(time.Until(next), min(k.o.Times.Retry, k.o.Times.Upkeep, time.Second)/10)
}

// seekWaiting finds the merges that waited for the user before this process began.
func (k *Keeper) seekWaiting(ctx context.Context) {
	list, err := k.o.Service.Merges(ctx, croft.MergesRequest{Repos: croft.ScopeAll})
	if err != nil {
		if ctx.Err() == nil {
			k.fail("retry", "", err)
		}
		return
	}
	for _, m := range list.Items {
		if m.State == croft.MergeDone {
			k.notice(croft.Event{Kind: croft.EventMergePending, Subjects: croft.Subjects{Repo: m.RepoID}, After: &croft.Nouns{Merge: &m}})
		}
	}
}

// due returns the projects whose merges are to be tried again.
func (k *Keeper) due(now time.Time) []croft.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []croft.ID
	for id, one := range k.repos {
		if !one.trying && !one.retryAt.IsZero() && !one.retryAt.After(now) {
			one.trying, one.retryAt = true, time.Time{}
			one.retry = min(2*one.retry, maxRetry*k.o.Times.Retry)
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

// nextUpkeep returns the project whose upkeep is due for longest, and says when it is due
// again: after the interval, give or take a tenth.
func (k *Keeper) nextUpkeep(now time.Time) (croft.Repo, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var next *kept
	for _, one := range k.repos {
		if !one.upkeep.After(now) && (next == nil || one.upkeep.Before(next.upkeep)) {
			next = one
		}
	}
	if next == nil {
		return croft.Repo{}, false
	}
	every := k.o.Times.Upkeep
	next.upkeep = now.Add(every - every/10 + rand.N(every/5+1))
	return next.repo, true
}

// collect removes the orphans of a project and collects its garbage.
func (k *Keeper) collect(ctx context.Context, repo croft.Repo) {
	if !k.o.IsUpkeepDue(repo) {
		return
	}
	begun := time.Now()
	ref := croft.ByID(repo.ID)
	reaped, err := k.o.Service.Reap(ctx, croft.ReapRequest{Repo: ref})
	if err != nil && ctx.Err() == nil {
		k.fail("reap", repo.ID, err)
	}
	collected, err := k.o.Service.GC(ctx, croft.GCRequest{Repo: ref})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		k.fail("gc", repo.ID, err)
		k.postpone(repo.ID)
		return
	}
	k.o.Metrics.Add("croft_keeper_upkeeps_total", 1)
	k.o.Metrics.Add("croft_keeper_upkeep_seconds_total", time.Since(begun).Seconds())
	k.o.Metrics.Add("croft_keeper_freed_bytes_total", float64(collected.Bytes))
	if reaped != nil {
		k.o.Metrics.Add("croft_keeper_reaped_total", float64(len(reaped.Removed)))
	}
	k.o.Log.Debug("upkeep", "project", string(repo.ID), "took", time.Since(begun).Round(time.Millisecond).String(), "bytes", collected.Bytes)
}

// postpone puts the upkeep of a project off that failed.
func (k *Keeper) postpone(id croft.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.repos[id]; one != nil {
		one.upkeep = one.upkeep.Add(2 * k.o.Times.Upkeep)
	}
}
