//go:build failpoints

package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// TestCommitDuringRecovery: a rewind or a resolution died halfway. While the next command
// recovers it, the agent commits. Afterwards the workspace is exactly what the snapshot
// holds, and the commit is in a snapshot.
func TestCommitDuringRecovery(t *testing.T) {
	for name, died := range map[string]struct {
		point string
		job   func(croft.Snapshot) task
	}{
		"Rewind":  {"snapshot.rewind", func(s croft.Snapshot) task { return task{Restore: &croft.RestoreRequest{Ref: string(s.ID)}} }},
		"Resolve": {"bringin.merged", func(croft.Snapshot) task { return task{Resolve: &croft.MergeRequest{Workspace: "a"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "mine"), "one\n")
			snap := snapshotOf(t, e, "a")
			if name == "Rewind" {
				gittest.WriteFile(t, filepath.Join(w.Path, "later"), "two\n")
			}
			r.Write("theirs", "main\n")
			r.Commit("theirs")
			killed(t, helper(t, r, died.job(*snap), "CROFT_FAILPOINT=kill="+died.point))
			goOn := paused(t, r, task{Snapshot: &croft.SnapshotRequest{Workspace: "a"}}, "rewind.begun")
			r.GitIn(w.Path, "commit", "--quiet", "--allow-empty", "-m", "meanwhile")
			late := r.GitIn(w.Path, "rev-parse", "HEAD")
			if out, err := goOn(); err != nil {
				t.Fatalf("the next command: %v: %s", err, out)
			}
			for file, want := range map[string]bool{"mine": true, "README.md": true, "later": false, "theirs": false} {
				if _, err := os.Lstat(filepath.Join(w.Path, file)); (err == nil) != want {
					t.Errorf("%s is there: %v, want %v", file, err == nil, want)
				}
			}
			if got := r.GitIn(w.Path, "status", "--porcelain"); got != "?? mine" {
				t.Errorf("git status: %q", got)
			}
			if got := r.Git("for-each-ref", "--contains", late, "refs/croft/snapshot/"); got == "" {
				t.Error("no snapshot has the commit that came meanwhile")
			}
			if got := show(t, e, "a").State; got != croft.Ready {
				t.Errorf("the workspace is %s", got)
			}
		})
	}
}

// TestResolveOfAbsentIsRolledBack: a resolution died while git changed the files, and the
// next command does not find the workspace: its disk is not mounted. When the disk is back,
// the files of the merge are removed and the earlier files are there.
func TestResolveOfAbsentIsRolledBack(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	create(t, e, croft.CreateRequest{Name: "other"})
	gittest.WriteFile(t, filepath.Join(w.Path, "mine"), "one\n")
	r.Write("theirs", "main\n")
	r.Commit("theirs")
	killed(t, helper(t, r, task{Resolve: &croft.MergeRequest{Workspace: "a"}}, "CROFT_FAILPOINT=kill=bringin.merged"))
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(w.Path, away); err != nil {
		t.Fatal(err)
	}
	if _, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "other"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, w.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "other"}); err != nil {
		t.Fatal(err)
	}
	if got := r.GitIn(w.Path, "status", "--porcelain"); got != "?? mine" {
		t.Errorf("git status: %q", got)
	}
	if _, err := os.Lstat(filepath.Join(w.Path, "theirs")); err == nil {
		t.Error("a file of the merge is left")
	}
	if got := show(t, e, "a").State; got != croft.Ready {
		t.Errorf("the workspace is %s", got)
	}
}

// TestFailedResolveIsRolledBack: a resolution fails after git has changed the files. The
// same command rolls it back: the workspace is as before, and can be used.
func TestFailedResolveIsRolledBack(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"bringin.merged", "bringin.delivered"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "mine"), "one\n")
			r.Write("theirs", "main\n")
			r.Commit("theirs")
			out, err := helper(t, r, task{Resolve: &croft.MergeRequest{Workspace: "a"}}, "CROFT_FAILPOINT=fail="+point).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "failpoint "+point) {
				t.Fatalf("%v: %s", err, out)
			}
			if got := r.GitIn(w.Path, "status", "--porcelain"); got != "?? mine" {
				t.Errorf("git status: %q", got)
			}
			if _, err := os.Lstat(filepath.Join(w.Path, "theirs")); err == nil {
				t.Error("a file of the merge is left")
			}
			if got := show(t, e, "a").State; got != croft.Ready {
				t.Errorf("the workspace is %s", got)
			}
		})
	}
}

