// Package equip makes workspaces usable: it brings in the files that git does not carry, and records
// what it brought.
//
// A workspace may get TCP ports that no other one of the machine has, and variables of its own.
//
// New workspaces get their files before they are handed out, as a part of their creation: a process
// that dies takes them back with it. Nothing in the project is written, and nothing that a workspace has
// is replaced. No link is followed on either side.
//
// The package owns the lists of copied files in the state directory, by which a later call
// finds out what was changed.
package equip

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
)

// Equipment makes workspaces usable.
type Equipment struct {
	*project.Projects
	Approvals Approvals // required
	Hider     Hider     // required
	Stock     Stock     // required
}

// Hider makes git ignore what Croft puts into workspaces.
type Hider interface {
	// HideRoles makes git ignore role files, links, and the file with the variables of a workspace. The caller holds
	// the repository's lock.
	HideRoles(ctx context.Context, r *project.Project, rec journal.Record) error
}

// mostSkipped is how many skipped files of a path a record names.
const mostSkipped = 20

// PlaceFiles brings the files that the configuration asks for into new workspaces, and adds to their
// records what came in.
func (svc *Equipment) PlaceFiles(ctx context.Context, s project.Location, records []*journal.Record) error {
	records = slices.DeleteFunc(slices.Clone(records), func(rec *journal.Record) bool { return rec.Workspace.Mode == croft.ModeLegacy })
	if s.Git == nil || len(records) == 0 {
		return nil
	}
	if err := svc.leasePorts(ctx, s.Project, records); err != nil {
		return err
	}
	chosen := sync.OnceValues(func() ([]string, error) { return svc.included(ctx, s.Project) })
	if !hasSources(s) || !s.Config.Provision.Include || !hasInclude(s.Project) {
		chosen = nil
	}
	for _, rec := range records {
		if err := svc.equip(ctx, s, rec, chosen); err != nil {
			return explain.WithWorkspace(rec.Workspace.Name, err)
		}
	}
	return failpoint.Hit("equip.placed")
}

// equip brings in files, and sets the variables of one workspace. If chosen is nil, no file is included.
func (svc *Equipment) equip(ctx context.Context, s project.Location, rec *journal.Record, chosen func() ([]string, error)) error {
	if err := svc.placeSubmodules(ctx, s.Project, rec); err != nil {
		return err
	}
	takes := hasSources(s) && takesFiles(s.Project, rec)
	in := &placing{svc: svc, r: s.Project, rec: rec}
	if takes && chosen != nil {
		if err := in.included(ctx, chosen); err != nil {
			return err
		}
	}
	asked, err := AskedAt(ctx, s.Project, rec.Workspace.Base)
	if err != nil {
		return err
	}
	problems := slices.Concat(asked.Remarks, asked.leftOut)
	if takes {
		var foreign []string
		asked.Paths, foreign = ownPaths(s.Path, asked.Paths)
		problems = append(problems, foreign...)
		links, notes, err := svc.linkedPaths(ctx, s, asked)
		if err == nil {
			err = in.paths(ctx, slices.Concat(asked.Paths, links, sharedPaths(*rec)))
		}
		if err != nil {
			return err
		}
		problems = append(problems, notes...)
		markUnapproved(rec, asked, notes)
	}
	v, err := svc.variablesOf(ctx, s.Project, *rec, asked)
	if err != nil {
		return err
	}
	rec.Workspace.Notes = append(rec.Workspace.Notes, append(problems, v.problems...)...)
	setVariables(rec, v.approved())
	markPending(rec, asked)
	hash, _, err := svc.Approvals.SetupTrusted(ctx, s.Project, asked.Commands())
	if err != nil {
		return err
	}
	markWaiting(rec, asked, v, hash)
	markUnreadable(rec, asked)
	return svc.writeEnvFile(s.Project, rec, true)
}

// hasSources reports whether a project has a checkout with files that git does not carry.
func hasSources(s project.Location) bool {
	return s.Git != nil && !s.Place.Bare
}

