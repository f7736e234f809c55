package project

import (
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
)

// TestHeld: a lease protects its workspace until it expires or its owner is provably dead;
// one with TermProcess does so while its owner is known to live.
func TestHeld(t *testing.T) {
	t.Parallel()
	now := time.Now()
	alive, elsewhere := owner.Self(), owner.Self()
	elsewhere.Host = "another machine"
	dead := owner.Self()
	if dead.Start = "never"; owner.Life(dead) != proc.Dead {
		t.Skip("this platform does not tell a process from another of its number")
	}
	for name, c := range map[string]struct {
		lease croft.Lease
		want  bool
	}{
		"alive":                       {croft.Lease{Owner: alive, ExpiresAt: now.Add(1)}, true},
		"dead":                        {croft.Lease{Owner: dead, ExpiresAt: now.Add(1)}, false},
		"elsewhere":                   {croft.Lease{Owner: elsewhere, ExpiresAt: now.Add(1)}, true},
		"expired":                     {croft.Lease{Owner: alive, ExpiresAt: now}, false},
		"expired, for life":           {croft.Lease{Owner: alive, ExpiresAt: now, Term: croft.TermProcess}, true},
		"expired, for life, dead":     {croft.Lease{Owner: dead, ExpiresAt: now, Term: croft.TermProcess}, false},
		"expired, for life elsewhere": {croft.Lease{Owner: elsewhere, ExpiresAt: now, Term: croft.TermProcess}, false},
	} {
		if got := IsActive(c.lease, now); got != c.want {
			t.Errorf("%s: held is %t", name, got)
		}
	}
}
