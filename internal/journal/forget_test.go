package journal_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// TestForget: old operations and events are deleted, a few at once; those that run, that
// are about a live workspace or that are young stay, and so does one with an invalid time,
// without keeping the others.
func TestForget(t *testing.T) {
	j := open(t, t.TempDir())
	young := j0.Add(time.Hour)
	add := func(tx *journal.Tx, id string, at time.Time, on croft.ID) error {
		op := journal.Operation{ID: croft.ID(id), Act: croft.ID(id), Kind: "create", Repo: "repo", Workspaces: []croft.ID{on}, StartedAt: at, EndedAt: at}
		return errors.Join(tx.Add(op), tx.Emit(croft.Event{Time: at, Kind: id, Subjects: croft.Subjects{Repo: "repo"}}),
			tx.PutKey(journal.Key{Repo: "repo", Verb: "create", Key: id, Operation: op.ID}))
	}
	update(t, j, func(tx *journal.Tx) error {
		errs := []error{
			tx.PutRecord(record("live", "live")), tx.Emit(croft.Event{Kind: "made", Time: j0, Subjects: croft.Subjects{Workspace: "live"}}), add(tx, "wrong", young.Add(1000*time.Hour), "gone"), add(tx, "on live", j0, "live"),
			tx.Begin(journal.Operation{ID: "runs", Act: "runs", Kind: "remove", Repo: "repo", StartedAt: j0}),
			tx.PutKey(journal.Key{Repo: "repo", Verb: "merge", Key: "merge", Operation: "a merge"}),
			tx.SetKey(journal.Key{Repo: "repo", Verb: "lock", Key: "old", Operation: croft.ID(fmt.Sprintf(`{"at":%d}`, j0.UnixNano()))}),
			tx.SetKey(journal.Key{Repo: "repo", Verb: "lock", Key: "young", Operation: croft.ID(fmt.Sprintf(`{"at":%d}`, young.UnixNano()))}),
			// As earlier versions recorded them.
			tx.PutKey(journal.Key{Repo: "repo", Verb: "undo", Key: "old", Operation: "old 0"}),
			tx.PutKey(journal.Key{Repo: "repo", Verb: "undo", Key: "kept", Operation: "on live"}),
			tx.PutKey(journal.Key{Repo: "repo", Verb: "remove", Key: "old", Operation: `{"act":"old 1"}`}),
			tx.PutKey(journal.Key{Repo: "repo", Verb: "remove", Key: "kept", Operation: `{"act":"on live"}`}),
		}
		for i := range 25 {
			errs = append(errs, add(tx, fmt.Sprint("old ", i), j0, "gone"))
		}
		return errors.Join(append(errs, add(tx, "young", young, "gone"))...)
	})
	rounds := 0
	for more := true; more; rounds++ {
		update(t, j, func(tx *journal.Tx) (err error) {
			more, err = tx.Prune(j0.Add(time.Minute), 10)
			return err
		})
	}
	if rounds != 3 {
		t.Errorf("25 were forgotten in %d rounds of 10", rounds)
	}
	ops, err := j.History(t.Context(), "repo", 100)
	if err != nil {
		t.Fatal(err)
	}
	kept := ""
	for _, op := range ops {
		kept += string(op.ID) + "; "
	}
	if kept != "young; runs; on live; wrong; " {
		t.Errorf("operations that stayed: %s", kept)
	}
	events, err := j.Events(t.Context(), 0, journal.Subject{}, 100)
	if err != nil || len(events) != 2 || events[0].Kind != "wrong" || events[1].Kind != "young" {
		t.Errorf("events that stayed: %+v, %v", events, err)
	}
	if s, err := j.Stream(t.Context()); err != nil || s.Pruned <= events[0].At || s.Pruned >= events[1].At || s.Last != events[1].At {
		t.Errorf("what is kept: %+v, %v; the events are at %d and %d", s, err, events[0].At, events[1].At)
	}
	for verb, keys := range map[string]map[string]bool{
		"create": {"old 0": false, "old 24": false, "young": true, "on live": true},
		"merge":  {"merge": true},
		"lock":   {"old": false, "young": true},
		"undo":   {"old": false, "kept": true},
		"remove": {"old": false, "kept": true},
	} {
		for key, want := range keys {
			if _, err := j.FindKey(t.Context(), "repo", verb, key); (err == nil) != want {
				t.Errorf("key %s: %v", key, err)
			}
		}
	}
	update(t, j, func(tx *journal.Tx) error {
		return tx.Emit(croft.Event{Time: young, Kind: "next", Subjects: croft.Subjects{Repo: "repo"}})
	})
	if after, err := j.Events(t.Context(), events[1].At, journal.Subject{}, 100); err != nil || len(after) != 1 {
		t.Errorf("after the last cursor: %+v, %v", after, err)
	}
}
