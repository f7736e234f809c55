package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// isolated returns a repository with one isolated workspace in which the agent has
// committed.
func isolated(t *testing.T) (*gittest.Repo, *engine.Engine, croft.Workspace) {
	t.Helper()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated})
	gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
	return r, e, w
}

// TestListReadsTheAgentsHead: a listing shows the agent's HEAD, although nothing was
// pulled.
func TestListReadsTheAgentsHead(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	head := r.GitIn(w.Path, "rev-parse", "HEAD")
	for _, pack := range []bool{false, true} {
		if pack {
			r.GitIn(w.Path, "pack-refs", "--all")
		}
		list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Head != head || list.Items[0].Branch != w.Branch {
			t.Errorf("list %+v, %v, want head %s", list, err, head)
		}
	}
	if got := r.Git("rev-parse", w.Branch); got == head {
		t.Error("the listing harvested")
	}
}

// TestIsolatedFollowsTheRepository: after a repository was moved, it and its isolated
// workspaces find each other again.
func TestIsolatedFollowsTheRepository(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	moved := r.Dir + "-moved"
	if err := os.Rename(r.Dir, moved); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), moved, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
		t.Fatal(err)
	}
	if got := show(t, e, "a"); got.State != croft.Ready || got.Path != w.Path {
		t.Errorf("after the move: %+v", got)
	}
	st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID})
	if err != nil || st.Head != r.GitIn(w.Path, "rev-parse", "HEAD") {
		t.Fatalf("status %+v, %v", st, err)
	}
	if got := r.GitIn(moved, "show", w.Branch+":work.txt"); got != "work" {
		t.Errorf("harvested %q", got)
	}
	r.GitIn(w.Path, "fsck", "--strict")
}

// TestIsolatedWithoutDatabase: an isolated workspace is known again from the state's second
// copy, and the doctor registers it again.
func TestIsolatedWithoutDatabase(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(stateDir(r)); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, r, 0)
	if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
		t.Fatal(err)
	}
	got := show(t, e, "a")
	if got.ID != w.ID || got.Mode != croft.ModeIsolated || got.State != croft.Ready || got.Path != w.Path {
		t.Errorf("after the loss: %+v", got)
	}
	if st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || st.Ahead != 1 {
		t.Errorf("status %+v, %v", st, err)
	}
}

// TestPlainWithoutDatabase: the repository of a plain directory is known again from the
// second copy, too.
func TestPlainWithoutDatabase(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeAuto})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	db, _ := filepath.Glob(filepath.Join(stateDir(r), "croft.db*"))
	for _, file := range db {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	e = engineIn(t, r, 0)
	if got := show(t, e, "a"); got.ID != w.ID || got.Mode != croft.ModeIsolated || got.State != croft.Ready {
		t.Errorf("after the loss: %+v", got)
	}
}

// TestBrokenGitDirectoryLosesNothing: an error reports a git directory that cannot be read
// and what to run, the files are saved all the same, and commits that only this git
// directory has come back from the trash.
func TestBrokenGitDirectoryLosesNothing(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	head := r.GitIn(w.Path, "rev-parse", "HEAD")
	gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "wip\n")
	alternates := filepath.Join(w.Path, ".git", "objects", "info", "alternates")
	was := read(t, alternates)
	gittest.WriteFile(t, alternates, was+filepath.Join(r.Home, "elsewhere")+"\n")
	for what, act := range map[string]func() error{
		"status": func() error { _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); return err },
		"merge":  func() error { _, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"}); return err },
		"review": func() error { _, err := e.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"}); return err },
	} {
		err := act()
		wantCode(t, err, croft.WorkspaceBroken)
		if ce := croft.AsError("", err); !strings.Contains(ce.Details, "alternates") || ce.Hint != "croft remove --force a" {
			t.Errorf("%s: %+v", what, ce)
		}
	}
	snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
	if err != nil || !strings.Contains(r.Git("ls-tree", "-r", "--name-only", snap.Commit), "wip.txt") {
		t.Errorf("snapshot %+v, %v", snap, err)
	}
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	if err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, alternates, was)
	if st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || st.Head != head || st.Untracked != 1 {
		t.Errorf("status %+v, %v, want %s", st, err, head)
	}
}

