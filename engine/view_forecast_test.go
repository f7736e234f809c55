package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// colliding makes a project with a workspace that collides with main, and one that does not.
func colliding(t *testing.T, r *gittest.Repo, e *engine.Engine) (collides, clear croft.Workspace) {
	t.Helper()
	collides, clear = create(t, e, croft.CreateRequest{Name: "collides"}), create(t, e, croft.CreateRequest{Name: "clear"})
	for _, w := range []croft.Workspace{collides, clear} {
		gittest.WriteFile(t, filepath.Join(w.Path, w.Name), w.Name+"\n")
		r.GitIn(w.Path, "add", "--all")
		r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
	}
	r.Write("collides", "main\n")
	r.Commit("the target moves")
	return collides, clear
}

// told is what a list says of each workspace.
func told(t *testing.T, list *croft.List[croft.Workspace], err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, w := range list.Items {
		lines = append(lines, strings.Join(append([]string{w.Name, string(w.Status), w.Why, w.Next.Command}, w.Collides...), ", "))
	}
	return lines
}

// TestListForecasts: a list finds out by itself what collides with its target, leaves no object for that, and finds it out
// again when git merges otherwise and when there is another commit.
func TestListForecasts(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	unable := filepath.Join(r.Home, "unable")
	env := scriptInPlaceOfGit(t, r, `case " $* " in *" merge-tree --stdin "*) test ! -e `+unable+` || exit 1;; esac`)
	e := open(t, r.Dir, &engine.Options{Environ: env})
	collides, _ := colliding(t, r, e)
	objects := r.Git("count-objects", "-v")
	list := func() []string {
		t.Helper()
		got, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
		return told(t, got, err)
	}
	want := []string{"collides, collides, collides, croft merge --resolve collides, main", "clear, ahead, 1 commit, croft merge clear"}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("at first: %s", diff)
	}
	gittest.WriteFile(t, unable, "")
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("when it is remembered, and git cannot merge: %s", diff)
	}
	if err := os.Remove(unable); err != nil {
		t.Fatal(err)
	}
	if now := r.Git("count-objects", "-v"); now != objects {
		t.Errorf("objects before %s, after it %s", objects, now)
	}

	r.Write(".git/info/attributes", "collides merge=union\n")
	if got := list(); !slices.Contains(got, "collides, ahead, 1 commit, croft merge collides") {
		t.Errorf("when git merges without a conflict: %q", got)
	}
	r.Write(".git/info/attributes", "")
	r.GitIn(collides.Path, "mv", "collides", "other")
	r.GitIn(collides.Path, "commit", "--quiet", "--amend", "-m", "elsewhere")
	if got := list(); !slices.Contains(got, "collides, ahead, 1 commit, croft merge collides") {
		t.Errorf("when it has another commit: %q", got)
	}
}

// TestListForecastsInTime: a list does not wait for merges that take longer than its look, and says of whom it knows nothing.
func TestListForecastsInTime(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	env := scriptInPlaceOfGit(t, r, `case " $* " in *" merge-tree --stdin "*) exec sleep 100;; esac`)
	e := open(t, r.Dir, &engine.Options{Environ: env})
	collides, _ := colliding(t, r, e)
	begun := time.Now()
	got, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.Duration(time.Second / 2)})
	want := []string{"collides, ahead, 1 commit, croft merge collides", "clear, ahead, 1 commit, croft merge clear"}
	if diff := cmp.Diff(want, told(t, got, err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]croft.ID{collides.ID}, got.Unseen); diff != "" {
		t.Errorf("not looked at: %s", diff)
	}
	if took := time.Since(begun); took > 50*time.Second {
		t.Errorf("it took %s", took)
	}
}
