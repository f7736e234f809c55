package journal

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal/damage"
)

// Merge is the record of a merge.
type Merge struct {
	croft.Merge
	OldWorkspaceID croft.ID         `json:"workspaceId,omitempty"` // as it was recorded before, when workspace was the name
	Act            croft.ID         `json:"act"`                   // the call that submitted it
	Undoes         croft.ID         `json:"undoes,omitempty"`      // the act that it undoes
	After          croft.AfterMerge `json:"after,omitempty"`
	Text           string           `json:"text,omitempty"`      // the message that the caller asked for
	Base           string           `json:"base,omitempty"`      // of a revert or an apply: the commit that Head is compared with
	Before         string           `json:"before,omitempty"`    // the target's tip before the publication, or when the whole lane was rejected
	Tried          string           `json:"tried,omitempty"`     // the commit of an attempt of which it is unknown whether it was published
	Untidy         bool             `json:"untidy,omitempty"`    // its workspace is yet to be moved to the trash
	Alone          bool             `json:"alone,omitempty"`     // it is published alone, after it had made a batch fail
	Again          bool             `json:"again,omitempty"`     // it reverts a revert, and so brings the work back
	Part           bool             `json:"part,omitempty"`      // an apply, or a revert of one: it says nothing about the workspace's work as a whole
	Seen           string           `json:"seen,omitempty"`      // of an apply: the target's tip when the work was reviewed
	Author         *croft.Author    `json:"author,omitempty"`    // of its commit; absent: Submitter, or the one that git knows
	Mirror         croft.ID         `json:"mirror,omitempty"`    // the revert that was recorded with it, of a merge by which another one was taken back
	Submitter      *Identity        `json:"submitter,omitempty"` // of its commit, if the environment of the process that submitted it names one
	Trusts         []string         `json:"trusts,omitempty"`    // the hashes of checks that the person who submitted it approved for it

	// Published is the number of the publication; a later publication has a higher
	// number. Zero means that the merge was not published.
	Published int64 `json:"published,omitempty"`
}

// Identity is the author and the committer of a commit, each as "Name <address>".
type Identity struct {
	Author    string `json:"author"`
	Committer string `json:"committer"`
}

// PutMerge records a new or changed merge, and counts its revision unless callers see no
// change.
func (t *Tx) PutMerge(m *Merge) (err error) {
	was, err := t.Merge(m.ID)
	switch {
	case errors.Is(err, ErrNotFound) || isUnreadable(err):
		m.Revision++
	case err != nil:
		return err
	default:
		if m.Revision = was.Revision; !reflect.DeepEqual(was.Merge, m.Merge) {
			m.Revision++
		}
	}
	t.story.WroteMerge(m.noun())
	_, err = t.exec(`INSERT INTO merges
		(id, repo, target, workspace, state, status, reason, commit_id, priority, untidy, published, merge)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, status = excluded.status, reason = excluded.reason,
			commit_id = excluded.commit_id, priority = excluded.priority, untidy = excluded.untidy,
			published = excluded.published, merge = excluded.merge`,
		m.ID, m.RepoID, m.Target, m.Workspace, m.State, m.Status, m.Reason, m.Commit, m.Priority, m.Untidy, m.Published, asJSON{*m})
	return err
}

// scanMerge reads a merge. One that was recorded when the field workspace had the name
// gets its ID and its name.
func scanMerge(rows *sql.Rows) (Merge, error) {
	m, err := scanJSON[Merge](rows, "merges")
	if m.WorkspaceName == "" {
		m.WorkspaceName, m.Workspace, m.OldWorkspaceID = string(m.Workspace), m.OldWorkspaceID, ""
	}
	return m, err
}

const oneMerge = `SELECT id, merge FROM merges WHERE id = ?`

// Merge finds a merge by its ID.
func (j *Journal) Merge(ctx context.Context, id croft.ID) (Merge, error) {
	return firstRow(read(ctx, j, scanMerge, oneMerge, id))
}

// Merge finds a merge by its ID, as the transaction sees it.
func (t *Tx) Merge(id croft.ID) (Merge, error) {
	return firstRow(t.remember(collect(t.ctx, t, scanMerge, oneMerge, id)))
}

