package keeper

import (
	"slices"
	"time"

	"github.com/croft-sh/croft"
)

// restocking is when the checkouts in stock of a project are seen to.
type restocking struct {
	at    time.Time     // zero: nothing is due
	again time.Duration // the wait after that; zero: it was the last try
}

// maxRestock is how many times the first wait the last one is, before a machine that was busy is believed to stay so.
const maxRestock = 16

// usesStock reports whether a checkout in stock may have been handed out, or may be of an old commit now.
func usesStock(e croft.Event) bool {
	return slices.Contains([]string{croft.EventWorkspaceCreated, croft.EventMergeMerged, croft.EventMergeReverted, croft.EventTargetMoved}, e.Kind)
}

// arm has the stock filled after the first wait, and some times more, because a busy machine makes nothing for it. Events that come
// close together cause one filling.
func (r *restocking) arm(now time.Time, first time.Duration) {
	if r.at.IsZero() || r.again > first {
		r.at = now.Add(first)
	}
	r.again = first
}

// take reports whether the stock is to be filled now.
func (r *restocking) take(now time.Time, first time.Duration) bool {
	if r.at.IsZero() || r.at.After(now) {
		return false
	}
	r.at = time.Time{}
	if r.again < maxRestock*first {
		r.again *= 2
		r.at = now.Add(r.again)
	}
	return true
}

// restock has the stocks filled that are due.
func (k *Keeper) restock(now time.Time) {
	if k.o.Restock == nil {
		return
	}
	k.mu.Lock()
	var due []croft.Repo
	for _, one := range k.repos {
		if one.stock.take(now, k.o.Times.Restock) {
			due = append(due, one.repo)
		}
	}
	k.mu.Unlock()
	for _, repo := range due {
		k.o.Metrics.Add("croft_keeper_restocks_total", 1)
		if err := k.o.Restock(repo); err != nil {
			k.fail("pool", repo.ID, err)
		}
	}
}
