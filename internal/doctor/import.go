package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/workspace"
)

// Croft does not trust what git has of workspaces, because agents can write it. If the
// state and its second copy are lost it is all that is left, and a person may import it
// after Croft has shown it.

func checkDoctor(req croft.DoctorRequest) error {
	if req.Fix != croft.FixNothing && req.Fix != croft.FixAll {
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no way to mend called %q", req.Fix), Details: "all, or leave it out"}
	}
	switch req.Import {
	case croft.ImportNothing, croft.ImportShow, croft.ImportAll:
		return nil
	}
	return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no way to import called %q", req.Import), Details: "show, all, or leave it out"}
}

// offerImport reports a worktree, ref or directory that can be bound to a record, and
// calls bind first if the caller agreed to that. identity distinguishes it from another
// one that may be in its place later.
func (d *examination) offerImport(code, subject, message, identity string, bind func() error) {
	sum := sha256.Sum256([]byte(strings.Join([]string{code, subject, message, identity}, "\x00")))
	seen := hex.EncodeToString(sum[:16])
	was := d.fix
	d.fix = d.imports == croft.ImportAll && (len(d.agreed) == 0 || slices.Contains(d.agreed, seen))
	d.reportFinding(code, subject, message, bind)
	d.findings[len(d.findings)-1].Seen = seen
	d.fix = was
}

// findUnrecorded reports worktrees that Croft registered and that have no record, and
// offers to import them. A branch that is imported counts as the user's.
func (d *examination) findUnrecorded(ctx context.Context) error {
	registered, err := d.r.Git.Registered(worktree.AdminPrefix)
	if err != nil {
		return err
	}
	unknown := 0
	for _, tree := range registered {
		id, ok := strings.CutPrefix(filepath.Base(tree.Admin), worktree.AdminPrefix)
		if !ok || !project.IsID(id) || !tree.IsRegistered() || !filepath.IsAbs(tree.Path) || filepath.Clean(tree.Path) != tree.Path {
			continue
		}
		if _, err := d.Journal.Record(ctx, croft.ID(id)); !errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if reason, locked, _ := tree.LockReason(); locked && reason == worktree.BirthLock {
			continue // a process is making the workspace
		}
		branch, head, err := tree.Head(ctx)
		if err != nil || branch != "" && layout.CheckBranch(branch) != nil {
			continue
		}
		if d.imports == croft.ImportNothing {
			unknown++
			continue
		}
		found, err := fsx.IdentityOf(tree.Path)
		if err != nil {
			continue // the worktree was removed meanwhile
		}
		d.offerImport(findRecordLost, tree.Path, fmt.Sprintf("A worktree that Croft made, on branch %s, has no record.", branch), string(found)+" "+head, func() error {
			return d.importWorktree(ctx, croft.ID(id), tree, found, branch, head)
		})
	}
	if unknown > 0 { // which may be workspaces of another user
		d.Notice("%d worktrees here are called like Croft's and have no record: croft doctor --import shows them", unknown)
	}
	return nil
}

// ImportWorktrees writes records for all worktrees that Croft registered and that have none, for
// a state that nobody acts on.
func (svc *Doctor) ImportWorktrees(ctx context.Context, s project.Location) error {
	d := &examination{Doctor: svc, r: s.Project, imports: croft.ImportAll, isForReading: true}
	return d.findUnrecorded(ctx)
}

// importWorktree writes a workspace record for a registered worktree that has none.
func (d *examination) importWorktree(ctx context.Context, id croft.ID, tree *git.Worktree, found fsx.Identity, branch, head string) error {
	mode := croft.ModeWorktree
	if tree.IsIsolated() {
		mode = croft.ModeIsolated
	}
	from := workspace.OriginOf(ctx, d.r, branch, head)
	rec := journal.Record{RepoID: d.r.ID, Admin: filepath.Base(tree.Admin), Boot: proc.Here().Boot, Workspace: croft.Workspace{
		ID: id, Name: filepath.Base(tree.Path), Mode: mode, State: croft.Ready, Path: tree.Path,
		Branch: branch, Base: from.OID, BaseRef: from.Ref, Target: from.Target, Host: d.Host, Repo: d.r.Path, CreatedAt: madeAt(tree, branch),
	}}
	if err := layout.CheckName(rec.Workspace.Name); err != nil {
		rec.Workspace.Name = string(id)
	}
	// Only a directory that names its registration is bound: a registration alone can
	// name any directory.
	dir, err := fsx.OpenDirIs(tree.Path, found)
	if err != nil {
		return err
	}
	defer dir.Close()
	if !tree.IsRegistered() {
		return fmt.Errorf("%s is not the checkout of this registration any more", tree.Path)
	}
	if d.isForReading {
		rec.Workspace.Unknown = recordFields()
		rec.Copied, rec.Links = placedIn(dir, d.r, id)
	}
	return d.saveBound(ctx, &rec, found)
}

// recordFields are the fields of a workspace that only its record has, by their names in JSON.
func recordFields() []string {
	return []string{
		"activity", "agent", "env", "finished", "isLocked", "label", "lease", "mergeStatus", "meta", "ports", "provision", "question", "role", "round", "session",
	}
}