const waiting = `SELECT id, merge FROM merges INDEXED BY merges_waiting WHERE repo = ? AND (? = '' OR target = ?) AND state <> 'done'
	ORDER BY target, priority DESC, seq LIMIT ?`

// Waiting lists the merges of a lane that have not ended, in the order of the queue;
// with an empty target, those of all lanes.
func (j *Journal) Waiting(ctx context.Context, repo croft.ID, target string, limit int) ([]Merge, error) {
	return readList(ctx, j, scanMerge, waiting, repo, target, target, limit)
}

// Waiting lists the merges of a lane that have not ended, as the transaction sees them.
func (t *Tx) Waiting(repo croft.ID, target string, limit int) ([]Merge, error) {
	return t.remember(collectList(t, scanMerge, waiting, repo, target, target, limit))
}

// Merges lists the merges of a repository, the last first; with an empty target, those
// of all lanes.
func (j *Journal) Merges(ctx context.Context, repo croft.ID, target string, limit int) ([]Merge, error) {
	return readList(ctx, j, scanMerge, `SELECT id, merge FROM merges WHERE repo = ? AND (? = '' OR target = ?)
		ORDER BY seq DESC LIMIT ?`, repo, target, target, limit)
}

// MergesOf lists the merges of a workspace, the last first.
func (j *Journal) MergesOf(ctx context.Context, workspace croft.ID) ([]Merge, error) {
	return readList(ctx, j, scanMerge, `SELECT id, merge FROM merges WHERE workspace = ? ORDER BY seq DESC`, workspace)
}

// LandedOn lists the published merges and reverts of a workspace's whole work on a
// target, the first first. It fails if one of them cannot be read: without a revert, work
// would seem to be in the target.
func (j *Journal) LandedOn(ctx context.Context, workspace croft.ID, target string) ([]Merge, error) {
	return read(ctx, j, scanMerge, `SELECT id, merge FROM merges WHERE workspace = ? AND target = ? AND published > 0
		AND `+damage.JSONField(`merge`, `part`)+` IS NULL ORDER BY published`, workspace, target)
}

// BroughtBy returns the last of what landed that brought all work of a commit to its target and was not taken back.
func BroughtBy(landed []Merge, head string) (m Merge, found bool) {
	for _, m := range slices.Backward(landed) {
		if m.Kind == croft.KindMerge && m.Status == croft.MergeMerged && m.Head == head && head != "" && m.Commit != "" {
			return m, true
		}
	}
	return Merge{}, false
}

var landed = `SELECT id, merge FROM merges WHERE published > 0
		AND workspace IN (SELECT id FROM workspaces WHERE repo = ? AND ` + live + `)
		AND ` + damage.JSONField(`merge`, `part`) + ` IS NULL ORDER BY published`

// Landed lists the published merges and reverts of the whole work of the live workspaces
// of a repository, by workspace, the first first. It fails if one of them cannot be read.
func (j *Journal) Landed(ctx context.Context, repo croft.ID) (map[croft.ID][]Merge, error) {
	list, err := read(ctx, j, scanMerge, landed, repo)
	return byWorkspace(list), err
}

var landedOf = `SELECT id, merge FROM merges WHERE published > 0 AND workspace IN (SELECT value FROM json_each(?))
		AND ` + damage.JSONField(`merge`, `part`) + ` IS NULL ORDER BY published`

// LandedOf lists what Landed does, of the workspaces with the IDs only.
func (j *Journal) LandedOf(ctx context.Context, ids []croft.ID) (map[croft.ID][]Merge, error) {
	list, err := read(ctx, j, scanMerge, landedOf, asJSON{ids})
	return byWorkspace(list), err
}

// byWorkspace divides merges by the workspaces whose work they brought.
func byWorkspace(list []Merge) map[croft.ID][]Merge {
	out := map[croft.ID][]Merge{}
	for _, m := range list {
		out[m.Workspace] = append(out[m.Workspace], m)
	}
	return out
}

const waitingOf = `SELECT id, merge FROM merges WHERE workspace = ? AND state <> 'done' ORDER BY seq DESC`

// WaitingOf lists the merges of a workspace that have not ended, the last
// first.
func (j *Journal) WaitingOf(ctx context.Context, workspace croft.ID) ([]Merge, error) {
	return readList(ctx, j, scanMerge, waitingOf, workspace)
}

