package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/croft-sh/croft/internal/flock"
)

// Slots limits how many Runs are at work at once, in all processes that use the same
// directory. The zero value sets no limit. The processes of a check do not hold its slot: one
// that outlives Croft does not keep other checks from running.
type Slots struct {
	Dir string // of the lock files; absolute
	N   int    // how many; below 1: no limit
}

// slotFirst and slotLast are the shortest and the longest time after which a Run that waits for
// a slot looks again.
const (
	slotFirst = 2 * time.Millisecond
	slotLast  = 50 * time.Millisecond
)

// take waits for a free slot. The caller must call release.
func (s Slots) take(ctx context.Context) (release func(), err error) {
	if s.N < 1 {
		return func() {}, nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	for wait := slotFirst; ; wait = min(2*wait, slotLast) {
		for n := range s.N {
			lock, err := flock.Try(filepath.Join(s.Dir, strconv.Itoa(n)+".lock"))
			if err == nil {
				return func() { _ = lock.Unlock() }, nil
			}
			if !errors.Is(err, flock.ErrHeld) {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}
