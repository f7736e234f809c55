package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// furnished returns a repository with a workspace of every kind. Its engine is closed.
func furnished(t *testing.T) (r *gittest.Repo, a croft.Workspace, tip string) {
	t.Helper()
	r = gittest.New(t)
	r.Roles("worker")
	r.Commit("roles")
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	a = create(t, e, croft.CreateRequest{Name: "a", Role: "worker", Session: "s", Agent: "opus", Label: "l"})
	create(t, e, croft.CreateRequest{Name: "gone"})
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}, Branch: croft.BranchKeep}); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(a.Path, "done.txt"), "done")
	r.GitIn(a.Path, "add", "--all")
	r.GitIn(a.Path, "commit", "--quiet", "-m", "work")
	gittest.WriteFile(t, filepath.Join(a.Path, "wip.txt"), "wip")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return r, a, r.GitIn(a.Path, "rev-parse", "HEAD")
}

// wantRebuilt fails unless everything about the workspace is known again.
func wantRebuilt(t *testing.T, r *gittest.Repo, e *engine.Engine, a croft.Workspace, tip string) {
	t.Helper()
	got := show(t, e, "a")
	if got.ID != a.ID || got.Path != a.Path || got.Branch != a.Branch || got.Base != a.Base || got.Target != a.Target ||
		got.Role != "worker" || got.Session != "s" || got.Agent != "opus" || got.Label != "l" || got.Head != tip ||
		got.State != croft.Ready || !got.CreatedAt.Equal(a.CreatedAt) {
		t.Errorf("rebuilt %+v, want %+v at %s", got, a, tip)
	}
	st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: a.ID})
	if err != nil || st.Untracked != 1 {
		t.Errorf("Status = %+v, %v, want wip.txt alone", st, err)
	}
	trashed, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Trashed}})
	if err != nil || len(trashed.Items) != 1 || trashed.Items[0].Name != "gone" {
		t.Errorf("trashed %+v, %v", trashed, err)
	}
	// The rebuilt records work: the recorded branch of the removed workspace is still
	// Croft's.
	if err := os.Remove(filepath.Join(a.Path, "wip.txt")); err != nil {
		t.Fatal(err)
	}
	res, err := e.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})
	if err != nil || len(res.Removed) != 1 || !slices.Equal(res.Branches, []string{"croft/gone"}) {
		t.Errorf("Clean = %+v, %v", res, err)
	}
	if got := r.Git("for-each-ref", "--format=%(refname)", "refs/heads"); got != "refs/heads/main" {
		t.Errorf("branches left: %s", got)
	}
}

func TestDatabaseDeleted(t *testing.T) {
	t.Parallel()
	r, a, tip := furnished(t)
	if err := os.RemoveAll(stateDir(r)); err != nil {
		t.Fatal(err)
	}
	wantRebuilt(t, r, engineIn(t, r, 0), a, tip)
}

func TestDatabaseReplacedByNoise(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]string{
		"Text":      "this is not a database, and it is longer than a header of one would be: " + string(make([]byte, 5000)),
		"Truncated": "SQLite format 3\x00",
		"Empty":     "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a, tip := furnished(t)
			file := filepath.Join(stateDir(r), journal.FileName)
			if err := os.WriteFile(file, []byte(noise), 0o600); err != nil {
				t.Fatal(err)
			}
			wantRebuilt(t, r, engineIn(t, r, 0), a, tip)
			if aside, _ := filepath.Glob(file + ".damaged-*"); name == "Text" && len(aside) == 0 {
				t.Error("the damaged file was not kept")
			}
		})
	}
}

func TestDatabaseDamagedInside(t *testing.T) {
	t.Parallel()
	r, a, tip := furnished(t)
	file := filepath.Join(stateDir(r), journal.FileName)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(b); i++ { // every page but the first
		b[i] = 0xa5
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRebuilt(t, r, engineIn(t, r, 0), a, tip)
}

// TestDatabaseOlderCopy replaces the database by a backup: the next call notices it.
func TestDatabaseOlderCopy(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	first, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	kept := create(t, first, croft.CreateRequest{Name: "kept"})
	removed := create(t, first, croft.CreateRequest{Name: "removed"})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(r.Home, "backup")
	if err := os.CopyFS(backup, os.DirFS(stateDir(r))); err != nil {
		t.Fatal(err)
	}
	second, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	later := create(t, second, croft.CreateRequest{Name: "later"})
	if _, err := second.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"removed"}}); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(stateDir(r)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(stateDir(r), os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	if got := names(t, e); !slices.Equal(got, []string{"kept", "later"}) {
		t.Errorf("workspaces %v", got)
	}
	if n := e.Notices(); len(n) != 1 || !strings.Contains(n[0], "older one") {
		t.Errorf("Notices = %q", n)
	}
	if findings, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(findings.Findings) != 0 {
		t.Errorf("Doctor = %+v, %v", findings, err)
	}
	if show(t, e, "kept").ID != kept.ID || show(t, e, "later").ID != later.ID {
		t.Error("the workspaces are not the same")
	}
	trashed, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Trashed}})
	if err != nil || len(trashed.Items) != 1 || trashed.Items[0].ID != removed.ID {
		t.Errorf("trashed %+v, %v", trashed, err)
	}
}