// WaitingOf lists the merges of a workspace that have not ended, as the transaction
// sees them.
func (t *Tx) WaitingOf(workspace croft.ID) ([]Merge, error) {
	return collectList(t, scanMerge, waitingOf, workspace)
}

// MergesOfAct lists the merges that one call submitted, the first first.
func (j *Journal) MergesOfAct(ctx context.Context, repo, act croft.ID) ([]Merge, error) {
	return readList(ctx, j, scanMerge, `SELECT id, merge FROM merges WHERE repo = ? AND `+damage.JSONField(`merge`, `act`)+` = ? ORDER BY seq`, repo, act)
}

// MergesNamed lists the merges of the workspaces that had a name, the last
// first.
func (j *Journal) MergesNamed(ctx context.Context, repo croft.ID, name string) ([]Merge, error) {
	return readList(ctx, j, scanMerge, mergesNamed, repo, name)
}

// mergesNamed has the very expression that the index merges_by_name is on.
var mergesNamed = `SELECT id, merge FROM merges WHERE repo = ?
	AND coalesce(` + damage.JSONField(`merge`, `workspaceName`) + `, ` + damage.JSONField(`merge`, `workspace`) + `) = ? ORDER BY seq DESC`

// MergeByCommit finds the merge that made a commit.
func (j *Journal) MergeByCommit(ctx context.Context, repo croft.ID, commit string) (Merge, error) {
	return firstRow(read(ctx, j, scanMerge, mergeByCommit, commit, repo))
}

const mergeByCommit = `SELECT id, merge FROM merges WHERE commit_id = ? AND commit_id <> '' AND repo = ? ORDER BY seq`

// MergedAfter counts the merges that were published on a target after m and were not
// reverted.
func (j *Journal) MergedAfter(ctx context.Context, m Merge) (int, error) {
	return j.count(ctx, `SELECT count(DISTINCT published) FROM merges WHERE repo = ? AND target = ? AND status = 'merged' AND published > ?`,
		m.RepoID, m.Target, m.Published)
}

// MergesAfter lists the first merges, without reverts, that were published on a target after m and were not reverted.
func (j *Journal) MergesAfter(ctx context.Context, m Merge, most int) ([]Merge, error) {
	return readList(ctx, j, scanMerge, mergesAfter, m.RepoID, m.Target, m.Published, croft.KindRevert, most)
}

var mergesAfter = `SELECT id, merge FROM merges WHERE repo = ? AND target = ? AND status = 'merged' AND published > ?
	AND ` + damage.JSONField(`merge`, `kind`) + ` <> ? ORDER BY published LIMIT ?`

// LastPublished returns the highest number of a publication.
func (t *Tx) LastPublished() (int64, error) {
	return firstRow(collect(t.ctx, t, scanOne[int64], `SELECT coalesce(max(published), 0) FROM merges`))
}

// MergesPendingFor lists the merges of a repository that ended pending for a reason,
// unless the workspace was discarded later and not restored, or a later merge or revert of
// it has the same target.
func (j *Journal) MergesPendingFor(ctx context.Context, repo croft.ID, reason croft.Code) ([]Merge, error) {
	return readList(ctx, j, scanMerge, mergesPendingFor, repo, reason)
}

var mergesPendingFor = `SELECT id, merge FROM merges m WHERE repo = ? AND state = 'done' AND status = 'pending' AND reason = ?
	AND NOT EXISTS (SELECT 1 FROM merges n WHERE n.workspace = m.workspace AND n.workspace <> '' AND n.seq > m.seq
		AND CASE n.status WHEN 'discarded' THEN n.workspace NOT IN (SELECT id FROM workspaces WHERE ` + live + `)
			ELSE n.target = m.target AND ` + damage.JSONField(`n.merge`, `kind`) + ` <> 'apply' END)
	ORDER BY seq`

var lastMerges = `SELECT id, merge FROM merges WHERE seq IN (SELECT max(seq) FROM merges
		WHERE workspace IN (SELECT id FROM workspaces WHERE repo = ? AND ` + live + `)
		AND status <> 'discarded' AND ` + damage.JSONField(`merge`, `kind`) + ` = 'merge' GROUP BY workspace)`