// TestResolveWithLaterCommitIsLeft: a resolution died while git changed the files, and the
// agent has committed to the branch since. The next command leaves branch and files as they
// are, and the workspace can be used.
func TestResolveWithLaterCommitIsLeft(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	create(t, e, croft.CreateRequest{Name: "other"})
	gittest.WriteFile(t, filepath.Join(w.Path, "mine"), "one\n")
	r.Write("theirs", "main\n")
	r.Commit("theirs")
	killed(t, helper(t, r, task{Resolve: &croft.MergeRequest{Workspace: "a"}}, "CROFT_FAILPOINT=kill=bringin.merged"))
	late := r.Git("commit-tree", "-p", w.Branch, "-m", "late", w.Branch+"^{tree}")
	r.Git("update-ref", "refs/heads/"+w.Branch, late)
	want := everythingIn(t, w.Path)
	if _, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "other"}); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("rev-parse", w.Branch); got != late {
		t.Errorf("the branch is at %s, want %s", got, late)
	}
	wantAsWas(t, want, everythingIn(t, w.Path))
	if got := show(t, e, "a").State; got != croft.Ready {
		t.Errorf("the workspace is %s", got)
	}
}

// TestRecoveredRewindDropsItsOwnLocks: a rewind died, and the snapshot's object, which lies
// where agents can write, names a branch that is not the workspace's. Recovery leaves a
// lock of that branch.
func TestRecoveredRewindDropsItsOwnLocks(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	snap := snapshotOf(t, e, "a")
	r.Write("meta.json", `{"version":1,"head":{"branch":"main"}}`)
	r.Commit("forged")
	forged := r.Git("rev-parse", "HEAD")
	killed(t, helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "CROFT_FAILPOINT=kill=rewind.begun"))
	j := database(t, r)
	ops, err := j.Running(t.Context())
	if err != nil || len(ops) != 1 {
		t.Fatalf("%+v, %v", ops, err)
	}
	ops[0].Input = []byte(strings.ReplaceAll(string(ops[0].Input), snap.Commit, forged))
	if err := j.Update(t.Context(), func(tx *journal.Tx) error { return tx.Amend(ops[0]) }); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(r.Dir, ".git", "refs", "heads", "main.lock")
	gittest.WriteFile(t, lock, "")
	_, _ = e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"}) // which recovers the rewind
	if _, err := os.Lstat(lock); err != nil {
		t.Errorf("the lock of another branch: %v", err)
	}
}

// TestRecoveredRewindReportsKeptFiles: a rewind died after it had moved files out. A
// process that still has one open writes to it, and the agent makes another file at its
// path. Both are kept, and the doctor names the path of the first.
func TestRecoveredRewindReportsKeptFiles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	snap := snapshotOf(t, e, "a")
	open := filepath.Join(w.Path, "open")
	gittest.WriteFile(t, open, "saved\n")
	killed(t, helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "CROFT_FAILPOINT=kill=snapshot.rewind"))
	out, err := filepath.Glob(filepath.Join(filepath.Dir(w.Path), ".trash", "*.rewind", "was", "open"))
	if err != nil || len(out) != 1 {
		t.Fatalf("%q was moved out, %v", out, err)
	}
	gittest.WriteFile(t, out[0], "saved\nlate\n")
	gittest.WriteFile(t, open, "other\n")
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
		t.Fatal(err)
	}
	later := engineIn(t, r, 0) // an engine that did not recover it
	if _, err := later.Doctor(t.Context(), croft.DoctorRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, by := range []*engine.Engine{e, later} {
		notices := strings.Join(by.Notices(), "\n")
		_, dir, _ := strings.Cut(notices, "are kept in ")
		dir, _, _ = strings.Cut(dir, "\n")
		if b, err := os.ReadFile(filepath.Join(dir, "open")); err != nil || string(b) != "saved\nlate\n" {
			t.Errorf("%q, %v; the notices: %s", b, err, notices)
		}
	}
}

