package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// wantDiff expects that the work of a workspace changes these files.
func wantDiff(t *testing.T, e croft.Service, ref croft.Ref, left croft.TrashLeft, want ...string) *croft.Review {
	t.Helper()
	d, err := e.Diff(t.Context(), croft.DiffRequest{Workspace: ref})
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	var got []string
	for _, f := range d.Files {
		got = append(got, string(f.Status)+" "+f.Path)
	}
	if !slices.Equal(got, want) || d.Left != left || d.Workspace == "" {
		t.Errorf("%s: %q of %q, want %q of %q", ref, got, d.Left, want, left)
	}
	return d
}

// TestDiffOfRemoved: the work of a removed workspace is shown, with what was not committed
// if its directory is in the trash, and its files are read.
func TestDiffOfRemoved(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			testDiffOfRemoved(t, mode)
		})
	}
}

func testDiffOfRemoved(t *testing.T, mode croft.Mode) {
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
	gittest.WriteFile(t, filepath.Join(w.Path, "committed.txt"), "committed\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "--message", "work")
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "changed\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
	gittest.WriteFile(t, filepath.Join(w.Path, ".env"), "TOKEN=1\n")
	all := []string{"modified README.md", "added committed.txt", "added new.txt"}
	live := wantDiff(t, e, "a", "", all...)
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{"a"}, Mode: croft.RemoveForce}); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []croft.Ref{"a", croft.Ref(w.ID)} {
		d := wantDiff(t, e, ref, croft.LeftDirectory, all...)
		if d.Base != live.Base || d.Total != live.Total || !slices.Equal(d.HeldBack, []string{".env"}) {
			t.Errorf("%+v, was %+v", d, live)
		}
	}
	got, err := e.File(t.Context(), croft.FileRequest{Workspace: "a", Path: "new.txt"})
	if err != nil || string(got.Data) != "new\n" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = e.File(t.Context(), croft.FileRequest{Workspace: "a", Path: ".env"})
	wantCode(t, err, croft.FileHeldBack)
	if err := os.RemoveAll(filepath.Join(filepath.Dir(r.Dir), filepath.Base(r.Dir)+".croft", ".trash", string(w.ID))); err != nil {
		t.Fatal(err)
	}
	wantDiff(t, e, "a", croft.LeftCommits, "added committed.txt")
	// Another one with the name is meant once it is there.
	create(t, e, croft.CreateRequest{Name: "a"})
	wantDiff(t, e, "a", "")
	wantDiff(t, e, croft.Ref(w.ID), croft.LeftCommits, "added committed.txt")
	_, err = e.Diff(t.Context(), croft.DiffRequest{Workspace: "nobody"})
	wantCode(t, err, croft.WorktreeNotFound)
}

// TestDiffOfRounds: the work of each agent is shown while its round is open and after it has
// ended, also when its branch is gone.
func TestDiffOfRounds(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	session, err := e.StartSession(t.Context(), croft.SessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	round, err := e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(session.ID), Agents: []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range round.Workspaces {
		gittest.WriteFile(t, filepath.Join(w.Path, w.Agent+".txt"), w.Agent+"\n")
		wantDiff(t, e, croft.Ref(w.ID), "", "added "+w.Agent+".txt")
	}
	if _, err := e.EndRound(t.Context(), croft.EndRoundRequest{Round: round.ID}); err != nil {
		t.Fatal(err)
	}
	r.Write("later.txt", "the project goes on\n")
	r.Commit("later")
	for range 2 {
		for _, w := range round.Workspaces {
			d := wantDiff(t, e, croft.Ref(w.ID), croft.LeftDirectory, "added "+w.Agent+".txt")
			got, err := e.File(t.Context(), croft.FileRequest{Workspace: croft.Ref(w.ID), Path: w.Agent + ".txt"})
			if err != nil || string(got.Data) != w.Agent+"\n" || d.Files[0].NewObject != got.Object || d.Base != w.Base || d.Head == "" {
				t.Errorf("%s: %+v, %v, in %+v", w.Agent, got, err, d)
			}
		}
		if _, err := e.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(session.ID)}); err != nil {
			t.Fatal(err)
		}
	}
	if left := r.Git("branch", "--list"); left != "* main" {
		t.Errorf("branches are left: %s", left)
	}
}
