package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// state is a database with a second copy.
type state struct{ dir, copy string }

func newState(t testing.TB) state {
	return state{filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "data", "state.log")}
}

func (s state) db() string { return filepath.Join(s.dir, journal.FileName) }

func (s state) open(t testing.TB) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), s.dir, journal.Options{Copy: s.copy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// contents is the content of a journal, as its readers see it.
type contents struct {
	Records []journal.Record
	Events  []journal.Event
	Ops     []journal.Operation
	Merges  []journal.Merge
	Repo    journal.Repo
	Tip     string
	Pins    []journal.Pin
	Leases  map[croft.ID][]croft.Lease
}

func (s state) contents(t testing.TB) contents {
	t.Helper()
	j := s.open(t)
	defer j.Close()
	var c contents
	var errs [8]error
	c.Records, errs[0] = j.Records(t.Context(), "repo")
	c.Events, errs[1] = j.Events(t.Context(), 0, journal.Subject{}, 1000)
	c.Ops, errs[2] = j.Running(t.Context())
	c.Merges, errs[3] = j.Waiting(t.Context(), "repo", "main", -1)
	c.Repo, errs[4] = j.Repo(t.Context(), "repo")
	c.Tip, errs[5] = j.LaneTip(t.Context(), "repo", "main")
	c.Pins, errs[6] = j.Pins(t.Context(), "repo", "refs/croft/")
	c.Leases, errs[7] = j.Leases(t.Context(), "repo")
	if err := errors.Join(errs[:]...); err != nil && !errors.Is(err, journal.ErrNotFound) {
		t.Fatal(err)
	}
	return c
}

// fill makes a hundred workspaces and something in every table, in several
// transactions.
func (s state) fill(t testing.TB) {
	t.Helper()
	j := s.open(t)
	defer j.Close()
	update(t, j, func(tx *journal.Tx) error {
		return tx.PutRepo(journal.Repo{ID: "repo", CommonDir: "/r/.git", Path: "/r", Identity: "1@2"}, j0)
	})
	for i := range 100 {
		update(t, j, func(tx *journal.Tx) error {
			return errors.Join(tx.PutRecord(numbered(i)), tx.Emit(made(i)))
		})
	}
	odd := numbered(100)
	odd.Workspace.Path = "/w/\xff\xfe odd"
	update(t, j, func(tx *journal.Tx) error {
		return errors.Join(tx.PutRecord(odd), tx.DeleteRecord(numbered(3).Workspace.ID), tx.PutLaneTip("repo", "main", "abc"),
			tx.PutPin("repo", journal.Pin{Ref: "refs/croft/snapshot/a/b", OID: "def"}),
			tx.PutLease(lease("l", numbered(5).Workspace.ID)), tx.Begin(journal.Operation{ID: "op", Act: "op", Kind: "remove", Repo: "repo"}),
			tx.PutMerge(&journal.Merge{Merge: croft.Merge{RepoID: "repo", ID: "m", Target: "main", State: croft.MergeQueued}}))
	})
}

func keep(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func drop(t testing.TB, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyIsWrittenSlowly: only the wait for a lock is bounded, not the writing of the
// copy, which takes long on a slow machine.
func TestCopyIsWrittenSlowly(t *testing.T) {
	t.Parallel()
	s := newState(t)
	j, err := journal.Open(t.Context(), s.dir, journal.Options{Copy: s.copy, CopyWait: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	update(t, j, func(tx *journal.Tx) error { return tx.Emit(event("first")) })
	if _, err := os.Stat(s.copy); err != nil {
		t.Error(err)
	}
}

// TestCopyOfAnotherState: the second copy of another state is not used for this one.
func TestCopyOfAnotherState(t *testing.T) {
	t.Parallel()
	s, other := newState(t), newState(t)
	s.fill(t)
	want := s.contents(t)
	j := other.open(t)
	update(t, j, func(tx *journal.Tx) error { return tx.PutPin("repo", journal.Pin{Ref: "refs/croft/x", OID: "evil"}) })
	_ = j.Close()
	put(t, s.copy, keep(t, other.copy))
	if diff := cmp.Diff(want, s.contents(t)); diff != "" {
		t.Error(diff)
	}
	drop(t, s.dir)
	if diff := cmp.Diff(want, s.contents(t)); diff != "" {
		t.Errorf("from the copy:\n%s", diff)
	}
}

// TestLongerCopyOfAnotherState: nor is one that has more transactions; it is kept as a
// file.
func TestLongerCopyOfAnotherState(t *testing.T) {
	t.Parallel()
	s, other := newState(t), newState(t)
	other.fill(t)
	j := s.open(t)
	update(t, j, func(tx *journal.Tx) error { return tx.PutPin("repo", journal.Pin{Ref: "refs/croft/own", OID: "own"}) })
	_ = j.Close()
	want, theirs := s.contents(t), keep(t, other.copy)
	put(t, s.copy, theirs)
	if diff := cmp.Diff(want, s.contents(t)); diff != "" {
		t.Error(diff)
	}
	wantAside(t, s, theirs)
}

// wantAside checks that an unusable second copy was kept.
func wantAside(t *testing.T, s state, text []byte) {
	t.Helper()
	aside, err := filepath.Glob(s.copy + ".damaged-*")
	if err != nil || len(aside) != 1 || !bytes.Equal(keep(t, aside[0]), text) {
		t.Errorf("set aside: %v, %v", aside, err)
	}
}

// TestCopyOfEarlierVersion: statements of an earlier version of Croft are not run, because
// the tables may differ.
func TestCopyOfEarlierVersion(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	first, rest, _ := bytes.Cut(keep(t, s.copy), []byte("\n"))
	fields := strings.SplitN(string(first), " ", 3)
	number, err := strconv.ParseInt(fields[1], 10, 64)
	header := regexp.MustCompile(`"version":\d+`).ReplaceAllString(fields[2], `"version":1`)
	if err != nil || header == fields[2] {
		t.Fatalf("the copy begins with %q, %v", first, err)
	}
	earlier := append([]byte(line(number, header)), rest...)
	put(t, s.copy, earlier)
	drop(t, s.dir)
	if c := s.contents(t); len(c.Records) != 0 || len(c.Pins) != 0 {
		t.Errorf("%d records, %v", len(c.Records), c.Pins)
	}
	wantAside(t, s, earlier)
}

// TestCopyOfFailedTransaction: a transaction that was not committed is not in the copy
// either.
func TestCopyOfFailedTransaction(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	want := s.contents(t)
	j := s.open(t)
	failure := errors.New("no")
	err := j.Update(t.Context(), func(tx *journal.Tx) error { return errors.Join(tx.PutRecord(numbered(300)), failure) })
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	_ = j.Close()
	drop(t, s.dir)
	if diff := cmp.Diff(want, s.contents(t)); diff != "" {
		t.Error(diff)
	}
}

// TestCopyIsCompacted: the copy does not grow with rows that are deleted again.
func TestCopyIsCompacted(t *testing.T) {
	t.Parallel()
	s := newState(t)
	j := s.open(t)
	rec := record("1", "one")
	rec.Workspace.Notes = []string{strings.Repeat("x", 100_000)}
	for range 200 {
		update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(rec) })
	}
	info, err := os.Stat(s.copy)
	if err != nil || info.Size() > 9<<20 {
		t.Errorf("%d bytes, %v, after 20 MB were written", info.Size(), err)
	}
	want := s.contents(t)
	_ = j.Close()
	drop(t, s.dir)
	if diff := cmp.Diff(want, s.contents(t)); diff != "" {
		t.Error(diff)
	}
}

// TestCopyThatCannotBeWritten: the call succeeds, and a warning tells the user.
func TestCopyThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := newState(t)
	put(t, filepath.Dir(s.copy), []byte("a file where the directory should be"))
	j := s.open(t)
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(numbered(1)) })
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(numbered(2)) })
	if said := j.Notices(); len(said) != 1 || !strings.Contains(said[0], "second copy") {
		t.Errorf("said %q", said)
	}
}

