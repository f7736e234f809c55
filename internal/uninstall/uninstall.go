// Package uninstall removes Croft from a project, or from the machine.
//
// It refuses while an isolated workspace is live, a merge waits, an operation runs, or
// a trash directory is absent; other workspaces and the contents of the trash stay, and
// are named. It shows its whole plan before it acts, and deletes only what the records
// and ledgers say that Croft made. It leaves and names what it cannot delete or does
// not know. It deletes the records of an absent project only if the user says that it
// was deleted and no process works in it.
package uninstall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/radar"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/workspace"
)

// Uninstaller removes Croft from projects and from the machine.
type Uninstaller struct {
	*project.Projects
	Forecasts  *radar.Forecasts      // required
	Workspaces *workspace.Workspaces // required
	Trash      *trash.Trash          // required
	Lanes      *lane.Lanes           // required
	Pool       *pool.Pool            // required
}

// keptBranches begins the names of the branches that an uninstallation makes.
const keptBranches = "croft-kept/"

// UninstallRepos removes everything of Croft's from a repository, or from the machine.
func (svc *Uninstaller) UninstallRepos(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	// The state of a project goes, so its key is one of the host.
	in := project.KeyScope{Verb: "uninstall"}
	switch {
	case req.All == croft.ScopeAll:
	case req.Gone == croft.GoneForGood:
		in.Verb += " " + req.Repo
	default:
		s, err := svc.Locate(ctx, req.Repo)
		if err != nil {
			return nil, err
		}
		in.Verb += " " + s.Path
	}
	return project.Once(ctx, svc.Projects, in, req.Key, req, func(ctx context.Context) (*croft.UninstallResult, error) { return svc.uninstall(ctx, req) })
}

func (svc *Uninstaller) uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	res := &croft.UninstallResult{Repos: []croft.UninstalledRepo{}, Kept: []croft.KeptRepo{}, Files: []string{}, Left: []croft.Left{}}
	if req.All == croft.ScopeAll {
		return res, svc.uninstallAll(ctx, res, req)
	}
	if req.Gone == croft.GoneForGood {
		return res, svc.uninstallGone(ctx, res, req)
	}
	s, err := svc.Locate(ctx, req.Repo)
	if err != nil {
		return nil, err
	}
	done, err := svc.uninstallOne(ctx, s.Project, req.DryRun)
	if err != nil {
		return nil, err
	}
	res.Repos = append(res.Repos, *done)
	return res, nil
}

