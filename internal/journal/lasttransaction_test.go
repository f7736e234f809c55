package journal

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestLastTransaction: the number that pollLog reads changes when another process writes,
// and at no other time.
func TestLastTransaction(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(t.Context(), dir, Options{Copy: filepath.Join(dir, "copy")})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	other, err := Open(t.Context(), dir, Options{Copy: filepath.Join(dir, "copy")})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	before := j.lastTransaction()
	if before == (identity{}) || j.lastTransaction() != before {
		t.Errorf("%+v, then %+v", before, j.lastTransaction())
	}
	if err := other.Update(t.Context(), func(tx *Tx) error {
		return tx.Emit(croft.Event{Time: time.Now(), Kind: "test.done"})
	}); err != nil {
		t.Fatal(err)
	}
	if j.lastTransaction() == before {
		t.Error("what another connection wrote is not seen")
	}
}
