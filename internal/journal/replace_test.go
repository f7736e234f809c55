package journal_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/journal"
)

// filled is a closed database that spans many pages.
func filled(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	j := open(t, dir)
	update(t, j, func(tx *journal.Tx) error {
		errs := []error{tx.PutRepo(journal.Repo{ID: "repo", CommonDir: "/r/.git", Path: "/r"}, j0)}
		for i := range 200 {
			errs = append(errs, tx.PutRecord(numbered(i)))
		}
		return errors.Join(errs...)
	})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, journal.FileName)
}

// damages are ways to damage a database file.
var damages = map[string]func(b []byte) []byte{
	"Noise":     func([]byte) []byte { return []byte(strings.Repeat("not a database ", 1000)) },
	"Half":      func(b []byte) []byte { return b[:len(b)/2] },
	"Odd":       func(b []byte) []byte { return b[:len(b)*2/3+17] },
	"AllButOne": func(b []byte) []byte { return overwrite(b, 4096, len(b)) },
	"Middle":    func(b []byte) []byte { return overwrite(b, len(b)*3/4/4096*4096, len(b)*3/4/4096*4096+8192) },
	"HeadOnly":  func(b []byte) []byte { return overwrite(b, 0, 100) },
	"NoTables":  func([]byte) []byte { return nil },
}

func overwrite(b []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		b[i] = 0xa5
	}
	return b
}

// TestDamaged damages the file in several ways. The process that opens or reads it gets an
// empty database that works, and the damaged file is kept.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := filled(t)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			spoiled := damage(b)
			if err := os.WriteFile(path, spoiled, 0o600); err != nil {
				t.Fatal(err)
			}
			j := open(t, dir)
			if err := j.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			if list, err := j.Records(t.Context(), "repo"); err != nil || len(list) != 0 {
				t.Fatalf("%d records, %v, want none", len(list), err)
			}
			update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(record("1", "one")) })
			aside, err := journal.Damaged(dir)
			if len(spoiled) == 0 { // an empty file is a database that was not made yet
				return
			}
			if err != nil || len(aside) != 1 || len(j.Aside()) != 1 || j.Aside()[0] != aside[0] {
				t.Fatalf("set aside %v and %v, %v", aside, j.Aside(), err)
			}
			if got, err := os.ReadFile(aside[0]); err != nil || string(got) != string(spoiled) {
				t.Errorf("what was set aside is not what was there: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestReplacedWhileOpen: a journal whose file was deleted, or moved away by another
// process, continues with the file that is there.
func TestReplacedWhileOpen(t *testing.T) {
	t.Parallel()
	dir, path := filled(t)
	j := open(t, dir)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(record("1", "one")) })
	other := open(t, dir)
	if list, err := other.Records(t.Context(), "repo"); err != nil || len(list) != 1 {
		t.Errorf("%d records, %v: what was written after the loss is not in the new file", len(list), err)
	}
	update(t, other, func(tx *journal.Tx) error { return tx.PutRecord(record("2", "two")) })
	if list, err := j.Records(t.Context(), "repo"); err != nil || len(list) != 2 {
		t.Errorf("%d records, %v: the first does not read what the second wrote", len(list), err)
	}
}

// TestDamagedMetByMany: many processes open a damaged database. One of them sets it aside,
// and none gets an error.
func TestDamagedMetByMany(t *testing.T) {
	if dir := os.Getenv("JOURNAL_TEST_DAMAGED"); dir != "" {
		j := open(t, dir)
		update(t, j, func(tx *journal.Tx) error { return tx.Emit(event(os.Getenv("JOURNAL_TEST_NAME"))) })
		return
	}
	t.Parallel()
	dir, path := filled(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, damages["AllButOne"](b), 0o600); err != nil {
		t.Fatal(err)
	}
	const n = 24
	errs := make(chan error, n)
	for i := range n {
		go func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDamagedMetByMany$")
			cmd.Env = append(os.Environ(), "JOURNAL_TEST_DAMAGED="+dir, "JOURNAL_TEST_NAME="+string(rune('a'+i)))
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = errors.Join(err, errors.New(string(out)))
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	j := open(t, dir)
	events, err := j.Events(t.Context(), 0, journal.Subject{}, 2*n)
	aside, _ := journal.Damaged(dir)
	if err != nil || len(events) != n || len(aside) != 1 {
		t.Errorf("%d events, want %d; set aside %v, want one; %v", len(events), n, aside, err)
	}
	if err := j.Check(t.Context()); err != nil || len(j.Aside()) != 0 {
		t.Errorf("the new database: %v, %v", err, j.Aside())
	}
}
