// Package once carries out a call with an idempotency key once.
//
// The first call with a key records the key, a digest of the request and, before it has an
// effect, what it has chosen or found: an ID, a list of workspaces. These are its pins.
// When it has ended, the journal keeps its answer beside the key, in the same transaction as
// the last record of the act where the act allows it. A repeated call returns the answer; if
// there is none, because the first process was killed or failed, it goes on with the pins.
// Another request with the same key and verb is refused. Of several calls with one key at
// the same time, in this and other processes, one acts and the others wait for it.
//
// A call that fails before it has pinned more than its subject leaves the key free. The
// key is deleted with the history, after history.retention.
package once

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// Call is a call that may have an idempotency key.
type Call struct {
	Journal   *journal.Journal
	Now       func() time.Time
	Lock      func(name string) (path string) // where the lock file with a name lies
	Repo      croft.ID
	Verb, Key string
	Request   any
	Where     string // the directory that a request means which names no workspace
}

// Subject is the pin of the workspace, or of the session, that a call is about.
const Subject = "subject"

// state is the JSON that is recorded with a key.
type state struct {
	At     int64                      `json:"at"` // when the key was first used, in nanoseconds since 1970
	Pins   map[string]json.RawMessage `json:"pins,omitempty"`
	Answer json.RawMessage            `json:"answer,omitempty"`
}

// running is a call with a key that is carried out.
type running struct {
	Call
	digest string
	state
	was       json.RawMessage // the only pin of a key that an earlier version recorded
	isPartial bool
}

type contextKey struct{}

// Do returns what work returns, or the answer of the call that used the key before. It fails
// with KeyConflict if that was another request. Without a key, and for a dry run, it always
// calls work.
func Do[T any](ctx context.Context, c Call, work func(context.Context) (T, error)) (out T, err error) {
	request, isDry := identify(c)
	if c.Key == "" || isDry {
		return work(ctx)
	}
	if err := layout.CheckKey(c.Key); err != nil {
		return out, err
	}
	r := &running{Call: c, digest: request, state: state{At: c.Now().UnixNano()}}
	if err := r.load(ctx); err != nil || r.Answer != nil {
		return decode[T](r.Answer, err)
	}
	l, err := Lock(ctx, journal.Key{Repo: c.Repo, Verb: c.Verb, Key: c.Key}, c.Lock)
	if err != nil {
		return out, err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	if err := r.load(ctx); err != nil || r.Answer != nil {
		return decode[T](r.Answer, err)
	}
	if out, err = work(context.WithValue(ctx, contextKey{}, r)); err != nil {
		if ferr := r.free(context.WithoutCancel(ctx)); ferr != nil {
			err = errors.Join(err, ferr)
		}
		return out, err
	}
	if r.isPartial || r.Answer != nil {
		return out, nil
	}
	if err = failpoint.Hit("key.answer"); err == nil {
		err = c.Journal.Update(ctx, func(tx *journal.Tx) error { return r.answer(tx, out) })
	}
	return out, err
}

func decode[T any](answer json.RawMessage, err error) (out T, _ error) {
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	return out, err
}

// Pin returns what the first call with the key of ctx chose. The first call chooses it now,
// and Pin records the choice. Without a key, Pin only calls choose.
func Pin[T any](ctx context.Context, name string, choose func() (T, error)) (out T, err error) {
	r, _ := ctx.Value(contextKey{}).(*running)
	if r == nil {
		return choose()
	}
	if r.was != nil && name != Subject {
		r.Pins, r.was = map[string]json.RawMessage{name: r.was}, nil
	}
	if text, ok := r.Pins[name]; ok {
		return out, json.Unmarshal(text, &out)
	}
	if out, err = choose(); err != nil {
		return out, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return out, err
	}
	if r.Pins == nil {
		r.Pins = map[string]json.RawMessage{}
	}
	r.Pins[name] = text
	if err = r.Journal.Update(ctx, r.put); err != nil {
		delete(r.Pins, name)
		return out, err
	}
	return out, failpoint.Hit("key.pinned")
}

// PinID returns the ID that the first call with the key of ctx drew.
func PinID(ctx context.Context, name string, draw func() croft.ID) (croft.ID, error) {
	return Pin(ctx, name, func() (croft.ID, error) { return draw(), nil })
}

// HasKey reports whether ctx is that of a call with a key.
func HasKey(ctx context.Context) bool { return ctx.Value(contextKey{}) != nil }

// NameOf returns what tells the call of ctx from all others, or the empty string if it has
// no key.
func NameOf(ctx context.Context) string {
	r, _ := ctx.Value(contextKey{}).(*running)
	if r == nil {
		return ""
	}
	return Name(journal.Key{Verb: r.Verb, Key: r.Key})
}

// Name returns what tells a call with a key from all others on the same workspace, or the
// empty string for a call without one.
func Name(k journal.Key) string {
	if k.Key == "" {
		return ""
	}
	return k.Verb + " " + k.Key
}

// Answer records the answer of the call of ctx in the transaction that ends its act, if it
// has a key.
func Answer(ctx context.Context, tx *journal.Tx, answer any) error {
	r, _ := ctx.Value(contextKey{}).(*running)
	if r == nil {
		return nil
	}
	return r.answer(tx, answer)
}

// KeepOpen says that a part of the call of ctx was not done. Its answer is not recorded, so
// that the repeated call tries that part again.
func KeepOpen(ctx context.Context) {
	if r, _ := ctx.Value(contextKey{}).(*running); r != nil {
		r.isPartial = true
	}
}

func (r *running) answer(tx *journal.Tx, answer any) (err error) {
	if r.Answer, err = json.Marshal(answer); err != nil {
		return err
	}
	return r.put(tx)
}

// load reads what is recorded with the key.
func (r *running) load(ctx context.Context) error {
	used, err := r.Journal.FindKey(ctx, r.Repo, r.Verb, r.Key)
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err == nil && used.Request != r.digest {
		err = KeyConflictError(r.Key)
	}
	if err != nil {
		return err
	}
	var found state
	if err := json.Unmarshal([]byte(used.Operation), &found); err == nil && found.At > 0 {
		r.state = found
		return nil
	}
	// An earlier version recorded an ID or an object, which was the only pin.
	r.was = json.RawMessage(used.Operation)
	if !json.Valid(r.was) || r.was[0] != '{' {
		r.was, err = json.Marshal(used.Operation)
	}
	return err
}

func (r *running) put(tx *journal.Tx) error {
	text, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	return tx.SetKey(journal.Key{Repo: r.Repo, Verb: r.Verb, Key: r.Key, Request: r.digest, Operation: croft.ID(text)})
}

// free deletes the key of a call that has failed, if nothing was pinned but its subject.
func (r *running) free(ctx context.Context) error {
	if _, ok := r.Pins[Subject]; !ok || len(r.Pins) > 1 || r.was != nil {
		return nil
	}
	return r.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.FreeKey(r.Repo, r.Verb, r.Key) })
}

