// Package rewind saves the whole state of a workspace as a snapshot, and puts a workspace
// back to one.
//
// A snapshot has every file that matters, also uncommitted ones, with the index and the
// branch. A rewind saves the workspace before it changes anything, so that the rewind can
// itself be undone. It happens in place; if it is interrupted, the next process finishes it
// or rolls it back, and until then the workspace is shown as being rewound and no other
// operation acts on it. Files that an agent wrote meanwhile are set aside,
// never overwritten.
//
// It owns the snapshot refs and the directories of files that were set aside.
package rewind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/view"
)

// Rewinds takes snapshots of workspaces, and rewinds workspaces to them.
type Rewinds struct {
	*project.Projects
	Removals *removal.Removals // required
	Trash    *trash.Trash      // required
	Views    *view.Views       // required
}

func snapshotRef(workspace, id croft.ID) string {
	return project.SnapshotRefs + string(workspace) + "/" + string(id)
}

// TakeSnapshot saves the state of a workspace. A call with a key draws the snapshot's ID
// before it saves, so that the repeated call finds a snapshot that is whole and takes no
// second one.
func (svc *Rewinds) TakeSnapshot(ctx context.Context, s project.Location, rec journal.Record, req croft.SnapshotRequest) (*croft.Snapshot, error) {
	if err := layout.CheckReason(req.Reason); err != nil {
		return nil, err
	}
	id, err := once.PinID(ctx, "snapshot", project.NewID)
	if err != nil {
		return nil, err
	}
	var saved *croft.Snapshot
	if once.HasKey(ctx) {
		saved, err = svc.findSnapshot(ctx, s.Project, string(id))
	}
	if err == nil && saved == nil {
		saved, err = svc.save(ctx, s.Project, rec, saving{id: id, cause: croft.SnapshotRequested, reason: req.Reason})
	}
	if err != nil {
		return nil, err
	}
	return saved, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(svc.savedEvent(rec, saved)), svc.Note(tx, "snapshot", s.ID, rec), once.Answer(ctx, tx, saved))
	})
}

// SaveAlso saves a workspace together with ignored files that are about to be replaced,
// given by patterns.
func (svc *Rewinds) SaveAlso(ctx context.Context, r *project.Project, rec journal.Record, cause croft.SnapshotCause, ignored []string) (*croft.Snapshot, error) {
	return svc.saveWith(ctx, r, rec, saving{cause: cause, also: ignored})
}

// saveWith saves the state of a workspace, as save does, and emits the event.
func (svc *Rewinds) saveWith(ctx context.Context, r *project.Project, rec journal.Record, what saving) (*croft.Snapshot, error) {
	saved, err := svc.save(ctx, r, rec, what)
	if err != nil || slices.ContainsFunc(what.last, func(s croft.Snapshot) bool { return s.ID == saved.ID }) {
		return saved, err
	}
	return saved, svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.Emit(svc.savedEvent(rec, saved)) })
}

func (svc *Rewinds) savedEvent(rec journal.Record, saved *croft.Snapshot) croft.Event {
	event := svc.WorkspaceEvent(croft.EventWorkspaceSaved, rec)
	event.Snapshot, event.After = saved.ID, &croft.Nouns{Snapshot: saved}
	return event
}

// saving says for what a snapshot is taken.
type saving struct {
	id     croft.ID // of the snapshot; default: a new one
	cause  croft.SnapshotCause
	reason string           // of the request
	before string           // a snapshot that is going to be restored over the workspace
	also   []string         // patterns of ignored files that are going to be replaced
	seen   **snapshot.Seen  // set to what was seen of the files, with before
	last   []croft.Snapshot // if one of them has the present state of the workspace, it is returned
}

// save saves the state of a workspace and pins it.
func (svc *Rewinds) save(ctx context.Context, r *project.Project, rec journal.Record, what saving) (*croft.Snapshot, error) {
	w := rec.Workspace
	if w.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation has no state of its own"}
	}
	if w.State == croft.Creating {
		return nil, project.NotReadyError(croft.WorkspaceBusy, rec)
	}
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return nil, r.BrokenNowError(ctx, rec, h)
	}
	id := cmp.Or(what.id, project.NewID())
	endDraft, err := svc.BeginDraft(r, id, snapshotRef(w.ID, id))
	if err != nil {
		return nil, err
	}
	pinned := false
	defer func() {
		if !pinned { // no pin names them, so no command would find them
			_ = fsx.RemoveOwn(svc.SecretsDir(r, id))
		}
		endDraft()
	}()
	tree, err := r.Trees.At(project.SpecOf(rec)).LastKnown(ctx)
	if err != nil {
		return nil, err
	}
	var last []snapshot.Last
	for _, s := range what.last {
		last = append(last, snapshot.Last{Commit: s.Commit, SecretsDir: svc.SecretsDir(r, s.ID)})
	}
	by, _ := svc.ActorOfCall(ctx)
	identity := fsx.Identity(rec.Identity)
	if made := tree.Made(); made.IsAt(w.Path) {
		identity = made
	}
	saved, err := snapshot.Save(ctx, tree, snapshot.Selection{
		Identity: identity,
		Ignored:  append(slices.Clone(r.Config.Snapshot.Ignored), what.also...), Secrets: r.Config.Snapshot.Secrets, SecretsDir: svc.SecretsDir(r, id),
		IsPlaced: func(path string) bool { return path == project.StateFile || rec.IsPlaced(path) },
		Before:   what.before, Last: last, Message: "Snapshot of " + w.Name,
		Notes: [][2]string{{"Cause", string(what.cause)}, {"Actor", by}, {"Reason", what.reason}},
		Pin: func(commit string) error {
			if err := failpoint.Hit("snapshot.saved"); err != nil {
				return err
			}
			err := svc.Pin(ctx, r, journal.Pin{Ref: snapshotRef(w.ID, id), OID: commit})
			pinned = err == nil
			return err
		},
	})
	if err != nil {
		return nil, trash.ExplainMissing(w, svc.VanishedError(ctx, rec, err))
	}
	if what.seen != nil {
		*what.seen = saved.Seen
	}
	if i := slices.IndexFunc(what.last, func(s croft.Snapshot) bool { return s.Commit == saved.Commit }); i >= 0 {
		return &what.last[i], nil
	}
	if err := failpoint.Hit("snapshot.pinned"); err != nil {
		return nil, err
	}
	return &croft.Snapshot{
		ID: id, RepoID: r.ID, Workspace: w.ID, WorkspaceName: w.Name, Commit: saved.Commit, Files: saved.Changed, Bytes: saved.Bytes, CreatedAt: svc.Now(),
		Cause: what.cause, Reason: what.reason, Actor: by,
	}, nil
}

