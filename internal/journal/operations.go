package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal/damage"
)

// OpState is the state of an operation.
type OpState string

// The states of an operation.
const (
	OpRunning  OpState = "running"
	OpDone     OpState = "done"
	OpUndone   OpState = "undone"   // it did not succeed, and was rolled back by its own process or after a crash
	OpReversed OpState = "reversed" // done, and undone later by an undo
)

// Operation is the record of one operation, written before it has an effect.
type Operation struct {
	ID         croft.ID
	Act        croft.ID // the call that the operation was part of
	Undoes     croft.ID // the act that the operation helps to undo
	Kind       string   // such as create, remove, publish or merge
	Actor      string
	Repo       croft.ID
	State      OpState
	Workspaces []croft.ID
	Names      []string // the names of the workspaces, for people
	Input      json.RawMessage
	Owner      croft.Owner
	StartedAt  time.Time
	EndedAt    time.Time
	Error      string
}

const operationColumns = `id, act, undoes, kind, actor, repo, state, workspaces, names, input, owner, started_at, ended_at, error`

// History lists the operations of a repository, the last first. Publications are left
// out: their merges are operations themselves.
func (j *Journal) History(ctx context.Context, repo croft.ID, limit int) ([]Operation, error) {
	return readList(ctx, j, scanOperation, history, repo, limit)
}

// ReadableHistory lists operations as History does. It fails with a RowError if one of them
// cannot be read.
func (j *Journal) ReadableHistory(ctx context.Context, repo croft.ID, limit int) ([]Operation, error) {
	return read(ctx, j, scanOperation, history, repo, limit)
}

const history = `SELECT ` + operationColumns + `
	FROM operations WHERE repo = ? AND kind <> 'publish' ORDER BY seq DESC LIMIT ?`

// Undoing lists the operations that were to undo an act, the last first.
func (j *Journal) Undoing(ctx context.Context, act croft.ID) ([]Operation, error) {
	return readList(ctx, j, scanOperation, undoing, act)
}

const undoing = `SELECT ` + operationColumns + `
	FROM operations WHERE undoes = ? AND undoes <> '' AND kind <> 'publish' ORDER BY seq DESC`

