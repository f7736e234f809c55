package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUninstallWithUnseenTrash: uninstall keeps a repository and its records while the
// directory of a removed workspace cannot be found. It deletes them once the directory is
// back, or once a user says that it was deleted.
func TestUninstallWithUnseenTrash(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"back", "forgotten"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
			if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
				t.Fatalf("Remove = %+v, %v", res, err)
			}
			drive, away := filepath.Dir(w.Path), filepath.Join(t.TempDir(), "away")
			if err := os.Rename(drive, away); err != nil {
				t.Fatal(err)
			}
			for _, dry := range []croft.DryRun{croft.DryRunOn, croft.DryRunOff} {
				_, err := e.Uninstall(t.Context(), croft.UninstallRequest{DryRun: dry})
				wantCode(t, err, croft.WorkspaceBroken)
				if told := croft.AsError("", err); !strings.Contains(told.Details, drive) {
					t.Errorf("%+v does not say what is not seen", told)
				}
				all, err := e.Uninstall(t.Context(), croft.UninstallRequest{All: croft.ScopeAll, DryRun: dry})
				if err != nil || len(all.Kept) != 1 || len(all.Repos) != 0 {
					t.Fatalf("Uninstall = %+v, %v", all, err)
				}
			}
			if items, err := e.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(items.Items) != 1 {
				t.Fatalf("in the trash %+v, %v", items, err)
			}
			trash := filepath.Join(drive, ".trash")
			switch way {
			case "back":
				if err := os.Rename(away, drive); err != nil {
					t.Fatal(err)
				}
				_, err := e.Uninstall(t.Context(), croft.UninstallRequest{Repo: trash, Gone: croft.GoneForGood})
				wantCode(t, err, croft.WorkspaceBusy)
			case "forgotten":
				res, err := e.Uninstall(t.Context(), croft.UninstallRequest{Repo: trash, Gone: croft.GoneForGood})
				if err != nil || len(res.Repos) != 1 || res.Repos[0].Path != trash {
					t.Fatalf("Uninstall = %+v, %v", res, err)
				}
			}
			done, err := e.Uninstall(t.Context(), croft.UninstallRequest{})
			if err != nil || len(done.Repos) != 1 {
				t.Fatalf("Uninstall = %+v, %v", done, err)
			}
			isLeft := slices.ContainsFunc(done.Repos[0].Left, func(l croft.Left) bool { return l.Kind == croft.LeftTrash && filepath.Dir(l.Path) == trash })
			if isLeft != (way == "back") {
				t.Errorf("left is %+v", done.Repos[0].Left)
			}
		})
	}
}

// TestUninstallOfAnotherRepo: another repository lies where the recorded one was last
// found. The recorded one may only have been moved: its records stay, and the other
// repository is not changed.
func TestUninstallOfAnotherRepo(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a"})
	common := filepath.Join(r.Dir, ".git")
	moved := r.Dir + ".moved"
	if err := os.Rename(common, moved); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "--quiet")
	res, err := engineIn(t, r, 0).Uninstall(t.Context(), croft.UninstallRequest{All: croft.ScopeAll})
	if err != nil || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.NotARepo || len(res.Repos) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if err := errors.Join(os.Rename(common, r.Dir+".other"), os.Rename(moved, common)); err != nil {
		t.Fatal(err)
	}
	if got := show(t, engineIn(t, r, 0), "a").State; got != croft.Ready {
		t.Errorf("the workspace is %s once the repository is back", got)
	}
}

// TestUninstallBesideAnotherState: files that all users of Croft in a repository share stay
// for the others.
func TestUninstallBesideAnotherState(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Roles("writer")
	mine := engineIn(t, r, 0)
	create(t, mine, croft.CreateRequest{Name: "mine", Layout: "agents", Role: "writer"})
	others := *r
	others.Env = append(slices.Clone(r.Env), "CROFT_STATE_DIR="+filepath.Join(t.TempDir(), "state"), "CROFT_DATA_DIR="+filepath.Join(t.TempDir(), "data"))
	theirs := engineIn(t, &others, 0)
	w := create(t, theirs, croft.CreateRequest{Name: "theirs", Layout: "agents", Role: "writer"})
	shared := map[string]string{}
	for _, name := range []string{"croft/exclude", "croft/gitconfig", "info/exclude", "config"} {
		path := filepath.Join(r.Dir, ".git", filepath.FromSlash(name))
		shared[path] = read(t, path)
	}
	before := r.GitIn(w.Path, "status", "--porcelain")
	done, err := mine.Uninstall(t.Context(), croft.UninstallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for path, was := range shared {
		if b, err := os.ReadFile(path); err != nil || string(b) != was {
			t.Errorf("%s is %q, %v, was %q", path, b, err, was)
		}
		if slices.Contains(done.Repos[0].Files, path) {
			t.Errorf("%s was named", path)
		}
	}
	if now := r.GitIn(w.Path, "status", "--porcelain"); now != before {
		t.Errorf("the other one's worktree shows %q, was %q", now, before)
	}
}
