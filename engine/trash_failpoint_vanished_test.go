//go:build failpoints

package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// awayAt runs a task up to a failpoint, moves a directory away, lets the task end, and
// moves the directory back.
func awayAt(t *testing.T, r *gittest.Repo, job task, point, dir string) {
	t.Helper()
	goOn := paused(t, r, job, point)
	time.Sleep(300 * time.Millisecond) // until git has answered what it was asked before
	away := filepath.Join(t.TempDir(), "away")
	move(t, dir, away)
	out, err := goOn()
	if err == nil {
		t.Errorf("it did without the directory: %s", out)
	}
	if exists(dir) {
		t.Errorf("something was made at %s", dir)
	}
	move(t, away, dir)
}

func move(t *testing.T, from, to string) {
	t.Helper()
	// An empty trash is deleted, too.
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(from, to)); err != nil {
		t.Fatal(err)
	}
}

// TestVanishedWhileSaved: a workspace is moved away while a snapshot of it is taken. It is
// not saved as an empty one.
func TestVanishedWhileSaved(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := workedIn(t, "", mode)
			want := recall(t, r, "first")
			awayAt(t, r, task{Snapshot: &croft.SnapshotRequest{Workspace: "a"}}, "snapshot.walk", pathOfA(r))
			brief(t, r, func(e *engine.Engine) {
				list, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
				if err != nil || len(list.Items) > 0 {
					t.Errorf("saved were %+v, %v", list, err)
				}
			})
			e := engineIn(t, r, 0)
			wantState(t, r, e, want)
			snapshotOf(t, e, "a")
		})
	}
}

// TestVanishedWhileRewound: the workspace is moved away while the state that a rewind
// replaces is saved. Nothing is replaced.
func TestVanishedWhileRewound(t *testing.T) {
	t.Parallel()
	r := worked(t, "")
	var snap *croft.Snapshot
	brief(t, r, func(e *engine.Engine) { snap = snapshotOf(t, e, "a") })
	writeIn(t, r, map[string]string{"done.txt": "changed later\n", "later": "later\n"})
	want := stateOf(t, r)
	awayAt(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "snapshot.walk", pathOfA(r))
	wantState(t, r, engineIn(t, r, 0), want)
}

// TestVanishedWhileDeleted: a directory of the trash is moved away at any moment while gc
// deletes it. It counts as absent, not as deleted, and can be restored with all its files.
func TestVanishedWhileDeleted(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		for _, point := range []string{"trash.strip.recorded", "git.peek", "snapshot.walk", "trash.saved", "trash.pinned", "trash.doomed"} {
			t.Run(string(mode)+"/"+point, func(t *testing.T) {
				t.Parallel()
				r := workedIn(t, "", mode)
				r.Env = append(r.Env, hasty...)
				if point != "trash.strip.recorded" {
					r.Env = append(r.Env, "CROFT_TRASH_REGENERABLE=none")
				}
				want := recall(t, r, "first")
				removeA(t, r)
				dirs, err := os.ReadDir(trashIn(r))
				if err != nil || len(dirs) != 1 {
					t.Fatalf("in the trash: %v, %v", dirs, err)
				}
				awayAt(t, r, task{GC: true}, point, filepath.Join(trashIn(r), dirs[0].Name()))
				e := engineIn(t, r, 0)
				items, err := e.Trash(t.Context(), croft.TrashRequest{})
				if err != nil || len(items.Items) != 1 || items.Items[0].Left != croft.LeftDirectory {
					t.Errorf("trash %+v, %v, want the directory", items, err)
				}
				again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
				wantState(t, r, e, want)
			})
		}
	}
}
