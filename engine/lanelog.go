package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// laneRefs are the logs of lanes: a commit for each publication, on top of the
// one before, whose message says what was published. They move together with
// their target, so that the database can be lost.
const laneRefs = "refs/croft/lane/"

func laneRef(target string) string { return laneRefs + laneName(target) }

// logEntry is one merge in the log of a lane.
type logEntry struct {
	Merge      journal.Merge `json:"merge"`
	Generation int           `json:"generation"` // of the workspace's record, once it says so too
}

// logPublication makes the commit by which a lane's log tells of a publication.
func (e *Engine) logPublication(ctx context.Context, r *repo, attempts *git.Attempts, pub *publication, l landing) error {
	var entries []logEntry
	for _, p := range pub.Items {
		m := e.asLanded(itemOf(l.items, p.Merge), p)
		m.Untidy = false
		entries = append(entries, logEntry{m, l.recs[m.WorkspaceID].Generation + 1})
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	commit := git.Commit{Signature: git.At("Croft <croft@localhost>", e.opts.Now()), Message: string(text)}
	if commit.Tree, err = attempts.WriteTree(nil); err != nil {
		return err
	}
	old, err := r.git.ReadRef(ctx, laneRef(pub.Target))
	switch {
	case err == nil:
		pub.OldLog, commit.Parents = old, []string{old}
	case !errors.Is(err, git.ErrNoRef):
		return err
	}
	pub.Log, err = attempts.Commit(ctx, commit, git.Identity{})
	return err
}

// maxLog is how many publications of a lane are read back.
const maxLog = 10_000

// readLanes reads what was published, the oldest first.
func readLanes(ctx context.Context, r *repo) ([]logEntry, error) {
	refs, err := r.git.Refs(ctx, laneRefs)
	if err != nil {
		return nil, err
	}
	var all []logEntry
	for _, ref := range refs {
		var lane []logEntry
		for at, n := ref.OID, 0; at != "" && n < maxLog; n++ {
			c, err := r.git.ReadCommit(ctx, at)
			if err != nil {
				break // what cannot be read is not a log
			}
			var entries []logEntry
			if err := json.Unmarshal([]byte(strings.TrimSpace(c.Message)), &entries); err != nil {
				break
			}
			slices.Reverse(entries)
			lane = append(lane, entries...)
			at = ""
			if len(c.Parents) > 0 {
				at = c.Parents[0]
			}
		}
		slices.Reverse(lane)
		all = append(all, lane...)
	}
	return all, nil
}

// importLanes writes the merges down again that a database has missed, and what
// they mean for the workspaces.
func importLanes(tx *journal.Tx, r *repo, entries []logEntry) error {
	for _, entry := range entries {
		m := entry.Merge
		if _, err := tx.Merge(m.ID); !errors.Is(err, journal.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		n, err := tx.LastPublished()
		if err != nil {
			return err
		}
		m.RepoID, m.Published = r.id, n+1
		if m.Kind == croft.KindRevert {
			if err := takenBack(tx, m.Reverts); err != nil {
				return err
			}
		}
		if err := tx.PutMerge(m); err != nil {
			return err
		}
		rec, err := tx.Record(m.WorkspaceID)
		if m.Part || errors.Is(err, journal.ErrNotFound) || err == nil && rec.Generation >= entry.Generation {
			continue
		}
		if err != nil {
			return err
		}
		switch m.Kind {
		case croft.KindMerge:
			rec.Workspace.MergeStatus, rec.Workspace.MergeCommit = croft.MergeMerged, m.Commit
		case croft.KindRevert:
			rec.Workspace.MergeStatus = revertedStatus(m)
		default:
			continue
		}
		rec.Generation = entry.Generation
		if err := tx.Put(rec); err != nil {
			return err
		}
	}
	return nil
}
