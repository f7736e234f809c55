package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// The refs that a workspace hangs on. Their names say nothing but its ID.
const (
	wsRefs      = "refs/croft/ws/"
	archiveRefs = "refs/croft/archive/"
)

func recordRef(id croft.ID) string { return wsRefs + string(id) + "/record" }
func baseRef(id croft.ID) string   { return wsRefs + string(id) + "/base" }

// heldRef keeps what the agent of an isolated workspace has beside its branch.
func heldRef(id croft.ID) string { return wsRefs + string(id) + "/held" }

// archiveRef keeps the commit that a removed workspace had checked out, and
// archiveBranchRef the tip of its branch where that was another one.
func archiveRef(id croft.ID) string       { return archiveRefs + string(id) + "/head" }
func archiveBranchRef(id croft.ID) string { return archiveRefs + string(id) + "/branch" }

// archiveStateRef keeps what only the index and an act in progress needed.
func archiveStateRef(id croft.ID) string { return archiveRefs + string(id) + "/state" }

// archiveWorkRef keeps a snapshot of what was not committed, once the directory
// that held it went from the trash.
func archiveWorkRef(id croft.ID) string { return archiveRefs + string(id) + "/work" }

// recordBlob stores a record in the repository and returns the blob's name.
// That of an agent among others is sealed: they can read the repository too.
func recordBlob(r *repo, rec journal.Record) (string, error) {
	rec.Blob = ""
	if rec.Home != "" {
		var err error
		if rec, err = conceal(r, rec); err != nil {
			return "", err
		}
	}
	b, err := rec.Encode()
	if err != nil {
		return "", err
	}
	return r.git.WriteBlob(b)
}

// secrets is what a record tells about who works in a workspace.
type secrets struct {
	Name, Agent, Role, Session, Label string
	Round                             int
	Origin                            *journal.Origin
}

// conceal seals the secrets of a record. The rest can be read without the key,
// so that nobody's work is lost with it.
func conceal(r *repo, rec journal.Record) (journal.Record, error) {
	box, err := r.box()
	if err != nil {
		return rec, err
	}
	w := &rec.Workspace
	b, err := json.Marshal(secrets{w.Name, w.Agent, w.Role, w.Session, w.Label, w.Round, rec.Origin})
	if err != nil {
		return rec, err
	}
	rec.Sealed = box.Seal(b)
	w.Name, w.Agent, w.Role, w.Session, w.Label, w.Round, rec.Origin = string(w.ID), "", "", "", "", 0, nil
	return rec, nil
}

// reveal opens what conceal has sealed. Without the key a workspace is called
// by its ID.
func reveal(r *repo, rec journal.Record) journal.Record {
	sealed := rec.Sealed
	rec.Sealed = nil
	box, err := r.box()
	if err != nil {
		return rec
	}
	b, err := box.Unseal(sealed)
	var s secrets
	if err != nil || json.Unmarshal(b, &s) != nil {
		return rec
	}
	w := &rec.Workspace
	w.Name, w.Agent, w.Role, w.Session, w.Label, w.Round, rec.Origin = s.Name, s.Agent, s.Role, s.Session, s.Label, s.Round, s.Origin
	return rec
}

// readRecord reads a record that recordBlob stored.
func readRecord(r *repo, data []byte) (journal.Record, error) {
	rec, err := journal.Decode(data)
	if err == nil && len(rec.Sealed) > 0 {
		rec = reveal(r, rec)
	}
	return rec, err
}

// saveRecord writes a changed record to its ref and then to the database.
func (e *Engine) saveRecord(ctx context.Context, r *repo, rec *journal.Record, then func(*journal.Tx) error) error {
	u, err := e.storeRecord(ctx, r, rec)
	if err != nil {
		return err
	}
	return e.publishRecord(ctx, r, rec, u, then)
}

// storeRecord begins to save a changed record: it is in the repository, and
// nothing names it before the update that is returned.
func (e *Engine) storeRecord(ctx context.Context, r *repo, rec *journal.Record) (u git.RefUpdate, err error) {
	rec.Generation++
	if r.git == nil {
		return u, nil
	}
	u.Ref = recordRef(rec.Workspace.ID)
	if u.Old, err = r.git.ReadRef(ctx, u.Ref); err == nil && u.Old != rec.Blob {
		outgrow(ctx, r, u.Old, rec)
	}
	if rec.Origin == nil {
		if rec.Origin, err = e.journal.Origin(ctx, rec.Workspace.ID); err != nil && !errors.Is(err, journal.ErrNotFound) {
			return u, err
		}
	}
	u.New, err = recordBlob(r, *rec)
	return u, err
}

// publishRecord ends what storeRecord began: the ref, then the database.
func (e *Engine) publishRecord(ctx context.Context, r *repo, rec *journal.Record, u git.RefUpdate, then func(*journal.Tx) error) error {
	write := func() error {
		return e.journal.Update(ctx, func(tx *journal.Tx) error {
			if err := tx.Put(*rec); err != nil {
				return err
			}
			return then(tx)
		})
	}
	if r.git == nil {
		return write()
	}
	d, err := e.draft(draftRecord, r, newID(), u.Ref)
	if err != nil {
		return err
	}
	if err = r.git.UpdateRefs(ctx, u); err == nil {
		rec.Blob = u.New
		err = write()
	}
	if err != nil {
		d.abandon() // the ref may have moved
		return err
	}
	d.end()
	return nil
}

// outgrow gives a record a later generation than the one on its ref, which
// another database has written.
func outgrow(ctx context.Context, r *repo, blob string, rec *journal.Record) {
	o, err := r.git.Read(ctx, blob)
	if err != nil {
		return
	}
	if other, err := readRecord(r, o.Data); err == nil {
		rec.Generation = max(rec.Generation, other.Generation+1)
	}
}

// published lists the records that hang on refs of the repository and are its
// own, but for those that are known by their blobs.
func published(ctx context.Context, r *repo, known map[string]bool) ([]journal.Record, error) {
	refs, err := r.git.Refs(ctx, wsRefs+"*/record")
	if err != nil {
		return nil, err
	}
	var found []journal.Record
	for _, ref := range refs {
		if known[ref.OID] {
			continue
		}
		o, err := r.git.Read(ctx, ref.OID)
		if err != nil {
			continue // what cannot be read is not a record
		}
		rec, err := readRecord(r, o.Data)
		if err != nil || recordRef(rec.Workspace.ID) != ref.Name || rec.Workspace.State == croft.Creating {
			continue // a workspace that is being made is its maker's affair
		}
		if isElsewhere(r, rec) {
			continue // this repository is a copy; the workspace is the original's
		}
		rec.Blob, rec.RepoID = ref.OID, r.id
		found = append(found, rec)
	}
	return found, nil
}