// add appends to the second copy what another process would.
func (s state) add(t testing.TB, text string) {
	t.Helper()
	f, err := os.OpenFile(s.copy, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lastLine is the number of the last transaction in the second copy.
func (s state) lastLine(t testing.TB) int64 {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(keep(t, s.copy)), "\n"), "\n")
	n, err := strconv.ParseInt(strings.Fields(lines[len(lines)-1])[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// line is a line of the second copy: one transaction, with its checksum.
func line(number int64, list string) string {
	text := fmt.Sprint(number, " ", list)
	return fmt.Sprintf("%08x %s\n", crc32.ChecksumIEEE([]byte(text)), text)
}

// TestCopyBesideOneThatDied: another process left lines in the copy, or a user changed it,
// while this process has the database open. The next transaction of this one is in the
// copy, and lines that were never committed are not: the database is lost right after that,
// before the two could be compared.
func TestCopyBesideOneThatDied(t *testing.T) {
	t.Parallel()
	const never = `[{"q":"INSERT INTO pins (repo, ref, oid) VALUES (?, ?, ?)","a":["repo","refs/croft/never","bad"]}]`
	for name, leave := range map[string]func(t *testing.T, s state, older []byte){
		"half a line": func(t *testing.T, s state, _ []byte) {
			whole := line(s.lastLine(t)+1, never)
			s.add(t, whole[:len(whole)/2])
		},
		"a line that was not committed": func(t *testing.T, s state, _ []byte) { s.add(t, line(s.lastLine(t)+1, never)) },
		"an older copy":                 func(t *testing.T, s state, older []byte) { put(t, s.copy, older) },
		"no copy":                       func(t *testing.T, s state, _ []byte) { drop(t, s.copy) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState(t)
			j := s.open(t)
			update(t, j, func(tx *journal.Tx) error { return tx.Emit(event("first")) })
			_ = j.Close()
			older := keep(t, s.copy)
			s.fill(t)
			j = s.open(t)
			leave(t, s, older)
			update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(numbered(200)) })
			_ = j.Close()
			drop(t, s.dir)
			c := s.contents(t)
			if len(c.Records) != 101 || len(c.Events) != 105 { // a hundred were made, three changed after that, the first and the last here
				t.Errorf("%d records and %d events came back, want 101 and 105", len(c.Records), len(c.Events))
			}
			if want := []journal.Pin{{Ref: "refs/croft/snapshot/a/b", OID: "def"}}; !cmp.Equal(want, c.Pins) {
				t.Errorf("pins %v, want %v", c.Pins, want)
			}
		})
	}
}