// TestRecoveredRewindLeavesAnotherDirectory: a rewind died after it had moved files out,
// and another directory lies where it had put them. Recovery moves nothing from there into
// the workspace, and deletes nothing in either.
func TestRecoveredRewindLeavesAnotherDirectory(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	snap := snapshotOf(t, e, "a")
	gittest.WriteFile(t, filepath.Join(w.Path, "later"), "two\n")
	killed(t, helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "CROFT_FAILPOINT=kill=snapshot.rewind"))
	aside := asideOf(w)
	away := aside + ".away"
	if err := os.Rename(aside, away); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(aside, "was", "planted"), "planted\n")
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(w.Path, "planted")); err == nil {
		t.Error("a file of the other directory is in the workspace")
	}
	for path, want := range map[string]string{filepath.Join(aside, "was", "planted"): "planted\n", filepath.Join(away, "was", "later"): "two\n"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
}

// TestWrittenAfterFilesHadGone: a rewind died after it had exchanged all files, before it
// had deleted the old ones. A process that has one of them open writes to it.
func TestWrittenAfterFilesHadGone(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	snap := snapshotOf(t, e, "a")
	gittest.WriteFile(t, filepath.Join(w.Path, "dir", "open"), "saved\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "dir", "other"), "saved, too\n")
	killed(t, helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "CROFT_FAILPOINT=kill=rewind.branch"))
	out, err := filepath.Glob(filepath.Join(filepath.Dir(w.Path), ".trash", "*.rewind", "gone", "dir", "open"))
	if err != nil || len(out) != 1 {
		t.Fatalf("%q had gone, %v", out, err)
	}
	gittest.WriteFile(t, out[0], "saved\nlate\n")
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(w.Path), ".trash", "*.rewind", "kept-*", "dir", "*"))
	if err != nil || len(kept) != 1 || filepath.Base(kept[0]) != "open" {
		t.Fatalf("kept are %q, %v; %s", kept, err, e.Notices())
	}
	if b, err := os.ReadFile(kept[0]); err != nil || string(b) != "saved\nlate\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestRewindThatCannotBeSettled: the agent's files are in the way of an interrupted rewind,
// which can be neither finished nor rolled back. A call that removes the workspace fails
// with that reason, and does not wait.
func TestRewindThatCannotBeSettled(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "f"), "one\n")
	snap := snapshotOf(t, e, "a")
	gittest.WriteFile(t, filepath.Join(w.Path, "f"), "two\n")
	killed(t, helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "CROFT_FAILPOINT=kill=rewind.files"))
	away := w.Path + ".away"
	if err := os.Rename(w.Path, away); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		res, err := e.Remove(ctx, croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
		if ctx.Err() != nil {
			t.Fatal("it waits for ever")
		}
		if err != nil || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.WorkspaceBusy || !strings.Contains(res.Kept[0].Reason.Details, "not there now") {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
	}
	if err := os.Rename(away, w.Path); err != nil {
		t.Fatal(err)
	}
	res, err := e.Remove(ctx, croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	if err != nil || len(res.Removed) != 1 {
		t.Errorf("Remove = %+v, %v", res, err)
	}
}

// TestPrivateFileInTheWay: where the snapshot has a file there is a directory now, which
// contains a private file, saved outside the repository.
func TestPrivateFileInTheWay(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	conf := filepath.Join(w.Path, "conf")
	gittest.WriteFile(t, conf, "a file\n")
	snap := snapshotOf(t, e, "a")
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(conf, ".env"), "KEY=1\n")
	gittest.WriteFile(t, filepath.Join(conf, "y"), "y\n")
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(conf); err != nil || string(b) != "a file\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := e.Undo(t.Context(), croft.UndoRequest{Mode: croft.RemoveForce}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{".env": "KEY=1\n", "y": "y\n"} {
		if b, err := os.ReadFile(filepath.Join(conf, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}
