package workspace

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
)

// Equipment brings files of the project into new workspaces, and gives workspaces ports. Package equip implements it.
type Equipment interface {
	PlaceFiles(ctx context.Context, s project.Location, records []*journal.Record) error
	MovePorts(ctx context.Context, r *project.Project, rec journal.Record, then func(*journal.Tx, journal.Record) error) error
}

// Targets remembers where the targets of new workspaces are. Package rules implements it.
type Targets interface {
	RememberTarget(ctx context.Context, r *project.Project, target string) error
}

// rememberTargets remembers where the targets of new workspaces are, each once.
func (svc *Workspaces) rememberTargets(ctx context.Context, r *project.Project, plans []*plan) error {
	var known []string
	for _, p := range plans {
		target := p.record.Workspace.Target
		if slices.Contains(known, target) {
			continue
		}
		if err := svc.Targets.RememberTarget(ctx, r, target); err != nil {
			return err
		}
		known = append(known, target)
	}
	return nil
}

// equipWorkspace makes the links to shared files, the scratch directories and the role
// files of new workspaces.
func (svc *Workspaces) equipWorkspace(ctx context.Context, s project.Location, plans []*plan) error {
	if err := svc.rememberTargets(ctx, s.Project, plans); err != nil {
		return err
	}
	records := make([]*journal.Record, len(plans))
	for i, p := range plans {
		if err := svc.linkShared(ctx, s.Project, p); err != nil {
			return explain.WithWorkspace(p.record.Workspace.Name, err)
		}
		records[i] = &p.record
	}
	if err := svc.Equipment.PlaceFiles(ctx, s, records); err != nil {
		return err
	}
	for _, p := range plans {
		err := svc.makeScratch(ctx, s.Project, p)
		if err == nil && p.mode != croft.ModeLegacy && (len(p.layout.Ignored) > 0 || len(p.record.Env) > 0 || len(p.record.Links) > 0) {
			err = svc.hideRoles(ctx, s.Project, p.record)
		}
		if err == nil && p.role != nil {
			err = svc.copyRole(ctx, s.Project, &p.record, *p.role, provision.Fresh)
		}
		if err != nil {
			return explain.WithWorkspace(p.record.Workspace.Name, err)
		}
	}
	return failpoint.Hit("create.equipped")
}

// recordEquipment records what was brought into new workspaces before they are released: a process that
// finishes the creation after this one has died finds it there.
func (svc *Workspaces) recordEquipment(ctx context.Context, plans []*plan) error {
	if !slices.ContainsFunc(plans, func(p *plan) bool {
		return p.record.Workspace.Provision != nil || p.record.Env != nil || len(p.record.Links) > 0
	}) {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range plans {
			if err := tx.SaveRecord(&p.record); err != nil {
				return err
			}
		}
		return nil
	})
}

// hideRoles runs [HideRoles] under the repository's lock.
func (svc *Workspaces) hideRoles(ctx context.Context, r *project.Project, rec journal.Record) error {
	return svc.UnderLock(ctx, r, func() error { return svc.HideRoles(ctx, r, rec) })
}

// linkShared links the files and directories that a workspace shares with the project. An isolated one has none of these links:
// the record says so, and where the user allows it copies come in later.
// The links are never committed.
func (svc *Workspaces) linkShared(ctx context.Context, r *project.Project, p *plan) error {
	patterns := append(slices.Clone(p.layout.Links), r.Config.Checkout.Links...)
	if p.mode == croft.ModeLegacy || len(patterns) == 0 {
		return nil
	}
	if p.mode == croft.ModeIsolated {
		names, err := provision.Shared(r.Path, patterns)
		for _, name := range names {
			p.record.AddProvisioned(croft.ProvisionedPath{Path: name, Wanted: croft.ProvisionLink, How: croft.ProvisionSkip, Why: provision.WhyNotShared})
		}
		return err
	}
	var err error
	if p.record.Links, err = provision.Link(r.Path, p.record.Workspace.Path, patterns); err != nil || len(p.record.Links) == 0 {
		return err
	}
	for _, name := range p.record.Links {
		p.record.AddProvisioned(croft.ProvisionedPath{Path: name, Wanted: croft.ProvisionLink, How: croft.ProvisionLink})
	}
	return svc.hideRoles(ctx, r, p.record)
}

// copyRole copies a role's files into a workspace, and makes git ignore them.
func (svc *Workspaces) copyRole(ctx context.Context, r *project.Project, rec *journal.Record, role croft.Role, into provision.Checkout) error {
	untracked, err := svc.PlaceRole(ctx, r, rec, role, into)
	if err != nil || len(untracked) == 0 {
		return err
	}
	return svc.hideRoles(ctx, r, *rec)
}