// LastMerges lists the newest merge of the work of each live workspace in a repository. What was
// discarded is not the newest: a live workspace of which it is was restored.
func (j *Journal) LastMerges(ctx context.Context, repo croft.ID) ([]Merge, error) {
	return readList(ctx, j, scanMerge, lastMerges, repo)
}

// LastMergesOf lists the newest merge of the work of each of some workspaces that are live, as
// LastMerges does.
func (j *Journal) LastMergesOf(ctx context.Context, ids []croft.ID) ([]Merge, error) {
	var out []Merge
	for _, id := range ids {
		last, err := readList(ctx, j, scanMerge, `SELECT id, merge FROM merges WHERE workspace = ?
			AND status <> 'discarded' AND `+damage.JSONField(`merge`, `kind`)+` = 'merge' AND EXISTS (SELECT 1 FROM workspaces WHERE id = merges.workspace AND `+live+`) ORDER BY seq DESC LIMIT 1`, id)
		if err != nil {
			return nil, err
		}
		out = append(out, last...)
	}
	return out, nil
}

// Untidy lists the merges of a repository whose workspaces are still to be moved to the
// trash, oldest first.
func (j *Journal) Untidy(ctx context.Context, repo croft.ID) ([]Merge, error) {
	return readList(ctx, j, scanMerge, untidy, repo)
}

const untidy = `SELECT id, merge FROM merges INDEXED BY merges_untidy WHERE repo = ? AND untidy <> 0 ORDER BY seq`

// Settle records that the workspace of merges that landed stays: it was restored, and no process that
// goes on where another one died removes it again.
func (t *Tx) Settle(workspace croft.ID) error {
	list, err := collectList(t, scanMerge, `SELECT id, merge FROM merges WHERE workspace = ? AND untidy <> 0`, workspace)
	for _, m := range list {
		m.Untidy = false
		err = errors.Join(err, t.PutMerge(&m))
	}
	return err
}

// LaneTip is the commit from which a lane continues: the one that it last moved its target
// to, that a person accepted since, or that a protected target had when the lane first saw
// it.
type LaneTip struct{ Target, Tip string }

const laneTip = `SELECT tip FROM lanes WHERE repo = ? AND target = ?`

// PutLaneTip records the commit from which a lane continues: see [LaneTip].
func (t *Tx) PutLaneTip(repo croft.ID, target, tip string) error {
	_, err := t.exec(`INSERT INTO lanes (repo, target, tip) VALUES (?, ?, ?)
		ON CONFLICT (repo, target) DO UPDATE SET tip = excluded.tip`, repo, target, tip)
	return err
}

// LaneTip returns the recorded [LaneTip] of a target. It fails with ErrNotFound if there is
// none.
func (j *Journal) LaneTip(ctx context.Context, repo croft.ID, target string) (string, error) {
	return firstRow(read(ctx, j, scanOne[string], laneTip, repo, target))
}

// LaneTip returns the recorded [LaneTip] of a target, as the transaction sees it.
func (t *Tx) LaneTip(repo croft.ID, target string) (string, error) {
	return firstRow(collect(t.ctx, t, scanOne[string], laneTip, repo, target))
}

// LaneTargets lists the targets of a repository for which a merge waits or that a lane has
// moved, in the order of their names.
func (j *Journal) LaneTargets(ctx context.Context, repo croft.ID) ([]string, error) {
	return read(ctx, j, scanOne[string], laneTargets, repo, repo)
}

const laneTargets = `SELECT target FROM merges INDEXED BY merges_waiting WHERE repo = ? AND state <> 'done'
	UNION SELECT target FROM lanes WHERE repo = ? ORDER BY target`

// LaneTips lists the recorded tips of a repository's lanes, in the order of the targets'
// names.
func (j *Journal) LaneTips(ctx context.Context, repo croft.ID) ([]LaneTip, error) {
	return read(ctx, j, func(rows *sql.Rows) (l LaneTip, err error) { return l, rows.Scan(&l.Target, &l.Tip) },
		`SELECT target, tip FROM lanes WHERE repo = ? ORDER BY target`, repo)
}
