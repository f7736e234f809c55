package uninstall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/pattern"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/trash"
)

// originals are the directories, in Croft's own of a repository, with files of the user: those that a merge could not put back,
// and those that came out of a checkout when a merge was killed.
func originals() []string { return []string{git.UnrestoredName, git.MovingName} }

// planLeft finds the work that stays in directories of Croft's because it is nowhere else.
func (svc *Uninstaller) planLeft(ctx context.Context, p *uninstallPlan) error {
	if dir := svc.SecretsDir(p.r, ""); hasEntries(dir) {
		p.noteLeft(croft.LeftSecrets, dir)
	}
	sessions, err := svc.Journal.Sessions(ctx, p.r.ID)
	if err != nil {
		return err
	}
	for _, ses := range sessions {
		if dir := svc.Workspaces.SessionDir(ses.ID); hasEntries(dir) {
			p.noteLeft(croft.LeftArchive, dir)
		}
		for _, h := range ses.Homes {
			if !h.Given && fsx.Identity(h.Made).IsAt(h.Path) {
				p.noteLeft(croft.LeftHome, h.Path)
			}
		}
	}
	for _, name := range originals() {
		if dir := filepath.Join(svc.DirOf(p.r.ID), name); hasEntries(dir) {
			p.noteLeft(croft.LeftOriginals, dir)
		}
	}
	if p.r.Git != nil && svc.IsPlain(p.r.CommonDir) {
		p.noteLeft(croft.LeftHistory, p.r.CommonDir)
	}
	return nil
}

// leaveTrash adds the trash directory of a removed workspace to what is left. It refuses if
// the directory is absent: it may come back with its drive, and then only the record says
// what it is.
func (p *uninstallPlan) leaveTrash(ctx context.Context, rec journal.Record) error {
	switch {
	case !project.IsTrashAway(rec.Trash):
		if rec.Trash.Dir != "" {
			p.leaveTrashAt(rec.Trash.Dir)
		}
	case trash.IsTrashGone(p.r, rec):
	default:
		if to := p.r.FindTrash(ctx, rec); to != "" {
			p.leaveTrashAt(to)
			return nil
		}
		return &croft.Error{
			Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name,
			Message: "the directory of a removed workspace cannot be seen: it was moved or deleted, or its drive is not mounted",
			Details: rec.Trash.Dir + "\nNothing was removed or forgotten.",
			Hint:    "bring it back; if it was deleted: croft uninstall --forget --repo " + shellword.Quote(filepath.Dir(rec.Trash.Dir)),
		}
	}
	return nil
}

// leaveTrashAt adds a trash directory to what is left. The git directory of an isolated
// workspace borrows objects from a store of Croft's, which is deleted: the hint says how to
// let it borrow from the project.
func (p *uninstallPlan) leaveTrashAt(dir string) {
	left := croft.Left{Kind: croft.LeftTrash, Path: dir}
	if borrows := git.AlternatesFileIn(filepath.Join(dir, "tree")); borrows != "" && p.r.CommonDir != "" {
		left.Remark = "its git directory needs objects that it borrowed through Croft; the project has all that a branch names"
		left.Hint = fmt.Sprintf("echo %s > %s", shellword.Quote(filepath.Join(p.r.CommonDir, "objects")), shellword.Quote(borrows))
	}
	p.Left = append(p.Left, left)
}

// isShared reports whether the repository has registered worktrees of Croft's that this
// state does not know: another user's, with a state of their own.
func isShared(r *project.Project, own map[croft.ID]string) bool {
	registered, err := r.Git.Registered(worktree.AdminPrefix)
	if err != nil {
		return true // unknown: keep it
	}
	return slices.ContainsFunc(registered, func(tree *git.Worktree) bool {
		id, _ := strings.CutPrefix(filepath.Base(tree.Admin), worktree.AdminPrefix)
		_, isOwn := own[croft.ID(id)]
		return !isOwn
	})
}

