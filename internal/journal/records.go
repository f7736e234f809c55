package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/activity"
	"github.com/croft-sh/croft/internal/journal/damage"
	"github.com/croft-sh/croft/internal/parallel"
)

// ErrNotFound says that the journal has no such row.
var ErrNotFound = errors.New("not in the journal")

// Repo is a repository that was seen on this host.
type Repo struct {
	ID        croft.ID
	CommonDir string
	Path      string
	Identity  string // of the common directory: it distinguishes this repository from another one at its path
}

// PutRepo records a repository, or the path where it is now. Another repository that
// was recorded at that path stays recorded: it may come back.
func (t *Tx) PutRepo(r Repo, now time.Time) error {
	_, err := t.exec(`INSERT INTO repos (id, common_dir, path, identity, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET common_dir = excluded.common_dir, path = excluded.path, identity = excluded.identity`,
		r.ID, r.CommonDir, r.Path, r.Identity, now.UnixNano())
	return err
}

// Repo finds a repository by its ID.
func (j *Journal) Repo(ctx context.Context, id croft.ID) (Repo, error) {
	return firstRow(read(ctx, j, scanRepo, `SELECT `+repoColumns+` FROM repos WHERE id = ?`, id))
}

// Record is the record of a workspace.
type Record struct {
	Workspace  croft.Workspace   `json:"workspace"`
	RepoID     croft.ID          `json:"repoId"`
	Generation int               `json:"generation"`           // the revision: PutRecord counts it
	Admin      string            `json:"admin,omitempty"`      // the name of git's admin directory
	Identity   string            `json:"identity,omitempty"`   // of its directory when it was made: a directory with another identity is not touched
	Boot       string            `json:"boot,omitempty"`       // the start of the machine under which it was last known good
	Verified   string            `json:"verified,omitempty"`   // the start of the machine under which its files were last verified, if that is not Boot
	OwnsBranch bool              `json:"ownsBranch,omitempty"` // Croft made the branch, so Croft may delete it
	BaseDir    string            `json:"baseDir,omitempty"`    // the directory that the layout keeps workspaces in
	RoleFiles  []string          `json:"roleFiles,omitempty"`  // files that Croft put into the checkout
	RoleSums   map[string]string `json:"roleSums,omitempty"`   // the digests of the role files as Croft wrote them
	Home       string            `json:"home,omitempty"`       // the home of its agent
	Carried    string            `json:"carried,omitempty"`    // the commit, of its project's uncommitted changes, that it starts from
	TakesBack  croft.ID          `json:"takesBack,omitempty"`  // the merge whose revert is resolved in it
	Links      []string          `json:"links,omitempty"`      // names at the top of the checkout that Croft linked to the project's files
	Copied     []string          `json:"copied,omitempty"`     // files that Croft copied into the checkout and that git does not ignore there
	Sparse     []string          `json:"sparse,omitempty"`     // the directories that it has of its commits, if not those of the project's checkout
	Env        map[string]string `json:"env,omitempty"`        // its own variables: ports, and those of its croft.toml
	LeaseEpoch int               `json:"leaseEpoch,omitempty"` // how many exclusive leases it has had; only grows
	ClaimedBy  string            `json:"claimedBy,omitempty"`  // the call with a key that claimed the revision before this one; see Claim
	Maker      *croft.Owner      `json:"maker,omitempty"`      // the process that is making it; absent once it is made
	Pushing    string            `json:"pushing,omitempty"`    // a push that was begun: remote, branch and commit; see SavePush
	Resolving  *Resolving        `json:"resolving,omitempty"`  // the conflicts that the last merge of its target left in it
	Trash      *Trash            `json:"trash,omitempty"`
	Activity   *activity.Record  `json:"activity,omitempty"` // what its agent does; see Report
	Run        *croft.Run        `json:"run,omitempty"`      // the last one; see SaveRun
	Seen       Seen              `json:"seen,omitzero"`      // for events only: decisions go by git

	HasTeardown bool               `json:"hasTeardown,omitempty"` // its commit asks for commands that run when it is removed
	SetUpAt     string             `json:"setUpAt,omitempty"`     // the commit whose commands set it up, if not that which it began with
	Undiscarded *croft.MergeStatus `json:"undiscarded,omitempty"` // its merge status before it was discarded
}

// Seen is what an act last saw or did in a workspace that git has on record.
type Seen struct {
	Head       string `json:"head,omitempty"`
	IsLocked   bool   `json:"isLocked,omitempty"`
	LockReason string `json:"lockReason,omitempty"`

	Uncommitted *int `json:"-"` // paths with uncommitted changes, in the events of the act that looked
}

