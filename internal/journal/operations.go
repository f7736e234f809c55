package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/croft-sh/croft"
)

// OpState says how far an operation has come.
type OpState string

// The states of an operation.
const (
	OpRunning  OpState = "running"
	OpDone     OpState = "done"
	OpUndone   OpState = "undone"   // it never came to an end: taken back, by its owner or after a crash
	OpReversed OpState = "reversed" // done, and taken back by an undo
)

// Operation is one act, written down before it has an effect.
type Operation struct {
	ID         croft.ID
	Act        croft.ID // the call that it was part of
	Undoes     croft.ID // the act that it helps to take back
	Kind       string   // create, remove, restore
	Actor      string
	Repo       croft.ID
	State      OpState
	Workspaces []croft.ID
	Names      []string // of the workspaces, for people
	Input      json.RawMessage
	Owner      croft.Owner
	StartedAt  time.Time
	EndedAt    time.Time
	Error      string
}

const operationColumns = `id, act, undoes, kind, actor, repo, state, workspaces, names, input, owner, started_at, ended_at, error`

// History lists the operations of a repository, the last first. Publications
// are left out: the merges that they were of are operations themselves.
func (j *Journal) History(ctx context.Context, repo croft.ID, limit int) ([]Operation, error) {
	return read(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations WHERE repo = ? AND kind <> 'publish' ORDER BY seq DESC LIMIT ?`, repo, limit)
}

// Act lists the operations of one call, the first first.
func (j *Journal) Act(ctx context.Context, act croft.ID) ([]Operation, error) {
	return read(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations WHERE act = ? ORDER BY seq`, act)
}

// Reverse marks the ended operations of an act as taken back, or, with
// OpDone, as in force again.
func (t *Tx) Reverse(act croft.ID, state OpState) error {
	_, err := t.exec(`UPDATE operations SET state = ? WHERE act = ? AND state IN ('done', 'reversed')`, state, act)
	return err
}

// Begin writes an operation down as running.
func (t *Tx) Begin(op Operation) error {
	op.State, op.EndedAt = OpRunning, time.Time{}
	return t.insert(op)
}

// Add writes an operation down that was done by the time it is known.
func (t *Tx) Add(op Operation) error {
	op.State = OpDone
	return t.insert(op)
}

func (t *Tx) insert(op Operation) error {
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

// Amend writes down more of what an operation is going to do.
func (t *Tx) Amend(op Operation) error {
	_, err := t.exec(`UPDATE operations SET input = ? WHERE id = ?`, string(op.Input), op.ID)
	return err
}

// NoteError writes down what keeps an operation from its end.
func (t *Tx) NoteError(id croft.ID, reason string) error {
	_, err := t.exec(`UPDATE operations SET error = ? WHERE id = ? AND state = 'running'`, reason, id)
	return err
}

// End writes down how an operation ended.
func (t *Tx) End(id croft.ID, state OpState, reason string, now time.Time) error {
	_, err := t.exec(`UPDATE operations SET state = ?, error = ?, ended_at = ? WHERE id = ?`, state, reason, now.UnixNano(), id)
	return err
}

// Running lists the operations that were begun and not ended.
func (j *Journal) Running(ctx context.Context) ([]Operation, error) {
	return read(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations WHERE state = 'running' ORDER BY seq`)
}

// RunningAt lists those of a repository, and of others that were at its place
// before.
func (j *Journal) RunningAt(ctx context.Context, repo croft.ID) ([]Operation, error) {
	return read(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations INDEXED BY operations_running WHERE state = 'running' AND (repo = ?1 OR repo IN (
			SELECT former.id FROM repos now JOIN repos former ON former.common_dir = now.common_dir WHERE now.id = ?1)) ORDER BY seq`, repo)
}

// RunningOn finds a running operation of a kind that concerns a workspace, as
// this transaction sees it.
func (t *Tx) RunningOn(kind string, workspace croft.ID) (Operation, error) {
	return onlyOne(collect(t.ctx, t, scanOperation, `SELECT `+operationColumns+`
		FROM operations o WHERE state = 'running' AND kind = ?
		AND EXISTS (SELECT 1 FROM json_each(o.workspaces) WHERE value = ?)`, kind, workspace))
}

// Operation finds an operation.
func (j *Journal) Operation(ctx context.Context, id croft.ID) (Operation, error) {
	return onlyOne(read(ctx, j, scanOperation, `SELECT `+operationColumns+`
		FROM operations WHERE id = ?`, id))
}

func scanOperation(rows *sql.Rows) (op Operation, err error) {
	var input string
	var started, ended int64
	err = rows.Scan(&op.ID, &op.Act, &op.Undoes, &op.Kind, &op.Actor, &op.Repo, &op.State, asJSON{&op.Workspaces}, asJSON{&op.Names},
		&input, asJSON{&op.Owner}, &started, &ended, &op.Error)
	op.Input = json.RawMessage(input)
	op.StartedAt = time.Unix(0, started)
	if ended != 0 {
		op.EndedAt = time.Unix(0, ended)
	}
	return op, err
}

// Key is an idempotency key and what it was used for.
type Key struct {
	Repo      croft.ID
	Verb, Key string
	Request   string // a digest of the request
	Operation croft.ID
}

// PutKey remembers a key.
func (t *Tx) PutKey(k Key) error {
	_, err := t.exec(`INSERT INTO keys (repo, verb, key, request, operation) VALUES (?, ?, ?, ?, ?)`,
		k.Repo, k.Verb, k.Key, k.Request, k.Operation)
	return err
}

// DropKey forgets the key of an operation that was taken back.
func (t *Tx) DropKey(operation croft.ID) error {
	_, err := t.exec(`DELETE FROM keys WHERE operation = ?`, operation)
	return err
}

const findKey = `SELECT repo, verb, key, request, operation FROM keys WHERE repo = ? AND verb = ? AND key = ?`

// FindKey finds a key.
func (j *Journal) FindKey(ctx context.Context, repo croft.ID, verb, key string) (Key, error) {
	return onlyOne(read(ctx, j, scanKey, findKey, repo, verb, key))
}

// FindKey finds a key, as this transaction sees it.
func (t *Tx) FindKey(repo croft.ID, verb, key string) (Key, error) {
	return onlyOne(collect(t.ctx, t, scanKey, findKey, repo, verb, key))
}

func scanKey(rows *sql.Rows) (Key, error) {
	var k Key
	return k, rows.Scan(&k.Repo, &k.Verb, &k.Key, &k.Request, &k.Operation)
}
