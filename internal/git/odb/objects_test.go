package odb

import (
	"bytes"
	"compress/zlib"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestStalledObject: a loose object whose header promises more than there is ends its read,
// and the next one is answered.
func TestStalledObject(t *testing.T) {
	r := gittest.New(t)
	r.Write("a.txt", "a\n")
	r.Write("b.txt", "b\n")
	r.Commit("files")
	oid := r.Git("rev-parse", "HEAD:a.txt")
	var forged bytes.Buffer
	w := zlib.NewWriter(&forged)
	_, _ = w.Write(append([]byte("blob 1000000\x00"), make([]byte, 1000)...))
	_ = w.Close()
	file := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, file, forged.String())
	repo := open(t, r)
	repo.session.stall = 500 * time.Millisecond
	begun := time.Now()
	if _, err := repo.Read(t.Context(), oid); !errors.Is(err, object.ErrForged) || time.Since(begun) > 30*time.Second {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
	if o, err := repo.Read(t.Context(), r.Git("rev-parse", "HEAD:b.txt")); err != nil || string(o.Data) != "b\n" {
		t.Errorf("the next object: %q, %v", o.Data, err)
	}
}
