package uninstall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/trash"
)

// unrestored is the directory of a repository's own that holds files of the user
// which a merge could not put back.
const unrestored = "unrestored"

// planLeft finds what stays of a repository in directories of Croft's: whatever is
// work, and nowhere else.
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
	if dir := filepath.Join(svc.DirOf(p.r.ID), unrestored); hasEntries(dir) {
		p.noteLeft(croft.LeftOriginals, dir)
	}
	if p.r.Git != nil && svc.IsPlain(p.r.CommonDir) {
		p.noteLeft(croft.LeftHistory, p.r.CommonDir)
	}
	return nil
}

// leaveTrash names the directory of a removed workspace, which stays. One that
// cannot be seen now may come back with its drive, and then only the record says
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
			Hint:    "bring it back; if it was deleted: croft uninstall --forget --repo " + filepath.Dir(rec.Trash.Dir),
		}
	}
	return nil
}

// leaveTrashAt names the directory of a removed workspace. The git directory of an
// isolated one borrows objects from a store of Croft's, which goes.
func (p *uninstallPlan) leaveTrashAt(dir string) {
	left := croft.Left{Kind: croft.LeftTrash, Path: dir}
	if borrows := git.BorrowsIn(filepath.Join(dir, "tree")); borrows != "" && p.r.CommonDir != "" {
		left.Remark = "its git directory needs objects that it borrowed through Croft; the project has all that a branch names"
		left.Hint = fmt.Sprintf("echo %s > %s", project.ShellWord(filepath.Join(p.r.CommonDir, "objects")), project.ShellWord(borrows))
	}
	p.Left = append(p.Left, left)
}

// isShared reports whether worktrees are registered that Croft made and that this
// state does not know: somebody else's, who has a state of their own.
func isShared(r *project.Project, own map[croft.ID]string) bool {
	registered, err := r.Git.Registered(worktree.AdminPrefix)
	if err != nil {
		return true // what is unknown is kept
	}
	return slices.ContainsFunc(registered, func(tree *git.Worktree) bool {
		id, _ := strings.CutPrefix(filepath.Base(tree.Admin), worktree.AdminPrefix)
		_, isOwn := own[croft.ID(id)]
		return !isOwn
	})
}

// planOwn finds what goes of a repository in directories of Croft's.
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
	return nil
}

// ownDir is the directory of Croft's own for a repository, or what is in it beside
// what stays.
func (svc *Uninstaller) ownDir(r *project.Project) []string {
	dir := svc.DirOf(r.ID)
	if !hasEntries(filepath.Join(dir, unrestored)) {
		return []string{dir}
	}
	var list []string
	for _, name := range entriesOf(dir) {
		if name != unrestored {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list
}

// planChecks finds the checkouts for checks. One that a process is at work in is
// somebody's.
func (svc *Uninstaller) planChecks(p *uninstallPlan) error {
	for _, name := range entriesOf(svc.Lanes.ChecksDir()) {
		dir := filepath.Join(svc.Lanes.ChecksDir(), name)
		if of := checkPlace.FindStringSubmatch(name); of == nil || croft.ID(of[1]) != p.r.ID {
			continue
		}
		l, err := flock.TryThere(filepath.Join(dir, "lock"))
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
var checkPlace = regexp.MustCompile(`-(` + idPattern + `)-[0-9]+$`)

// removeCheckPlace deletes a checkout for checks, the lock last.
func removeCheckPlace(dir string) error {
	lock := filepath.Join(dir, "lock")
	l, err := flock.TryThere(lock)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	defer l.Unlock()
	return fsx.RemoveOwn(dir)
}

// neededExcludes are the patterns of the exclude file that keep what stays out of
// the user's sight: directories of workspaces inside the main checkout, and
// scratch directories.
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

// entriesOf are the names in a directory of the host's own.
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

// dropOwnLocks takes away the locks that Croft took for itself: once it is gone,
// nobody else does.
func dropOwnLocks(trees []*git.Worktree) error {
	for _, tree := range trees {
		_, personal, err := project.IsPersonal(tree)
		if err == nil && !personal {
			err = tree.ClearLock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