// TestAgentsOwnBranchesAreWork: a branch that only the agent's git directory has does not
// count as merged when the workspace's branch is, and is kept when the directory is
// deleted.
func TestAgentsOwnBranchesAreWork(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	r.GitIn(w.Path, "checkout", "--quiet", "-b", "idea")
	gittest.WriteFile(t, filepath.Join(w.Path, "idea.txt"), "idea\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "idea")
	idea := r.GitIn(w.Path, "rev-parse", "HEAD")
	r.GitIn(w.Path, "checkout", "--quiet", w.Branch)
	if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
		t.Fatal(err)
	}
	r.Git("merge", "--quiet", w.Branch)
	res, err := e.Clean(t.Context(), croft.CleanRequest{})
	if err != nil || len(res.Removed) != 0 {
		t.Errorf("Clean = %+v, %v: the agent's other branch is not in main", res, err)
	}
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	r.Git("reflog", "expire", "--expire=now", "--all")
	r.Git("gc", "--quiet", "--prune=now")
	if got := r.Git("show", idea+":idea.txt"); got != "idea" {
		t.Errorf("the project has %q", got)
	}
}

// TestResolveInAnIsolatedWorkspace: the target is merged into the checkout, with the
// conflict, and the agent's own git shows it.
func TestResolveInAnIsolatedWorkspace(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "mine\n")
	r.Write("README.md", "theirs\n")
	r.Commit("theirs")
	out, err := e.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil || len(out.Conflicts) != 1 {
		t.Fatalf("Resolve = %+v, %v", out, err)
	}
	if got := r.GitIn(w.Path, "status", "--porcelain"); got != "UU README.md" {
		t.Errorf("the agent's git says %q", got)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "both\n")
	r.GitIn(w.Path, "commit", "--quiet", "--all", "--no-edit")
	if parents := strings.Fields(r.GitIn(w.Path, "rev-list", "--parents", "-1", "HEAD")); len(parents) != 3 {
		t.Errorf("the agent's commit is no merge: %v", parents)
	}
	r.GitIn(w.Path, "fsck", "--strict")
	if st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || st.Behind != 0 || st.Dirty() {
		t.Errorf("status %+v, %v", st, err)
	}
}

// TestIsolatedInAMovedState: the state directory was moved, and with it the objects that an
// isolated workspace borrows. The doctor says so, and mends it.
func TestIsolatedInAMovedState(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	moved := filepath.Join(r.Home, "moved")
	if err := errors.Join(e.Close(), os.Rename(stateDir(r), moved)); err != nil {
		t.Fatal(err)
	}
	r.Env = append(r.Env, "CROFT_STATE_DIR="+moved)
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	findings, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
	if err != nil || len(findings.Findings) != 1 || findings.Findings[0].Code != "BORROWS_ELSEWHERE" || !findings.Findings[0].Fixed {
		t.Fatalf("Doctor = %+v, %v", findings, err)
	}
	r.GitIn(w.Path, "fsck", "--strict", "--no-dangling")
	if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
		t.Error(err)
	}
}

// TestIsolatedCommitThatTheBranchCannotFollow: another process moved the repository's
// branch, so that it cannot follow the agent's. The branch stays where it is, however often
// the workspace is read, and another ref keeps the agent's commit.
func TestIsolatedCommitThatTheBranchCannotFollow(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
		t.Fatal(err)
	}
	other := r.Git("commit-tree", "-p", "main", "-m", "another's", "main^{tree}")
	r.Git("update-ref", "refs/heads/"+w.Branch, other)
	gittest.WriteFile(t, filepath.Join(w.Path, "more.txt"), "more\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "more")
	if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
		t.Fatal(err)
	}
	head := r.GitIn(w.Path, "rev-parse", "HEAD")
	if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
		t.Fatal(err)
	}
	if at := r.Git("rev-parse", w.Branch); at != other {
		t.Errorf("the branch that another process moved is at %s", at)
	}
	if refs := r.Git("for-each-ref", "--contains="+head, "refs/croft/ws"); !strings.Contains(refs, "/held") {
		t.Errorf("refs that keep the agent's commit: %q\n%s", refs, r.Git("for-each-ref"))
	}
}
