package mergetree

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
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
	var forged bytes.Buffer
	w := zlib.NewWriter(&forged)
	_, _ = w.Write(append([]byte("blob 1099511627776\x00"), make([]byte, 1000)...))
	_ = w.Close()
	file := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, file, forged.String())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := attempts(t, open(t, r)).Copy(ctx, io.Discard, oid); !errors.Is(err, object.ErrForged) {
		t.Errorf("the forged blob: %v", err)
	}
}
