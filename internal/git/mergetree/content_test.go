package mergetree

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestCopyOfAForgedBlob: a loose object whose header promises 1 TB is refused at once. Git
// would print what there is, and wait.
func TestCopyOfAForgedBlob(t *testing.T) {
	r := gittest.New(t)
	r.Write("a.txt", "a\n")
	r.Commit("a")
	oid := r.Git("rev-parse", "HEAD:a.txt")
	r.ForgeSize(oid, 1<<40)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := attempts(t, open(t, r)).Copy(ctx, io.Discard, oid); !errors.Is(err, object.ErrForged) {
		t.Errorf("the forged blob: %v", err)
	}
}
