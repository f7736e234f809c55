package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
)

// beginTime is more than enough from making an operation's lock file to
// locking it.
const beginTime = time.Minute

// sweepLocks removes the lock files of processes that died just before their
// operation was written down, or just after it had ended. What cannot be
// removed now can be next time.
func (e *Engine) sweepLocks(ctx context.Context) {
	e.sweepDamaged()
	dir := filepath.Dir(e.opLock(""))
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".lock")
		info, err := entry.Info()
		if !ok || err != nil || time.Since(info.ModTime()) < beginTime {
			continue
		}
		if op, err := e.journal.Operation(ctx, croft.ID(id)); err == nil && op.State == journal.OpRunning {
			continue
		}
		l, err := flock.Try(filepath.Join(dir, entry.Name()))
		if err != nil {
			continue
		}
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}
}
