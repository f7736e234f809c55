package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

func open(t testing.TB, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func update(t testing.TB, j *journal.Journal, f func(*journal.Tx) error) {
	t.Helper()
	if err := j.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func record(id croft.ID, name string) journal.Record {
	return journal.Record{
		RepoID: "repo", Generation: 1, Admin: "croft-" + string(id), Boot: "boot", OwnsBranch: true, BaseDir: "/base", RoleFiles: []string{"CLAUDE.md"},
		Workspace: croft.Workspace{
			ID: id, Name: name, Mode: croft.ModeWorktree, State: croft.Ready, Path: "/w/" + name, Branch: "croft/" + name,
			Repo: "/r", Host: "h", CreatedAt: time.Unix(100, 5).UTC(), Notes: []string{"note"},
		},
	}
}

// j0 is a fixed time.
var j0 = time.Unix(100, 0)

// numbered is one of many records.
func numbered(i int) journal.Record {
	return record(croft.ID(fmt.Sprintf("id%03d", i)), fmt.Sprintf("name%03d", i))
}

func lease(id, workspace croft.ID) croft.Lease {
	return croft.Lease{ID: id, Workspace: workspace, ExpiresAt: j0}
}

func event(kind string) croft.Event { return croft.Event{Kind: kind, Time: j0} }

// made is an event about the workspace that numbered returns.
func made(i int) croft.Event {
	return croft.Event{Kind: fmt.Sprint("made", i), Time: j0, Subjects: croft.Subjects{Repo: "repo", Workspace: numbered(i).Workspace.ID}}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	want := []journal.Record{record("1", "one"), record("2", "two"), record("3", "three")}
	want[1].Workspace.State = croft.Trashed
	want[1].Trash = &journal.Trash{Dir: "/trash", Tip: "abc", RemovedAt: time.Unix(5, 0).UTC(), ExpiresAt: time.Unix(9, 0).UTC()}
	other := record("4", "one")
	other.RepoID, other.Workspace.Path = "another", "/elsewhere"
	update(t, j, func(tx *journal.Tx) error {
		return errors.Join(tx.PutRecord(want[0]), tx.PutRecord(want[1]), tx.PutRecord(want[2]), tx.PutRecord(other))
	})
	got, err := j.Records(t.Context(), "repo")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Records: %v\n%s", err, diff)
	}
	live, err := j.Live(t.Context(), "repo")
	if diff := cmp.Diff([]journal.Record{want[0], want[2]}, live); err != nil || diff != "" {
		t.Errorf("Live: %v\n%s", err, diff)
	}
	if n, err := j.CountLive(t.Context(), "repo"); err != nil || n != 2 {
		t.Errorf("CountLive = %d, %v", n, err)
	}
	if rec, err := j.LiveByName(t.Context(), "repo", "one"); err != nil || rec.Workspace.ID != "1" {
		t.Errorf("LiveByName = %+v, %v", rec, err)
	}
	for _, find := range []func() error{
		func() error { _, err := j.LiveByName(t.Context(), "repo", "two"); return err },
		func() error { _, err := j.Record(t.Context(), "5"); return err },
		func() error { _, err := j.Operation(t.Context(), "5"); return err },
		func() error { _, err := j.Repo(t.Context(), "5"); return err },
	} {
		if err := find(); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
	}
	update(t, j, func(tx *journal.Tx) error { return tx.DeleteRecord("1") })
	if _, err := j.Record(t.Context(), "1"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("after Delete: %v", err)
	}
}

// TestRecordOmitsComputedFields: fields that are computed at each read are not stored.
func TestRecordOmitsComputedFields(t *testing.T) {
	t.Parallel()
	rec := record("1", "one")
	passing := rec
	w := &passing.Workspace
	w.Head, w.IsLocked, w.LockReason, w.Lease, w.Env = "abc", true, "mine", &croft.Lease{ID: "l"}, map[string]string{"K": "v"}
	j := open(t, t.TempDir())
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(passing) })
	got, err := j.Record(t.Context(), "1")
	if diff := cmp.Diff(rec, got); err != nil || diff != "" {
		t.Errorf("Record: %v\n%s", err, diff)
	}
	for _, bad := range []string{"", "{}", "null", "[]", `{"workspace":{"id":"x"}}`, `{"repoId":"x"}`, "\x00"} {
		if rec, err := journal.Decode([]byte(bad)); err == nil {
			t.Errorf("Decode(%q) = %+v, want an error", bad, rec)
		}
	}
}

