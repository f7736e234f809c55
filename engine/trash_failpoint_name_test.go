//go:build failpoints

package engine_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestNameTakenWhileRestoring: a creation takes the name of a workspace while another process restores that. The
// creation succeeds, the restoration fails and says why, and what lay in the trash can be restored later.
func TestNameTakenWhileRestoring(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "wip"), "wip\n")
	remove := func() {
		t.Helper()
		if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Kept) > 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	remove()
	goOn := paused(t, r, task{Restore: &croft.RestoreRequest{Ref: string(w.ID)}}, "restore.refs")
	made := make(chan error, 1)
	go func() {
		_, err := e.Create(t.Context(), croft.CreateRequest{Name: "a"})
		made <- err
	}()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if got, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err == nil && got.ID != w.ID && got.State != croft.Trashed {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the creation did not take the name")
		}
	}
	if out, err := goOn(); err == nil || !strings.HasPrefix(out, string(croft.WorktreeExists)+" ") {
		t.Errorf("restored: %v, %q", err, out)
	}
	if err := <-made; err != nil {
		t.Errorf("created: %v", err)
	}
	remove()
	back, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(w.ID)})
	if err != nil || read(t, filepath.Join(back.Path, "wip")) != "wip\n" {
		t.Errorf("%+v, %v", back, err)
	}
}
