package journal

import (
	"context"
	"database/sql"

	"github.com/croft-sh/croft"
)

// Merge is a merge as the queue remembers it.
type Merge struct {
	croft.Merge
	RepoID croft.ID         `json:"repoId"`
	Act    croft.ID         `json:"act"`              // the call that submitted it
	Undoes croft.ID         `json:"undoes,omitempty"` // the act that it takes back
	After  croft.AfterMerge `json:"after,omitempty"`
	Text   string           `json:"text,omitempty"`   // the message that was asked for
	Base   string           `json:"base,omitempty"`   // of a revert or an apply: what Head is measured from
	Before string           `json:"before,omitempty"` // where the target was before it was published
	Tried  string           `json:"tried,omitempty"`  // the commit of an attempt whose end is not known
	Untidy bool             `json:"untidy,omitempty"` // its workspace is yet to be put away
	Alone  bool             `json:"alone,omitempty"`  // it is published without others, after it stood in their way
	Again  bool             `json:"again,omitempty"`  // a revert of a revert: it brings the work back
	Part   bool             `json:"part,omitempty"`   // an apply, or a revert of one: it says nothing of the workspace's work as a whole
	Seen   string           `json:"seen,omitempty"`   // of an apply: where the target was when the work was reviewed

	// Published counts publications; the later has the higher number. Zero
	// means that it was not published.
	Published int64 `json:"published,omitempty"`
}

// PutMerge writes a merge, new or changed.
func (t *Tx) PutMerge(m Merge) error {
	_, err := t.exec(`INSERT INTO merges
		(id, repo, target, workspace, state, status, reason, commit_id, priority, untidy, published, merge)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, status = excluded.status, reason = excluded.reason,
			commit_id = excluded.commit_id, priority = excluded.priority, untidy = excluded.untidy,
			published = excluded.published, merge = excluded.merge`,
		m.ID, m.RepoID, m.Target, m.WorkspaceID, m.State, m.Status, m.Reason, m.Commit, m.Priority, m.Untidy, m.Published, asJSON{m})
	return err
}

const oneMerge = `SELECT merge FROM merges WHERE id = ?`

// Merge finds a merge.
func (j *Journal) Merge(ctx context.Context, id croft.ID) (Merge, error) {
	return onlyOne(read(ctx, j, scanJSON[Merge], oneMerge, id))
}

// Merge finds a merge, as this transaction sees it.
func (t *Tx) Merge(id croft.ID) (Merge, error) {
	return onlyOne(collect(t.ctx, t, scanJSON[Merge], oneMerge, id))
}

const waiting = `SELECT merge FROM merges WHERE repo = ? AND (? = '' OR target = ?) AND state <> 'done'
	ORDER BY target, priority DESC, seq LIMIT ?`

// Waiting lists the merges of a lane that have not ended, in its order; with
// an empty target, those of all lanes.
func (j *Journal) Waiting(ctx context.Context, repo croft.ID, target string, limit int) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], waiting, repo, target, target, limit)
}

// Waiting lists the merges of a lane, as this transaction sees it.
func (t *Tx) Waiting(repo croft.ID, target string, limit int) ([]Merge, error) {
	return collect(t.ctx, t, scanJSON[Merge], waiting, repo, target, target, limit)
}

// Merges lists the merges of a repository, the last first; with an empty
// target, those of all lanes.
func (j *Journal) Merges(ctx context.Context, repo croft.ID, target string, limit int) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges WHERE repo = ? AND (? = '' OR target = ?)
		ORDER BY seq DESC LIMIT ?`, repo, target, target, limit)
}

// MergesOf lists the merges of a workspace, the last first.
func (j *Journal) MergesOf(ctx context.Context, workspace croft.ID) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges WHERE workspace = ? ORDER BY seq DESC`, workspace)
}

// LandedOn lists what happened on a target to the work of a workspace as a whole,
// the first first.
func (j *Journal) LandedOn(ctx context.Context, workspace croft.ID, target string) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges WHERE workspace = ? AND target = ? AND published > 0
		AND json_extract(merge, '$.part') IS NULL ORDER BY published`, workspace, target)
}

const waitingOf = `SELECT merge FROM merges WHERE workspace = ? AND state <> 'done' ORDER BY seq DESC`

// WaitingOf lists the merges of a workspace that have not ended, the last
// first.
func (j *Journal) WaitingOf(ctx context.Context, workspace croft.ID) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], waitingOf, workspace)
}

// WaitingOf lists the merges of a workspace that have not ended, as this
// transaction sees it.
func (t *Tx) WaitingOf(workspace croft.ID) ([]Merge, error) {
	return collect(t.ctx, t, scanJSON[Merge], waitingOf, workspace)
}

// MergesOfAct lists the merges that one call submitted, the first first.
func (j *Journal) MergesOfAct(ctx context.Context, repo, act croft.ID) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges WHERE repo = ? AND json_extract(merge, '$.act') = ? ORDER BY seq`, repo, act)
}

