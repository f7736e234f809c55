package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCraftedIndexInTheTrash: whatever an agent wrote to its index, its workspace is
// removed by force, and can be restored after gc has deleted the directory from the trash.
// gc keeps the directory of an isolated workspace while its index has an entry that could
// not be pulled.
func TestCraftedIndexInTheTrash(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		for _, name := range []string{"twice", "mode of a tree", "directory and file", "directory and file in a stage", "absolute", "no mode", "no name", "unsorted", "git directory"} {
			t.Run(string(mode)+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := gittest.New(t)
				e := engineIn(t, r, 0)
				w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
				gittest.WriteFile(t, filepath.Join(w.Path, "newf"), "precious\n")
				file := filepath.Join(r.GitIn(w.Path, "rev-parse", "--absolute-git-dir"), "index")
				crafted := gittest.CraftedIndexes()[name]
				if err := os.WriteFile(file, crafted.File(r.GitIn(w.Path, "rev-parse", "HEAD:README.md")), 0o644); err != nil || !crafted.IsFaulty {
					t.Fatal(err)
				}
				snapshotOf(t, e, "a")
				removeForced(t, e)
				late := engineIn(t, r, 8*day, "trash.notice", "0s")
				reduced, kept := 1, 0
				if mode == croft.ModeIsolated && name != "unsorted" {
					reduced, kept = 0, 1
				}
				if res, err := late.GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Reduced) != reduced || len(res.Kept) != kept {
					t.Fatalf("GC = %+v, %v", res, err)
				}
				if _, err := late.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
					t.Fatal(err)
				}
				for name, text := range map[string]string{"newf": "precious\n", "README.md": r.Git("show", "main:README.md") + "\n"} {
					if got := read(t, filepath.Join(w.Path, name)); got != text {
						t.Errorf("%s is %q", name, got)
					}
				}
			})
		}
	}
}

// TestUnreadableStaysInTheTrash: git cannot read a directory in the trash, because of what
// an agent left there. gc keeps it and says why, and deletes the others.
func TestUnreadableStaysInTheTrash(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for _, name := range []string{"a", "other"} {
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, "newf"), "precious\n")
	}
	a := show(t, e, "a")
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a", "other"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 2 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	gittest.WriteFile(t, filepath.Join(trashedAt(r, a), "admin", "HEAD"), "no HEAD\n")
	res, err := engineIn(t, r, 8*day, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{})
	if err != nil || len(res.Reduced) != 1 || len(res.Kept) != 1 || res.Kept[0].Name != "a" || res.Kept[0].Reason.Code != croft.WorkspaceBroken || !strings.Contains(res.Kept[0].Reason.Hint, "croft restore") {
		t.Fatalf("GC = %+v, %v", res, err)
	}
}
