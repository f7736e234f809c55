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
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/trash"
)

// refuseUnshown refuses a repository that is not in req.Shown: Croft recorded it after
// the user was shown the list.
func refuseUnshown(known journal.Repo, req croft.UninstallRequest) error {
	if len(req.Shown) == 0 || slices.Contains(req.Shown, known.Path) {
		return nil
	}
	return &croft.Error{Code: croft.WorkspaceBusy, Message: "it was made known meanwhile", Hint: "croft uninstall --all"}
}

// uninstallGone deletes the records and files of a repository that the user says was
// deleted. A directory may also be absent for a while, so only the user can say that,
// and no files are deleted that may be work.
func (svc *Uninstaller) uninstallGone(ctx context.Context, res *croft.UninstallResult, req croft.UninstallRequest) error {
	kind, at := croft.CutRef(req.Repo)
	if kind != croft.RefID && !filepath.IsAbs(at) {
		at = filepath.Join(svc.Dir, at)
	}
	repos, err := svc.Journal.Repos(ctx)
	if err != nil {
		return err
	}
	for _, known := range repos {
		if kind == croft.RefID && string(known.ID) != at || kind != croft.RefID && !slices.Contains(placesOf(known), at) {
			continue
		}
		p, err := svc.planGone(ctx, known)
		if err == nil && req.DryRun == croft.DryRunOff {
			if err = svc.applyPlan(ctx, p); err == nil {
				p.removeOwn()
			}
		}
		if err != nil {
			return err
		}
		res.Repos = append(res.Repos, p.UninstalledRepo)
	}
	if len(res.Repos) == 0 {
		if err := svc.recordTrashGone(ctx, res, repos, req, at); err != nil {
			return err
		}
	}
	if len(res.Repos) == 0 {
		return &croft.Error{
			Code: croft.NotARepo, Message: fmt.Sprintf("no repository is remembered at %s", at), Hint: "croft uninstall --all --dry-run, which names them",
		}
	}
	return nil
}

// recordTrashGone records that trash directories at or below a path were deleted, as
// the user says. The commits of the workspaces can still be restored.
func (svc *Uninstaller) recordTrashGone(ctx context.Context, res *croft.UninstallResult, repos []journal.Repo, req croft.UninstallRequest, at string) error {
	isForgotten := false
	for _, known := range repos {
		records, err := svc.Journal.Records(ctx, known.ID)
		if err != nil {
			return err
		}
		for _, rec := range records {
			if rec.Workspace.State != croft.Trashed || rec.Trash == nil || rec.Trash.Dir == "" || !project.IsWithin(rec.Trash.Dir, at) {
				continue
			}
			if err := requireGone(known, rec.Trash.Dir); err != nil {
				return err
			}
			isForgotten = true
			if req.DryRun != croft.DryRunOff {
				continue
			}
			rec.Trash.Dir, rec.Trash.Identity, rec.Trash.Within = "", "", ""
			if err := svc.SaveRecord(ctx, &rec, nil); err != nil {
				return err
			}
		}
	}
	if isForgotten {
		res.Repos = append(res.Repos, nothingOf(at))
	}
	return nil
}

// requireGone refuses to treat a repository as deleted while something is at a path of
// it.
func requireGone(known journal.Repo, path string) error {
	_, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return &croft.Error{
		Code: croft.WorkspaceBusy, Message: fmt.Sprintf("something is at %s: it is not gone", path), Details: "Nothing was forgotten.",
		Hint: "croft uninstall --repo " + shellword.Quote(known.Path), Err: err,
	}
}

// placesOf returns the directories by which a repository is known.
func placesOf(known journal.Repo) []string {
	return []string{known.Path, strings.TrimPrefix(known.CommonDir, project.PlainPrefix)}
}

// planGone finds what is deleted and what stays of a repository that was deleted.
func (svc *Uninstaller) planGone(ctx context.Context, known journal.Repo) (*uninstallPlan, error) {
	for _, path := range placesOf(known) {
		if err := requireGone(known, path); err != nil {
			return nil, err
		}
	}
	if err := svc.Journal.RequireReadable(ctx, known.ID); err != nil {
		return nil, err
	}
	running, err := svc.Journal.RunningAt(ctx, known.ID)
	if err != nil {
		return nil, err
	}
	for _, op := range running {
		if owner.Life(op.Owner) != proc.Dead {
			return nil, atWorkError(op, "wait until it has ended, then the same command again")
		}
	}
	p := &uninstallPlan{r: &project.Project{ID: known.ID, Path: known.Path, CommonDir: known.CommonDir, Dir: svc.DirOf(known.ID)}, UninstalledRepo: nothingOf(known.Path)}
	records, err := svc.Journal.Records(ctx, known.ID)
	if err != nil {
		return nil, err
	}
	isAlone := false // the history of an isolated workspace is in a directory of Croft's, and nowhere else
	for _, rec := range records {
		w := rec.Workspace
		switch {
		case w.State != croft.Trashed && w.Mode != croft.ModeLegacy:
			p.Workspaces = append(p.Workspaces, w.Path)
			isAlone = isAlone || w.Mode == croft.ModeIsolated
		case w.State == croft.Trashed && rec.Trash != nil && !rec.Trash.Purged && fsx.IsThere(rec.Trash.Dir):
			p.noteLeft(croft.LeftTrash, rec.Trash.Dir)
			isAlone = isAlone || git.AlternatesFileIn(filepath.Join(rec.Trash.Dir, "tree")) != ""
		case w.State == croft.Trashed && rec.Trash != nil && !rec.Trash.Purged && project.IsTrashAway(rec.Trash) && !trash.IsTrashGone(p.r, rec):
			p.noteLeft(croft.LeftUnseen, rec.Trash.Dir)
		}
	}
	if err := svc.planLeft(ctx, p); err != nil {
		return nil, err
	}
	if isAlone {
		p.noteLeft(croft.LeftHistory, p.r.Dir)
		return p, nil
	}
	return p, svc.planOwn(ctx, p, records)
}
