package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestRewindOnFullDisk: there is no room for the files of a snapshot. git writes them, and
// gives no reason when it fails. The workspace is unchanged.
func TestRewindOnFullDisk(t *testing.T) {
	r := gittest.New(t)
	r.Write("large", strings.Repeat("0123456789abcdef", 64<<10)) // 1 MB
	r.Commit("large")
	base := filepath.Join(filepath.Dir(r.Dir), "app.croft")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	mounted(t, "tmpfs", base, "tmpfs", "size=128M", 0)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	snap := snapshotOf(t, e, "a")
	gittest.WriteFile(t, filepath.Join(w.Path, "small"), "work\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "large"), "no longer\n")
	fill := filepath.Join(base, "fill")
	leave(t, base, fill, "100")
	want := everythingIn(t, w.Path)
	_, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)})
	wantCode(t, err, croft.NoSpace)
	wantAsWas(t, want, everythingIn(t, w.Path))
	if got := show(t, e, "a").State; got != croft.Ready {
		t.Errorf("the workspace is %s", got)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)}); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}
