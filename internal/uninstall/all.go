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
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/pattern"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// uninstallAll uninstalls Croft from every known repository, and deletes the state if all
// succeeded.
func (svc *Uninstaller) uninstallAll(ctx context.Context, res *croft.UninstallResult, req croft.UninstallRequest) error {
	repos, err := svc.Journal.Repos(ctx)
	if err != nil {
		return err
	}
	// The answer is not recorded: the key goes with the state, or what was kept is tried again.
	once.KeepOpen(ctx)
	if once.HasKey(ctx) {
		if req.Shown, err = once.Pin(ctx, "repos", func() ([]string, error) { return pathsToRemove(repos, req), nil }); err != nil {
			return err
		}
	}
	for _, known := range repos {
		var done *croft.UninstalledRepo
		var r *project.Project
		err := refuseUnshown(known, req)
		if err == nil {
			r, err = svc.openKnown(ctx, known)
		}
		if err == nil {
			done, err = svc.uninstallOne(ctx, r, req.DryRun)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			res.Kept = append(res.Kept, croft.KeptRepo{Path: known.Path, Reason: croft.AsError("uninstall", explain.Error("uninstall", "", err))})
			continue
		}
		res.Repos = append(res.Repos, *done)
	}
	if len(res.Kept) > 0 {
		return nil
	}
	plan := svc.planState(res)
	res.Files, res.Left = plan.shown(), plan.left
	if req.DryRun == croft.DryRunOn {
		return nil
	}
	return svc.removeState(ctx, plan)
}

// pathsToRemove returns the paths of the known repositories that a request means.
func pathsToRemove(repos []journal.Repo, req croft.UninstallRequest) []string {
	var paths []string
	for _, known := range repos {
		if refuseUnshown(known, req) == nil {
			paths = append(paths, known.Path)
		}
	}
	return paths
}

// openKnown opens a repository that the state knows, at the path where it was last seen. A
// repository that is not there may only be absent.
func (svc *Uninstaller) openKnown(ctx context.Context, known journal.Repo) (*project.Project, error) {
	if dir, isPlain := strings.CutPrefix(known.CommonDir, project.PlainPrefix); isPlain {
		if !fsx.IsThere(dir) {
			return nil, notThereError(known)
		}
		return &project.Project{ID: known.ID, Path: dir, Dir: svc.DirOf(known.ID)}, nil
	}
	if !fsx.Identity(known.Identity).IsAt(known.CommonDir) {
		return nil, notThereError(known)
	}
	place := gitdir.PlaceAt(known.CommonDir, known.Path)
	if svc.IsPlain(known.CommonDir) {
		var err error
		if place, err = git.PlainPlace(known.CommonDir); err != nil {
			return nil, err
		}
	}
	if err := svc.Git.CheckOwner(ctx, place); err != nil {
		return nil, err
	}
	return svc.OpenOnce(ctx, place.CommonDir, func() (*project.Project, error) { return svc.Open(ctx, place) })
}

func notThereError(known journal.Repo) error {
	return &croft.Error{
		Code: croft.NotARepo, Message: fmt.Sprintf("the repository is not at %s", known.Path),
		Details: "It was moved or deleted, or its drive is not mounted. Nothing of it was forgotten.",
		Hint:    "bring it back, or run croft uninstall where it is now; if it was deleted: croft uninstall --forget --repo " + shellword.Quote(known.Path),
	}
}

// statePlan lists the files that are deleted of the state and of its second copy, and
// those that stay.
type statePlan struct {
	files []string // in the order of their deletion
	dirs  []string // empty by then, the deepest first
	left  []croft.Left
	gone  map[string]bool // paths that are deleted with the repositories
	named map[string]bool // paths that the repositories leave
	last  []string        // the database
}

func (p *statePlan) shown() []string { return slices.Concat(p.files, p.last, p.dirs) }

// stateEntry says by a pattern which entries of a directory are Croft's own.
type stateEntry struct {
	dir   string
	names pattern.Pattern
	left  croft.LeftKind // the kind of the other entries
}

const idPattern = `[` + project.IDAlphabet + `]{16}`

