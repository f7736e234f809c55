//go:build failpoints

package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// trace is everything that Croft could leave in and beside a repository.
type trace struct {
	Refs, Worktrees, Status string
	Exclude, Config         string
	Beside, Admin, Begun    []string
}

// traceOf reads a repository without Croft. Removed workspaces may leave their trash.
func traceOf(t *testing.T, r *gittest.Repo) trace {
	t.Helper()
	tr := trace{
		Refs:      r.Git("for-each-ref", "--format=%(refname) %(objectname)"),
		Worktrees: r.Git("worktree", "list", "--porcelain"),
		Status:    r.Git("status", "--porcelain", "--untracked-files=all", "--ignored"),
		// Two traces may stay: the line that a nested layout adds, and the setting that
		// role files need.
		Exclude: strings.ReplaceAll(read(t, filepath.Join(r.Dir, ".git", "info", "exclude")), "/.worktrees/\n", ""),
	}
	for line := range strings.Lines(r.Git("config", "--local", "--list")) {
		if !strings.HasPrefix(line, "includeif.gitdir:") {
			tr.Config += strings.TrimSpace(line) + "\n"
		}
	}
	for _, dir := range []string{filepath.Join(r.Dir, ".git", "worktrees"), filepath.Join(r.Dir, ".git", "croft", "staging")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			tr.Admin = append(tr.Admin, e.Name())
		}
	}
	// Locks, and temporary files.
	err := filepath.WalkDir(filepath.Join(r.Dir, ".git"), func(path string, d os.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && !d.IsDir() && (ext == ".lock" || ext == ".croft" || strings.HasPrefix(d.Name(), "index.lock")) {
			tr.Begun = append(tr.Begun, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Dir(r.Dir), func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join(r.Dir, ".git") || d.Name() == ".trash":
			return filepath.SkipDir
		}
		tr.Beside = append(tr.Beside, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// wantTrace fails if anything differs from before.
func wantTrace(t *testing.T, r *gittest.Repo, before trace) {
	t.Helper()
	if diff := cmp.Diff(before, traceOf(t, r)); diff != "" {
		t.Errorf("something is left, or gone:\n%s", diff)
	}
	if got := r.Git("fsck", "--no-dangling"); got != "" {
		t.Errorf("git fsck: %s", got)
	}
}

// company returns a repository with roles, and with files of other users.
func company(t *testing.T) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Write("CLAUDE.md", "the project's own\n")
	r.Write("roles/a/AGENTS.md", "agents\n")
	r.Roles("a", "b", "c")
	r.Commit("roles")
	r.Git("branch", "swarm/foreign-1")
	r.Git("worktree", "add", "--quiet", "-b", "foreign", filepath.Join(filepath.Dir(r.Dir), "foreign"))
	r.Write("wip.txt", "the user's\n")
	return r
}

func threeRoles(layout string) *croft.CreateAllRequest {
	req := &croft.CreateAllRequest{Key: "k"}
	for _, role := range []string{"a", "b", "c"} {
		req.Workspaces = append(req.Workspaces, croft.CreateRequest{Name: role, Role: role, Session: "1", Layout: layout})
	}
	return req
}

// points runs a task in a fresh setting and counts the failpoints that it passes.
func points(t *testing.T, setting func(t *testing.T) (*gittest.Repo, task)) int {
	t.Helper()
	r, job := setting(t)
	log := filepath.Join(r.Home, "points")
	if out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT=log="+log)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n := len(strings.Fields(read(t, log)))
	if n == 0 {
		t.Fatal("no failpoint was passed")
	}
	return n
}

// killed runs a helper that must die by a signal.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := run(t, cmd)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the helper was to be killed: %v, %s", err, out)
	}
}

// eachPoint runs a test for every third failpoint of a task, and for all with
// CROFT_LONG.
func eachPoint(t *testing.T, setting func(t *testing.T) (*gittest.Repo, task), test func(t *testing.T, r *gittest.Repo, job task, n int)) {
	t.Helper()
	everyPoint(t, 3, setting, test)
}

// fewPoints is eachPoint for tasks that take long to set up: every ninth point,
// and all with CROFT_LONG.
func fewPoints(t *testing.T, setting func(t *testing.T) (*gittest.Repo, task), test func(t *testing.T, r *gittest.Repo, job task, n int)) {
	t.Helper()
	everyPoint(t, 9, setting, test)
}

func everyPoint(t *testing.T, step int, setting func(t *testing.T) (*gittest.Repo, task), test func(t *testing.T, r *gittest.Repo, job task, n int)) {
	t.Helper()
	if os.Getenv("CROFT_LONG") != "" {
		step = 1
	}
	total := points(t, setting)
	t.Logf("%d points", total)
	for n := 1; n <= total; n += step {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r, job := setting(t)
			test(t, r, job, n)
		})
	}
}

func creations(layout string) func(t *testing.T) (*gittest.Repo, task) {
	return func(t *testing.T) (*gittest.Repo, task) { return company(t), task{Create: threeRoles(layout)} }
}

