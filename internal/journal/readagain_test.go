package journal

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/journal/readonly"
)

// TestReadAgainWhereWritingWouldBeNeeded: a reader that may not write, and finds the index of the log just being made, looks again;
// another failure ends it.
func TestReadAgainWhereWritingWouldBeNeeded(t *testing.T) {
	dir := t.TempDir()
	made, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	j := &Journal{path: filepath.Join(dir, FileName), readers: map[*readonly.Database]int{}}
	if err := j.openReadOnly(t.Context(), ErrReadOnly); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	other := errors.New("another failure")
	for _, tt := range []struct{ first, want error }{{os.ErrPermission, nil}, {other, other}} {
		calls := 0
		err := j.readAgain(t.Context(), func(*sql.DB, os.FileInfo) error {
			if calls++; calls == 1 {
				return tt.first
			}
			return nil
		})
		if wantCalls := map[bool]int{true: 2, false: 1}[tt.want == nil]; !errors.Is(err, tt.want) || calls != wantCalls {
			t.Errorf("after %v: %v in %d calls, want %v in %d", tt.first, err, calls, tt.want, wantCalls)
		}
	}
}
