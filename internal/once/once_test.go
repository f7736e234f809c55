package once_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
)

func newCall(t *testing.T, key string) once.Call {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(t.Context(), dir, journal.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return once.Call{
		Journal: j, Now: time.Now, Lock: func(name string) string { return filepath.Join(dir, name) },
		Repo: "repo", Verb: "undo", Key: key, Request: croft.UndoRequest{Key: key},
	}
}

// TestKeyOfEarlierVersion: what an earlier version recorded with a key is its first pin.
func TestKeyOfEarlierVersion(t *testing.T) {
	t.Parallel()
	for _, recorded := range []string{"k3v9q2m7x4t1b8n5", `{"act":"k3v9q2m7x4t1b8n5"}`} {
		c := newCall(t, "k")
		err := c.Journal.Update(t.Context(), func(tx *journal.Tx) error {
			return tx.PutKey(journal.Key{Repo: c.Repo, Verb: c.Verb, Key: c.Key, Request: once.DigestOf(croft.UndoRequest{}), Operation: croft.ID(recorded)})
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := once.Do(t.Context(), c, func(ctx context.Context) (string, error) {
			act := ""
			if recorded[0] == '{' {
				pin, err := once.Pin(ctx, "removal", func() (struct{ Act string }, error) { return struct{ Act string }{"new"}, nil })
				if err != nil {
					return "", err
				}
				act = pin.Act
			} else if id, err := once.PinID(ctx, "act", func() croft.ID { return "new" }); err == nil {
				act = string(id)
			}
			second, err := once.PinID(ctx, "second", func() croft.ID { return "drawn" })
			return act + " " + string(second), err
		})
		if err != nil || got != "k3v9q2m7x4t1b8n5 drawn" {
			t.Errorf("%s: %q, %v", recorded, got, err)
		}
	}
}

// TestOnce: an answer is returned as long as the request is the same; a failure without pins
// leaves the key free, one with pins goes on with them.
func TestOnce(t *testing.T) {
	t.Parallel()
	c := newCall(t, "k")
	failed := errors.New("failed")
	calls := 0
	work := func(err error, pins ...string) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			calls++
			for _, name := range pins {
				if n, perr := once.Pin(ctx, name, func() (int, error) { return calls, nil }); perr != nil || name == "pin" && n != 2 {
					t.Errorf("pin %d, %v", n, perr)
				}
			}
			return calls, err
		}
	}
	if _, err := once.Do(t.Context(), c, work(failed, once.Subject)); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	c.Request = croft.UndoRequest{Operation: "other"} // the key is free
	if _, err := once.Do(t.Context(), c, work(failed, "pin")); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := once.Do(t.Context(), c, work(nil, "pin")); err != nil || n != 3 {
			t.Errorf("%d, %v", n, err)
		}
	}
	c.Request = croft.UndoRequest{}
	if _, err := once.Do(t.Context(), c, work(nil)); !errors.Is(err, croft.KeyConflict) {
		t.Errorf("another request: %v", err)
	}
	c.Request = croft.CleanRequest{DryRun: croft.DryRunOn}
	if n, err := once.Do(t.Context(), c, work(nil)); err != nil || n != 4 {
		t.Errorf("a dry run: %d, %v", n, err)
	}
}
