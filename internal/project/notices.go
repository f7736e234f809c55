package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft/internal/journal"
)

// Notices are what a user should be told that no call was about.
func (p *Projects) Notices() []string {
	out := p.Journal.Notices()
	for _, path := range p.Journal.Aside() {
		out = append(out, fmt.Sprintf("the state database was damaged, or of an earlier version of Croft; it is kept as %s; croft doctor --import shows what git knows of workspaces that are missing now", path))
	}
	for _, r := range p.EverOpened() {
		for _, err := range r.Git.Unlogged() {
			p.Notice("%v", err)
		}
	}
	p.noticesMu.Lock()
	defer p.noticesMu.Unlock()
	return append(out, p.notices...)
}

// Notice keeps a sentence for the user that no answer has a place for. Said twice, it is
// kept once.
func (p *Projects) Notice(format string, args ...any) {
	p.noticesMu.Lock()
	defer p.noticesMu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.notices, text) {
		p.notices = append(p.notices, text)
	}
}

// NoticeOfGit says that holes are known in the git that runs. It is said once for
// each version, and by the doctor always; nothing is refused, because
// distributions repair older versions and keep their number.
func (p *Projects) NoticeOfGit(when NoticeTime) {
	v, err := p.Git.Version()
	if err != nil {
		return // a call that needs git fails with it
	}
	next, ok := v.Unrepaired()
	if !ok || when == noticeOnce && !p.Git.IsFirstUse(v) {
		return
	}
	p.Notice("git %s lacks the fixes for CVE-2025-48384 and CVE-2025-48385, unless your distribution added them; git %s has them", v, next)
}

// NoticeTime says how often something is told.
type NoticeTime string

// How often something is told.
const (
	noticeOnce   NoticeTime = "once"
	NoticeAlways NoticeTime = "always"
)

// sweepDamaged deletes databases that were set aside longer ago than removed
// workspaces are kept.
func (p *Projects) sweepDamaged() {
	cfg := p.Settings.Config()
	list, _ := journal.Damaged(cfg.StateDir)
	for _, path := range list {
		// Set aside means renamed, so the time in the name counts, not the file's.
		var stamp int64
		_, err := fmt.Sscanf(filepath.Base(path), journal.FileName+".damaged-%d", &stamp)
		if err != nil || p.Now().Sub(time.Unix(0, stamp)) < time.Duration(cfg.Trash.Retention) {
			continue
		}
		for _, suffix := range []string{"-wal", "-shm", ""} {
			_ = os.Remove(path + suffix)
		}
	}
}