// placedIn returns the files and links in a workspace that look like Croft's own: the file with the variables of this
// very workspace, and links to the project's own files of the same name. That is enough to tell an agent's work from
// what Croft brought in; nothing is done on the strength of it.
func placedIn(dir *fsx.Dir, r *project.Project, id croft.ID) (copied, links []string) {
	if name := r.Config.Provision.EnvFile; name != "" {
		text, err := dir.ReadFile(name, fsx.MaxSmall)
		if err == nil && bytes.Contains(text, []byte("CROFT_WORKSPACE_ID='"+string(id)+"'\n")) {
			copied = append(copied, name)
		}
	}
	for _, name := range r.Config.Checkout.Links {
		if to, err := os.Readlink(filepath.Join(dir.Path(), name)); err == nil && to == filepath.Join(r.Path, name) {
			links = append(links, name)
		}
	}
	return copied, links
}

// saveBound binds a record to the directory with an identity, and saves the record.
func (d *examination) saveBound(ctx context.Context, rec *journal.Record, found fsx.Identity) error {
	rec.Identity = string(found)
	if err := d.r.Git.Made().Put(rec.Admin, fsx.Made{Path: rec.Workspace.Path, Identity: found}); err != nil {
		return err
	}
	return d.saveRebuilt(ctx, rec)
}

func (d *examination) saveRebuilt(ctx context.Context, rec *journal.Record) error {
	return d.SaveRecord(ctx, rec, func(tx *journal.Tx) error { return tx.Emit(d.WorkspaceEvent(croft.EventWorkspaceRebuilt, *rec)) })
}

// madeAt returns when a worktree was made, from its branch name or else from its
// registration.
func madeAt(tree *git.Worktree, branch string) time.Time {
	if at := layout.CreatedAt(branch); at > 0 {
		return time.UnixMilli(at).UTC()
	}
	if info, err := os.Lstat(filepath.Join(tree.Admin, "commondir")); err == nil {
		return info.ModTime().UTC()
	}
	return time.Time{}
}

// findKeptRefs looks for archive and snapshot refs that no pin names, and offers to import
// them.
func (d *examination) findKeptRefs(ctx context.Context) error {
	if d.imports == croft.ImportNothing {
		return nil
	}
	names, err := d.r.Git.Refs(ctx, project.ArchiveRefs+"*/head", project.SnapshotRefs)
	if err != nil {
		return err
	}
	for _, ref := range names {
		if _, err := d.Pinned(ctx, d.r, ref.Name); !errors.Is(err, refs.ErrNoRef) {
			continue
		}
		if id, what := project.PinOwner(ref.Name, project.ArchiveRefs); what == "head" && project.IsID(string(id)) {
			d.offerImport(findRecordLost, ref.Name, "The last commit of a removed workspace has no record.", ref.OID, func() error { return d.importRemoved(ctx, id, ref) })
		} else if id, of := project.PinOwner(ref.Name, project.SnapshotRefs); project.IsID(string(id)) && project.IsID(of) {
			d.offerImport(findRecordLost, ref.Name, "A snapshot has no record.", ref.OID, func() error {
				return d.Pin(ctx, d.r, journal.Pin{Ref: ref.Name, OID: ref.OID})
			})
		}
	}
	return nil
}

// importRemoved writes a record for a removed workspace of which only the last commit
// is left. The branch gets a new name when the workspace is restored.
func (d *examination) importRemoved(ctx context.Context, id croft.ID, ref refs.Ref) error {
	if _, err := d.Journal.Record(ctx, id); !errors.Is(err, journal.ErrNotFound) {
		return errors.Join(err, d.Pin(ctx, d.r, journal.Pin{Ref: ref.Name, OID: ref.OID}))
	}
	commit, err := d.r.Git.ResolveCommit(ctx, ref.OID)
	if err != nil {
		return err
	}
	now := d.Now()
	name := "removed-" + layout.ShortID(string(id))
	rec := journal.Record{
		RepoID: d.r.ID, Admin: worktree.Admin(string(id)), Boot: proc.Here().Boot, OwnsBranch: true,
		Workspace: croft.Workspace{
			ID: id, Name: name, Mode: croft.ModeWorktree, State: croft.Trashed, Host: d.Host, Repo: d.r.Path,
			Path: filepath.Join(filepath.Dir(d.r.Path), d.r.Name()+".croft", name), Branch: "croft/" + name, Base: commit, CreatedAt: now,
		},
		Trash: &journal.Trash{Tip: commit, BranchGone: true, RemovedAt: now, ExpiresAt: now.Add(time.Duration(d.r.Config.Trash.SavedFor))},
	}
	if err := trash.BindTrashed(d.r, &rec); err != nil {
		return err
	}
	if err := d.Pin(ctx, d.r, journal.Pin{Ref: ref.Name, OID: ref.OID}); err != nil {
		return err
	}
	return d.saveRebuilt(ctx, &rec)
}
