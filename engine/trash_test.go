package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// finishedInTrash returns a workspace that was merged and removed, and its directory in the
// trash.
func finishedInTrash(t *testing.T) (*gittest.Repo, string) {
	t.Helper()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	return r, filepath.Join(filepath.Dir(r.Dir), "app.croft", ".trash", string(w.ID))
}

// collect runs gc at a later time.
func collect(t *testing.T, r *gittest.Repo, later time.Duration, settings ...string) *croft.GCResult {
	t.Helper()
	res, err := engineIn(t, r, later, settings...).GC(t.Context(), croft.GCRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

const day = 24 * time.Hour

// TestTrashOverTime follows removed work from day to day, with the default settings.
func TestTrashOverTime(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "wip"})
	gittest.WriteFile(t, filepath.Join(w.Path, "precious.txt"), "precious\n")
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"wip"}, Mode: croft.RemoveForce}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after                      time.Duration
		announced, reduced, purged int
	}{
		{0, 0, 0, 0},
		{5 * day, 0, 0, 0},
		{6*day + time.Hour, 1, 0, 0},
		{6*day + 2*time.Hour, 0, 0, 0},
		{7*day - time.Hour, 0, 0, 0},
		{7*day + time.Hour, 0, 1, 0},
		{30 * day, 0, 0, 0},
		{36*day + 2*time.Hour, 1, 0, 0},
		{37 * day, 0, 0, 0},
		{37*day + 2*time.Hour, 0, 0, 1},
		{38 * day, 0, 0, 0},
	} {
		res := collect(t, r, step.after)
		if len(res.Announced) != step.announced || len(res.Reduced) != step.reduced || len(res.Purged) != step.purged {
			t.Errorf("after %s: %+v, want %+v", step.after, res, step)
		}
	}
}

// TestTrashOfUnseen: a user deleted a workspace's directory, and the workspace was removed
// after that. When its time is over, no message claims that its work was kept; earlier
// messages name no time that has passed.
func TestTrashOfUnseen(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for _, name := range []string{"gone", "there"} {
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, "f"), "f\n")
		r.GitIn(w.Path, "add", "f")
		r.GitIn(w.Path, "commit", "--quiet", "-m", "f")
		if name == "gone" {
			if err := os.RemoveAll(w.Path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone", "there"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 2 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	collect(t, r, 6*day+time.Hour)
	late := engineIn(t, r, 8*day)
	create(t, late, croft.CreateRequest{Name: "other"})
	if _, err := late.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	notices := strings.Join(late.Notices(), "\n")
	if !strings.Contains(notices, "there goes from the trash with the next croft gc") || strings.Contains(notices, "from the trash at ") {
		t.Errorf("it says %s", notices)
	}
	var unseen []string
	res := collect(t, r, 40*day)
	for _, id := range res.Unseen {
		w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: string(id), Scope: croft.ScopeAll})
		if err != nil {
			t.Fatal(err)
		}
		unseen = append(unseen, w.Name)
	}
	if len(res.Reduced) != 2 || len(unseen) != 1 || unseen[0] != "gone" {
		t.Errorf("GC = %+v; not seen are %q", res, unseen)
	}
}

// TestWrittenInTheTrash: gc examines a directory that was clean once more before it deletes
// it.
func TestWrittenInTheTrash(t *testing.T) {
	t.Parallel()
	r, dir := finishedInTrash(t)
	collect(t, r, 0)
	late := filepath.Join(dir, "tree", "late.txt")
	gittest.WriteFile(t, late, "written by a process that was not seen\n")
	if res := collect(t, r, 8*day); len(res.Purged)+len(res.Reduced) != 0 || !exists(late) {
		t.Fatalf("GC = %+v, want it kept", res)
	}
	if res := collect(t, r, 8*day); len(res.Announced) != 1 || !exists(late) {
		t.Errorf("GC = %+v, want it announced", res)
	}
	if res := collect(t, r, 10*day); len(res.Reduced) != 1 || exists(late) {
		t.Errorf("GC = %+v, want it saved", res)
	}
}

