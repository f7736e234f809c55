package project

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft/internal/journal"
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
	p.noticesMu.Lock()
	defer p.noticesMu.Unlock()
	defer func() { p.aboutGit = nil }()
	for _, file := range slices.Sorted(maps.Keys(p.aboutFiles)) {
		for _, text := range p.aboutFiles[file] {
			if !slices.Contains(out, text) { // of the user's own file, for each project
				out = append(out, text)
			}
		}
	}
	return slices.Concat(out, p.notices, p.aboutGit)
}

// maxNotices is how many sentences are kept, the last ones, and maxOfFile how many of one
// croft.toml: a process may live for long, and agents have work merged that changes the file.
const (
	maxNotices = 50
	maxOfFile  = 5
)

// noticeFile keeps what is wrong with the croft.toml of a directory now, instead of what was.
func (p *Projects) noticeFile(dir string, problems []string) {
	p.noticesMu.Lock()
	defer p.noticesMu.Unlock()
	if len(problems) == 0 {
		delete(p.aboutFiles, dir)
		return
	}
	if more := len(problems) - maxOfFile; more > 0 {
		problems = append(slices.Clone(problems[:maxOfFile]), fmt.Sprintf("%d more of its lines are like that", more))
	}
	if p.aboutFiles == nil {
		p.aboutFiles = map[string][]string{}
	}
	p.aboutFiles[dir] = problems
}

// Notice keeps a sentence for the user that belongs to no call's result. The same
// sentence is kept once.
func (p *Projects) Notice(format string, args ...any) {
	p.noticesMu.Lock()
	defer p.noticesMu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.notices, text) {
		p.notices = append(p.notices[max(0, len(p.notices)+1-maxNotices):], text)
	}
}

// NoticeOfGit tells the user if vulnerabilities are known in the installed git: once
// for each version, and always in the doctor. No call is refused, because distributions
// repair older versions and keep their number.
func (p *Projects) NoticeOfGit(when NoticeTime) {
	v, err := p.Git.Version() // the first call that needs git returns the error
	next, ok := v.Unrepaired()
	if err != nil || !ok || when == noticeOnce && !p.Git.IsFirstUse(v) {
		return
	}
	p.noticesMu.Lock()
	defer p.noticesMu.Unlock()
	p.aboutGit = []string{fmt.Sprintf("git %s lacks the fixes for CVE-2025-48384 and CVE-2025-48385, unless your distribution added them; git %s has them", v, next)}
}

// NoticeTime says how often a notice is given.
type NoticeTime string

// The values of NoticeTime.
const (
	noticeOnce   NoticeTime = "once"
	NoticeAlways NoticeTime = "always"
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
