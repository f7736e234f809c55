package journal

import (
	"errors"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal/telling"
)

// Emit appends an event when the transaction ends. The event gets the time, the actor, the act
// and the nouns of its subjects as the transaction leaves them, where the caller did not set
// them.
func (t *Tx) Emit(e croft.Event) error {
	t.story.Emit(e)
	return nil
}

// Approve emits the event of an approval. The keys in it are those of a configuration that an
// agent can write, so their number and lengths are limited.
func (t *Tx) Approve(repo croft.ID, a croft.Approval) error {
	a.Keys = slices.Clone(a.Keys[:min(len(a.Keys), maxKeys)])
	for i, key := range a.Keys {
		a.Keys[i] = key[:min(len(key), maxKeyLength)]
	}
	return t.Emit(croft.Event{Kind: croft.EventApprovalGiven, Subjects: croft.Subjects{Repo: repo, Target: a.Target}, After: &croft.Nouns{Approval: &a}})
}

const (
	maxKeys      = 100
	maxKeyLength = 250
)

// noun returns a workspace as events show it: as recorded, without its lease.
func (r *Record) noun() telling.Workspace {
	w := r.withoutLookups().Workspace
	w.Notes, w.RepoID, w.Revision, w.Activity, w.Run = nil, r.RepoID, r.Generation, r.Activity.Noun(), r.Run
	w.Head, w.IsLocked, w.LockReason = r.Seen.Head, r.Seen.IsLocked, r.Seen.LockReason
	if n := r.Seen.Uncommitted; n != nil && w.State != croft.Trashed {
		w.Work = &croft.Work{Seen: []croft.Aspect{croft.AspectFiles}, Uncommitted: *n}
	}
	if w.State == croft.Trashed && r.Trash != nil {
		w.IsLocked, w.LockReason = false, ""
		w.Head, w.RemovedAt = r.Trash.Tip, r.Trash.RemovedAt
		if r.IsRestorable() {
			w.KeptUntil = r.Trash.KeptUntil()
		}
	}
	return telling.Workspace{Repo: r.RepoID, Workspace: w}
}

func (m *Merge) noun() telling.Merge {
	return telling.Merge{Repo: m.RepoID, Act: m.Act, Merge: m.Merge}
}

// remember remembers merges as the transaction first reads them.
func (t *Tx) remember(list []Merge, err error) ([]Merge, error) {
	for _, m := range list {
		t.story.Read(m.ID, m.Merge)
	}
	return list, err
}

// records reads rows for the events of a transaction.
type records struct{ *Tx }

func (r records) Workspace(id croft.ID) (telling.Workspace, error) {
	rec, err := r.Record(id)
	return rec.noun(), told(err)
}

func (r records) Merge(id croft.ID) (telling.Merge, error) {
	m, err := r.Tx.Merge(id)
	return m.noun(), told(err)
}

func (r records) Leases(workspace croft.ID) ([]croft.Lease, error) { return r.LeasesOf(workspace) }

func (r records) ActOf(id croft.ID) (croft.ID, []croft.ID, error) {
	op, err := firstRow(collect(r.ctx, r.Tx, scanOperation, `SELECT `+operationColumns+` FROM operations WHERE id = ?`, id))
	if op.Kind == "publish" { // its merges are the acts
		op.Act, op.Workspaces = "", nil
	}
	return op.Act, op.Workspaces, told(err)
}

// told returns the error of a row that an event cannot tell of.
func told(err error) error {
	if errors.Is(err, ErrNotFound) || isUnreadable(err) {
		return telling.ErrNotFound
	}
	return err
}

// writeEvents writes the events of the transaction.
//
// A cursor is the time in microseconds, or the last cursor plus one if that is more. So
// it is above every earlier cursor, also if the database was lost together with its
// second copy or was replaced by an older one: no project has a million events a second
// for long. A float64 holds a cursor exactly for centuries.
func (t *Tx) writeEvents(opts Options) error {
	now := opts.Now().UTC()
	list, err := t.story.Events(records{t}, now)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Time.IsZero() {
			e.Time = now
		}
		if e.Actor == "" && opts.Actor != nil {
			e.Actor, e.ActorWorkspace = opts.Actor(t.ctx)
		}
		data, err := telling.Encode(e)
		if err != nil {
			return err
		}
		if _, err = t.exec(`INSERT INTO events (cursor, time, kind, repo, workspace, data) VALUES
			(max(?, 1 + (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events')), ?, ?, ?, ?, ?)`,
			time.Now().UnixMicro(), e.Time.UnixNano(), e.Kind, e.Repo, e.Workspace, data); err != nil {
			return err
		}
	}
	return nil
}