// takesFiles reports whether a workspace gets copies of ignored files.
func takesFiles(r *project.Project, rec *journal.Record) bool {
	switch rec.Workspace.Mode {
	case croft.ModeWorktree:
		return true
	case croft.ModeIsolated:
		return r.Config.Provision.Secrets
	}
	return false
}

// included lists the files that a project's .worktreeinclude selects.
func (svc *Equipment) included(ctx context.Context, r *project.Project) ([]string, error) {
	patterns, _, err := includePatterns(r)
	if err != nil {
		return nil, err
	}
	return provision.Include(ctx, r.Git.Main(), patterns, filepath.Join(r.Dir, "tmp"))
}

// placing brings files into one workspace, and adds to its record what came in.
type placing struct {
	svc   *Equipment
	r     *project.Project
	rec   *journal.Record
	known map[string]provision.Copy // what came in earlier, by path

	taken map[string][]provision.Outcome // what was taken from the stock and is still to be counted, by directory

	brought int // how many files were written
	// isAgain: the workspace was made by an earlier call. A process may have died that brought files into it.
	isAgain bool
}

// included copies the files that .worktreeinclude selects.
func (in *placing) included(ctx context.Context, chosen func() ([]string, error)) error {
	done := croft.ProvisionedPath{Path: in.includeFile(), Wanted: croft.ProvisionCopy, How: croft.ProvisionCopy}
	paths, err := chosen()
	if errors.Is(err, croft.ConfigInvalid) { // it is no reason to make no workspace
		done.How, done.Why = croft.ProvisionSkip, croft.AsError("provision", err).Message
		in.rec.AddProvisioned(done)
		return nil
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { // what is linked needs no copy
		return slices.Contains(in.rec.Links, topOf(p))
	})
	if err != nil || len(paths) == 0 {
		return err
	}
	cp, err := in.svc.copier(in.r, *in.rec)
	if err != nil {
		return err
	}
	defer cp.Close()
	copies, err := in.copyAll(ctx, cp, paths, fsx.ContentCopied, &done)
	return errors.Join(err, in.add(ctx, done, copies))
}

// includeFile names the file whose patterns select what is copied.
func (in *placing) includeFile() string {
	_, source, _ := includePatterns(in.r)
	return source
}

// add records what became of a path, also of one that failed in the middle.
func (in *placing) add(ctx context.Context, done croft.ProvisionedPath, copies []provision.Copy) error {
	for _, was := range pathsOf(*in.rec) {
		if was.Path == done.Path && in.isAgain { // what came in then is still there
			done.FromPool = min(was.FromPool, done.Files)
		}
	}
	in.rec.AddProvisioned(done)
	err := in.svc.addCopies(in.r, in.rec.Workspace.ID, copies)
	return errors.Join(err, in.markPlaced(context.WithoutCancel(ctx), copies))
}

// copier returns a copier from a project to a workspace. The caller closes it.
func (svc *Equipment) copier(r *project.Project, rec journal.Record) (*provision.Copier, error) {
	to, err := fsx.OpenTreeIs(rec.Workspace.Path, fsx.Identity(rec.Identity))
	if err != nil {
		return nil, err
	}
	to.StageIn(provision.StageDir)
	return &provision.Copier{From: fsx.OpenTree(r.Path), To: to, Limits: limitsAt(r, rec.Workspace.Path)}, nil
}

// limitsAt returns the limits of what is copied into one workspace at a path.
func limitsAt(r *project.Project, path string) provision.Limits {
	limits := provision.Limits{Bytes: r.Config.Provision.MaxBytes, Files: r.Config.Provision.MaxFiles}
	if total, err := fsx.TotalSpace(path); err == nil {
		limits.Free, _ = config.FreeBytes(r.Config.Provision.MinFree, total)
	}
	return limits
}

