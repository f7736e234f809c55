//go:build failpoints

package engine_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// state is everything that a workspace holds.
type state struct {
	Files               map[string]string // mode and content, ignored ones included
	Status, Index, Head string
	Branch, Tip         string
}

func pathOfA(r *gittest.Repo) string { return filepath.Join(filepath.Dir(r.Dir), "app.croft", "a") }

// stateOf reads a workspace without Croft, and without a git command that writes.
func stateOf(t *testing.T, r *gittest.Repo) state {
	t.Helper()
	path := pathOfA(r)
	s := state{
		Files:  map[string]string{},
		Status: r.GitIn(path, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=all"),
		Index:  r.GitIn(path, "ls-files", "--stage", "-v", "-z"),
		Head:   r.GitIn(path, "rev-parse", "HEAD"),
		Branch: r.GitIn(path, "rev-parse", "--symbolic-full-name", "HEAD"),
		Tip:    r.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/croft"),
	}
	err := filepath.WalkDir(path, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && full == filepath.Join(path, ".git") {
			return filepath.SkipDir // git was asked about the entries of that directory
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(path, full)
		content := ""
		switch {
		case info.Mode().IsRegular():
			content = read(t, full)
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(full)
		}
		s.Files[filepath.ToSlash(rel)] = fmt.Sprintf("%s %s", info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// remember keeps the state of a setting for the test that runs in it.
func remember(t *testing.T, r *gittest.Repo, name string, s state) {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(r.Home, name+".json"), string(b))
}

func recall(t *testing.T, r *gittest.Repo, name string) state {
	t.Helper()
	var s state
	if err := json.Unmarshal([]byte(read(t, filepath.Join(r.Home, name+".json"))), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func writeIn(t *testing.T, r *gittest.Repo, files map[string]string) {
	t.Helper()
	for name, content := range files {
		gittest.WriteFile(t, filepath.Join(pathOfA(r), filepath.FromSlash(name)), content)
	}
}

// worked returns a workspace with commits and with every kind of uncommitted work.
func worked(t *testing.T, role string) *gittest.Repo { return workedIn(t, role, croft.ModeAuto) }

// workedIn is worked for a mode.
func workedIn(t *testing.T, role string, mode croft.Mode) *gittest.Repo {
	t.Helper()
	r := company(t)
	brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "a", Role: role, Mode: mode}) })
	writeIn(t, r, map[string]string{
		".gitignore": "*.log\n.env\n/build/\n", "done.txt": "done\n", "gone.txt": "gone\n", "turn": "a file\n", "sub/deep.txt": "deep\n",
	})
	r.GitIn(pathOfA(r), "add", "--all")
	r.GitIn(pathOfA(r), "commit", "--quiet", "-m", "work")
	writeIn(t, r, map[string]string{"staged.txt": "staged\n", "done.txt": "staged, then\n"})
	r.GitIn(pathOfA(r), "add", "--all")
	writeIn(t, r, map[string]string{
		"done.txt": "changed\n", "untracked.txt": "precious\n", "new/untracked.txt": "too\n",
		".env": "TOKEN=one\n", "debug.log": "ignored\n", "build/out.o": "ignored\n",
	})
	if err := os.Remove(filepath.Join(pathOfA(r), "gone.txt")); err != nil {
		t.Fatal(err)
	}
	pullA(t, r)
	remember(t, r, "first", stateOf(t, r))
	return r
}

// pullA pulls the workspace's commits into the project, if it has a git directory of its
// own.
func pullA(t *testing.T, r *gittest.Repo) {
	t.Helper()
	brief(t, r, func(e *engine.Engine) {
		if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: show(t, e, "a").ID}); err != nil {
			t.Fatal(err)
		}
	})
}

