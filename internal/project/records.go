package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/shellword"
)

// SpecOf describes the checkout of a workspace.
func SpecOf(rec journal.Record) checkout.Spec {
	w := rec.Workspace
	s := checkout.Spec{
		ID: string(w.ID), Admin: rec.Admin, Path: w.Path, Branch: w.Branch, Base: w.Base, Kind: kindOf(w.Mode), Identity: fsx.Identity(rec.Identity),
		Sparse: rec.Sparse,
	}
	if rec.Trash != nil {
		s.TrashedIn = fsx.Identity(rec.Trash.Identity)
	}
	return s
}

// IsActive reports whether a lease protects its workspace: it has not expired and its
// owner is not known to be dead, or it lasts as long as its owner, which lives.
func IsActive(l croft.Lease, now time.Time) bool {
	if l.ExpiresAt.After(now) {
		return owner.Life(l.Owner) != proc.Dead
	}
	return l.Term == croft.TermProcess && owner.Life(l.Owner) == proc.Alive
}

// Find finds a live workspace by its name, its ID, or a path in it. If ref is empty, it
// finds the workspace that the request was made from.
func (p *Projects) Find(ctx context.Context, s Location, ref string) (journal.Record, error) {
	if ref == "" {
		if rec, ok, err := p.findPath(ctx, s.Project, s.Place.WorkDir); err != nil || ok {
			return rec, err
		}
		return journal.Record{}, &croft.Error{
			Code: croft.WorktreeNotFound, Message: "not inside a workspace, and no name was given", Hint: "croft list",
		}
	}
	kind, text := croft.CutRef(ref)
	// The ID is looked up first, so that a workspace whose name is the ID of another
	// one is not found in its place. New workspaces cannot get such a name.
	if kind.Is(croft.RefID) {
		rec, err := p.Journal.Record(ctx, croft.ID(text))
		if err == nil && rec.RepoID == s.ID {
			if rec.Workspace.State == croft.Trashed {
				return journal.Record{}, p.notLiveError(ctx, s.Project, ref)
			}
			return rec, nil
		}
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return rec, err
		}
	}
	if kind.Is(croft.RefName) {
		if rec, err := p.Journal.LiveByName(ctx, s.ID, text); !errors.Is(err, journal.ErrNotFound) {
			return rec, err
		}
	}
	if kind == croft.RefPath || kind == croft.RefAny && (strings.ContainsRune(text, filepath.Separator) || text == ".") {
		if rec, ok, err := p.findPath(ctx, s.Project, p.absolute(ctx, text)); err != nil || ok {
			return rec, err
		}
	}
	id, err := p.WholeID(ctx, journal.IdentifiedLive, s.ID, ref)
	if err != nil {
		return journal.Record{}, err
	}
	if id != "" {
		return p.Journal.Record(ctx, id)
	}
	return journal.Record{}, p.notLiveError(ctx, s.Project, ref)
}

