package txlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// newLog writes a log with a dump of some rows and two transactions after it.
func newLog(t *testing.T, rows int) *Log {
	t.Helper()
	l := New(filepath.Join(t.TempDir(), "data", "copy.log"))
	t.Cleanup(l.Close)
	err := l.Write(Header{Epoch: "e", File: "f", Version: 1}, 7, func(add func(Statement) error) error {
		for i := range rows {
			s, err := NewStatement("row", i, "not \xff UTF-8", nil, true)
			if err := errors.Join(err, add(s)); err != nil {
				return err
			}
		}
		return nil
	})
	for number := int64(8); number <= 9 && err == nil; number++ {
		_, err = l.Append(number, "f", []Statement{{SQL: fmt.Sprint("tx ", number)}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// replayed lists what Replay returns: the query of every statement, with its number.
func replayed(l *Log) (list []string, err error) {
	err = l.Replay(func(number int64, statements []Statement) error {
		for _, s := range statements {
			list = append(list, fmt.Sprint(number, " ", s.SQL))
		}
		return nil
	})
	return list, err
}

func TestReplay(t *testing.T) {
	t.Parallel()
	l := newLog(t, 2*dumpRows+1)
	var values []any
	if err := l.Replay(func(number int64, list []Statement) error {
		if number == 7 {
			values = list[len(list)-1].Values()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []any{int64(2 * dumpRows), "not \xff UTF-8", nil, int64(1)}; !slices.Equal(values, want) {
		t.Errorf("the last row is %q, want %q", values, want)
	}
	list, err := replayed(l)
	if want := []string{"8 tx 8", "9 tx 9"}; err != nil || len(list) != 2*dumpRows+3 || !slices.Equal(list[2*dumpRows+1:], want) {
		t.Errorf("replayed %d statements, the last %q, %v", len(list), list[max(len(list)-2, 0):], err)
	}
	if s, err := l.State(); err != nil || s != (State{Header{"e", "f", 1}, 7, 9}) {
		t.Errorf("the log says %+v, %v", s, err)
	}
}

// TestLaterLineCounts: a process died after it had appended a transaction and before it had
// committed it, so that the next transaction has the same number.
func TestLaterLineCounts(t *testing.T) {
	t.Parallel()
	l := newLog(t, 0)
	if _, err := l.Append(9, "f", []Statement{{SQL: "again"}}); err != nil {
		t.Fatal(err)
	}
	if list, err := replayed(l); err != nil || !slices.Equal(list, []string{"8 tx 8", "9 again"}) {
		t.Errorf("replayed %q, %v", list, err)
	}
}

// TestNothingAfterAGap: a damaged transaction is not skipped; nothing after it is replayed.
func TestNothingAfterAGap(t *testing.T) {
	t.Parallel()
	l := newLog(t, 1)
	b, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path(), bytes.Replace(b, []byte("tx 8"), []byte("tx X"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := replayed(l); !errors.Is(err, ErrBehind) || slices.ContainsFunc(list, func(s string) bool { return s != "7 row" }) {
		t.Errorf("replayed %q, %v", list, err)
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	l := newLog(t, 0)
	if _, err := l.Append(10, "another", nil); !errors.Is(err, ErrOtherFile) {
		t.Errorf("a transaction of another database: %v", err)
	}
	if _, err := l.Append(11, "f", nil); !errors.Is(err, ErrBehind) {
		t.Errorf("a transaction after one that is missing: %v", err)
	}
	if _, err := New(filepath.Join(t.TempDir(), "none")).Append(1, "f", nil); !errors.Is(err, ErrBehind) {
		t.Errorf("no log: %v", err)
	}
}
