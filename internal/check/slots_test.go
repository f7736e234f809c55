package check

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSlots: many take slots of one directory, and never more hold one than there are. A
// caller that has ended does not wait.
func TestSlots(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		s := Slots{Dir: t.TempDir(), N: n}
		var now, most atomic.Int32
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				release, err := s.take(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				held := now.Add(1)
				for was := most.Load(); held > was && !most.CompareAndSwap(was, held); was = most.Load() {
				}
				time.Sleep(5 * time.Millisecond)
				now.Add(-1)
				release()
			})
		}
		wg.Wait()
		if got := int(most.Load()); got != n {
			t.Errorf("of %d slots %d were held at once", n, got)
		}
	}
	full := Slots{Dir: t.TempDir(), N: 1}
	release, err := full.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release() // a lock that nobody refers to is given up with its file
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := full.take(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a slot that is held was waited for: %v", err)
	}
}