// loseDatabase deletes the database and its log files.
func loseDatabase(t *testing.T, r *gittest.Repo) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(stateDir(r), journal.FileName+"*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// loseState deletes the state and its second copy.
func loseState(t *testing.T, r *gittest.Repo) {
	t.Helper()
	for _, dir := range []string{stateDir(r), filepath.Join(r.Home, "data", "state")} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordLostEverywhere: the state and its second copy are lost, git's registration is
// not. Only a person may bind the registration to a new record. The time of creation comes
// from the branch's name.
func TestRecordLostEverywhere(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	first, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	w := create(t, first, croft.CreateRequest{Role: "researcher", Session: "1703849234567", Layout: "swarm", RoleFiles: croft.RoleFilesSkip})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	loseState(t, r)
	e := engineIn(t, r, 0)
	if findings, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil || len(findings.Findings) != 0 {
		t.Errorf("Doctor = %+v, %v", findings, err)
	}
	findings, err := e.Doctor(t.Context(), croft.DoctorRequest{Import: croft.ImportShow})
	if err != nil || len(findings.Findings) != 1 || findings.Findings[0].Code != "RECORD_LOST" || findings.Findings[0].Fixed || findings.Findings[0].Subject != w.Path {
		t.Errorf("Doctor = %+v, %v", findings, err)
	}
	if got := names(t, e); len(got) != 0 {
		t.Errorf("workspaces %v before a person said so", got)
	}
	findings, err = e.Doctor(t.Context(), croft.DoctorRequest{Import: croft.ImportAll})
	if err != nil || len(findings.Findings) != 1 || findings.Findings[0].Code != "RECORD_LOST" || !findings.Findings[0].Fixed {
		t.Fatalf("Doctor = %+v, %v", findings, err)
	}
	got := show(t, e, "researcher")
	if got.ID != w.ID || got.Path != w.Path || got.Branch != w.Branch || got.CreatedAt.UnixMilli() != 1703849234567 {
		t.Errorf("adopted %+v", got)
	}
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"researcher"}}); err != nil || len(res.Removed) != 1 || res.Removed[0].Branch != "" {
		t.Errorf("Remove = %+v, %v: a branch that no record calls Croft's stays", res, err)
	}
}

// TestRepositoryMoved: a repository that was moved is still the same repository: its
// workspaces are known, and the doctor updates their records when asked to. Workspaces
// beside the repository stay, workspaces inside it move along, and all of them work again,
// with their uncommitted work; also when the database was lost in between.
func TestRepositoryMoved(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"KnownDatabase", "LostDatabase"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			r, a, _ := furnished(t)
			e := engineIn(t, r, 0)
			nested := create(t, e, croft.CreateRequest{Name: "nested", Layout: "agents"})
			gittest.WriteFile(t, filepath.Join(nested.Path, "wip.txt"), "wip")
			gone := create(t, e, croft.CreateRequest{Name: "gone", Layout: "agents"})
			if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}}); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			old := r.Dir
			r.Dir += "2"
			if err := os.Rename(old, r.Dir); err != nil {
				t.Fatal(err)
			}
			if database == "LostDatabase" {
				if err := os.RemoveAll(filepath.Join(r.Home, "state")); err != nil {
					t.Fatal(err)
				}
			}
			e = engineIn(t, r, 0)
			if got := names(t, e); !slices.Equal(got, []string{"a", "b", "nested"}) && !slices.Equal(got, []string{"a", "nested"}) {
				t.Errorf("workspaces %v", got)
			}
			findings, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
			if err != nil || len(findings.Findings) == 0 || findings.Findings[0].Code != "REPOSITORY_MOVED" || !findings.Findings[0].Fixed {
				t.Fatalf("Doctor = %+v, %v", findings, err)
			}
			for name, want := range map[string]string{"a": a.Path, "nested": filepath.Join(r.Dir, ".worktrees", "nested")} {
				got := show(t, e, name)
				if got.Path != want || got.State != croft.Ready || got.Repo != r.Dir {
					t.Errorf("%s is %s at %s of %s, want ready at %s", name, got.State, got.Path, got.Repo, want)
				}
				if status := r.GitIn(want, "status", "--porcelain"); !strings.Contains(status, "?? wip.txt") {
					t.Errorf("status of %s: %s", name, status)
				}
			}
			if findings, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(findings.Findings) != 0 {
				t.Errorf("Doctor = %+v, %v", findings, err)
			}
			if _, err := os.Lstat(old); err == nil {
				t.Error("the old place is there again")
			}
			back, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(gone.ID)})
			if err != nil || back.Path != filepath.Join(r.Dir, ".worktrees", "gone") {
				t.Errorf("Restore = %+v, %v", back, err)
			}
			create(t, e, croft.CreateRequest{Name: "new"})
		})
	}
}