var (
	nothing = pattern.New(`^\z.`)

	// stateEntries are the directories of the state, inner ones first. Entries that do
	// not match stay: they are work, or the user's own.
	stateEntries = []stateEntry{
		{"repos", nothing, croft.LeftUnknown},
		{"secrets", nothing, croft.LeftSecrets},
		{"sessions", nothing, croft.LeftArchive},
		{"plain", nothing, croft.LeftHistory},
		{"forecasts", pattern.New(`^(` + idPattern + `\.json|new-[0-9]+)$`), croft.LeftUnknown},
		{"trash", pattern.New(`^` + idPattern + `\.json(\.` + idPattern + `)?$`), croft.LeftUnknown},
		{lane.LogsName, pattern.New(`^` + idPattern + `-[0-9]+\.log$`), croft.LeftUnknown},
		{"ops", pattern.New(`^([a-z]+-)?` + idPattern + `\.lock$`), croft.LeftUnknown},
		{"git/repos", pattern.New(`^[0-9a-f]{16}$`), croft.LeftUnknown},
		{"git", git.Generated, croft.LeftUnknown},
		{"run", pattern.New(`^daemon\.(json|lock|log|log\.old|sock)$`), croft.LeftUnknown},
		{"", pattern.New(`^(upkeep-[0-9a-f]{16}-[0-9]+|tokens\.(json|lock))$`), croft.LeftUnknown},
	}
)

// planState finds the files of the state that are deleted once no repository needs
// them.
func (svc *Uninstaller) planState(res *croft.UninstallResult) *statePlan {
	cfg := svc.Settings.Config()
	p := &statePlan{left: []croft.Left{}, gone: map[string]bool{}, named: map[string]bool{}, last: svc.Journal.Files()}
	for _, r := range res.Repos {
		for _, path := range r.Files {
			p.gone[path] = true
		}
		for _, l := range r.Left {
			p.named[l.Path] = true
		}
	}
	for _, path := range p.last {
		p.gone[path] = true
	}
	for _, entry := range stateEntries {
		p.planDirectory(filepath.Join(cfg.StateDir, filepath.FromSlash(entry.dir)), entry)
	}
	p.planDirectory(filepath.Join(cfg.DataDir, "state"), stateEntry{"state", nothing, ""}) // other states have their copies there
	p.planDirectory(svc.Lanes.ChecksDir(), stateEntry{"checks", nothing, croft.LeftUnknown})
	p.planDirectory(cfg.DataDir, stateEntry{"", nothing, ""})
	return p
}

// planDirectory adds the entries of a directory to the plan. It does not report an
// entry as left that is reported for a repository already.
func (p *statePlan) planDirectory(path string, entry stateEntry) {
	if info, err := os.Lstat(path); err != nil || p.gone[path] || !info.IsDir() && entry.dir != "" {
		return // Croft made no link there
	}
	isEmpty := true
	for _, name := range entriesOf(path) {
		at := filepath.Join(path, name)
		switch {
		case p.gone[at]:
		case project.IsID(name) && isEmptyDir(at):
			p.dirs = append(p.dirs, at)
			p.gone[at] = true
		case entry.names().MatchString(name):
			p.files = append(p.files, at)
			p.gone[at] = true
		default:
			isEmpty = false
			if !p.isNamed(at) && entry.left != "" {
				p.left = append(p.left, croft.Left{Kind: entry.left, Path: at})
			}
		}
	}
	if isEmpty {
		p.dirs = append(p.dirs, path)
		p.gone[path] = true
	}
}

// isEmptyDir reports whether path is an empty directory.
func isEmptyDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && !hasEntries(path)
}

// isNamed reports whether the answer already names path, or something below it, as left.
func (p *statePlan) isNamed(path string) bool {
	for named := range p.named {
		if project.IsWithin(named, path) {
			return true
		}
	}
	return slices.ContainsFunc(p.left, func(l croft.Left) bool { return project.IsWithin(l.Path, path) })
}

// removeState deletes the files, the database last: while it is there, the same call can be
// made again. Then it removes the empty directories.
func (svc *Uninstaller) removeState(ctx context.Context, p *statePlan) error {
	err := svc.Journal.Delete(ctx, func() error {
		for _, path := range p.files {
			if err := fsx.RemoveOwn(path); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, journal.ErrInUse) {
		return &croft.Error{
			Code: croft.WorkspaceBusy, Message: "a repository was made known meanwhile; the state is kept", Hint: "croft uninstall --all", Err: err,
		}
	}
	if err != nil {
		return err
	}
	for _, dir := range p.dirs {
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) && fsx.IsThere(dir) && !hasEntries(dir) {
			return err
		}
	}
	return nil
}