// wantCreated repeats the request, with the same key, and checks that every workspace is
// there exactly once.
func wantCreated(t *testing.T, r *gittest.Repo, e *engine.Engine, job task) {
	t.Helper()
	list, err := e.CreateAll(t.Context(), *job.Create)
	if err != nil || len(list.Workspaces) != 3 {
		t.Fatalf("the second attempt: %+v, %v", list, err)
	}
	for _, w := range list.Workspaces {
		if got := r.GitIn(w.Path, "status", "--porcelain"); got != "" || w.State != croft.Ready {
			t.Errorf("%s is %s, its status %q", w.Name, w.State, got)
		}
	}
	if n, err := e.CountActive(t.Context(), croft.CountRequest{}); err != nil || n.Active != 3 {
		t.Errorf("CountActive = %d, %v", n.Active, err)
	}
}

// TestKilledCreation kills a process that creates three workspaces, at every point between
// two effects. The next call, by another process, rolls the creation back.
func TestKilledCreation(t *testing.T) {
	for _, layout := range []string{"default", "swarm"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, creations(layout), func(t *testing.T, r *gittest.Repo, job task, n int) {
				before := traceOf(t, r)
				killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
				e := engineIn(t, r, 0)
				gc(t, e)
				if wereHandedOut(t, e, job) {
					return
				}
				wantTrace(t, r, before)
				if n, err := e.CountActive(t.Context(), croft.CountRequest{}); err != nil || n.Active != 0 {
					t.Errorf("CountActive = %d, %v, want 0", n.Active, err)
				}
				wantCreated(t, r, e, job)
			})
		})
	}
}

// wereHandedOut reports whether all workspaces of a job are there and ready: a process that
// was killed at the very end had created them.
func wereHandedOut(t *testing.T, e croft.Service, job task) bool {
	t.Helper()
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list.Items {
		if w.State != croft.Ready || len(list.Items) != len(job.Create.Workspaces) {
			t.Errorf("%s of %d is %s", w.Name, len(list.Items), w.State)
		}
	}
	return len(list.Items) > 0
}

// TestFailedCreation has every step fail instead. The process itself rolls the creation
// back.
func TestFailedCreation(t *testing.T) {
	eachPoint(t, creations("default"), func(t *testing.T, r *gittest.Repo, job task, n int) {
		before := traceOf(t, r)
		if out, err := run(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=fail=#%d", n))); err == nil {
			t.Fatalf("the helper was to fail: %s", out)
		}
		wantTrace(t, r, before)
		wantCreated(t, r, engineIn(t, r, 0), job)
	})
}

// TestKilledCreationThenDatabaseLost: the database is lost, too, so that the next process
// knows only the repository.
func TestKilledCreationThenDatabaseLost(t *testing.T) {
	eachPoint(t, creations("default"), func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		loseDatabase(t, r)
		e := engineIn(t, r, 0)
		if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
			t.Fatal(err)
		}
		// Workspaces whose creation was complete except for the last record may stay; the
		// others must be gone. Either way the names can be used again.
		kept := names(t, e)
		for _, name := range kept {
			if w := show(t, e, name); w.State != croft.Ready {
				t.Errorf("%s is %s", name, w.State)
			}
		}
		if len(kept) > 0 && job.Create.Key != "" {
			again := *job.Create
			if list, err := e.CreateAll(t.Context(), again); err != nil || len(list.Workspaces) != len(kept) {
				t.Errorf("the same call: %+v, %v, want those that stayed", list, err)
			}
			again.Key += "-2"
			job.Create = &again
		}
		res, err := e.Remove(t.Context(), croft.RemoveRequest{All: croft.ScopeAll})
		if err != nil || len(res.Kept) != 0 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
		wantCreated(t, r, e, job)
	})
}

// removals returns a workspace with a commit and with uncommitted work, and a task that
// removes it by force.
func removals(t *testing.T) (*gittest.Repo, task) {
	r := company(t)
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	w := create(t, e, croft.CreateRequest{Name: "a", Role: "a"})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "done.txt"), "done\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
	gittest.WriteFile(t, filepath.Join(w.Path, "uncommitted.txt"), "precious\n")
	return r, task{Remove: &croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}}
}

// offBranch is removals for a workspace whose HEAD is a commit that no branch has.
func offBranch(t *testing.T) (*gittest.Repo, task) {
	r, job := removals(t)
	path := filepath.Join(filepath.Dir(r.Dir), "app.croft", "a")
	r.GitIn(path, "checkout", "--quiet", "--detach")
	r.GitIn(path, "commit", "--quiet", "--allow-empty", "-m", "off the branch")
	return r, job
}

