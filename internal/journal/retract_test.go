package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestRetract: a transaction that was appended to the second copy and could not be
// committed is taken off it again; but not one that was committed after all, and
// not if others were appended after it.
func TestRetract(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "copy")
	j, err := OpenWith(t.Context(), t.TempDir(), Options{Copy: copied})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	pin := func(ref string) error {
		return j.Update(t.Context(), func(tx *Tx) error { return tx.PutPin("repo", Pin{Ref: ref, OID: "x"}) })
	}
	if err := pin("first"); err != nil {
		t.Fatal(err)
	}
	id, err := identify(t.Context(), j.db)
	if err != nil {
		t.Fatal(err)
	}
	text := func() []byte {
		b, err := os.ReadFile(copied)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before := text()
	line, err := j.copy.append(id.txn+1, id.File, []statement{{SQL: "x"}})
	if err != nil || bytes.Equal(before, text()) {
		t.Fatalf("nothing was appended: %v", err)
	}
	j.retractFromCopy(j.db, line)
	if !bytes.Equal(before, text()) {
		t.Errorf("what was never committed is still there:\n%s", text())
	}
	last, err := j.copy.append(id.txn+1, id.File, []statement{{SQL: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.copy.append(id.txn+2, id.File, []statement{{SQL: "y"}}); err != nil {
		t.Fatal(err)
	}
	with := text()
	j.retractFromCopy(j.db, last)
	if !bytes.Equal(with, text()) {
		t.Error("another transaction went with it")
	}
	committed := &appended{j.copy, j.copy.f, id.txn, 0, int64(len(with))}
	j.retractFromCopy(j.db, committed)
	if !bytes.Equal(with, text()) {
		t.Error("a transaction that was committed was taken off")
	}
}