func (p *Projects) findPath(ctx context.Context, r *Project, path string) (journal.Record, bool, error) {
	if path == "" {
		return journal.Record{}, false, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	rec, err := p.Journal.WorkspaceAt(ctx, path)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.RepoID != r.ID {
		return journal.Record{}, false, nil
	}
	return rec, err == nil, err
}

// FindByID finds a live workspace and its repository.
func (p *Projects) FindByID(ctx context.Context, id croft.ID) (*Project, journal.Record, error) {
	rec, err := p.Journal.Record(ctx, id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		return nil, rec, WorkspaceNotFoundError("", string(id))
	}
	if err != nil {
		return nil, rec, err
	}
	r, err := p.ByID(ctx, rec.RepoID)
	return r, rec, err
}

// OnlyTrashed returns the records of workspaces that can be restored, the last removed
// first. It reuses the array of all.
func OnlyTrashed(all []journal.Record) []journal.Record {
	list := slices.DeleteFunc(all, func(rec journal.Record) bool { return !rec.IsRestorable() })
	slices.SortStableFunc(list, func(a, b journal.Record) int { return b.Trash.RemovedAt.Compare(a.Trash.RemovedAt) })
	return list
}

// Removed lists the removed workspaces that a Ref may mean: by ID, by name, or by the beginning
// of an ID.
func (p *Projects) Removed(ctx context.Context, r *Project, ref croft.Ref) ([]journal.Record, error) {
	_, text := croft.CutRef(ref)
	list, err := p.Journal.Removed(ctx, r.ID, text)
	list = slices.DeleteFunc(list, func(rec journal.Record) bool {
		return !croft.RefNames(ref, rec.Workspace.ID, rec.Workspace.Name)
	})
	if err != nil || len(list) > 0 {
		return list, err
	}
	id, err := p.WholeID(ctx, journal.IdentifiedTrashed, r.ID, ref)
	if err != nil || id == "" {
		return nil, err
	}
	return p.Journal.Removed(ctx, r.ID, string(id))
}

// FindRemoved finds a removed workspace by its ID or its name; of several it returns
// the last removed. If there is none, it returns the error none.
func (p *Projects) FindRemoved(ctx context.Context, r *Project, ref string, none error) (journal.Record, error) {
	list, err := p.Removed(ctx, r, ref)
	if err != nil {
		return journal.Record{}, err
	}
	var last *journal.Record
	for i, rec := range list {
		if last == nil || rec.Trash != nil && (last.Trash == nil || rec.Trash.RemovedAt.After(last.Trash.RemovedAt)) {
			last = &list[i]
		}
	}
	if last == nil {
		return journal.Record{}, none
	}
	return *last, nil
}

// notLiveError returns the WorktreeNotFound error for a name that no live workspace
// has. If a workspace in the trash has it, the error says how to restore that.
func (p *Projects) notLiveError(ctx context.Context, r *Project, ref string) error {
	out := WorkspaceNotFoundError("", ref)
	list, err := p.Removed(ctx, r, ref)
	if list = OnlyTrashed(list); err != nil || len(list) == 0 {
		return out
	}
	what := "removed"
	switch status := list[0].Workspace.MergeStatus; status {
	case croft.MergeMerged, croft.MergeDiscarded, croft.MergeReverted:
		what = string(status)
	}
	out.Message, out.Hint = fmt.Sprintf("workspace %q was %s, and is in the trash", ref, what), "croft restore "+shellword.Quote(ref)
	out.Fields["removed"] = list[0].Trash.RemovedAt.UTC().Format(time.RFC3339)
	return out
}

// KeptBecause returns the entry of an answer for a workspace that was not removed because
// of err. NotWritable becomes CleanupFailed.
func KeptBecause(rec journal.Record, err error) croft.Kept {
	why := croft.AsError("remove", explain.Error("remove", rec.Workspace.Name, err))
	if why.Code == croft.NotWritable {
		why.Code, why.Message = croft.CleanupFailed, "the workspace could not be removed: "+why.Message
		why.Hint = cmp.Or(why.Hint, "give yourself the right to write there, then croft remove "+shellword.Quote(rec.Workspace.Name))
	}
	return croft.Kept{ID: rec.Workspace.ID, Name: rec.Workspace.Name, Reason: why}
}

// WorkspaceAround finds the workspace whose agent makes the call, or that one of the
// directories, or the directory of the service or of its actor, lies in, wherever it was
// moved or mounted. It returns nil if there is none, and fails if one of the directories
// does not exist.
func (p *Projects) WorkspaceAround(ctx context.Context, dirs ...string) (*journal.Record, error) {
	if _, inside := p.ActorOfCall(ctx); inside != "" {
		if rec, err := p.Journal.Record(ctx, inside); !errors.Is(err, journal.ErrNotFound) {
			return &rec, err
		}
	}
	for _, dir := range append(dirs, p.dirOf(ctx), croft.ActorFrom(ctx).From, p.From) {
		kind, dir := croft.CutRef(dir)
		if dir == "" || kind == croft.RefID {
			continue
		}
		real, err := filepath.EvalSymlinks(p.absolute(ctx, dir))
		if fsx.IsNoPath(err) { // whether it is inside a workspace cannot be told
			return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the directory that the call comes from is not there", Details: fmt.Sprintf("%.300s", dir), Err: err}
		}
		if err != nil {
			return nil, err
		}
		rec, err := p.Journal.WorkspaceAt(ctx, real)
		if err == nil {
			return &rec, nil
		}
		if !errors.Is(err, journal.ErrNotFound) {
			return nil, err
		}
		if moved, err := p.movedAround(ctx, real); err != nil || moved != nil {
			return moved, err
		}
	}
	return nil, nil
}

// movedAround finds the workspace, live or in the trash, whose directory is one of those
// that a path lies in, by its identity: its path may be another one than is recorded.
func (p *Projects) movedAround(ctx context.Context, path string) (*journal.Record, error) {
	var above []string
	for dir := path; ; dir = filepath.Dir(dir) {
		if id, err := fsx.IdentityOf(dir); err == nil {
			above = append(above, string(id))
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	repos, err := p.Journal.Repos(ctx)
	for _, r := range repos {
		records, rerr := p.Journal.Records(ctx, r.ID)
		if err = errors.Join(err, rerr); err != nil {
			break
		}
		for i, rec := range records {
			if rec.Identity != "" && rec.Workspace.Mode != croft.ModeLegacy && slices.Contains(above, rec.Identity) {
				return &records[i], nil
			}
		}
	}
	return nil, err
}

// scratchName returns the name of the scratch directory in the workspaces of a layout,
// or the empty string if they have none.
func (r *Project) scratchName(name string) string {
	l, err := layout.Preset(cmp.Or(name, r.Config.Layout))
	if err != nil {
		return r.Config.Checkout.Scratch
	}
	return cmp.Or(r.Config.Checkout.Scratch, l.Scratch)
}

// ScratchOf returns the scratch directory of a workspace, or the empty string if it has
// none.
func (r *Project) ScratchOf(w croft.Workspace) string {
	name := r.scratchName(w.Layout)
	if name == "" || w.Mode == croft.ModeLegacy {
		return ""
	}
	return filepath.Join(w.Path, name)
}

// WorkspaceEvent returns an event about a workspace. The journal adds the nouns.
func (p *Projects) WorkspaceEvent(kind string, rec journal.Record) croft.Event {
	return croft.Event{Time: p.Now(), Kind: kind, Subjects: croft.Subjects{Repo: rec.RepoID, Workspace: rec.Workspace.ID}}
}

// MergeEvent returns an event about a merge.
func (p *Projects) MergeEvent(kind string, m journal.Merge) croft.Event {
	return croft.Event{Time: p.Now(), Kind: kind, Subjects: croft.Subjects{Repo: m.RepoID, Workspace: m.Workspace, Merge: m.ID}}
}

// The beginnings of the refs of live and of removed workspaces. The workspace's ID
// follows.
const (
	wsRefs      = "refs/croft/ws/"
	ArchiveRefs = "refs/croft/archive/"
)

// BaseRef returns the ref that keeps the commit which a workspace began with.
func BaseRef(id croft.ID) string { return wsRefs + string(id) + "/base" }

// HeldRef returns the ref that keeps the objects which the agent of an isolated
// workspace has beside its branch.
func HeldRef(id croft.ID) string { return wsRefs + string(id) + "/held" }

// ArchiveRef returns the ref that keeps the commit which a removed workspace had
// checked out.
func ArchiveRef(id croft.ID) string { return ArchiveRefs + string(id) + "/head" }

// ArchiveBranchRef returns the ref that keeps the tip which the branch of a removed
// workspace had when it was deleted.
func ArchiveBranchRef(id croft.ID) string { return ArchiveRefs + string(id) + "/branch" }

// ArchiveStateRef returns the ref that keeps the objects which only the index, or a
// merge or rebase in progress, names in a removed workspace.
func ArchiveStateRef(id croft.ID) string { return ArchiveRefs + string(id) + "/state" }

// ArchiveOwnRef returns the ref that keeps the branches, tags and stashes, with their
// names, which the agent of a removed isolated workspace made in its own git directory.
func ArchiveOwnRef(id croft.ID) string { return ArchiveRefs + string(id) + "/own" }

// ArchiveWorkRef returns the ref that keeps a snapshot of a removed workspace's
// uncommitted files, once its directory is deleted from the trash.
func ArchiveWorkRef(id croft.ID) string { return ArchiveRefs + string(id) + "/work" }

// ClaimRevision fails unless the one workspace that a request names is at the revision that
// its caller has seen; zero stands for any. A repeated call with a key has claimed it before; by names it, if
// the key is not that of ctx.
func (p *Projects) ClaimRevision(ctx context.Context, s Location, refs []croft.Ref, revision int, by string) error {
	if revision == 0 {
		return nil
	}
	if len(refs) != 1 {
		return &croft.Error{Code: croft.InvalidRequest, Message: "a revision is that of one workspace, and the request names another number of them"}
	}
	rec, err := p.FindOnce(ctx, s, refs[0])
	if err == nil {
		_, err = once.Pin(ctx, "revision", func() (int, error) { return revision, p.Claim(ctx, rec, revision, cmp.Or(by, once.NameOf(ctx))) })
	}
	return err
}

// Claim fails unless a workspace is at a revision; zero stands for any. by names the call if
// it has a key.
func (p *Projects) Claim(ctx context.Context, rec journal.Record, revision int, by string) error {
	if revision == 0 {
		return nil
	}
	return explain.WithWorkspace(rec.Workspace.Name, p.Journal.Claim(ctx, rec.Workspace.ID, revision, by))
}

// SaveRecord writes a changed record to the journal with a new generation, in one
// transaction with then, which may be nil.
func (p *Projects) SaveRecord(ctx context.Context, rec *journal.Record, then func(*journal.Tx) error) error {
	return p.Journal.Update(ctx, func(tx *journal.Tx) error {
		if err := tx.SaveRecord(rec); err != nil || then == nil {
			return err
		}
		return then(tx)
	})
}

// SnapshotRefs begins the names of the refs of snapshots.
const SnapshotRefs = "refs/croft/snapshot/"