// PlaceRole copies a role's files, adds them to the record, and returns the names of
// those that git has to ignore.
func (svc *Workspaces) PlaceRole(ctx context.Context, r *project.Project, rec *journal.Record, role croft.Role, into provision.Checkout) ([]string, error) {
	copied, err := r.Roles().Copy(ctx, provision.Copying{
		Worktree: r.Trees.At(project.SpecOf(*rec)), Role: role, Into: into, Placed: placedDigests(*rec),
	})
	if err != nil {
		return nil, err
	}
	for _, f := range role.Files {
		if !slices.Contains(rec.RoleFiles, f) {
			rec.RoleFiles = append(rec.RoleFiles, f)
		}
	}
	sums := placedDigests(*rec)
	maps.Copy(sums, copied.Placed)
	rec.RoleSums = sums
	return copied.Untracked, nil
}

// placedDigests returns the digests of a workspace's role files. The digest of a file
// is empty if it is not known, and matches nothing.
func placedDigests(rec journal.Record) map[string]string {
	sums := map[string]string{}
	for _, f := range rec.RoleFiles {
		sums[f] = rec.RoleSums[f]
	}
	return sums
}

// HideRoles makes git ignore role files, links and project.StateFile in Croft's
// worktrees, and gives the one of a record the new rules. Links are those of the layouts, of the settings, and of all
// live workspaces of the project. The caller holds the repository's lock.
func (svc *Workspaces) HideRoles(ctx context.Context, r *project.Project, rec journal.Record) error {
	records, err := svc.Journal.Records(ctx, r.ID)
	if err != nil {
		return err
	}
	patterns := []string{"/" + project.StateFile, provision.AsidePattern}
	if name := r.Config.Provision.EnvFile; name != "" {
		patterns = append(patterns, "/"+git.LiteralPattern(name))
	}
	for _, f := range r.Config.Roles.Files {
		patterns = append(patterns, "/"+f)
	}
	// An ignore rule for a directory does not match a link to one.
	for _, l := range layout.Presets() {
		for _, name := range append(l.Links, r.Config.Checkout.Links...) {
			if !strings.HasPrefix(name, ".") && !slices.Contains(patterns, "/"+name) {
				patterns = append(patterns, "/"+name)
			}
		}
	}
	for _, other := range append(records, rec) {
		for _, name := range other.Links {
			if pattern := "/" + git.LiteralPattern(name); other.Workspace.State != croft.Trashed && !strings.HasPrefix(name, ".env") && !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
			}
		}
	}
	if err := r.Git.LocalExclude(ctx, worktree.AdminPrefix+"*", patterns); err != nil {
		return err
	}
	return r.Trees.At(project.SpecOf(rec)).ShareExcludes()
}

// RoleNamed returns the role that a request names.
func (svc *Workspaces) RoleNamed(_ context.Context, s project.Location, req croft.RoleRequest) (*croft.Role, error) {
	role, err := FindRole(s.Project, req.Role)
	if err != nil {
		return nil, err
	}
	return &role, nil
}

// UpdateRole copies a role's files into a workspace, also over the files that Croft
// copied before. Only with RoleReplace does it replace files that an agent changed.
func (svc *Workspaces) UpdateRole(ctx context.Context, s project.Location, rec journal.Record, req croft.RoleRequest) (*croft.Role, error) {
	name := cmp.Or(req.Role, rec.Workspace.Role)
	if name == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Workspace: rec.Workspace.Name, Message: "the workspace has no role", Hint: "croft new --role ROLE NAME"}
	}
	role, err := FindRole(s.Project, name)
	if err == nil && rec.Workspace.Mode == croft.ModeLegacy {
		err = &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation takes no role files"}
	}
	if err == nil {
		err = svc.copyRole(ctx, s.Project, &rec, role, provision.Used)
	}
	if req.Mode == croft.RoleReplace && errors.Is(err, croft.WorkspaceDirty) {
		role.Snapshot, err = svc.replaceRole(ctx, s.Project, &rec, role)
	}
	if err == nil {
		rec.Workspace.Role = name
		err = svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
			return errors.Join(svc.Note(tx, "role", s.ID, rec), once.Answer(ctx, tx, &role))
		})
	}
	if err != nil {
		return nil, err
	}
	return &role, nil
}

// SnapshotSaver takes snapshots of workspaces. Package rewind implements it.
type SnapshotSaver interface {
	// SaveAlso saves a workspace together with ignored files that are about to be
	// replaced, given by patterns.
	SaveAlso(ctx context.Context, r *project.Project, rec journal.Record, cause croft.SnapshotCause, ignored []string) (*croft.Snapshot, error)
}

// replaceRole replaces role files that an agent changed, after it has saved the
// workspace. It names the files to the snapshot, because git ignores some of them.
func (svc *Workspaces) replaceRole(ctx context.Context, r *project.Project, rec *journal.Record, role croft.Role) (croft.ID, error) {
	var files []string
	for _, f := range role.Files {
		files = append(files, "/"+git.LiteralPattern(f))
	}
	before, err := svc.Snapshots.SaveAlso(ctx, r, *rec, croft.SnapshotBeforeRole, files)
	if err != nil {
		return "", err
	}
	return before.ID, svc.copyRole(ctx, r, rec, role, provision.Fresh)
}

// FindRole finds a role of a project.
func FindRole(r *project.Project, name string) (croft.Role, error) {
	if err := layout.CheckRole(name); err != nil {
		return croft.Role{}, err
	}
	return r.Roles().Find(name)
}