// SawCommit records the commit that an act left a workspace at, and how many paths with
// changes it did not commit.
func (r *Record) SawCommit(head string, uncommitted int) {
	r.Seen.Head, r.Seen.Uncommitted = head, &uncommitted
}

// Resolving is the conflicts that a merge of the target left in a workspace.
type Resolving struct {
	Commit string     `json:"commit"` // the commit that was merged into the workspace
	Files  []Leftover `json:"files"`
}

// Leftover is a file in conflict as a merge wrote it.
type Leftover struct {
	Path    string   `json:"path"`
	Stat    string   `json:"stat,omitempty"` // with Sum: by which a later write is noticed; empty: there was no file
	Sum     string   `json:"sum,omitempty"`
	Markers []string `json:"markers,omitempty"` // the lines that the merge wrote into it
}

// Wake records that an agent works in the workspace again after a start of the machine.
// It does not record that the files were verified since.
func (r *Record) Wake(boot string) {
	if r.Boot != boot {
		r.Verified = cmp.Or(r.Verified, r.Boot)
		r.Boot = boot
	}
}

// Trash says where a removed workspace is.
type Trash struct {
	Dir        string    `json:"dir,omitempty"`      // empty: no files are left, only commits, and a snapshot if one was taken
	Identity   string    `json:"identity,omitempty"` // of that directory
	Within     string    `json:"within,omitempty"`   // the identity of the directory that it lies in
	Tip        string    `json:"tip,omitempty"`      // the tip of the branch
	BranchGone bool      `json:"branchGone,omitempty"`
	RemovedAt  time.Time `json:"removedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
	Purged     bool      `json:"purged,omitempty"` // it cannot be restored any more

	As croft.Condition `json:"as,omitempty"` // why it was removed; empty: a person or a program asked for it

	Stripped []string  `json:"stripped,omitempty"` // directories of the checkout that can be made again and were deleted
	PurgeAt  time.Time `json:"purgeAt,omitzero"`   // when the rest will be purged, once that is announced
	PurgeWhy string    `json:"purgeWhy,omitempty"` // and why
	Stays    string    `json:"stays,omitempty"`    // why it could not be purged when its time had come
}

// KeptUntil is when what is left of a removed workspace is deleted: the time that was announced, if one was.
func (t *Trash) KeptUntil() time.Time {
	if !t.PurgeAt.IsZero() {
		return t.PurgeAt
	}
	return t.ExpiresAt
}

// IsRestorable reports whether a workspace is in the trash and can be restored.
func (r *Record) IsRestorable() bool {
	return r.Workspace.State == croft.Trashed && r.Trash != nil && !r.Trash.Purged && r.Workspace.Mode != croft.ModeLegacy
}

// withoutLookups returns the record without the fields that are looked up at each call.
func (r Record) withoutLookups() Record {
	w := &r.Workspace
	w.Head, w.IsLocked, w.LockReason, w.Lease, w.Env, w.Scratch = "", false, "", nil, nil, ""
	w.RemovedAt, w.KeptUntil = time.Time{}, time.Time{}
	w.Status, w.Why, w.Next, w.Work, w.Activity, w.Question, w.Run, w.LastLine = "", "", nil, nil, nil, nil, nil, ""
	return r
}

// IsPlaced reports whether Croft put the file at a path there, so that it is no work of
// an agent.
func (r Record) IsPlaced(path string) bool {
	return slices.Contains(r.RoleFiles, path) || slices.Contains(r.Links, path) || slices.Contains(r.Copied, path)
}

// AddProvisioned records what became of a path that was to be brought into the workspace, instead of what
// was recorded of the same path before.
func (r *Record) AddProvisioned(done croft.ProvisionedPath) {
	p := r.Workspace.Provision
	if p == nil {
		p = &croft.Provision{State: croft.ProvisionReady}
		r.Workspace.Provision = p
	}
	i := slices.IndexFunc(p.Paths, func(d croft.ProvisionedPath) bool { return d.Path == done.Path })
	if i < 0 {
		p.Paths = append(p.Paths, done)
		return
	}
	p.Paths[i] = done
}

// Decode decodes a record. It fails if b is not a record.
func Decode(b []byte) (Record, error) {
	var r Record
	err := decodeTo(&r, b)
	return r, err
}

func decodeTo(r *Record, b []byte) error {
	err := json.Unmarshal(b, r)
	if err == nil && (r.Workspace.ID == "" || r.RepoID == "") {
		err = errors.New("not a record of a workspace")
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", damage.ErrUnreadable, err)
	}
	return err
}

// withLeaseEpoch is the record that is written over another one. It has the higher epoch of
// both: its writer may have read the record before an exclusive lease was taken.
const withLeaseEpoch = `CASE WHEN json_valid(workspaces.record) AND
		workspaces.record ->> '$.leaseEpoch' > ifnull(excluded.record ->> '$.leaseEpoch', 0)
	THEN json_set(excluded.record, '$.leaseEpoch', workspaces.record ->> '$.leaseEpoch') ELSE excluded.record END`

// PutRecord writes a new or changed record of a workspace. The epoch of leases stays if the
// record that is there has a higher one.
func (t *Tx) PutRecord(r Record) error { return t.SaveRecord(&r) }

// SaveRecord writes a record, as PutRecord does, and sets the generation that it has now. The
// meta, the agent's activity, its run and the pushes stay as they are: the caller may have read the record before
// they were changed. SaveMeta, Report, SaveRun and SavePush change them.
func (t *Tx) SaveRecord(r *Record) error {
	was, err := t.present(r.Workspace.ID)
	if err != nil {
		return err
	}
	if was != nil {
		r.Workspace.Meta = was.meta
		r.Workspace.Push, r.Workspace.PullRequest, r.Pushing = was.push, was.pull, was.pushing
	}
	return t.write(r, was)
}

// SaveMeta writes a record with another meta.
func (t *Tx) SaveMeta(r *Record, meta map[string]string) error {
	was, err := t.present(r.Workspace.ID)
	if err != nil {
		return err
	}
	r.Workspace.Meta = meta
	return t.write(r, was)
}

// write writes a record in the place of the present one; nil: there is none.
func (t *Tx) write(r *Record, was *present) error {
	if r.Generation = 1; was != nil {
		r.Generation, r.Activity, r.Run = was.generation+1, was.activity, was.run
	}
	w := r.Workspace
	t.story.WroteWorkspace(r.noun())
	_, err := t.exec(`INSERT INTO workspaces
		(id, repo, name, path, path_fold, branch, mode, state, session, role, created_at, generation, record)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, path = excluded.path, path_fold = excluded.path_fold,
			branch = excluded.branch, mode = excluded.mode, state = excluded.state, session = excluded.session,
			role = excluded.role, generation = excluded.generation, record = `+withLeaseEpoch,
		w.ID, r.RepoID, w.Name, w.Path, strings.ToLower(w.Path), w.Branch, w.Mode, w.State, w.Session, w.Role,
		w.CreatedAt.UnixNano(), r.Generation, asJSON{r.withoutLookups()})
	return err
}

// DeleteRecord deletes the record of a workspace that was never made, or is gone for
// good.
func (t *Tx) DeleteRecord(id croft.ID) error {
	r, err := t.Record(id)
	if err == nil {
		t.story.Deleted(r.noun())
	}
	_, err = t.exec(`DELETE FROM workspaces WHERE id = ?`, id)
	return err
}

// recordText is a record that is yet to be decoded.
type recordText struct {
	id      string
	text    []byte
	created int64
	row     int64
}

func scanRecordText(rows *sql.Rows) (r recordText, err error) {
	return r, rows.Scan(&r.id, &r.text, &r.created, &r.row)
}

func (r recordText) decodeTo(rec *Record) error {
	if err := decodeTo(rec, r.text); err != nil {
		return &RowError{Table: "workspaces", Key: r.id, Err: err}
	}
	return nil
}

func scanRecord(rows *sql.Rows) (rec Record, err error) {
	var r recordText
	if err = rows.Scan(&r.id, &r.text); err == nil {
		err = r.decodeTo(&rec)
	}
	return rec, err
}

const live = `state <> 'trashed'`

// Records lists the records of a repository, oldest first, trashed ones
// included.
func (j *Journal) Records(ctx context.Context, repo croft.ID) ([]Record, error) {
	return j.list(ctx, `workspaces WHERE repo = ?`, repo)
}

// Live lists the records of a repository's live workspaces, oldest first.
func (j *Journal) Live(ctx context.Context, repo croft.ID) ([]Record, error) {
	return j.list(ctx, `workspaces WHERE repo = ? AND `+live, repo)
}

// LiveKeys lists a repository's live workspaces, oldest first, with nothing but their IDs,
// paths and times: what a page is cut by.
func (j *Journal) LiveKeys(ctx context.Context, repo croft.ID) ([]croft.Workspace, error) {
	return readList(ctx, j, func(rows *sql.Rows) (w croft.Workspace, err error) {
		var created int64
		err = rows.Scan(&w.ID, &w.Path, &created)
		w.CreatedAt = time.Unix(0, created)
		return w, err
	}, `SELECT id, path, created_at FROM workspaces WHERE repo = ? AND `+live+` ORDER BY created_at, rowid`, repo)
}

// Announced lists the records of removed workspaces whose purge was announced, oldest
// first.
func (j *Journal) Announced(ctx context.Context, repo croft.ID) ([]Record, error) {
	return j.list(ctx, `workspaces INDEXED BY workspaces_announced WHERE repo = ? AND state = 'trashed' AND instr(record, '"purgeAt":') > 0`, repo)
}

// Removed lists the records of removed workspaces whose ID or name is ref, that with
// the ID first.
func (j *Journal) Removed(ctx context.Context, repo croft.ID, ref string) ([]Record, error) {
	return readList(ctx, j, scanRecord, `SELECT id, record FROM workspaces WHERE repo = ?1 AND id = ?2 AND state = 'trashed'
		UNION ALL SELECT id, record FROM workspaces WHERE repo = ?1 AND name = ?2 AND id <> ?2 AND state = 'trashed'`, repo, ref)
}

// list reads records, oldest first. It decodes them on all cores, because that takes the
// larger part of the time. SQLite does not sort them: it would copy every record for it.
func (j *Journal) list(ctx context.Context, from string, repo croft.ID) ([]Record, error) {
	var out []Record
	err := j.withDatabase(ctx, func(db *sql.DB, _ os.FileInfo) error {
		texts, err := collect(ctx, db, scanRecordText, `SELECT id, record, created_at, rowid FROM `+from, repo)
		slices.SortFunc(texts, func(a, b recordText) int { return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.row, b.row)) })
		if err == nil {
			out, err = j.decodeAll(texts)
		}
		return err
	})
	return out, err
}

// decodeAll decodes records, without those that are known to be unreadable.
func (j *Journal) decodeAll(texts []recordText) ([]Record, error) {
	all, errs := make([]Record, len(texts)), make([]error, len(texts))
	parallel.Each(len(texts), func(i int) { errs[i] = texts[i].decodeTo(&all[i]) })
	out := all[:0]
	for i := range all {
		switch {
		case errs[i] == nil:
			out = append(out, all[i])
		case !j.damage.Has(errs[i]):
			return nil, errs[i]
		}
	}
	return out, nil
}

// Record finds a record by its ID.
func (j *Journal) Record(ctx context.Context, id croft.ID) (Record, error) {
	return firstRow(read(ctx, j, scanRecord, `SELECT id, record FROM workspaces WHERE id = ?`, id))
}

// RecordsOf returns the records that have one of the IDs. IDs without a record are left
// out.
func (j *Journal) RecordsOf(ctx context.Context, ids []croft.ID) ([]Record, error) {
	return readList(ctx, j, scanRecord, `SELECT id, record FROM workspaces WHERE id IN (SELECT value FROM json_each(?))`, asJSON{ids})
}

// Record finds a record by its ID, as the transaction sees it.
func (t *Tx) Record(id croft.ID) (Record, error) {
	r, err := firstRow(collect(t.ctx, t, scanRecord, `SELECT id, record FROM workspaces WHERE id = ?`, id))
	if err == nil {
		t.story.Read(id, r.noun().Workspace)
	}
	return r, err
}

// LiveByName finds a live workspace by its name.
func (j *Journal) LiveByName(ctx context.Context, repo croft.ID, name string) (Record, error) {
	return firstRow(read(ctx, j, scanRecord, `SELECT id, record FROM workspaces WHERE repo = ? AND name = ? AND `+live, repo, name))
}

// LiveByName finds a live workspace by its name, as the transaction sees it.
func (t *Tx) LiveByName(repo croft.ID, name string) (Record, error) {
	return firstRow(collect(t.ctx, t, scanRecord, `SELECT id, record FROM workspaces WHERE repo = ? AND name = ? AND `+live, repo, name))
}

const liveOnBranch = `SELECT id, record FROM workspaces WHERE repo = ? AND branch = ? AND branch <> '' AND ` + live

// LiveByBranch finds the live workspace of a repository that is on a branch.
func (t *Tx) LiveByBranch(repo croft.ID, branch string) (Record, error) {
	return firstRow(collect(t.ctx, t, scanRecord, liveOnBranch, repo, branch))
}

// LiveOnBranch lists the live workspaces of a repository that are recorded with a branch.
func (j *Journal) LiveOnBranch(ctx context.Context, repo croft.ID, branch string) ([]Record, error) {
	return readList(ctx, j, scanRecord, liveOnBranch, repo, branch)
}

// CountLive counts the live workspaces of a repository, as the transaction sees them.
func (t *Tx) CountLive(repo croft.ID) (int, error) {
	return t.count(`SELECT count(*) FROM workspaces INDEXED BY workspaces_live_name WHERE repo = ? AND `+live, repo)
}

// CountLive counts the live workspaces of a repository.
func (j *Journal) CountLive(ctx context.Context, repo croft.ID) (int, error) {
	return j.count(ctx, `SELECT count(*) FROM workspaces INDEXED BY workspaces_live_name WHERE repo = ? AND `+live, repo)
}

// count reads one number outside any transaction.
func (j *Journal) count(ctx context.Context, query string, args ...any) (int, error) {
	return firstRow(read(ctx, j, scanOne[int], query, args...))
}

func (t *Tx) count(query string, args ...any) (int, error) {
	return firstRow(collect(t.ctx, t, scanOne[int], query, args...))
}

// scanOne reads a row of one column.
func scanOne[T any](rows *sql.Rows) (v T, err error) { return v, rows.Scan(&v) }

// firstRow returns the first row of a query, or fails with ErrNotFound if there is none.
func firstRow[T any](list []T, err error) (T, error) {
	var zero T
	switch {
	case err != nil:
		return zero, err
	case len(list) == 0:
		return zero, ErrNotFound
	}
	return list[0], nil
}

const repoColumns = `id, common_dir, path, identity`

const repoAt = `SELECT ` + repoColumns + ` FROM repos WHERE common_dir = ? AND identity = ?`

// ReposAt lists the repositories that were ever recorded with a common directory, newest
// first.
func (j *Journal) ReposAt(ctx context.Context, commonDir string) ([]Repo, error) {
	return read(ctx, j, scanRepo, `SELECT `+repoColumns+` FROM repos WHERE common_dir = ? ORDER BY created_at DESC, rowid DESC`, commonDir)
}

// DeleteRepo deletes the row of a repository, and nothing that belongs to it.
func (t *Tx) DeleteRepo(id croft.ID) error {
	_, err := t.exec(`DELETE FROM repos WHERE id = ?`, id)
	return err
}

// DeleteRepoState deletes a repository and all rows that belong to it.
func (t *Tx) DeleteRepoState(id croft.ID) error {
	if _, err := t.exec(`DELETE FROM leases WHERE workspace IN (SELECT id FROM workspaces WHERE repo = ?)`, id); err != nil {
		return err
	}
	for _, table := range []string{"workspaces", "operations", "keys", "merges", "events", "sessions", "lanes", "pins"} {
		if _, err := t.exec(`DELETE FROM `+table+` WHERE repo = ?`, id); err != nil {
			return err
		}
	}
	return t.DeleteRepo(id)
}

// RepoOf finds a repository by the identity of its common directory, at whatever path
// it was last seen.
func (t *Tx) RepoOf(identity string) (Repo, error) {
	return firstRow(collect(t.ctx, t, scanRepo, `SELECT `+repoColumns+` FROM repos WHERE identity = ? AND identity <> '' ORDER BY created_at`, identity))
}

// WorkspaceAt finds the live workspace whose top is a directory or one above it. Workspaces
// in legacy mode do not count.
func (j *Journal) WorkspaceAt(ctx context.Context, dir string) (Record, error) {
	var above []string
	for at := dir; ; at = filepath.Dir(at) {
		above = append(above, at)
		if filepath.Dir(at) == at {
			break
		}
	}
	return firstRow(read(ctx, j, scanRecord, `SELECT id, record FROM workspaces WHERE path IN (SELECT value FROM json_each(?))
		AND mode <> 'legacy' AND `+live+` ORDER BY length(path) DESC LIMIT 1`, asJSON{above}))
}

// RepoAt finds a repository by the path and the identity of its common directory.
func (j *Journal) RepoAt(ctx context.Context, commonDir, identity string) (Repo, error) {
	return firstRow(read(ctx, j, scanRepo, repoAt, commonDir, identity))
}

// RepoAt finds a repository by the path and the identity of its common directory, as
// the transaction sees it.
func (t *Tx) RepoAt(commonDir, identity string) (Repo, error) {
	return firstRow(collect(t.ctx, t, scanRepo, repoAt, commonDir, identity))
}

func scanRepo(rows *sql.Rows) (Repo, error) {
	var r Repo
	return r, rows.Scan(&r.ID, &r.CommonDir, &r.Path, &r.Identity)
}
