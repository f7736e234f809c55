package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/notice"
)

// Notices returns the sentences for the user that belong to no call's result, that about the
// version of git only once: a daemon would tell it with every answer.
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
	return append(out, p.notes.All()...)
}

// Notice keeps a sentence for the user that belongs to no call's result. The same
// sentence is kept once.
func (p *Projects) Notice(format string, args ...any) {
	p.notes.Add(fmt.Sprintf(format, args...))
}

// NoticeCall keeps a sentence about a call for its caller: a process that answers many tells it to no other.
func (p *Projects) NoticeCall(ctx context.Context, format string, args ...any) {
	list := notice.OfCall(ctx)
	if list == nil {
		list = &p.notes // this process has one caller
	}
	list.Add(fmt.Sprintf(format, args...))
}

// NoticeOfGit tells the user if vulnerabilities are known in the installed git: once
// for each version, and in the doctor once a day. No call is refused, because distributions
// repair older versions and keep their number.
func (p *Projects) NoticeOfGit(when NoticeTime) {
	v, err := p.Git.Version() // the first call that needs git returns the error
	next, ok := v.Unrepaired()
	if err != nil || !ok || !p.Git.MarkTold(v, time.Duration(when)) {
		return
	}
	p.notes.SetOnce(fmt.Sprintf("git %s lacks the fixes for CVE-2025-48384 and CVE-2025-48385, unless your distribution added them; git %s has them", v, next))
}

// NoticeTime says after which time a notice is given again.
type NoticeTime time.Duration

// The values of NoticeTime.
const (
	noticeOnce  NoticeTime = 0
	NoticeDaily NoticeTime = NoticeTime(24 * time.Hour)
)

// sweepDamaged deletes damaged databases that were set aside longer ago than
// trash.retention, unless they hold records that the one in use lacks.
func (p *Projects) sweepDamaged(ctx context.Context) {
	cfg := p.Settings.Config()
	list, _ := journal.Damaged(cfg.StateDir)
	for _, path := range list {
		// The time in the name counts: renaming does not change the time of the file.
		var stamp int64
		_, err := fmt.Sscanf(filepath.Base(path), journal.FileName+".damaged-%d", &stamp)
		if err != nil || p.Now().Sub(time.Unix(0, stamp)) < time.Duration(cfg.Trash.Retention) {
			continue
		}
		if lacking, err := p.Journal.Lacking(ctx, path); err == nil && lacking > 0 {
			continue
		}
		for _, suffix := range []string{"-wal", "-shm", ""} {
			_ = os.Remove(path + suffix)
		}
	}
}