// MergesNamed lists the merges of the workspaces that had a name, the last
// first.
func (j *Journal) MergesNamed(ctx context.Context, repo croft.ID, name string) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges WHERE repo = ? AND json_extract(merge, '$.workspace') = ?
		ORDER BY seq DESC`, repo, name)
}

// MergeByCommit finds the merge that made a commit.
func (j *Journal) MergeByCommit(ctx context.Context, repo croft.ID, commit string) (Merge, error) {
	return onlyOne(read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges WHERE commit_id = ? AND repo = ? ORDER BY seq`, commit, repo))
}

// MergedAfter counts the merges that were published on a target after one was,
// and were not taken back.
func (j *Journal) MergedAfter(ctx context.Context, m Merge) (int, error) {
	return j.count(ctx, `SELECT count(*) FROM merges WHERE repo = ? AND target = ? AND status = 'merged' AND published > ?`,
		m.RepoID, m.Target, m.Published)
}

// LastPublished is the highest number that a publication has.
func (t *Tx) LastPublished() (int64, error) {
	return onlyOne(collect(t.ctx, t, scanOne[int64], `SELECT coalesce(max(published), 0) FROM merges`))
}

// MergesPendingFor lists the merges of a repository that ended pending for a reason,
// unless the work was given up since, or was submitted again for the same
// target, as a whole.
func (j *Journal) MergesPendingFor(ctx context.Context, repo croft.ID, reason croft.Code) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges m WHERE repo = ? AND state = 'done' AND status = 'pending' AND reason = ?
		AND NOT EXISTS (SELECT 1 FROM merges n WHERE n.workspace = m.workspace AND n.workspace <> '' AND n.seq > m.seq
			AND (n.status = 'discarded' OR n.target = m.target AND json_extract(n.merge, '$.kind') <> 'apply'))
		ORDER BY seq`, repo, reason)
}

// LastPending lists the last merges of the workspaces of a repository, where those ended
// pending for a reason.
func (j *Journal) LastPending(ctx context.Context, repo croft.ID) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges m WHERE repo = ? AND state = 'done' AND status = 'pending' AND reason <> ''
		AND json_extract(merge, '$.kind') = 'merge' AND NOT EXISTS (SELECT 1 FROM merges n WHERE n.workspace = m.workspace AND n.seq > m.seq
			AND json_extract(n.merge, '$.kind') = 'merge')`, repo)
}

// Untidy lists the merges of a repository whose workspaces are still to be moved to the
// trash, oldest first.
func (j *Journal) Untidy(ctx context.Context, repo croft.ID) ([]Merge, error) {
	return read(ctx, j, scanJSON[Merge], `SELECT merge FROM merges WHERE repo = ? AND untidy <> 0 ORDER BY seq`, repo)
}

// LaneTip is the commit that a lane has left its target at.
type LaneTip struct{ Target, Tip string }

const laneTip = `SELECT tip FROM lanes WHERE repo = ? AND target = ?`

// PutLaneTip notes the commit that a lane has left its target at.
func (t *Tx) PutLaneTip(repo croft.ID, target, tip string) error {
	_, err := t.exec(`INSERT INTO lanes (repo, target, tip) VALUES (?, ?, ?)
		ON CONFLICT (repo, target) DO UPDATE SET tip = excluded.tip`, repo, target, tip)
	return err
}

// LaneTip is the commit that a lane left its target at, or ErrNotFound if it
// never moved it.
func (j *Journal) LaneTip(ctx context.Context, repo croft.ID, target string) (string, error) {
	return onlyOne(read(ctx, j, scanOne[string], laneTip, repo, target))
}

// LaneTip is the same in a transaction.
func (t *Tx) LaneTip(repo croft.ID, target string) (string, error) {
	return onlyOne(collect(t.ctx, t, scanOne[string], laneTip, repo, target))
}

// LaneTips lists what the lanes of a repository left their targets at, in the
// order of the targets' names.
func (j *Journal) LaneTips(ctx context.Context, repo croft.ID) ([]LaneTip, error) {
	return read(ctx, j, func(rows *sql.Rows) (l LaneTip, err error) { return l, rows.Scan(&l.Target, &l.Tip) },
		`SELECT target, tip FROM lanes WHERE repo = ? ORDER BY target`, repo)
}