// TestRepositoryCopied: a full copy of a repository is another repository, and a removal in
// the copy does not touch the original.
func TestRepositoryCopied(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"KnownDatabase", "LostDatabase"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			r, a, tip := furnished(t)
			copied := filepath.Join(filepath.Dir(r.Dir), "copy")
			if err := os.CopyFS(copied, os.DirFS(r.Dir)); err != nil {
				t.Fatal(err)
			}
			if order == "LostDatabase" { // the copy is opened first
				if err := os.RemoveAll(stateDir(r)); err != nil {
					t.Fatal(err)
				}
			}
			other := open(t, copied, &engine.Options{Environ: r.Env})
			one, err := other.Repo(t.Context(), croft.RepoRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, mode := range []croft.RemoveMode{croft.RemoveSafe, croft.RemoveForce} {
				if _, err := other.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a", a.Path}, All: croft.ScopeAll, Mode: mode}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := other.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll}); err != nil {
				t.Fatal(err)
			}
			if _, err := other.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
				t.Fatal(err)
			}
			if !exists(filepath.Join(a.Path, "wip.txt")) {
				t.Fatal("the copy removed the original's workspace")
			}
			e := engineIn(t, r, 0)
			two, err := e.Repo(t.Context(), croft.RepoRequest{})
			if err != nil || one.ID == two.ID {
				t.Errorf("original %+v, copy %+v, %v: want two identities", two, one, err)
			}
			if order == "KnownDatabase" {
				wantRebuilt(t, r, e, a, tip)
			} else if got := r.GitIn(a.Path, "rev-parse", "HEAD"); got != tip {
				t.Errorf("the workspace is at %s", got)
			}
			create(t, other, croft.CreateRequest{Name: "in-the-copy"})
		})
	}
}

// TestAgentWritesIntoABorrowedPack: an agent that writes into the objects which its
// isolated workspace borrows damages nothing in the project. The doctor names the damaged
// objects and mends them.
func TestAgentWritesIntoABorrowedPack(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Git("gc", "--quiet")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated})
	store := strings.TrimSpace(read(t, filepath.Join(w.Path, ".git", "objects", "info", "alternates")))
	packs, err := filepath.Glob(filepath.Join(store, "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	damage := func(path string) {
		t.Helper()
		whole := read(t, path)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		gittest.WriteFile(t, path, whole[:20]+"XXXXXXXX"+whole[28:])
	}
	doctor := func(fix croft.FixMode) []croft.Finding {
		t.Helper()
		list, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: fix})
		if err != nil {
			t.Fatal(err)
		}
		return list.Findings
	}
	damage(packs[0])
	r.Git("fsck", "--strict")
	if list := doctor(croft.FixNothing); len(list) != 1 || list[0].Code != "STORE_DAMAGED" || list[0].Subject != packs[0] || list[0].Fixed {
		t.Errorf("the doctor finds %+v", list)
	}
	if list := doctor(croft.FixAll); len(list) != 1 || !list[0].Fixed {
		t.Errorf("the doctor mends %+v", list)
	}
	r.GitIn(w.Path, "fsck", "--strict")
	if list := doctor(croft.FixNothing); len(list) != 0 {
		t.Errorf("afterwards: %+v", list)
	}

	own := filepath.Join(r.Dir, ".git", "objects", "pack", filepath.Base(packs[0]))
	damage(own)
	damage(packs[0])
	list := doctor(croft.FixAll)
	if len(list) != 2 || list[0].Code != "PACK_DAMAGED" || list[0].Subject != own || list[0].Fixed || list[1].Fixed {
		t.Errorf("the project's own pack: %+v", list)
	}
}