// wantRemoved checks that a workspace is removed as a whole and kept in the trash as a
// whole.
func wantRemoved(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace, tips []string) {
	t.Helper()
	if exists(w.Path) || r.Git("branch", "--list", w.Branch) != "" || strings.Contains(r.Git("worktree", "list"), w.Path) {
		t.Error("directory, branch or registration are still there")
	}
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Trashed}})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != w.ID || list.Items[0].Head != tips[0] {
		t.Errorf("trashed %+v, %v, want the tip %s", list, err, tips[0])
	}
	got := strings.Fields(r.Git("for-each-ref", "--format=%(objectname)", "refs/croft/archive/*/head", "refs/croft/archive/*/branch"))
	slices.Sort(got)
	if want := slices.Compact(slices.Sorted(slices.Values(tips))); !slices.Equal(got, want) {
		t.Errorf("archived %q, want %q", got, want)
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(r.Dir), "app.croft", ".trash", string(w.ID), "tree", "uncommitted.txt"))
	if err != nil || len(found) != 1 || read(t, found[0]) != "precious\n" {
		t.Errorf("uncommitted work in the trash: %v, %v", found, err)
	}
	if got := r.Git("for-each-ref", "--format=%(refname)", "refs/croft/ws/"); got != "" {
		t.Errorf("refs of the workspace are left: %s", got)
	}
	if got := names(t, e); len(got) != 0 {
		t.Errorf("live workspaces %v", got)
	}
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}})
	if err != nil || len(res.Unknown) != 1 {
		t.Errorf("Remove again = %+v, %v", res, err)
	}
	create(t, e, croft.CreateRequest{Name: "a", Role: "a"})
}

// TestKilledRemoval kills a process that removes a workspace, at every point. The next call
// finishes the removal.
func TestKilledRemoval(t *testing.T) {
	for name, setting := range map[string]func(t *testing.T) (*gittest.Repo, task){"OnBranch": removals, "OffBranch": offBranch} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
				e := engineIn(t, r, 0)
				w := show(t, e, "a")
				tips := []string{r.Git("rev-parse", "croft/a"), w.Head}
				w.Branch = "croft/a"
				killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
				gc(t, e)
				wantRemoved(t, r, e, w, tips)
				if got := r.Git("status", "--porcelain"); got != "?? wip.txt" {
					t.Errorf("main's status %q", got)
				}
			})
		})
	}
}

// TestFailedRemoval has every step fail instead: the workspace is whole or removed, and the
// second attempt succeeds.
func TestFailedRemoval(t *testing.T) {
	eachPoint(t, removals, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := engineIn(t, r, 0)
		w := show(t, e, "a")
		if out, err := run(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=fail=#%d", n))); err == nil {
			t.Fatalf("the helper was to fail: %s", out)
		}
		gc(t, e)
		if slices.Equal(names(t, e), []string{"a"}) {
			if now := show(t, e, "a"); now.State != croft.Ready || now.Branch != w.Branch {
				t.Errorf("the kept workspace is %+v", now)
			}
			if got := r.Git("for-each-ref", "--format=%(refname)", "refs/croft/archive"); got != "" {
				t.Errorf("a workspace that was kept is archived: %s", got)
			}
			if _, err := e.Remove(t.Context(), *job.Remove); err != nil {
				t.Fatal(err)
			}
		}
		wantRemoved(t, r, e, w, []string{w.Head})
	})
}

// TestKilledRecovery kills the recovering processes, too.
func TestKilledRecovery(t *testing.T) {
	for name, c := range map[string]struct {
		setting func(t *testing.T) (*gittest.Repo, task)
		first   string
	}{
		"Creation": {creations("default"), "kill=create.verified"},
		"Removal":  {removals, "kill=remove.journalled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			interrupted := func(t *testing.T) (*gittest.Repo, task) {
				r, job := c.setting(t)
				killed(t, helper(t, r, job, "CROFT_FAILPOINT="+c.first))
				return r, task{GC: true}
			}
			eachPoint(t, interrupted, func(t *testing.T, r *gittest.Repo, job task, n int) {
				killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
				e := engineIn(t, r, 0)
				gc(t, e)
				if got := names(t, e); len(got) != 0 {
					t.Errorf("workspaces %v", got)
				}
				if got := r.Git("for-each-ref", "--format=%(refname)", "refs/heads/croft"); got != "" {
					t.Errorf("branches %s", got)
				}
				if got := strings.Count(r.Git("worktree", "list", "--porcelain"), "worktree "); got != 2 {
					t.Errorf("%d worktrees, want main and the foreign one", got)
				}
			})
		})
	}
}

// TestCleanupFailed: a creation that cannot be rolled back now fails with a code of its
// own, stays in the journal, and is rolled back when that is possible.
func TestCleanupFailed(t *testing.T) {
	t.Parallel()
	r, job := creations("default")(t)
	before := traceOf(t, r)
	killed(t, helper(t, r, job, "CROFT_FAILPOINT=kill=create.prepared"))
	out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT=fail=undo.discarded"))
	if err == nil || !strings.Contains(out, string(croft.CleanupFailed)) {
		t.Fatalf("while it cannot be taken back: %v: %s", err, out)
	}
	gc(t, engineIn(t, r, 0))
	wantTrace(t, r, before)
}