// TestUniqueAmongLive: the database itself enforces unique names and paths.
func TestUniqueAmongLive(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(record("1", "one")) })
	sameName, samePath := record("2", "one"), record("3", "three")
	sameName.Workspace.Path = "/elsewhere"
	samePath.Workspace.Path = "/W/ONE"
	for _, rec := range []journal.Record{sameName, samePath} {
		if err := j.Update(t.Context(), func(tx *journal.Tx) error { return tx.PutRecord(rec) }); err == nil {
			t.Errorf("%+v was written beside another one", rec.Workspace)
		}
	}
	update(t, j, func(tx *journal.Tx) error {
		taken, err := tx.IsPathTaken("/w/One")
		free, err2 := tx.IsPathTaken("/w/two")
		if !taken || free {
			t.Errorf("IsPathTaken = %v and %v", taken, free)
		}
		byBranch, err3 := tx.LiveByBranch("repo", "croft/one")
		if byBranch.Workspace.ID != "1" {
			t.Errorf("LiveByBranch = %+v", byBranch)
		}
		return errors.Join(err, err2, err3)
	})
	gone := record("1", "one")
	gone.Workspace.State = croft.Trashed
	update(t, j, func(tx *journal.Tx) error {
		return errors.Join(tx.PutRecord(gone), tx.PutRecord(sameName), tx.PutRecord(samePath))
	})
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	failure := errors.New("no")
	err := j.Update(t.Context(), func(tx *journal.Tx) error {
		return errors.Join(tx.PutRecord(record("1", "one")), tx.Emit(croft.Event{Kind: "x"}), failure)
	})
	if !errors.Is(err, failure) {
		t.Errorf("Update = %v, want the failure", err)
	}
	if list, err := j.Records(t.Context(), "repo"); err != nil || len(list) != 0 {
		t.Errorf("Records = %v, %v, want none", list, err)
	}
	if list, err := j.Events(t.Context(), 0, journal.Subject{}, 10); err != nil || len(list) != 0 {
		t.Errorf("Events = %v, %v, want none", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Update(ctx, func(*journal.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Update with an ended context = %v", err)
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	owner := croft.Owner{Host: "h", Boot: "b", Space: "s", PID: 7, Start: "1"}
	op := journal.Operation{
		ID: "1", Kind: "create", Actor: "ann", Repo: "repo", Workspaces: []croft.ID{"a", "b"}, Input: json.RawMessage(`{"x":1}`),
		Owner: owner, StartedAt: time.Unix(5, 6),
	}
	second := op
	second.ID, second.Kind, second.Workspaces = "2", "remove", nil
	update(t, j, func(tx *journal.Tx) error { return errors.Join(tx.Begin(op), tx.Begin(second)) })
	running, err := j.Running(t.Context())
	if err != nil || len(running) != 2 {
		t.Fatalf("Running = %+v, %v", running, err)
	}
	want := op
	want.State = journal.OpRunning
	if diff := cmp.Diff(want, running[0]); diff != "" {
		t.Error(diff)
	}
	update(t, j, func(tx *journal.Tx) error {
		for workspace, want := range map[croft.ID]croft.ID{"a": "1", "b": "1", "c": ""} {
			got, err := tx.RunningOn("create", workspace)
			if got.ID != want || (want == "") != errors.Is(err, journal.ErrNotFound) {
				t.Errorf("RunningOn(%s) = %+v, %v", workspace, got, err)
			}
		}
		if _, err := tx.RunningOn("remove", "a"); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("RunningOn of another kind: %v", err)
		}
		return tx.End("1", journal.OpUndone, "it failed", time.Unix(9, 0))
	})
	if running, err = j.Running(t.Context()); err != nil || len(running) != 1 || running[0].ID != "2" {
		t.Errorf("Running = %+v, %v", running, err)
	}
	ended, err := j.Operation(t.Context(), "1")
	if err != nil || ended.State != journal.OpUndone || ended.Error != "it failed" || !ended.EndedAt.Equal(time.Unix(9, 0)) {
		t.Errorf("Operation = %+v, %v", ended, err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	key := journal.Key{Repo: "repo", Verb: "create", Key: "k", Request: "digest", Operation: "op"}
	update(t, j, func(tx *journal.Tx) error { return tx.PutKey(key) })
	if err := j.Update(t.Context(), func(tx *journal.Tx) error { return tx.PutKey(key) }); err == nil {
		t.Error("a key was used twice")
	}
	find := func(repo croft.ID, verb string) (got journal.Key, err error) {
		err = j.Update(t.Context(), func(tx *journal.Tx) (err error) {
			got, err = tx.FindKey(repo, verb, "k")
			return err
		})
		return got, err
	}
	if got, err := find("repo", "create"); err != nil || got != key {
		t.Errorf("FindKey = %+v, %v", got, err)
	}
	for _, c := range [][2]string{{"another", "create"}, {"repo", "merge"}} {
		if _, err := find(croft.ID(c[0]), c[1]); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("FindKey(%v) = %v, want ErrNotFound", c, err)
		}
	}
	update(t, j, func(tx *journal.Tx) error { return tx.DeleteKey("op") })
	if _, err := find("repo", "create"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("after DeleteKey: %v", err)
	}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	long := croft.Lease{ID: "long", Workspace: "1", Owner: croft.Owner{Host: "h", PID: 7}, ExpiresAt: at(90)}
	short := croft.Lease{ID: "short", Workspace: "1", Owner: croft.Owner{Host: "h", PID: 8}, ExpiresAt: at(50)}
	elsewhere := croft.Lease{ID: "elsewhere", Workspace: "9", ExpiresAt: at(70)}
	update(t, j, func(tx *journal.Tx) error {
		return errors.Join(tx.PutRecord(record("1", "one")), tx.PutLease(long), tx.PutLease(short), tx.PutLease(elsewhere))
	})
	got, err := j.Leases(t.Context(), "repo")
	if diff := cmp.Diff(map[croft.ID][]croft.Lease{"1": {short, long}}, got); err != nil || diff != "" {
		t.Errorf("Leases: %v\n%s", err, diff)
	}
	short.ExpiresAt = at(100)
	update(t, j, func(tx *journal.Tx) error {
		renewed := short
		renewed.Owner = croft.Owner{} // a renewal does not change the owner
		if err := tx.PutLease(renewed); err != nil {
			return err
		}
		got, err := tx.Lease("short")
		if diff := cmp.Diff(short, got); diff != "" {
			t.Error(diff)
		}
		return errors.Join(err, tx.DeleteLease("long"), tx.DeleteLease("never"))
	})
	update(t, j, func(tx *journal.Tx) error {
		if list, err := tx.LeasesOf("1"); err != nil || len(list) != 1 {
			t.Errorf("LeasesOf = %+v, %v", list, err)
		}
		return tx.DeleteLeases("1")
	})
	if got, err := j.Leases(t.Context(), "repo"); err != nil || len(got) != 0 {
		t.Errorf("Leases = %+v, %v", got, err)
	}
}

func TestRepos(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	put := func(r journal.Repo) {
		t.Helper()
		update(t, j, func(tx *journal.Tx) error { return tx.PutRepo(r, time.Now()) })
	}
	put(journal.Repo{ID: "1", CommonDir: "/a/.git", Path: "/a"})
	put(journal.Repo{ID: "1", CommonDir: "/b/.git", Path: "/b"}) // moved
	if got, err := j.Repo(t.Context(), "1"); err != nil || got.Path != "/b" {
		t.Errorf("a repository that was moved: %+v, %v", got, err)
	}
	put(journal.Repo{ID: "2", CommonDir: "/b/.git", Path: "/b", Identity: "x"}) // deleted and made again
	for id, identity := range map[croft.ID]string{"1": "", "2": "x"} {
		if got, err := j.RepoAt(t.Context(), "/b/.git", identity); err != nil || got.ID != id {
			t.Errorf("RepoAt(%q) = %+v, %v, want %s: one at the same place does not make the other forgotten", identity, got, err, id)
		}
	}
	if all, err := j.ReposAt(t.Context(), "/b/.git"); err != nil || len(all) != 2 {
		t.Errorf("ReposAt = %+v, %v", all, err)
	}
}

// TestEventsOverWriters: many writers, over several database handles, give every event a
// cursor of its own, in the order in which readers see them.
func TestEventsOverWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for w := range writers {
		j := open(t, dir)
		wg.Go(func() {
			for i := range each {
				repo := croft.ID("r" + strconv.Itoa(w))
				if err := j.Update(t.Context(), func(tx *journal.Tx) error {
					return tx.Emit(croft.Event{Time: time.Unix(int64(i), 0), Kind: "k", Subjects: croft.Subjects{Repo: repo, Workspace: "w", Target: strconv.Itoa(i)}})
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	j := open(t, dir)
	var all []journal.Event
	for after := int64(0); ; after = all[len(all)-1].At {
		page, err := j.Events(t.Context(), after, journal.Subject{}, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
	}
	if len(all) != writers*each {
		t.Fatalf("%d events, want %d", len(all), writers*each)
	}
	next := map[croft.ID]int{}
	for i, e := range all {
		if i > 0 && e.At <= all[i-1].At {
			t.Errorf("cursor %d after %d", e.At, all[i-1].At)
		}
		if e.Target != strconv.Itoa(next[e.Repo]) {
			t.Errorf("event %s of %s, want %d", e.Target, e.Repo, next[e.Repo])
		}
		next[e.Repo]++
	}
	of, err := j.Events(t.Context(), 0, journal.Subject{Repo: "r2"}, 1000)
	if err != nil || len(of) != each || slices.ContainsFunc(of, func(e journal.Event) bool { return e.Repo != "r2" }) {
		t.Errorf("%d events of one repository, %v", len(of), err)
	}
}

// TestOpenAtOnce: many processes open a database that does not exist yet.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	errs := make([]error, 12)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			j, err := journal.Open(t.Context(), dir, journal.Options{})
			if err == nil {
				err = errors.Join(j.Update(t.Context(), func(tx *journal.Tx) error { return tx.Emit(croft.Event{Kind: "x"}) }), j.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if list, err := open(t, dir).Events(t.Context(), 0, journal.Subject{}, 100); err != nil || len(list) != len(errs) {
		t.Errorf("%d events, %v, want %d", len(list), err, len(errs))
	}
}

// TestLaterVersion: a database of a later Croft is refused and not changed.
func TestLaterVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, journal.FileName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const userVersion = 60 // the offset of user_version in the header
	b[userVersion+3] = 99
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = journal.Open(t.Context(), dir, journal.Options{})
	if !errors.Is(err, journal.ErrNewer) || errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("Open = %v, want a refusal that is no damage", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
		t.Errorf("it was changed: %v", err)
	}
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	open(t, dir)
	info, err := os.Stat(dir)
	if err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o700 {
		t.Errorf("the state directory is %v, %v, want 0700", info.Mode(), err)
	}
}

// TestClaim: of two callers that have seen the same revision, one goes on, also if it has
// written nothing yet.
func TestClaim(t *testing.T) {
	j := open(t, t.TempDir())
	rec := record("1", "one")
	update(t, j, func(tx *journal.Tx) error { return tx.SaveRecord(&rec) })
	id := rec.Workspace.ID
	if err := j.Claim(t.Context(), id, rec.Generation, ""); err != nil {
		t.Fatal(err)
	}
	var other *journal.RevisionError
	if err := j.Claim(t.Context(), id, rec.Generation, ""); !errors.As(err, &other) || other.Have != rec.Generation+1 || other.Want != rec.Generation {
		t.Errorf("the second caller: %v", err)
	}
	seen := rec.Generation + 1
	for range 2 { // the second time after a crash
		if err := j.Claim(t.Context(), id, seen, "lock k"); err != nil {
			t.Errorf("a call with a key: %v", err)
		}
	}
	if err := j.Claim(t.Context(), id, seen, "lock other"); !errors.As(err, &other) {
		t.Errorf("another key: %v", err)
	}
	update(t, j, func(tx *journal.Tx) error {
		now, err := tx.Record(id)
		return errors.Join(err, tx.SaveRecord(&now))
	})
	if err := j.Claim(t.Context(), id, seen, "lock k"); !errors.As(err, &other) {
		t.Errorf("after another change: %v", err)
	}
}

// TestMetaStays: a writer that read a record before its meta was changed does not take the
// change back.
func TestMetaStays(t *testing.T) {
	j := open(t, t.TempDir())
	rec := record("1", "one")
	rec.Workspace.Meta = map[string]string{"a": "1"}
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(rec) })
	changed := rec
	update(t, j, func(tx *journal.Tx) error { return tx.SaveMeta(&changed, map[string]string{"b": "2"}) })
	rec.Workspace.State = croft.Ready
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(rec) })
	got, err := j.Record(t.Context(), "1")
	if err != nil || len(got.Workspace.Meta) != 1 || got.Workspace.Meta["b"] != "2" || got.Workspace.State != croft.Ready || got.Generation != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}