// TestChangedLineIsNotReplayed: a changed line of the copy is not replayed.
func TestChangedLineIsNotReplayed(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	was := keep(t, s.copy)
	now := bytes.Replace(was, []byte(`"def"`), []byte(`"bad"`), 1)
	if bytes.Equal(was, now) {
		t.Fatal("the pin is not in the copy")
	}
	put(t, s.copy, now)
	drop(t, s.dir)
	if c := s.contents(t); len(c.Pins) != 0 || len(c.Records) != 100 {
		t.Errorf("%d records and the pins %v came back, want those before the line", len(c.Records), c.Pins)
	}
}

// TestCopyOfLaterVersion: files of a later Croft are left alone, also where only its second
// copy is left.
func TestCopyOfLaterVersion(t *testing.T) {
	t.Parallel()
	s := newState(t)
	j := s.open(t)
	if err := j.Update(t.Context(), func(tx *journal.Tx) error {
		return tx.Emit(croft.Event{Kind: "x", Subjects: croft.Subjects{Repo: "repo"}})
	}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.copy)
	if err != nil {
		t.Fatal(err)
	}
	header, rest, _ := bytes.Cut(text, []byte("\n"))
	_, body, _ := bytes.Cut(header, []byte(" "))
	i := bytes.Index(body, []byte(`"version":`))
	body = append(bytes.Clone(body[:i]), `"version":99}`...)
	text = append(fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(body), body), rest...)
	if err := os.WriteFile(s.copy, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, lost := range []bool{false, true} {
		if lost {
			if err := os.RemoveAll(s.dir); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := journal.Open(t.Context(), s.dir, journal.Options{Copy: s.copy}); !errors.Is(err, journal.ErrNewer) {
			t.Errorf("lost %v: Open = %v, want a refusal", lost, err)
		}
		if now, err := os.ReadFile(s.copy); err != nil || !bytes.Equal(now, text) {
			t.Errorf("lost %v: the copy was changed: %v", lost, err)
		}
		if list, _ := filepath.Glob(s.copy + ".*"); len(list) > 0 {
			t.Errorf("lost %v: set aside: %v", lost, list)
		}
	}
	if _, err := os.Stat(s.db()); err == nil {
		t.Error("a database was made")
	}
}

// TestDamagedCopyIsKept: of a copy that is damaged in its middle, the transactions before
// the damage are replayed. The damaged file is kept, so that a person can look for more.
func TestDamagedCopyIsKept(t *testing.T) {
	t.Parallel()
	s := newState(t)
	s.fill(t)
	now := overwrite(keep(t, s.copy), 10_000, 12_000)
	put(t, s.copy, now)
	drop(t, s.dir)
	if c := s.contents(t); len(c.Records) == 0 || len(c.Records) > 99 {
		t.Errorf("%d records came back", len(c.Records))
	}
	wantAside(t, s, now)
}