// TestUnreadableIsKept: gc keeps a directory whose index git cannot read, because it is
// unknown what was staged, and deletes the others.
func TestUnreadableIsKept(t *testing.T) {
	t.Parallel()
	r, dir := finishedInTrash(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "b"})
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "admin", "index"), []byte("not an index"), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := engineIn(t, r, 8*day).GC(t.Context(), croft.GCRequest{})
	if err != nil || len(res.Purged) != 1 || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.WorkspaceBroken {
		t.Errorf("GC = %+v, %v, want the other one gone and this one kept", res, err)
	}
	collect(t, r, 100*day)
	if !exists(filepath.Join(dir, "tree", "README.md")) {
		t.Error("it was deleted")
	}
}

// TestGCBrokenOff: the next gc continues a deletion that was interrupted, and a directory
// that is half deleted is not shown as a workspace.
func TestGCBrokenOff(t *testing.T) {
	t.Parallel()
	r, dir := finishedInTrash(t)
	for i := range 20 {
		for j := range 40 {
			gittest.WriteFile(t, filepath.Join(dir, "tree", ".git-not", string(rune('a'+i)), string(rune('a'+j))), "x")
		}
	}
	half, foreign, other := dir+".0123456789abcdef.deleting", dir+".fedcba9876543210.deleting", dir+".0000000000000000.deleting"
	if err := os.Rename(dir, half); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(foreign, "x"), "not Croft's, whatever its name")
	gittest.WriteFile(t, filepath.Join(other, "x"), "not what was to be deleted")
	repos, err := filepath.Glob(filepath.Join(r.Home, "state", "repos", "*"))
	if err != nil || len(repos) != 1 {
		t.Fatal(repos, err)
	}
	was, err := fsx.IdentityOf(half)
	deleting := fsx.Ledger{Dir: filepath.Join(repos[0], "deleting")}
	if err := errors.Join(err, deleting.Put(filepath.Base(half), fsx.Made{Path: half, Identity: was}),
		deleting.Put(filepath.Base(other), fsx.Made{Path: other, Identity: was})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engineIn(t, r, 0).GC(ctx, croft.GCRequest{}); err == nil {
		t.Error("a gc that was broken off succeeded")
	}
	if !exists(half) {
		t.Error("it was deleted nevertheless")
	}
	if _, err := engineIn(t, r, 0).GC(t.Context(), croft.GCRequest{}); !errors.Is(err, croft.WorkspaceBroken) {
		t.Errorf("something else than what was to be deleted: %v", err)
	}
	collect(t, r, 0)
	if exists(half) || !exists(filepath.Join(foreign, "x")) || !exists(filepath.Join(other, "x")) {
		t.Errorf("half deleted: there %v, foreign: there %v, other: there %v", exists(half), exists(foreign), exists(other))
	}
}

// TestArchiveOfPurgedWorkspace: when a workspace can no longer be restored, commits that a
// branch has are deleted from the archive, and commits that no branch has stay in it.
func TestArchiveOfPurgedWorkspace(t *testing.T) {
	t.Parallel()
	r, _ := finishedInTrash(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "own"})
	gittest.WriteFile(t, filepath.Join(w.Path, "own.txt"), "own\n")
	r.GitIn(w.Path, "add", "own.txt")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "own")
	own := r.GitIn(w.Path, "rev-parse", "HEAD")
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"own"}, Mode: croft.RemoveForce}); err != nil {
		t.Fatal(err)
	}
	archived := func() string {
		return r.Git("for-each-ref", "--format=%(objectname) %(refname)", "refs/croft/archive/")
	}
	before := archived()
	collect(t, r, 6*day)
	if archived() != before {
		t.Errorf("archived before the time: %s, was %s", archived(), before)
	}
	for _, after := range []time.Duration{6*day + time.Hour, 8 * day, 40 * day, 42 * day, 43 * day} {
		collect(t, r, after)
	}
	if want := own + " refs/croft/archive/" + string(w.ID) + "/head"; archived() != want {
		t.Errorf("archived: %q, want %q", archived(), want)
	}
	r.Git("branch", "kept", own)
	collect(t, r, 44*day)
	if archived() != "" {
		t.Errorf("archived: %q, although a branch has it", archived())
	}
}
