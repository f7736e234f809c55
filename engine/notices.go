package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// Notices are what a user should be told that no call was about.
func (e *Engine) Notices() []string {
	out := e.journal.Notices()
	for _, path := range e.journal.Aside() {
		out = append(out, fmt.Sprintf("the state database was damaged, or of an earlier version of Croft; it is kept as %s; croft doctor --import shows what git knows of workspaces that are missing now", path))
	}
	for _, r := range e.everOpened() {
		for _, err := range r.git.Unlogged() {
			e.notice("%v", err)
		}
	}
	e.noticesMu.Lock()
	defer e.noticesMu.Unlock()
	return append(out, e.notices...)
}

func (e *Engine) notice(format string, args ...any) {
	e.noticesMu.Lock()
	defer e.noticesMu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(e.notices, text) {
		e.notices = append(e.notices, text)
	}
}

// noticeOfGit says that holes are known in the git that runs. It is said once for
// each version, and by the doctor always; nothing is refused, because
// distributions repair older versions and keep their number.
func (e *Engine) noticeOfGit(when noticeTime) {
	v, err := e.git.Version()
	if err != nil {
		return // whoever needs git is told
	}
	next, ok := v.Unrepaired()
	if !ok || when == noticeOnce && !e.git.IsFirstUse(v) {
		return
	}
	e.notice("git %s lacks the fixes for CVE-2025-48384 and CVE-2025-48385, unless your distribution added them; git %s has them", v, next)
}

// noticeTime says how often something is told.
type noticeTime string

const (
	noticeOnce   noticeTime = "once"
	noticeAlways noticeTime = "always"
)

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
