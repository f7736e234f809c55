//go:build failpoints

package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUnrestorableStaysInTheTrash: an object that the snapshot of a directory in the trash
// needs is lost before gc deletes the directory. The directory stays until its snapshot can
// be restored.
func TestUnrestorableStaysInTheTrash(t *testing.T) {
	t.Parallel()
	r := worked(t, "")
	r.Env = append(r.Env, hasty...)
	gittest.WriteFile(t, filepath.Join(pathOfA(r), "unc"), "in no commit\n")
	oid := r.GitIn(pathOfA(r), "hash-object", "unc")
	removeA(t, r)
	goOn := paused(t, r, task{GC: true}, "trash.saved")
	if err := os.Remove(filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])); err != nil {
		t.Fatal(err)
	}
	if out, err := goOn(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	e := engineIn(t, r, 0)
	items, err := e.Trash(t.Context(), croft.TrashRequest{})
	if err != nil || len(items.Items) != 1 || items.Items[0].Left != croft.LeftDirectory {
		t.Fatalf("trash %+v, %v, want the directory", items, err)
	}
	if res, err := e.GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Reduced) != 1 {
		t.Fatalf("GC = %+v, %v", res, err)
	}
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(pathOfA(r), "unc")); got != "in no commit\n" {
		t.Errorf("unc is %q", got)
	}
}
