package equip

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
)

// bringFiles brings the files into a workspace that are missing there, renews copies that nobody has changed if mode says
// so, and gives it its ports and variables. It changes rec and saves what it changed, also of what failed in the middle. It
// returns how many files it wrote.
func (svc *Equipment) bringFiles(ctx context.Context, s project.Location, rec *journal.Record, asked Asked, mode croft.ProvisionMode) (brought int, err error) {
	if err := svc.leaseMissing(ctx, s.Project, rec); err != nil {
		return 0, err
	}
	before := *rec
	if p := rec.Workspace.Provision; p != nil {
		own := *p
		own.Paths = slices.Clone(p.Paths)
		rec.Workspace.Provision = &own
	}
	rec.Copied, rec.Links = slices.Clone(rec.Copied), slices.Clone(rec.Links)
	brought, err = svc.bringMissing(ctx, s, rec, asked, mode)
	err = errors.Join(err, svc.addVariables(ctx, s.Project, rec, asked))
	rec.HasTeardown = len(asked.teardownFor(*rec)) > 0
	if err == nil {
		err = svc.hide(ctx, s.Project, before, *rec)
	}
	if err == nil {
		err = svc.fillEnvFile(s.Project, before, rec)
	}
	return brought, errors.Join(err, svc.saveBrought(context.WithoutCancel(ctx), before, *rec))
}

// leaseMissing gives ports to a workspace that has none: it was adopted, or is older than the settings.
func (svc *Equipment) leaseMissing(ctx context.Context, r *project.Project, rec *journal.Record) error {
	if r.Config.Ports.Count == 0 || len(rec.Workspace.Ports) > 0 {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err == nil && len(now.Workspace.Ports) == 0 {
			if now.Workspace.Ports, err = svc.freePorts(tx, r, now); err == nil {
				err = tx.SaveRecord(&now)
			}
		}
		rec.Workspace.Ports, rec.Env, rec.Generation = now.Workspace.Ports, now.Env, now.Generation
		return err
	})
}

// bringMissing brings files into a workspace, and adds to its record what came in.
func (svc *Equipment) bringMissing(ctx context.Context, s project.Location, rec *journal.Record, asked Asked, mode croft.ProvisionMode) (brought int, err error) {
	if !hasSources(s) || !takesFiles(s.Project, rec) {
		return 0, nil
	}
	copies, err := svc.Copies(s.Project, rec.Workspace.ID)
	if err != nil {
		return 0, err
	}
	var files []string
	isIncluded := s.Config.Provision.Include && hasInclude(s.Project)
	if isIncluded {
		if files, err = svc.included(ctx, s.Project); err != nil && !errors.Is(err, croft.ConfigInvalid) {
			return 0, err
		}
	}
	own, _ := ownPaths(s.Path, asked.Paths)
	included, ierr := files, err
	isAsked := func(name string) bool {
		_, is := slices.BinarySearch(files, name)
		return is || slices.ContainsFunc(own, func(p config.ProvisionPath) bool { return isBelow(p.Path, name) })
	}
	renewed, err := svc.renew(ctx, s.Project, *rec, copies, mode, isAsked)
	if err != nil {
		return renewed, err
	}
	in := &placing{svc: svc, r: s.Project, rec: rec, known: map[string]provision.Copy{}, isAgain: true}
	for _, c := range copies {
		in.known[c.Path] = c
	}
	if isIncluded {
		if err := in.included(ctx, func() ([]string, error) { return included, ierr }); err != nil {
			return renewed + in.brought, err
		}
	}
	links, _, err := svc.linkedPaths(ctx, s, asked)
	if err == nil {
		err = in.paths(ctx, slices.Concat(own, links, sharedPaths(*rec)))
	}
	return renewed + in.brought, err
}

// saveBrought saves what came into a workspace, in the record as it is now.
func (svc *Equipment) saveBrought(ctx context.Context, before, rec journal.Record) error {
	if reflect.DeepEqual(before, rec) {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		now.Copied, now.Links, now.HasTeardown = union(now.Copied, rec.Copied), union(now.Links, rec.Links), rec.HasTeardown
		if maps.Equal(now.Env, before.Env) { // else its ports may have moved meanwhile
			now.Env = rec.Env
		}
		for _, done := range pathsOf(rec) {
			now.AddProvisioned(done)
		}
		return tx.SaveRecord(&now)
	})
}