// identify returns the digest of what a request asks for, and whether it is a dry run. The
// key, the directories that the caller works in and what a person was shown are no part
// of it.
func identify(c Call) (digest string, isDry bool) {
	v := reflect.New(reflect.TypeOf(c.Request)).Elem()
	v.Set(reflect.ValueOf(c.Request))
	if dry := v.FieldByName("DryRun"); dry.IsValid() && dry.String() == string(croft.DryRunOn) {
		isDry = true
	}
	for _, name := range []string{"Key", "Repo", "From", "Agreed", "Shown"} {
		if f := v.FieldByName(name); f.IsValid() {
			f.SetZero()
		}
	}
	if w := v.FieldByName("Workspace"); w.IsValid() && w.IsZero() && w.Kind() == reflect.String {
		w.SetString(c.Where)
	}
	return DigestOf(v.Interface()), isDry
}

// Lock takes the lock of an idempotency key. The process that holds the lock deletes the
// file before it releases the lock, so the locked file has to be the one at the path.
func Lock(ctx context.Context, k journal.Key, place func(name string) (path string)) (*flock.Lock, error) {
	sum := sha256.Sum256([]byte(string(k.Repo) + "\x00" + k.Verb + "\x00" + k.Key))
	path := place("key-" + hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	for {
		l, err := flock.Acquire(ctx, path)
		if err != nil || l.IsAt(path) {
			return l, err
		}
		_ = l.Unlock()
	}
}

// DigestOf returns the SHA-256 of a value's JSON, in hexadecimal.
func DigestOf(v any) string {
	b, _ := json.Marshal(v)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// KeyConflictError says that a key was used for another request.
func KeyConflictError(key string) error {
	return &croft.Error{
		Code: croft.KeyConflict, Message: fmt.Sprintf("key %q was used for another request", key), Hint: "use a new key", Fields: map[string]string{"key": key},
	}
}
