package journal_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// TestManyMakeTheDatabase: many callers open a state that does not exist yet. All of them
// have the same database, with everything that each of them writes.
func TestManyMakeTheDatabase(t *testing.T) {
	t.Parallel()
	const many = 12
	for round := range 60 {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		start := make(chan struct{})
		var wg sync.WaitGroup
		all := make([]*journal.Journal, many)
		for i := range many {
			wg.Go(func() {
				<-start
				for range i {
					runtime.Gosched()
				}
				j, err := journal.Open(ctx, filepath.Join(dir, "state"), journal.Options{Copy: filepath.Join(dir, "data", "copy.log")})
				if err != nil {
					t.Errorf("round %d: open: %v", round, err)
					return
				}
				all[i] = j
				if err := j.Update(ctx, func(tx *journal.Tx) error {
					return tx.Emit(croft.Event{Time: time.Now(), Kind: fmt.Sprint("test.", i)})
				}); err != nil {
					t.Errorf("round %d: write: %v", round, err)
				}
			})
		}
		close(start)
		wg.Wait()
		for i, j := range all {
			if j == nil {
				continue
			}
			if list, err := j.Events(ctx, 0, journal.Subject{}, 100); err != nil || len(list) != many {
				t.Errorf("round %d: number %d sees %d of %d writes, %v", round, i, len(list), many, err)
			}
		}
		for _, j := range all {
			if j != nil {
				_ = j.Close()
			}
		}
		cancel()
		if t.Failed() {
			return
		}
	}
}