// Act lists the operations of one act, the first first. It fails if one of them cannot be
// read: an act is not undone in part.
func (j *Journal) Act(ctx context.Context, act croft.ID) ([]Operation, error) {
	return read(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations WHERE act = ? ORDER BY seq`, act)
}

// Reverse sets the state of the operations of an act that are done or reversed: OpReversed
// after an undo, OpDone after the undo was itself undone.
func (t *Tx) Reverse(act croft.ID, state OpState) error {
	_, err := t.exec(`UPDATE operations SET state = ? WHERE act = ? AND state IN ('done', 'reversed')`, state, act)
	return err
}

// Begin records an operation as running.
func (t *Tx) Begin(op Operation) error {
	op.State, op.EndedAt = OpRunning, time.Time{}
	return t.insert(op)
}

// Add records an operation that is already done.
func (t *Tx) Add(op Operation) error {
	op.State = OpDone
	return t.insert(op)
}

func (t *Tx) insert(op Operation) error {
	t.story.Acted(op.Act, op.Workspaces)
	var ended int64
	if !op.EndedAt.IsZero() {
		ended = op.EndedAt.UnixNano()
	}
	_, err := t.exec(`INSERT INTO operations (`+operationColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')`,
		op.ID, op.Act, op.Undoes, op.Kind, op.Actor, op.Repo, op.State, asJSON{op.Workspaces}, asJSON{op.Names}, string(op.Input),
		asJSON{op.Owner}, op.StartedAt.UnixNano(), ended)
	return err
}

// Amend replaces the recorded input of a running operation.
func (t *Tx) Amend(op Operation) error {
	_, err := t.exec(`UPDATE operations SET input = ? WHERE id = ?`, string(op.Input), op.ID)
	return err
}

// NoteError records the error that keeps an operation from ending.
func (t *Tx) NoteError(id croft.ID, reason string) error {
	_, err := t.exec(`UPDATE operations SET error = ? WHERE id = ? AND state = 'running'`, reason, id)
	return err
}

// End records how an operation ended.
func (t *Tx) End(id croft.ID, state OpState, reason string, now time.Time) error {
	t.story.Ended(id)
	_, err := t.exec(`UPDATE operations SET state = ?, error = ?, ended_at = ? WHERE id = ?`, state, reason, now.UnixNano(), id)
	return err
}

// Running lists the running operations of all repositories.
func (j *Journal) Running(ctx context.Context) ([]Operation, error) {
	return readList(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations WHERE state = 'running' ORDER BY seq`)
}

// RunningAt lists the running operations of a repository, and of repositories that had
// the same common directory before it.
func (j *Journal) RunningAt(ctx context.Context, repo croft.ID) ([]Operation, error) {
	return readList(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations INDEXED BY operations_running WHERE state = 'running' AND (repo = ?1 OR repo IN (
			SELECT former.id FROM repos now JOIN repos former ON former.common_dir = now.common_dir WHERE now.id = ?1)) ORDER BY seq`, repo)
}

// RunningOn finds a running operation of a kind that concerns a workspace, as the
// transaction sees it.
func (t *Tx) RunningOn(kind string, workspace croft.ID) (Operation, error) {
	return firstRow(collect(t.ctx, t, scanOperation, `SELECT `+operationColumns+`
		FROM operations o WHERE state = 'running' AND kind = ?
		AND EXISTS (SELECT 1 FROM `+damage.JSONList(`o.workspaces`)+` WHERE value = ?)`, kind, workspace))
}

// Operation finds an operation by its ID.
func (j *Journal) Operation(ctx context.Context, id croft.ID) (Operation, error) {
	return firstRow(read(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations WHERE id = ?`, id))
}

func scanOperation(rows *sql.Rows) (op Operation, err error) {
	var input string
	var started, ended int64
	err = rows.Scan(&op.ID, &op.Act, &op.Undoes, &op.Kind, &op.Actor, &op.Repo, &op.State, asJSON{&op.Workspaces}, asJSON{&op.Names},
		&input, asJSON{&op.Owner}, &started, &ended, &op.Error)
	if isUnreadable(err) || err == nil && input != "" && !json.Valid([]byte(input)) {
		err = &RowError{Table: "operations", Key: string(op.ID), Err: damage.ErrUnreadable}
	}
	op.Input = json.RawMessage(input)
	op.StartedAt = time.Unix(0, started)
	if ended != 0 {
		op.EndedAt = time.Unix(0, ended)
	}
	return op, err
}

// Key is an idempotency key, with the request and the operation that it was used for, or
// what package once records of its call.
type Key struct {
	Repo      croft.ID
	Verb, Key string
	Request   string // a digest of the request
	Operation croft.ID
}

// PutKey records an idempotency key.
func (t *Tx) PutKey(k Key) error {
	_, err := t.exec(`INSERT INTO keys (repo, verb, key, request, operation) VALUES (?, ?, ?, ?, ?)`,
		k.Repo, k.Verb, k.Key, k.Request, k.Operation)
	return err
}

// SetKey records an idempotency key, or what has become of it since.
func (t *Tx) SetKey(k Key) error {
	_, err := t.exec(`INSERT INTO keys (repo, verb, key, request, operation) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (repo, verb, key) DO UPDATE SET operation = excluded.operation`,
		k.Repo, k.Verb, k.Key, k.Request, k.Operation)
	return err
}

// FreeKey deletes an idempotency key.
func (t *Tx) FreeKey(repo croft.ID, verb, key string) error {
	_, err := t.exec(`DELETE FROM keys WHERE repo = ? AND verb = ? AND key = ?`, repo, verb, key)
	return err
}

// pruneKeys deletes the keys that were first used before a time. Keys of merges, sessions
// and workspaces, which have no time, stay as long as these; those of an earlier version
// stay as long as the operations of their act.
func (t *Tx) pruneKeys(before time.Time) error {
	_, err := t.exec(`DELETE FROM keys WHERE json_valid(operation) AND json_extract(operation, '$.at') < ?`, before.UnixNano())
	if err == nil {
		_, err = t.exec(`DELETE FROM keys WHERE verb IN ('undo', 'restore', 'remove')
			AND coalesce(CASE WHEN json_valid(operation) THEN json_extract(operation, '$.at') END, 0) = 0
			AND coalesce(CASE WHEN json_valid(operation) THEN json_extract(operation, '$.act') END, operation) NOT IN (SELECT act FROM operations)`)
	}
	return err
}

// DeleteKey deletes the key of an operation that was rolled back.
func (t *Tx) DeleteKey(operation croft.ID) error {
	_, err := t.exec(`DELETE FROM keys WHERE operation = ?`, operation)
	return err
}

const findKey = `SELECT repo, verb, key, request, operation FROM keys WHERE repo = ? AND verb = ? AND key = ?`

// FindKey finds an idempotency key.
func (j *Journal) FindKey(ctx context.Context, repo croft.ID, verb, key string) (Key, error) {
	return firstRow(read(ctx, j, scanKey, findKey, repo, verb, key))
}

// FindKey finds an idempotency key, as the transaction sees it.
func (t *Tx) FindKey(repo croft.ID, verb, key string) (Key, error) {
	return firstRow(collect(t.ctx, t, scanKey, findKey, repo, verb, key))
}

func scanKey(rows *sql.Rows) (Key, error) {
	var k Key
	return k, rows.Scan(&k.Repo, &k.Verb, &k.Key, &k.Request, &k.Operation)
}
