package odb

import (
	"errors"
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
	r.ForgeSize(oid, 1_000_000)
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
