package view

import (
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/proc"
)

// TestOrphan: a workspace is an orphan if all its leases are over, their owners are dead, and no agent that had one of them has said how
// it ended.
func TestOrphan(t *testing.T) {
	now := time.Unix(10000, 0)
	me := proc.Self()
	alive := croft.Owner{Host: me.Host, Boot: me.Boot, Space: me.Space, PID: me.PID, Start: me.Start}
	dead := alive
	dead.Start = "1"
	lease := func(o croft.Owner, end time.Duration) croft.Lease {
		return croft.Lease{Owner: o, TTL: croft.Duration(time.Minute), ExpiresAt: now.Add(end)}
	}
	over := lease(dead, -time.Hour)
	taken := over.ExpiresAt.Add(-time.Minute)
	for name, c := range map[string]struct {
		leases   []croft.Lease
		finished time.Time
		want     bool
	}{
		"no lease":                          {},
		"over":                              {leases: []croft.Lease{over}, want: true},
		"not over":                          {leases: []croft.Lease{over, lease(dead, time.Second)}},
		"of a living process":               {leases: []croft.Lease{over, lease(alive, -time.Hour)}},
		"finished since":                    {leases: []croft.Lease{over}, finished: taken.Add(time.Second)},
		"finished before":                   {leases: []croft.Lease{over}, finished: taken.Add(-time.Second), want: true},
		"finished between, a later one":     {leases: []croft.Lease{over, lease(dead, -time.Minute)}, finished: taken.Add(time.Second), want: true},
		"finished between, an earlier last": {leases: []croft.Lease{lease(dead, -time.Minute), over}, finished: taken.Add(time.Second), want: true},
	} {
		v := &view{now: now, leases: map[croft.ID][]croft.Lease{"w": c.leases}}
		w := croft.Workspace{ID: "w"}
		if !c.finished.IsZero() {
			w.Finished = &croft.Finished{At: c.finished}
		}
		if got := v.isOrphan(w); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
