package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// Notices are what a user should be told that no call was about.
func (e *Engine) Notices() []string {
	out := e.journal.Notices()
	for _, path := range e.journal.Aside() {
		out = append(out, fmt.Sprintf("the state database was damaged, or of an earlier version of Croft; it is kept as %s", path))
	}
	e.noticesMu.Lock()
	defer e.noticesMu.Unlock()
	return append(out, e.notices...)
}

func (e *Engine) notice(format string, args ...any) {
	e.noticesMu.Lock()
	defer e.noticesMu.Unlock()
	e.notices = append(e.notices, fmt.Sprintf(format, args...))
}

// damaged tells of databases that were set aside. What they held is back; they
// are kept for a while, for whoever wants to know why.
func (d *doctor) damaged(ctx context.Context) error {
	if err := d.journal.Check(ctx); err != nil {
		return err
	}
	list, err := journal.Damaged(d.set.Config().StateDir)
	for _, path := range list {
		d.findings = append(d.findings, croft.Finding{
			Code: findDamaged, Subject: path, Fixed: true,
			Message: "The database was damaged, or of an earlier version of Croft, and was set aside here. The file is not needed any more.",
		})
	}
	return err
}

// sweepDamaged deletes databases that were set aside longer ago than removed
// workspaces are kept.
func (e *Engine) sweepDamaged() {
	cfg := e.set.Config()
	list, _ := journal.Damaged(cfg.StateDir)
	for _, path := range list {
		// Set aside means renamed, so the time in the name counts, not the file's.
		var stamp int64
		_, err := fmt.Sscanf(filepath.Base(path), journal.FileName+".damaged-%d", &stamp)
		if err != nil || e.now().Sub(time.Unix(0, stamp)) < time.Duration(cfg.Trash.Retention) {
			continue
		}
		for _, suffix := range []string{"-wal", "-shm", ""} {
			_ = os.Remove(path + suffix)
		}
	}
}