// union returns a list with what another one has more.
func union(list, more []string) []string {
	list = slices.Clone(list)
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// hide makes git ignore the links and the file with the variables that a workspace gets.
func (svc *Equipment) hide(ctx context.Context, r *project.Project, before, rec journal.Record) error {
	if len(rec.Links) == len(before.Links) && len(rec.Env) == len(before.Env) {
		return nil
	}
	lock, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if !rec.Workspace.IsAdopted {
		return svc.Hider.HideRoles(ctx, r, rec)
	}
	var patterns []string // git knows its worktree by a name that is not Croft's
	for _, name := range append([]string{r.Config.Provision.EnvFile}, rec.Links...) {
		if name != "" {
			patterns = append(patterns, "/"+git.LiteralPattern(name))
		}
	}
	return r.Git.Exclude(patterns...)
}

func pathsOf(rec journal.Record) []croft.ProvisionedPath {
	if rec.Workspace.Provision == nil {
		return nil
	}
	return rec.Workspace.Provision.Paths
}

// isBelow reports whether a name is a path, or below it. Of a path with a pattern the last part is one.
func isBelow(pattern, name string) bool {
	parts := strings.Split(name, "/")
	n := strings.Count(pattern, "/") + 1
	if len(parts) < n {
		return false
	}
	ok, err := path.Match(pattern, strings.Join(parts[:n], "/"))
	return ok && err == nil
}

// renew replaces the copies that are still asked for and that the project has changed since and nobody else has, if mode says so. It ends
// what a process that died has begun.
func (svc *Equipment) renew(ctx context.Context, r *project.Project, rec journal.Record, copies []provision.Copy, mode croft.ProvisionMode, isAsked func(name string) bool) (renewed int, err error) {
	cp, err := svc.copier(r, rec)
	if err != nil {
		return 0, err
	}
	defer cp.Close()
	kept, err := cp.Recover(copies)
	for _, k := range kept {
		svc.tellKept(rec, k)
	}
	if err != nil {
		return 0, err
	}
	var fresh []provision.Copy
	for _, c := range copies {
		if err = ctx.Err(); err != nil {
			break
		}
		if now, isRenewed := cp.AsRenewed(c); isRenewed { // by a process that died
			fresh = append(fresh, now)
			continue
		}
		if mode != croft.ProvisionRefresh || !isAsked(c.Path) || c.Link != "" || provision.Drift(c, cp.From, cp.To) != croft.DriftStale {
			continue
		}
		var made provision.Copy
		made, err = cp.Renew(c, fsx.ContentCopied)
		if skip, isSkipped := errors.AsType[*provision.SkipError](err); isSkipped {
			svc.tellKept(rec, skip)
			err = nil
			continue
		}
		if err != nil {
			break
		}
		fresh = append(fresh, made)
	}
	return len(fresh), errors.Join(err, svc.addCopies(r, rec.Workspace.ID, fresh))
}

// tellKept tells the user where an edit lies that could not stay in its place.
func (svc *Equipment) tellKept(rec journal.Record, skip *provision.SkipError) {
	if skip.Kept != "" {
		svc.Notice("%s: %s was written while it was renewed; what was written is in %s", rec.Workspace.Name, skip.Path, skip.Kept)
	}
}

// leftAlone reports of files whether they are below a path that was left as the workspace has it.
func leftAlone(rec journal.Record) func(name string) bool {
	var dirs []string
	for _, p := range pathsOf(rec) {
		if p.How == croft.ProvisionSkip {
			dirs = append(dirs, p.Path+"/")
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(name, dir) })
	}
}

// mostDrift is how many files with a drift an answer names.
const mostDrift = 200

// addDrift adds to an answer the files that were brought in and differ by now.
func (svc *Equipment) addDrift(ctx context.Context, r *project.Project, rec journal.Record, to *croft.Provision) error {
	copies, err := svc.Copies(r, rec.Workspace.ID)
	if err != nil || len(copies)+len(rec.Links) == 0 {
		return err
	}
	from, in := fsx.OpenTree(r.Path), fsx.OpenTree(rec.Workspace.Path)
	defer from.Release()
	defer in.Release()
	to.Drift, to.DriftLeft = nil, 0
	left := leftAlone(rec)
	for _, c := range copies {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch state := provision.Drift(c, from, in); {
		case state == "", left(c.Path):
		case len(to.Drift) < mostDrift:
			to.Drift = append(to.Drift, croft.Drift{Path: c.Path, State: state})
		default:
			to.DriftLeft++
		}
	}
	for _, link := range rec.Links {
		if _, err := in.Lstat(link); errors.Is(err, os.ErrNotExist) {
			to.Drift = append(to.Drift, croft.Drift{Path: link, State: croft.DriftMissing})
		}
	}
	return nil
}
