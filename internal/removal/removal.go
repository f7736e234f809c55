// Package removal moves workspaces to the trash. It deletes no files of a workspace: that is
// package trash.
//
// Guard decides whether a workspace may go. Every mode refuses an active lease of another
// process, a workspace that is being created, and a path where another checkout or a copy
// lies. The other protections depend on the mode:
//
//	                process inside   lock      uncommitted work   waiting merge
//	RemoveSafe      refuses          refuses   refuses            refuses
//	RemoveWithWork  refuses          refuses   goes               refuses
//	RemoveForce     refuses          goes      goes               cancelled
//	RemoveOccupied  goes             goes      goes               cancelled
//
// A waiting merge is looked at by RemoveOne, not by Guard. A merge that is being checked or
// published is not cancelled. A legacy workspace is guarded by leases and merges only.
// Commits that were not merged do not stop a removal: they are archived. A caller that wants
// them to stop it sets Spec.Head, or asks IsIntegrated first.
//
// Guard runs once, before the operation is in the journal. Three things are looked at again
// later: waiting merges in the journal's transaction, Spec.Head under the project's lock, and
// the identity of the directory when it is moved.
//
// A removal pins the commits and the state of the index under archive refs, renames the
// directory into the trash, and then deletes the branch by compare-and-swap. A branch that
// moved or is checked out elsewhere stays, and the removal succeeds.
//
// After a crash RecoverRemove finishes the removal without asking Guard again. A removal is
// undone only if the directory was not moved: RemoveOne failed, something else lies at the
// path, or commits came after Spec.Head.
//
// The package makes the archive refs head, branch, state and own of a removed workspace.
// Package trash has the ref work, and updates own. Private files of snapshots are written by
// packages trash and rewind.
package removal

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/view"
)

// Removals removes workspaces. Several processes may do so at once: the journal and the
// project's lock decide.
type Removals struct {
	*project.Projects
	Views     *view.Views // required
	Equipment Equipment   // required
	Queues    view.Queues // required
}

// Equipment knows what the set-up of workspaces has brought in, and ends what it has started.
type Equipment interface {
	// TearDown runs the commands that a workspace asks for when it is removed. It returns sentences
	// about what was not done: nothing of it hinders a removal.
	TearDown(ctx context.Context, r *project.Project, rec journal.Record) (notes []string)
	// AsCopied returns a function that reports whether a file below tree, the checkout of a workspace, is
	// as it was copied or linked from the project. The caller calls release when it has asked.
	AsCopied(r *project.Project, rec journal.Record, tree string) (isAsCopied func(name string) bool, release func())
}

func (svc *Removals) recordsToRemove(ctx context.Context, s project.Location, req croft.RemoveRequest, res *croft.RemoveResult) ([]journal.Record, error) {
	if req.All == croft.ScopeAll {
		live, err := svc.Journal.Live(ctx, s.ID)
		return AgreedOf(req.Agreed, live), err
	}
	var records []journal.Record
	for _, ref := range req.Workspaces {
		rec, err := svc.Find(ctx, s, ref)
		if errors.Is(err, croft.WorktreeNotFound) && ref != "" {
			res.Unknown = append(res.Unknown, ref)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(records, func(r journal.Record) bool { return r.Workspace.ID == rec.Workspace.ID }) {
			records = append(records, rec)
		}
	}
	return AgreedOf(req.Agreed, records), nil
}

// AgreedOf returns the records that a names, or all of them if a is nil. It reuses the
// array of records.
func AgreedOf(a *croft.Agreed, records []journal.Record) []journal.Record {
	if a == nil {
		return records
	}
	return slices.DeleteFunc(records, func(rec journal.Record) bool { return !slices.Contains(a.Workspaces, rec.Workspace.ID) })
}

// AgreedMode returns the mode for one workspace. If a is nil that is the requested one.
// Otherwise it is RemoveWithWork if the workspace was shown with uncommitted work, and
// RemoveSafe if not.
func AgreedMode(a *croft.Agreed, rec journal.Record, requested croft.RemoveMode) croft.RemoveMode {
	switch {
	case a == nil:
		return requested
	case slices.Contains(a.WithWork, rec.Workspace.ID):
		return RemoveWithWork
	}
	return croft.RemoveSafe
}

// RequireShown fails with WorkChanged if a workspace has other work than a person was shown, by its
// stamp. A workspace without a stamp in a is not compared; a may be nil.
func (svc *Removals) RequireShown(ctx context.Context, r *project.Project, rec journal.Record, a *croft.Agreed) error {
	if a == nil || a.Stamps[rec.Workspace.ID] == "" {
		return nil
	}
	shown := a.Stamps[rec.Workspace.ID]
	st, err := svc.Views.WorkOf(ctx, r, rec)
	if err != nil || st.Stamp == shown {
		return err
	}
	return &croft.Error{
		Code: croft.WorkChanged, Message: "its work has changed since it was shown", Details: "Nothing was moved.",
		Hint: "croft diff " + shellword.Quote(rec.Workspace.Name),
	}
}

// RemoveOrPlan removes a workspace by RemoveOne. With DryRunOn it only asks the guards,
// also about waiting merges; if the workspace was moved, it still records the new path.
func (svc *Removals) RemoveOrPlan(ctx context.Context, r *project.Project, rec journal.Record, how Spec, mode croft.RemoveMode, dry croft.DryRun) (*croft.Removed, error) {
	if dry != croft.DryRunOn {
		return svc.RemoveOne(ctx, r, rec, how, mode)
	}
	rec, err := svc.UpdateMovedPath(ctx, r, rec) // a workspace that was moved is judged at its new path, as the removal does
	if err == nil {
		err = svc.Guard(ctx, r, rec, mode)
	}
	var waiting []journal.Merge
	if err == nil {
		waiting, err = svc.Journal.WaitingOf(ctx, rec.Workspace.ID)
	}
	if err == nil {
		err = svc.guardMerges(r, waiting, rec.Workspace, mode)
	}
	return &croft.Removed{ID: rec.Workspace.ID, Name: rec.Workspace.Name}, err
}
