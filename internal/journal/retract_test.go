package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/journal/txlog"
)

// TestRetract: a transaction that was appended to the second copy and could not be
// committed is removed from it again; but not one that was committed after all, and not if
// others were appended after it.
func TestRetract(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "copy")
	j, err := Open(t.Context(), t.TempDir(), Options{Copy: copied})
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
	line, err := j.copy.Append(id.txn+1, id.File, []txlog.Statement{{SQL: "x"}})
	if err != nil || bytes.Equal(before, text()) {
		t.Fatalf("nothing was appended: %v", err)
	}
	j.retractFromCopy(j.db, line)
	if !bytes.Equal(before, text()) {
		t.Errorf("what was never committed is still there:\n%s", text())
	}
	last, err := j.copy.Append(id.txn+1, id.File, []txlog.Statement{{SQL: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	committed, err := j.copy.Append(id.txn+2, id.File, []txlog.Statement{{SQL: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	with := text()
	j.retractFromCopy(j.db, last)
	if !bytes.Equal(with, text()) {
		t.Error("another transaction went with it")
	}
	if _, err := j.db.ExecContext(t.Context(), `UPDATE identity SET txn = ?`, committed.Number); err != nil {
		t.Fatal(err)
	}
	j.retractFromCopy(j.db, committed)
	if !bytes.Equal(with, text()) {
		t.Error("a transaction that was committed was taken off")
	}
}