// lastSnapshots returns the newest snapshots of a workspace. Several may have the same
// time: git counts seconds.
func (svc *Rewinds) lastSnapshots(ctx context.Context, r *project.Project, workspace croft.ID) ([]croft.Snapshot, error) {
	list, err := svc.readSnapshots(ctx, r, project.SnapshotRefs+string(workspace)+"/", "")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	newest := list[len(list)-1].CreatedAt
	return slices.DeleteFunc(list, func(s croft.Snapshot) bool { return s.CreatedAt.Before(newest) }), nil
}

// RestoreNotes lists what a restored workspace lacks, in sentences, and names the snapshot
// that may have it.
func (svc *Rewinds) RestoreNotes(ctx context.Context, r *project.Project, rec journal.Record, was croft.TrashLeft) []string {
	list, err := svc.lastSnapshots(ctx, r, rec.Workspace.ID)
	if err != nil || len(list) == 0 { // croft doctor reports snapshots that cannot be read
		return trash.RestoreNotes(rec, was, nil)
	}
	return trash.RestoreNotes(rec, was, &list[len(list)-1])
}

// ListSnapshots lists the snapshots of a repository.
func (svc *Rewinds) ListSnapshots(ctx context.Context, s project.Location, _ croft.SnapshotsRequest) ([]croft.Snapshot, error) {
	return svc.readSnapshots(ctx, s.Project, project.SnapshotRefs, "")
}

// ShowSnapshot returns the snapshot with an ID.
func (svc *Rewinds) ShowSnapshot(ctx context.Context, s project.Location, req croft.GetRequest) (*croft.Snapshot, error) {
	var found *croft.Snapshot
	var err error
	if kind, id := croft.CutRef(req.Ref); kind.Is(croft.RefID) {
		found, err = svc.findSnapshot(ctx, s.Project, id)
	}
	if err == nil && found == nil {
		err = &croft.Error{Code: croft.SnapshotNotFound, Message: fmt.Sprintf("there is no snapshot %q", req.Ref), Hint: "croft snapshot --list"}
	}
	return found, err
}

// findSnapshot looks a snapshot up by its ID, or the beginning of it, and returns nil if there is
// none.
func (svc *Rewinds) findSnapshot(ctx context.Context, r *project.Project, id string) (*croft.Snapshot, error) {
	whole, err := project.WholeIDAmong(id, func(beginning string) (ids []croft.ID, err error) {
		pins, err := svc.Journal.Pins(ctx, r.ID, project.SnapshotRefs)
		for _, p := range pins {
			if _, of := project.PinOwner(p.Ref, project.SnapshotRefs); strings.HasPrefix(of, beginning) {
				ids = append(ids, croft.ID(of))
			}
		}
		return ids, err
	})
	if err != nil {
		return nil, err
	}
	if id = cmp.Or(string(whole), id); !project.IsID(id) {
		return nil, nil
	}
	list, err := svc.readSnapshots(ctx, r, project.SnapshotRefs, id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// readSnapshots reads the snapshots that are pinned below a prefix, oldest first: all, or
// those that have an ID. One that git has collected, because its ref was deleted, is left
// out; croft doctor reports it.
func (svc *Rewinds) readSnapshots(ctx context.Context, r *project.Project, prefix, only string) ([]croft.Snapshot, error) {
	pins, err := svc.Journal.Pins(ctx, r.ID, prefix)
	if err != nil {
		return nil, err
	}
	list := []croft.Snapshot{}
	for _, p := range pins {
		workspace, id := project.PinOwner(p.Ref, project.SnapshotRefs)
		if only != "" && id != only {
			continue
		}
		d, err := snapshot.Describe(ctx, r.Git, p.OID)
		if errors.Is(err, snapshot.ErrFormat) || errors.Is(err, object.ErrMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, croft.Snapshot{
			ID: croft.ID(id), RepoID: r.ID, Workspace: workspace, WorkspaceName: strings.TrimPrefix(d.Message, "Snapshot of "),
			Commit: p.OID, Files: d.Files, Bytes: d.Bytes, CreatedAt: d.CreatedAt,
			Cause: croft.SnapshotCause(d.Notes["Cause"]), Reason: d.Notes["Reason"], Actor: d.Notes["Actor"],
		})
	}
	slices.SortStableFunc(list, func(a, b croft.Snapshot) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}