// uninstallOne removes everything of Croft's from a repository, or with DryRunOn lists
// it.
func (svc *Uninstaller) uninstallOne(ctx context.Context, r *project.Project, dry croft.DryRun) (_ *croft.UninstalledRepo, err error) {
	if err := svc.Recover(ctx, r.ID); err != nil {
		return nil, err
	}
	var p *uninstallPlan
	err = svc.UnderLock(ctx, r, func() error {
		p, err = svc.planUninstall(ctx, r)
		if err == nil && dry != croft.DryRunOn {
			err = svc.applyPlan(ctx, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if dry != croft.DryRunOn {
		p.removeOwn() // also the lock, which is held
	}
	return &p.UninstalledRepo, nil
}

// uninstallPlan lists the files and refs that are deleted from a repository, and the
// work that stays.
type uninstallPlan struct {
	croft.UninstalledRepo
	r      *project.Project
	pins   []journal.Pin
	needed git.Needed
	own    []string        // paths outside of the repository that are deleted
	pool   string          // the directory with checkouts in stock, if there is one
	checks []string        // checkouts for checks, with their locks
	trees  []*git.Worktree // the worktrees that stay
	locked []*git.Worktree // those of them with a lock of Croft's, which is deleted
}

// planUninstall finds what is deleted and what stays. It refuses if files would be left
// that only Croft can use. The caller holds the repository's lock.
func (svc *Uninstaller) planUninstall(ctx context.Context, r *project.Project) (*uninstallPlan, error) {
	p := &uninstallPlan{r: r, UninstalledRepo: nothingOf(r.Path)}
	if err := svc.Journal.RequireReadable(ctx, r.ID); err != nil {
		return nil, err
	}
	records, err := svc.Journal.Records(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if err := svc.refuseUninstall(ctx, r, records); err != nil {
		return nil, err
	}
	names := map[croft.ID]string{}
	for _, rec := range records {
		w := rec.Workspace
		names[w.ID] = w.Name
		switch {
		case w.State != croft.Trashed && w.Mode != croft.ModeLegacy:
			p.Workspaces = append(p.Workspaces, w.Path)
			if r.Git != nil {
				p.trees = append(p.trees, r.Trees.At(project.SpecOf(rec)))
			}
		case w.State == croft.Trashed && rec.Trash != nil && !rec.Trash.Purged:
			if err := p.leaveTrash(ctx, rec); err != nil {
				return nil, err
			}
		}
	}
	if err := svc.planLeft(ctx, p); err != nil {
		return nil, err
	}
	if r.Git != nil {
		if p.pins, p.OtherRefs, err = svc.ownRefs(ctx, r, names); err != nil {
			return nil, err
		}
		for _, pin := range p.pins {
			p.Refs = append(p.Refs, pin.Ref)
		}
		if p.Branches, err = svc.keptWork(ctx, r, p.pins, names); err != nil {
			return nil, err
		}
		p.needed = git.Needed{Excludes: p.neededExcludes(records), Others: isShared(r, names)}
		p.Files = append(p.Files, r.Git.OwnFiles(p.needed)...)
		if err := p.planLocks(); err != nil {
			return nil, err
		}
	}
	return p, svc.planOwn(ctx, p, records)
}

// nothingOf returns the answer for a repository of which nothing is deleted and nothing
// stays.
func nothingOf(path string) croft.UninstalledRepo {
	return croft.UninstalledRepo{
		Path: path, Refs: []string{}, Files: []string{}, Branches: []croft.KeptBranch{}, Workspaces: []string{}, Left: []croft.Left{},
	}
}

func (p *uninstallPlan) noteLeft(kind croft.LeftKind, path string) {
	p.Left = append(p.Left, croft.Left{Kind: kind, Path: path})
}

// ownRefs returns the refs that this state has made, with their objects: its pins, and refs
// named after its workspaces. others are the refs of other users.
func (svc *Uninstaller) ownRefs(ctx context.Context, r *project.Project, names map[croft.ID]string) (pins []journal.Pin, others []string, err error) {
	if pins, err = svc.Journal.Pins(ctx, r.ID, project.PinRefs); err != nil {
		return nil, nil, err
	}
	refs, err := r.Git.Refs(ctx, project.PinRefs)
	if err != nil {
		return nil, nil, err
	}
	isPinned := map[string]bool{}
	for _, p := range pins {
		isPinned[p.Ref] = true
	}
	for _, ref := range refs {
		_, rest, _ := strings.Cut(strings.TrimPrefix(ref.Name, project.PinRefs), "/")
		id, _, _ := strings.Cut(rest, "/")
		switch _, isOurs := names[croft.ID(id)]; {
		case isPinned[ref.Name]:
		case isOurs:
			pins = append(pins, journal.Pin{Ref: ref.Name, OID: ref.OID})
		default:
			others = append(others, ref.Name)
		}
	}
	return pins, others, nil
}

func (svc *Uninstaller) refuseUninstall(ctx context.Context, r *project.Project, records []journal.Record) error {
	var isolated []string
	for _, rec := range records {
		if w := rec.Workspace; w.State != croft.Trashed && w.Mode == croft.ModeIsolated {
			isolated = append(isolated, shellword.Quote(w.Name))
		}
	}
	if len(isolated) > 0 {
		return &croft.Error{
			Code: croft.WorkspaceBusy, Message: project.Count(len(isolated), "isolated workspace") + " would be left without a git directory, which is Croft's",
			Details: strings.Join(isolated, "\n"), Hint: "croft merge " + isolated[0] + ", or croft remove " + isolated[0],
		}
	}
	waiting, err := svc.Journal.Waiting(ctx, r.ID, "", -1)
	if err != nil {
		return err
	}
	if n := len(waiting); n > 0 {
		waits := " still waits"
		if n > 1 {
			waits = " still wait"
		}
		return &croft.Error{
			Code: croft.WorkspaceBusy, Workspace: waiting[0].WorkspaceName, Message: project.Count(n, "merge") + waits, Hint: "croft queue run, or croft queue cancel",
		}
	}
	running, err := svc.Journal.RunningAt(ctx, r.ID)
	for _, op := range running {
		if op.Repo == r.ID {
			return atWorkError(op, "wait until it has ended: croft history")
		}
	}
	return err
}

func atWorkError(op journal.Operation, hint string) error {
	return &croft.Error{Code: croft.WorkspaceBusy, Message: "another process is at work in the repository: " + op.Kind, Hint: hint}
}

// keptWork returns the commits that only pins keep, with the branches that will keep them.
func (svc *Uninstaller) keptWork(ctx context.Context, r *project.Project, pins []journal.Pin, names map[croft.ID]string) ([]croft.KeptBranch, error) {
	kept := []croft.KeptBranch{}
	var commits []string
	owner := map[string]string{}
	for _, p := range pins {
		info, err := r.Git.Info(ctx, p.OID)
		if errors.Is(err, object.ErrMissing) || err == nil && info.Type != "commit" {
			continue
		}
		if err != nil {
			return nil, err
		}
		kind, rest, _ := strings.Cut(strings.TrimPrefix(p.Ref, project.PinRefs), "/")
		id, _, _ := strings.Cut(rest, "/")
		if _, known := owner[p.OID]; !known {
			commits = append(commits, p.OID)
			owner[p.OID] = names[croft.ID(id)] + "\x00" + kind
		}
	}
	alone, err := r.Git.CommitsOnNoBranch(ctx, commits)
	if err != nil {
		return nil, err
	}
	for _, oid := range commits {
		if !alone[oid] {
			continue
		}
		name, kind, _ := strings.Cut(owner[oid], "\x00")
		branch := keptBranches + kind + "-" + oid[:12]
		if name != "" {
			branch = keptBranches + name + "-" + kind + "-" + oid[:12]
		}
		kept = append(kept, croft.KeptBranch{Branch: branch, Commit: oid, Name: name})
	}
	slices.SortFunc(kept, func(a, b croft.KeptBranch) int { return strings.Compare(a.Branch, b.Branch) })
	return kept, nil
}

// applyPlan deletes a repository's records, refs and registrations. It makes the
// branches first, so that a failure loses nothing and the same call continues. The
// caller holds the repository's lock.
func (svc *Uninstaller) applyPlan(ctx context.Context, p *uninstallPlan) error {
	r := p.r
	if r.Git != nil {
		if err := svc.uninstallGit(ctx, p); err != nil {
			return err
		}
	}
	if err := svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.DeleteRepoState(r.ID) }); err != nil {
		return err
	}
	svc.DeleteOpened(cmp.Or(r.CommonDir, r.Path))
	if r.Git != nil {
		_ = r.Git.Close()
	}
	return nil
}

// removeOwn deletes the files outside of the repository. The repository is no longer
// known then, so a file that cannot be deleted is only reported as left.
func (p *uninstallPlan) removeOwn() {
	remove := func(path string, removal error) {
		if removal == nil || !fsx.IsThere(path) {
			return
		}
		p.Files = slices.DeleteFunc(p.Files, func(f string) bool { return f == path })
		p.noteLeft(croft.LeftUnknown, path)
	}
	for _, dir := range p.checks {
		remove(dir, removeCheckPlace(dir))
	}
	remove(p.pool, fsx.ErrOther) // what a process is making, or is not Croft's
	for _, path := range p.own {
		remove(path, fsx.RemoveOwn(path))
	}
}

// uninstallGit makes the branches that keep work, and deletes everything of Croft's in
// the repository.
func (svc *Uninstaller) uninstallGit(ctx context.Context, p *uninstallPlan) error {
	r := p.r
	if _, err := svc.Pool.Empty(ctx, r); err != nil {
		return err
	}
	var updates []refs.Update
	for _, b := range p.Branches {
		ref := "refs/heads/" + b.Branch
		switch now, err := r.Git.ReadRef(ctx, ref); {
		case err == nil && now == b.Commit:
			continue
		case err == nil:
			return &croft.Error{Code: croft.BranchExists, Message: fmt.Sprintf("branch %q is there already", b.Branch), Hint: "git branch -m " + shellword.Quote(b.Branch) + " OTHER"}
		case !errors.Is(err, refs.ErrNoRef):
			return err
		}
		updates = append(updates, refs.Update{Ref: ref, New: b.Commit})
	}
	if err := r.Git.UpdateRefs(ctx, updates...); err != nil {
		return err
	}
	if err := r.DeletePinRefs(ctx, p.Refs); err != nil {
		return err
	}
	for _, tree := range p.locked {
		if err := tree.ClearLock(); err != nil {
			return err
		}
	}
	return r.Git.DeleteOwnFiles(p.needed)
}
