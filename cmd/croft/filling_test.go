package main

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClaimPause: of commands that end at about the same time one starts the filling of the stock, and the next one after that has
// looked does again.
func TestClaimPause(t *testing.T) {
	file := filepath.Join(t.TempDir(), "filling")
	if !claimPause(file, time.Now()) {
		t.Fatal("the first was refused")
	}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{fillPause / 2, false}, {fillPause + time.Second, true}, {fillPause + 2*time.Second, true}, {0, true}} { // the clock was put back
		if got := claimPause(file, time.Now().Add(c.after)); got != c.want {
			t.Errorf("%v later: %v", c.after, got)
		}
	}
	var claimed atomic.Int64
	var all sync.WaitGroup
	now := time.Now().Add(time.Hour)
	for range 20 {
		all.Go(func() {
			if claimPause(file, now) {
				claimed.Add(1)
			}
		})
	}
	all.Wait()
	if n := claimed.Load(); n != 1 {
		t.Errorf("%d of 20 at once", n)
	}
}
