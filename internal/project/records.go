package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// SpecOf describes the checkout of a workspace.
func SpecOf(rec journal.Record) checkout.Spec {
	w := rec.Workspace
	s := checkout.Spec{
		ID: string(w.ID), Path: w.Path, Branch: w.Branch, Base: w.Base, Kind: kindOf(w.Mode), Identity: fsx.Identity(rec.Identity),
	}
	if rec.Trash != nil {
		s.TrashedIn = fsx.Identity(rec.Trash.Identity)
	}
	return s
}

// IsActive reports whether a lease protects its workspace: it has not expired, and
// its owner is not provably gone; or it lasts as long as its owner, which lives.
func IsActive(l croft.Lease, now time.Time) bool {
	if l.ExpiresAt.After(now) {
		return Liveness(l.Owner) != proc.Dead
	}
	return l.Term == croft.TermProcess && Liveness(l.Owner) == proc.Alive
}

// Find looks a live workspace up by its name, its ID, or a path in it; an
// empty ref means the one that the request was made from.
func (p *Projects) Find(ctx context.Context, s Location, ref string) (journal.Record, error) {
	if ref == "" {
		if rec, ok, err := p.findPath(ctx, s.Project, s.Place.WorkDir); err != nil || ok {
			return rec, err
		}
		return journal.Record{}, &croft.Error{
			Code: croft.WorktreeNotFound, Message: "not inside a workspace, and no name was given", Hint: "croft list",
		}
	}
	// An ID comes first: a name that is another's ID would lead whoever has that
	// ID astray. A workspace cannot be given such a name.
	rec, err := p.Journal.Record(ctx, croft.ID(ref))
	if err == nil && rec.RepoID == s.ID {
		if rec.Workspace.State == croft.Trashed {
			return journal.Record{}, p.notLive(ctx, s.Project, ref)
		}
		return rec, nil
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return rec, err
	}
	rec, err = p.Journal.LiveByName(ctx, s.ID, ref)
	if !errors.Is(err, journal.ErrNotFound) {
		return rec, err
	}
	if strings.ContainsRune(ref, filepath.Separator) || ref == "." {
		path := ref
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		if rec, ok, err := p.findPath(ctx, s.Project, path); err != nil || ok {
			return rec, err
		}
	}
	return journal.Record{}, p.notLive(ctx, s.Project, ref)
}

func (p *Projects) findPath(ctx context.Context, r *Project, path string) (journal.Record, bool, error) {
	if path == "" {
		return journal.Record{}, false, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	records, err := p.Journal.Live(ctx, r.ID)
	if err != nil {
		return journal.Record{}, false, err
	}
	for _, rec := range records {
		at := rec.Workspace.Path
		if rec.Workspace.Mode != croft.ModeLegacy && (path == at || strings.HasPrefix(path, at+string(os.PathSeparator))) {
			return rec, true, nil
		}
	}
	return journal.Record{}, false, nil
}

// FindByID finds a live workspace and its repository.
func (p *Projects) FindByID(ctx context.Context, id croft.ID) (*Project, journal.Record, error) {
	rec, err := p.Journal.Record(ctx, id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		return nil, rec, WorkspaceNotFound("", string(id))
	}
	if err != nil {
		return nil, rec, err
	}
	r, err := p.ByID(ctx, rec.RepoID)
	return r, rec, err
}

// OnlyTrashed leaves the records that can be restored, the last removed first.
func OnlyTrashed(all []journal.Record) []journal.Record {
	list := slices.DeleteFunc(all, func(rec journal.Record) bool {
		return rec.Workspace.State != croft.Trashed || rec.Trash == nil || rec.Trash.Purged || rec.Workspace.Mode == croft.ModeLegacy
	})
	slices.SortStableFunc(list, func(a, b journal.Record) int { return b.Trash.RemovedAt.Compare(a.Trash.RemovedAt) })
	return list
}

// FindGone finds a workspace that was removed, by its ID or its name; of several
// that had it, the last removed.
func (p *Projects) FindGone(ctx context.Context, r *Project, ref string, none error) (journal.Record, error) {
	list, err := p.Journal.Removed(ctx, r.ID, ref)
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

// notLive says of what is not among the live workspaces that it was removed, and what
// brings it back, or that there is none.
func (p *Projects) notLive(ctx context.Context, r *Project, ref string) error {
	out := WorkspaceNotFound("", ref)
	list, err := p.Journal.Removed(ctx, r.ID, ref)
	if list = OnlyTrashed(list); err != nil || len(list) == 0 {
		return out
	}
	what := "removed"
	switch status := list[0].Workspace.MergeStatus; status {
	case croft.MergeMerged, croft.MergeDiscarded, croft.MergeReverted:
		what = string(status)
	}
	out.Message, out.Hint = fmt.Sprintf("workspace %q was %s, and is in the trash", ref, what), "croft restore "+ref
	return out
}

// KeptBecause says why a workspace was not removed.
func KeptBecause(rec journal.Record, err error) croft.Kept {
	why := croft.AsError("remove", explain.Error("remove", rec.Workspace.Name, err))
	if why.Code == croft.NotWritable {
		why.Code, why.Message = croft.CleanupFailed, "the workspace could not be removed: "+why.Message
		why.Hint = cmp.Or(why.Hint, "give yourself the right to write there, then croft remove "+rec.Workspace.Name)
	}
	return croft.Kept{ID: rec.Workspace.ID, Name: rec.Workspace.Name, Reason: why}
}

// WorkspaceAround finds a workspace that the Service or one of the directories
// lies in, or nil.
func (p *Projects) WorkspaceAround(ctx context.Context, dirs ...string) (*journal.Record, error) {
	for _, dir := range append(dirs, p.Dir, p.From) {
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Dir, dir)
		}
		real, err := filepath.EvalSymlinks(dir)
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
	}
	return nil, nil
}