// planOwn finds what is deleted in directories of Croft's.
func (svc *Uninstaller) planOwn(ctx context.Context, p *uninstallPlan, records []journal.Record) error {
	r := p.r
	state := svc.Settings.Config().StateDir
	candidates := []string{svc.Forecasts.RadarOf(r).File}
	for _, rec := range records {
		candidates = append(candidates, svc.Trash.SurveyFile(rec.Workspace.ID))
	}
	merges, err := svc.Journal.Merges(ctx, r.ID, "", -1)
	if err != nil {
		return err
	}
	for _, log := range entriesOf(filepath.Join(state, lane.LogsName)) {
		id, _, isLog := strings.Cut(strings.TrimSuffix(log, ".log"), "-")
		if isLog && slices.ContainsFunc(merges, func(m journal.Merge) bool { return string(m.ID) == id }) {
			candidates = append(candidates, filepath.Join(state, lane.LogsName, log))
		}
	}
	candidates = append(candidates, svc.ownDir(r)...)
	for _, path := range candidates {
		if fsx.IsThere(path) {
			p.own = append(p.own, path)
		}
	}
	if err := svc.planChecks(p); err != nil {
		return err
	}
	p.Files = append(append(p.Files, p.own...), p.checks...)
	if p.pool = svc.Pool.At(r); p.pool != "" {
		p.Files = append(p.Files, p.pool)
	}
	return nil
}

// ownDir returns Croft's own directory of a repository, or its entries if one of them
// stays.
func (svc *Uninstaller) ownDir(r *project.Project) []string {
	dir := svc.DirOf(r.ID)
	stays := slices.DeleteFunc(originals(), func(name string) bool { return !hasEntries(filepath.Join(dir, name)) })
	if len(stays) == 0 {
		return []string{dir}
	}
	var list []string
	for _, name := range entriesOf(dir) {
		if !slices.Contains(stays, name) {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list
}

// planChecks finds the checkouts for checks. It refuses if a process is at work in one.
func (svc *Uninstaller) planChecks(p *uninstallPlan) error {
	for _, name := range entriesOf(svc.Lanes.ChecksDir()) {
		dir := filepath.Join(svc.Lanes.ChecksDir(), name)
		if of := checkPlace().FindStringSubmatch(name); of == nil || croft.ID(of[1]) != p.r.ID {
			continue
		}
		l, err := flock.TryExisting(filepath.Join(dir, "lock"))
		if errors.Is(err, flock.ErrHeld) {
			return &croft.Error{
				Code: croft.WorkspaceBusy, Message: "a process of a check is still at work", Details: dir, Hint: "end it, then run the command again",
			}
		}
		if err == nil {
			_ = l.Unlock()
		}
		p.checks = append(p.checks, dir)
	}
	return nil
}

// checkPlace is how a checkout for checks is called: after a repository and its ID, with a
// number.
var checkPlace = pattern.New(`-(` + idPattern + `)-[0-9]+$`)

// removeCheckPlace deletes a checkout for checks, the lock last.
func removeCheckPlace(dir string) error {
	lock := filepath.Join(dir, "lock")
	l, err := flock.TryExisting(lock)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	defer l.Unlock()
	return fsx.RemoveOwn(dir)
}

// neededExcludes returns the patterns of the exclude file that stay: for base directories
// inside the main checkout, and for scratch directories.
func (p *uninstallPlan) neededExcludes(records []journal.Record) []string {
	var needed []string
	for _, rec := range records {
		if rel, err := filepath.Rel(p.r.Path, rec.BaseDir); err == nil && rec.BaseDir != "" && fsx.IsThere(rec.BaseDir) {
			needed = append(needed, "/"+filepath.ToSlash(rel)+"/")
		}
		if dir := p.r.ScratchOf(rec.Workspace); dir != "" && rec.Workspace.State != croft.Trashed && fsx.IsThere(dir) {
			needed = append(needed, "/"+filepath.Base(dir)+"/")
		}
	}
	return needed
}

// entriesOf returns the names in a directory of Croft's own.
func entriesOf(dir string) []string {
	d, err := fsx.OpenOwn(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Names()
	slices.Sort(names)
	return names
}

func hasEntries(dir string) bool { return len(entriesOf(dir)) > 0 }

// planLocks finds git's locks of worktrees that are Croft's, such as those of leases. The
// locks of a user stay.
func (p *uninstallPlan) planLocks() error {
	for _, tree := range p.trees {
		reason, isLocked, err := tree.LockReason()
		if err != nil {
			return err
		}
		if isLocked && strings.HasPrefix(reason, project.OwnLock) {
			p.locked = append(p.locked, tree)
			p.Files = append(p.Files, filepath.Join(tree.Admin, "locked"))
		}
	}
	return nil
}