// wantTidy fails if files are left that belong to no workspace and no record.
func wantTidy(t *testing.T, r *gittest.Repo, e croft.Service) {
	t.Helper()
	explained := map[string]bool{}
	all, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Ready, croft.Trashed}})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all.Items {
		explained["ws/"+string(w.ID)+"/record"] = true
		explained["ws/"+string(w.ID)+"/base"] = w.State == croft.Ready
		explained["ws/"+string(w.ID)+"/held"] = w.State == croft.Ready && w.Mode == croft.ModeIsolated
		explained["archive/"+string(w.ID)+"/head"] = w.State == croft.Trashed
		explained["archive/"+string(w.ID)+"/branch"] = w.State == croft.Trashed
		explained["archive/"+string(w.ID)+"/state"] = w.State == croft.Trashed
		explained["archive/"+string(w.ID)+"/work"] = w.State == croft.Trashed
	}
	snaps, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snaps.Items {
		explained["snapshot/"+string(s.Workspace)+"/"+string(s.ID)] = true
	}
	for ref := range strings.FieldsSeq(r.Git("for-each-ref", "--format=%(refname)", "refs/croft/")) {
		if !explained[strings.TrimPrefix(ref, "refs/croft/")] {
			t.Errorf("nothing explains %s", ref)
		}
	}
	secrets, _ := filepath.Glob(filepath.Join(stateDir(r), "secrets", "*", "*"))
	for _, dir := range secrets {
		id := croft.ID(filepath.Base(dir))
		if !slices.ContainsFunc(snaps.Items, func(s croft.Snapshot) bool { return s.ID == id }) && !explained["archive/"+string(id)+"/work"] {
			t.Errorf("no snapshot has the private files in %s", dir)
		}
	}
	staged, _ := filepath.Glob(filepath.Join(r.Dir, ".git", "croft", "staging", "*"))
	if len(staged) > 0 {
		t.Errorf("in staging: %v", staged)
	}
	err = filepath.WalkDir(filepath.Join(r.Dir, ".git"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			t.Errorf("a lock is left: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if got := r.Git("fsck", "--no-dangling"); got != "" {
		t.Errorf("git fsck: %s", got)
	}
	if got := r.Git("status", "--porcelain"); got != "?? wip.txt" {
		t.Errorf("main's status %q", got)
	}
}

// wantState checks that the workspace is there as a whole, in one of the states, and that
// no other files are left.
func wantState(t *testing.T, r *gittest.Repo, e croft.Service, want state) {
	t.Helper()
	wantWhole(t, r, e, want)
	wantTidy(t, r, e)
}

func wantWhole(t *testing.T, r *gittest.Repo, e croft.Service, want state) {
	t.Helper()
	w := show(t, e, "a")
	if w.State != croft.Ready || w.Path != pathOfA(r) || w.Head != want.Head || w.IsLocked {
		t.Errorf("the record says %+v", w)
	}
	listed, times := r.Git("worktree", "list", "--porcelain"), 1
	if w.Mode == croft.ModeIsolated {
		times = 0
	}
	if strings.Count(listed, "worktree "+w.Path+"\n") != times || strings.Contains(listed, "locked") || strings.Contains(listed, "prunable") {
		t.Errorf("git lists\n%s", listed)
	}
	if diff := cmp.Diff(want, stateOf(t, r)); diff != "" {
		t.Errorf("the workspace is another one (-want +got):\n%s", diff)
	}
}

// wantTrashed checks that the workspace is in the trash, as a whole.
func wantTrashed(t *testing.T, r *gittest.Repo, e croft.Service) {
	t.Helper()
	items, err := e.Trash(t.Context(), croft.TrashRequest{})
	if err != nil || len(items.Items) != 1 || items.Items[0].Name != "a" {
		t.Errorf("trash %+v, %v", items, err)
	}
	if got := names(t, e); len(got) != 0 {
		t.Errorf("live workspaces %v", got)
	}
	if exists(pathOfA(r)) || r.Git("branch", "--list", "croft/a") != "" || strings.Contains(r.Git("worktree", "list"), "app.croft") {
		t.Error("directory, branch or registration are there")
	}
	wantTidy(t, r, e)
}

func kill(t *testing.T, r *gittest.Repo, job task, n int) *engine.Engine {
	t.Helper()
	killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
	e := engineIn(t, r, 0)
	gc(t, e)
	return e
}

// fail has a step fail; the helper must print an error with a code.
func fail(t *testing.T, r *gittest.Repo, job task, n int) *engine.Engine {
	t.Helper()
	out, err := run(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=fail=#%d", n)))
	if err == nil || strings.Contains(out, untyped) || !strings.Contains(out, "failpoint") {
		t.Fatalf("the helper was to fail with a code: %v: %s", err, out)
	}
	return engineIn(t, r, 0)
}

func again(t *testing.T, e croft.Service, job task) {
	t.Helper()
	if err := job.restoreOrSave(t.Context(), e); err != nil {
		t.Errorf("the second attempt: %v", err)
	}
}

// restorations returns a removed workspace, and a task that restores it.
func restorations(t *testing.T) (*gittest.Repo, task) {
	r := worked(t, "a")
	brief(t, r, func(e *engine.Engine) {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
		if err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
	})
	return r, task{Restore: &croft.RestoreRequest{Ref: "a"}}
}

// undoneRemovals is the same with an undo.
func undoneRemovals(t *testing.T) (*gittest.Repo, task) {
	r, _ := restorations(t)
	return r, task{Undo: &croft.UndoRequest{}}
}

// vanished returns a workspace of which only the commits are left, and a task that restores
// it.
func vanished(t *testing.T) (*gittest.Repo, task) {
	r := worked(t, "")
	r.GitIn(pathOfA(r), "add", "--all")
	r.GitIn(pathOfA(r), "commit", "--quiet", "-m", "all of it")
	for _, name := range []string{".env", "debug.log", "build"} {
		if err := os.RemoveAll(filepath.Join(pathOfA(r), name)); err != nil {
			t.Fatal(err)
		}
	}
	remember(t, r, "first", stateOf(t, r))
	if err := os.RemoveAll(pathOfA(r)); err != nil {
		t.Fatal(err)
	}
	brief(t, r, func(e *engine.Engine) {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
		if err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
	})
	return r, task{Restore: &croft.RestoreRequest{Ref: "a"}}
}

// timeless replaces the commit of the archived state, which contains a time, by its
// contents.
func timeless(r *gittest.Repo, tr trace) trace {
	var b strings.Builder
	for line := range strings.Lines(tr.Refs) {
		if ref, oid, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasSuffix(ref, "/state") {
			line = ref + " " + r.Git("rev-parse", oid+"^{tree}") + "\n"
		}
		b.WriteString(line)
	}
	tr.Refs = b.String()
	return tr
}

type settings map[string]func(t *testing.T) (*gittest.Repo, task)

// TestKilledRestoration kills a process that restores a workspace from the trash, at every
// point. After the next call the workspace is in the trash or restored, as a whole.
func TestKilledRestoration(t *testing.T) {
	for name, setting := range (settings{"Restore": restorations, "Undo": undoneRemovals, "Vanished": vanished, "Saved": savedRestorations}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
				e := kill(t, r, job, n)
				if len(names(t, e)) == 0 {
					wantTrashed(t, r, e)
					again(t, e, job)
				}
				wantState(t, r, e, recall(t, r, "first"))
			})
		})
	}
}

// TestFailedRestoration has every step fail instead: the workspace is in the trash as
// before.
func TestFailedRestoration(t *testing.T) {
	for name, setting := range (settings{"Restore": restorations, "Undo": undoneRemovals, "Vanished": vanished, "Saved": savedRestorations}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
				before := timeless(r, traceOf(t, r))
				e := fail(t, r, job, n)
				after := timeless(r, traceOf(t, r))
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("something is left, or gone:\n%s", diff)
				}
				gc(t, e)
				wantTrashed(t, r, e)
				again(t, e, job)
				wantState(t, r, e, recall(t, r, "first"))
			})
		})
	}
}
