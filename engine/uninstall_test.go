package engine_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// disk lists the files, links and directories below a directory, with the contents of
// files. It leaves out files that git and the database write in passing.
func disk(t *testing.T, top string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, passing := range []string{"/.git/refs", "/.git/logs", "/.git/objects", "/.git/packed-refs", "-wal", "-shm"} {
			if strings.Contains(filepath.ToSlash(path), passing) {
				return nil
			}
		}
		switch {
		case d.IsDir():
			list[path] = "directory"
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrPermission) {
				return err
			}
			list[path] = "file " + string(b)
		default:
			list[path] = d.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// wantNamed checks that the changes on disk are exactly those that were named; paths in
// some may change, too.
func wantNamed(t *testing.T, before, after map[string]string, files []string, may ...string) {
	t.Helper()
	for _, path := range files {
		if now, isThere := after[path]; isThere && now == before[path] {
			t.Errorf("%s was named, and is there as before", path)
		}
	}
	for path, was := range before {
		isNamed := slices.ContainsFunc(slices.Concat(files, may), func(f string) bool { return path == f || strings.HasPrefix(path, f+string(filepath.Separator)) })
		if now, isThere := after[path]; (!isThere || now != was) && !isNamed {
			t.Errorf("%s is gone or changed, and was not named", path)
		}
	}
}

// inside returns the paths that lie in a directory.
func inside(paths []string, dir string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !strings.HasPrefix(p, dir+string(filepath.Separator)) })
}

// lived makes a repository in which many calls were made, and returns what must stay.
func lived(t *testing.T, r *gittest.Repo) []string {
	t.Helper()
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "exclude"), "mine\n/.scratch/\n")
	r.Roles("writer")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "writer", Layout: "agents", Role: "writer"})
	gone := create(t, e, croft.CreateRequest{Name: "gone"})
	gittest.WriteFile(t, filepath.Join(gone.Path, ".env"), "SECRET=1\n")
	r.GitIn(gone.Path, "commit", "--quiet", "--allow-empty", "-m", "only here")
	if _, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "gone"}); err != nil {
		t.Fatal(err)
	}
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"gone"}, Mode: croft.RemoveForce})
	if err != nil || len(res.Removed) != 1 {
		t.Fatal(res, err)
	}
	if _, err := e.Conflicts(t.Context(), croft.ConflictsRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return []string{w.Path, filepath.Join(r.Dir, ".git", "info", "exclude")}
}

// TestUninstallDoesWhatItsPlanNames: the plan names exactly the files that the run then
// changes; a second plan is empty.
func TestUninstallDoesWhatItsPlanNames(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	stays := lived(t, r)
	e := engineIn(t, r, 0)
	before := disk(t, r.Dir)
	state := disk(t, stateDir(r))
	plan, err := e.Uninstall(t.Context(), croft.UninstallRequest{DryRun: croft.DryRunOn})
	if err != nil || len(plan.Repos) != 1 {
		t.Fatalf("Uninstall = %+v, %v", plan, err)
	}
	wantNamed(t, before, disk(t, r.Dir), nil)
	done, err := e.Uninstall(t.Context(), croft.UninstallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(plan, done) {
		t.Errorf("shown was %+v, done %+v", plan, done)
	}
	repo := done.Repos[0]
	wantNamed(t, before, disk(t, r.Dir), inside(repo.Files, r.Dir))
	wantNamed(t, state, disk(t, stateDir(r)), inside(repo.Files, stateDir(r)), filepath.Join(stateDir(r), "croft.db"))
	if refs := r.Git("for-each-ref", "refs/croft/"); refs != "" {
		t.Errorf("left are refs %s", refs)
	}
	for _, path := range stays {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	// The directory of a worktree that stays is still excluded; the user's lines stay.
	if b, _ := os.ReadFile(stays[1]); string(b) != "mine\n/.scratch/\n/.worktrees/\n" {
		t.Errorf("the exclude file is %q", b)
	}
	for _, kind := range []croft.LeftKind{croft.LeftTrash, croft.LeftSecrets} {
		i := slices.IndexFunc(repo.Left, func(l croft.Left) bool { return l.Kind == kind })
		if i < 0 {
			t.Errorf("left is %+v, without %s", repo.Left, kind)
		} else if _, err := os.Lstat(repo.Left[i].Path); err != nil {
			t.Error(err)
		}
	}
}

// TestUninstallExcludes: uninstall deletes the lines of the exclude file that Croft added
// and that no worktree needs any more; lines that were there before stay.
func TestUninstallExcludes(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	exclude := filepath.Join(r.Dir, ".git", "info", "exclude")
	for _, own := range []string{"mine\n", "/.worktrees/\n"} {
		gittest.WriteFile(t, exclude, own)
		e := engineIn(t, r, 0)
		create(t, e, croft.CreateRequest{Name: "a", Layout: "agents"})
		if b, _ := os.ReadFile(exclude); !strings.Contains(string(b), "/.worktrees/") {
			t.Fatalf("the exclude file is %q", b)
		}
		if _, err := e.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll}); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(r.Dir, ".worktrees")); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Uninstall(t.Context(), croft.UninstallRequest{}); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(exclude); string(b) != own {
			t.Errorf("the exclude file is %q, was %q", b, own)
		}
	}
}

