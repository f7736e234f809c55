package keeper

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/croft-sh/croft"
)

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
		k.restock(time.Now())
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
		if at := one.waiting.next(); !at.IsZero() && at.Before(next) {
			next = at
		}
		if at := one.stock.at; !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return max(time.Until(next), min(k.o.Times.Retry, k.o.Times.Upkeep, k.o.Times.Restock, time.Second)/10)
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
