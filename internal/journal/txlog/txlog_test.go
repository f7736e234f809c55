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

// withoutCount removes the number of lines from the header of a log, as logs were before.
func withoutCount(t *testing.T, b []byte) []byte {
	t.Helper()
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	header, ok := parseLine(first)
	text, err := formatLine(header.number, Header{"e", "f", 1})
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return append(text, rest...)
}

// logs is a log as it is written now, and as it was written before.
var logs = map[string]func(*testing.T, []byte) []byte{
	"counted":   func(_ *testing.T, b []byte) []byte { return b },
	"uncounted": withoutCount,
}

// TestDamagedDump: whichever byte of the header or of the dump is changed, the log does not
// pass for whole, and what the other lines have is replayed.
func TestDamagedDump(t *testing.T) {
	t.Parallel()
	const rows = 2*dumpRows + 1
	l := newLog(t, rows)
	all, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range logs {
		lines := bytes.SplitAfter(form(t, all), []byte("\n"))
		for _, log := range [][][]byte{lines[:4], lines[:6]} { // without transactions, and with two
			for i, line := range lines[:4] {
				for at := 0; at < len(line); at++ {
					if at == 20 {
						at = max(at, len(line)-20)
					}
					for _, c := range []byte{line[at] ^ 1, '\n', 0} {
						if c == line[at] {
							continue
						}
						now := bytes.Join(log, nil)
						now[len(bytes.Join(log[:i], nil))+at] = c
						if err := os.WriteFile(l.Path(), now, 0o600); err != nil {
							t.Fatal(err)
						}
						what := fmt.Sprintf("%s, %d lines, line %d, byte %d is %q", name, len(log), i, at, c)
						_, serr := l.State()
						list, err := replayed(l)
						if i == 0 {
							if !errors.Is(serr, ErrNone) || !errors.Is(err, ErrNone) || len(list) > 0 {
								t.Fatalf("%s: %v, %v, %d statements", what, serr, err, len(list))
							}
							continue
						}
						lost := dumpRows
						if i == 3 {
							lost = 1
						}
						isJoined := i == 3 && len(log) > 4 && at == len(line)-1 // with the first transaction
						if !errors.Is(err, ErrBehind) || errors.Is(err, ErrDump) == isJoined {
							t.Fatalf("%s: %v", what, err)
						}
						if least := rows - lost - dumpRows; len(list) < least || len(list) > rows-lost+len(log)-4 {
							t.Fatalf("%s: %d statements", what, len(list))
						}
						if at < len(line)-1 && c != '\n' && len(list) != rows-lost+len(log)-4 {
							t.Fatalf("%s: %d statements, not all of the other lines", what, len(list))
						}
					}
				}
			}
		}
	}
}

// TestCutTransaction: a process died while it wrote the first transaction after the dump.
func TestCutTransaction(t *testing.T) {
	t.Parallel()
	l := newLog(t, 3)
	all, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range logs {
		lines := bytes.SplitAfter(form(t, all), []byte("\n"))
		dump := bytes.Join(lines[:2], nil)
		for cut := range len(lines[2]) - 1 {
			now := append(bytes.Clone(dump), lines[2][:cut]...)
			if err := os.WriteFile(l.Path(), now, 0o600); err != nil {
				t.Fatal(err)
			}
			if list, err := replayed(l); err != nil || len(list) != 3 {
				t.Fatalf("%s, cut at %d: replayed %q, %v", name, cut, list, err)
			}
			if _, err := l.Append(8, "f", []Statement{{SQL: "again"}}); err != nil {
				t.Fatal(err)
			}
			if list, err := replayed(l); err != nil || len(list) != 4 || list[3] != "8 again" {
				t.Fatalf("%s, cut at %d, then appended: replayed %q, %v", name, cut, list, err)
			}
			l.Close()
		}
	}
}

// TestDamagedTransaction: a transaction that was written whole and is damaged now makes the
// log damaged, unless a later line with its number counts instead.
func TestDamagedTransaction(t *testing.T) {
	t.Parallel()
	const ok, damaged = false, true
	type tx struct {
		number    int64
		text      string
		isDamaged bool
	}
	for name, tt := range map[string]struct {
		lines []tx
		want  []string
		whole bool
	}{
		"Last":            {[]tx{{8, "a", ok}, {9, "b", damaged}}, []string{"8 a"}, false},
		"Only":            {[]tx{{8, "a", damaged}}, nil, false},
		"Middle":          {[]tx{{8, "a", ok}, {9, "b", damaged}, {10, "c", ok}}, []string{"8 a"}, false},
		"Replaced":        {[]tx{{8, "a", ok}, {9, "b", damaged}, {9, "c", ok}}, []string{"8 a", "9 c"}, true},
		"Replacement":     {[]tx{{8, "a", ok}, {9, "b", ok}, {9, "c", damaged}, {10, "d", ok}}, []string{"8 a"}, false},
		"LastReplacement": {[]tx{{8, "a", ok}, {9, "b", ok}, {9, "c", damaged}}, []string{"8 a"}, false},
	} {
		l := newLog(t, 0)
		b, err := os.ReadFile(l.Path())
		if err != nil {
			t.Fatal(err)
		}
		now := bytes.Clone(b[:bytes.IndexByte(b, '\n')+1])
		for _, x := range tt.lines {
			line, err := formatLine(x.number, []Statement{{SQL: x.text}})
			if err != nil {
				t.Fatal(err)
			}
			if x.isDamaged {
				line = bytes.Replace(line, []byte(x.text+`"`), []byte(`X"`), 1)
			}
			now = append(now, line...)
		}
		if err := os.WriteFile(l.Path(), now, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := replayed(l)
		if !slices.Equal(list, tt.want) || tt.whole != (err == nil) || !tt.whole && !errors.Is(err, ErrBehind) || errors.Is(err, ErrDump) {
			t.Errorf("%s: replayed %q, %v, want %q", name, list, err, tt.want)
		}
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
