package engine_test

import (
	"database/sql"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// undoMergeOf undoes the last act that merged a workspace, or that took its merge back.
func (o *oracle) undoMergeOf(w croft.Workspace) {
	acts, err := o.e.History(o.t.Context(), croft.HistoryRequest{})
	if err != nil {
		o.t.Fatal(err)
	}
	at := slices.IndexFunc(acts.Items, func(op croft.Operation) bool {
		return op.IsUndoable && op.WorkspaceName == w.Name && (op.Kind == "merge" || op.Kind == "revert" || op.Kind == "undo")
	})
	if at >= 0 {
		o.call("Undo", croft.UndoRequest{Operation: acts.Items[at].ID, Mode: croft.RemoveForce})
	}
}

// readRecord reads what no call of the Service tells: which removals have not ended, whose processes were killed,
// since no other process is at work; and which reverts are of undos.
func (o *oracle) readRecord() {
	db, err := sql.Open("sqlite", filepath.Join(stateDir(o.r), journal.FileName))
	if err != nil {
		o.t.Fatal(err)
	}
	defer db.Close()
	o.halfRemoved = o.readIDs(db, `SELECT value FROM operations, json_each(workspaces) WHERE state = 'running' AND kind = 'remove'`)
	o.undos = o.readIDs(db, `SELECT id FROM merges WHERE json_extract(merge, '$.undoes') <> ''`)
}

func (o *oracle) readIDs(db *sql.DB, query string) map[croft.ID]bool {
	rows, err := db.QueryContext(o.t.Context(), query)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	ids := map[croft.ID]bool{}
	for rows.Next() {
		var id croft.ID
		if err := rows.Scan(&id); err != nil {
			o.t.Fatal(err)
		}
		ids[id] = true
	}
	if err := rows.Err(); err != nil {
		o.t.Fatal(err)
	}
	return ids
}

// isUndone reports whether undos took back the merges of a workspace's reverted work, so that without both
// no revert is left.
func (o *oracle) isUndone(w croft.Workspace) bool {
	merges := slices.Clone(o.merges)
	for {
		reverts, _ := o.revertsAmong(merges, w)
		at := slices.IndexFunc(reverts, func(m croft.Merge) bool { return o.undos[m.ID] })
		if at < 0 {
			return len(reverts) == 0
		}
		undo := reverts[at]
		merges = slices.DeleteFunc(merges, func(m croft.Merge) bool { return m.ID == undo.ID || m.ID == undo.Reverts })
	}
}