// TestUninstallAll: the plan names exactly what the run then changes, in the state and data
// directories, too. Anything that prevents that is named and stays.
func TestUninstallAll(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	lived(t, r)
	state := stateDir(r)
	data := filepath.Join(filepath.Dir(state), "data")
	foreign := []string{
		filepath.Join(state, "notes.txt"), filepath.Join(state, "repos", "mine", "x"), filepath.Join(state, "git", "config"),
		filepath.Join(state, "checks", "build.log"), filepath.Join(state, "trash", "x.json"),
	}
	for _, path := range foreign {
		gittest.WriteFile(t, path, "mine\n")
	}
	outside := t.TempDir()
	gittest.WriteFile(t, filepath.Join(outside, "0123456789abcdef.json"), "mine\n")
	if err := os.RemoveAll(filepath.Join(state, "forecasts")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(state, "forecasts")); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	before := disk(t, filepath.Dir(state))
	plan, err := e.Uninstall(t.Context(), croft.UninstallRequest{All: croft.ScopeAll, DryRun: croft.DryRunOn})
	if err != nil || len(plan.Repos) != 1 || len(plan.Kept) != 0 {
		t.Fatalf("Uninstall = %+v, %v", plan, err)
	}
	wantNamed(t, before, disk(t, filepath.Dir(state)), nil)
	done, err := e.Uninstall(t.Context(), croft.UninstallRequest{All: croft.ScopeAll})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(plan, done) {
		t.Errorf("shown was %+v, done %+v", plan, done)
	}
	after := disk(t, filepath.Dir(state))
	wantNamed(t, before, after, inside(slices.Concat(done.Files, done.Repos[0].Files), filepath.Dir(state)))
	if _, wasThere := before[data]; !wasThere {
		t.Error("there was no data directory")
	}
	for _, path := range append(foreign, filepath.Join(outside, "0123456789abcdef.json")) {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	for path := range after {
		isNamed := slices.ContainsFunc(slices.Concat(done.Left, done.Repos[0].Left), func(l croft.Left) bool {
			return strings.HasPrefix(path, l.Path) || strings.HasPrefix(l.Path, path)
		})
		if strings.HasPrefix(path, data) || strings.HasPrefix(path, state) && !isNamed {
			t.Errorf("left is %s, which nobody named", path)
		}
		if strings.HasPrefix(filepath.Base(path), "config-") || filepath.Base(path) == "host-tested" {
			t.Errorf("left is %s, which Croft made", path)
		}
	}
	// The next command starts with an empty state.
	next := engineIn(t, r, 0)
	if got := names(t, next); len(got) != 0 {
		t.Errorf("known are %v", got)
	}
}

// TestUninstallAllInUse: a state that another process writes to is kept.
func TestUninstallAllInUse(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a"})
	j := database(t, r)
	err := j.Delete(t.Context(), func() error {
		t.Error("what the repository needs was deleted first")
		return nil
	})
	if !errors.Is(err, journal.ErrInUse) {
		t.Fatalf("%v, want ErrInUse: a repository is known", err)
	}
	if got := names(t, engineIn(t, r, 0)); len(got) != 1 {
		t.Errorf("known are %v", got)
	}
}

// TestUninstallNamesLocks: the plan names a lock that Croft left on a worktree, and the run
// deletes it; a user's lock stays.
func TestUninstallNamesLocks(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	locks := map[string]string{}
	for name, reason := range map[string]string{"left": "croft: leased", "mine": "mine"} {
		w := create(t, e, croft.CreateRequest{Name: name})
		locks[name] = filepath.Join(r.GitIn(w.Path, "rev-parse", "--absolute-git-dir"), "locked")
		gittest.WriteFile(t, locks[name], reason+"\n")
	}
	plan, err := e.Uninstall(t.Context(), croft.UninstallRequest{DryRun: croft.DryRunOn})
	if err != nil {
		t.Fatal(err)
	}
	if files := plan.Repos[0].Files; !slices.Contains(files, locks["left"]) || slices.Contains(files, locks["mine"]) {
		t.Errorf("the files are %q, want %s and not %s", files, locks["left"], locks["mine"])
	}
	if !exists(locks["left"]) {
		t.Error("a dry run deleted a lock")
	}
	done, err := e.Uninstall(t.Context(), croft.UninstallRequest{})
	if err != nil || !reflect.DeepEqual(plan, done) {
		t.Errorf("shown was %+v, done %+v, %v", plan, done, err)
	}
	if exists(locks["left"]) || !exists(locks["mine"]) {
		t.Errorf("left is Croft's lock: %v, the user's: %v", exists(locks["left"]), exists(locks["mine"]))
	}
}