// copyAll copies files, and counts them in done, with those that came in earlier and are there. It names those that
// were skipped.
func (in *placing) copyAll(ctx context.Context, cp *provision.Copier, paths []string, how fsx.Content, done *croft.ProvisionedPath) ([]provision.Copy, error) {
	var copies []provision.Copy
	for made, err := range in.each(ctx, cp, paths, how, done) {
		if skip, ok := errors.AsType[*provision.SkipError](err); ok {
			if was, isKnown := in.known[skip.Path]; isKnown && skip.Why == croft.SkipExists {
				done.Files++
				done.Bytes += was.Size
				continue
			}
			if was, isOurs := in.asCopied(cp, *skip); isOurs {
				copies = append(copies, was)
				done.Files++
				done.Bytes += was.Size
				continue
			}
			if len(done.Skipped) < mostSkipped {
				done.Skipped = append(done.Skipped, croft.Skipped{Path: skip.Path, Reason: skip.Why})
			} else {
				done.Left++
			}
			continue
		}
		if err != nil {
			return copies, err
		}
		copies = append(copies, made)
		in.brought++
		done.Files++
		done.Bytes += made.Size
		if err := failpoint.Hit("equip.copied"); err != nil {
			return copies, err
		}
	}
	return copies, nil
}

// asCopied describes a file that is there and that nobody has recorded, if a process that died has copied it.
func (in *placing) asCopied(cp *provision.Copier, skip provision.SkipError) (provision.Copy, bool) {
	if !in.isAgain || skip.Why != croft.SkipExists {
		return provision.Copy{}, false
	}
	return cp.AsCopied(skip.Path)
}

// markPlaced adds to the record the copied files that git would show as work: the commit of the workspace
// may have another .gitignore than the project's checkout.
func (in *placing) markPlaced(ctx context.Context, copies []provision.Copy) error {
	if len(copies)+len(in.known) == 0 {
		return nil
	}
	shown, err := in.r.Trees.At(project.SpecOf(*in.rec)).Others(ctx)
	if err != nil || len(shown) == 0 {
		return err
	}
	copied := make(map[string]bool, len(copies))
	for _, c := range copies {
		copied[c.Path] = true
	}
	for _, p := range shown {
		_, isKnown := in.known[p]
		if (copied[p] || isKnown) && !slices.Contains(in.rec.Copied, p) {
			in.rec.Copied = append(in.rec.Copied, p)
		}
	}
	return nil
}

// CopiesDir returns the directory of the lists of copied files of a project's workspaces, by their IDs.
func CopiesDir(r *project.Project) string { return filepath.Join(r.Dir, "provision") }

// Copies returns the files that were copied into a workspace, as they were then. There are none if
// the list is lost.
func (svc *Equipment) Copies(r *project.Project, id croft.ID) ([]provision.Copy, error) {
	const most = 256 << 20
	text, err := fsx.ReadFile(filepath.Join(CopiesDir(r), string(id)), most)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var list []provision.Copy
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}

// AsCopied implements [removal.Equipment].
func (svc *Equipment) AsCopied(r *project.Project, rec journal.Record, tree string) (isAsCopied func(name string) bool, release func()) {
	copies, err := svc.Copies(r, rec.Workspace.ID)
	if err != nil {
		copies = nil // what cannot be read tells nothing
	}
	known := make(map[string]provision.Copy, len(copies))
	for _, c := range copies {
		known[c.Path] = c
	}
	in := fsx.OpenTree(tree)
	return func(name string) bool {
		if slices.Contains(rec.Links, name) {
			info, err := in.Lstat(name)
			return err == nil && info.Mode()&os.ModeSymlink != 0
		}
		c, isKnown := known[name]
		return isKnown && provision.IsAsCopied(c, in)
	}, in.Release
}

// addCopies adds files to the list of what was copied into a workspace.
func (svc *Equipment) addCopies(r *project.Project, id croft.ID, copies []provision.Copy) error {
	if len(copies) == 0 {
		return nil
	}
	list, err := svc.Copies(r, id)
	if err != nil {
		list = nil // what cannot be read tells nothing
	}
	isNew := make(map[string]bool, len(copies))
	for _, c := range copies {
		isNew[c.Path] = true
	}
	list = slices.DeleteFunc(list, func(c provision.Copy) bool { return isNew[c.Path] })
	text, err := json.Marshal(append(list, copies...))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(CopiesDir(r), 0o700); err != nil {
		return err
	}
	return fsx.WriteDurable(filepath.Join(CopiesDir(r), string(id)), text)
}
