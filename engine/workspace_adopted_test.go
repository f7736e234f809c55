package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAdoptForged: a directory whose .git file names another registration, or one elsewhere, is not adopted: an agent may have
// written it.
func TestAdoptForged(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	at, other := r.Beside("theirs"), r.Beside("other")
	r.Git("worktree", "add", "--quiet", "-b", "theirs", at)
	r.Git("worktree", "add", "--quiet", "-b", "other", other)
	e := engineIn(t, r, 0)
	elsewhere := filepath.Join(t.TempDir(), "worktrees", "theirs")
	if err := os.MkdirAll(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"of another one": read(t, filepath.Join(other, ".git")),
		"elsewhere":      "gitdir: " + elsewhere + "\n",
	} {
		gittest.WriteFile(t, filepath.Join(at, ".git"), text)
		got, err := e.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}})
		if err != nil || len(got.Workspaces) != 0 || len(got.Left) != 1 || got.Left[0].Reason.Code != croft.WorkspaceBroken {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestAdoptBegins: a worktree that is adopted by a path with links began where its branch left the target, has an event, and
// only one worktree gets a name, which has to be one.
func TestAdoptBegins(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	base := r.Git("rev-parse", "HEAD")
	at, link := r.Beside("theirs"), r.Beside("link")
	r.Git("worktree", "add", "--quiet", "-b", "theirs", at)
	gittest.WriteFile(t, filepath.Join(at, "new"), "new\n")
	r.GitIn(at, "add", "new")
	r.GitIn(at, "commit", "--quiet", "--message", "theirs")
	if err := os.Symlink(at, link); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	if got, err := e.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at, link}, Name: "x"}); !errors.Is(err, croft.InvalidRequest) {
		t.Errorf("a name for two: %+v, %v", got, err)
	}
	if got, err := e.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}, Name: "../x"}); !errors.Is(err, croft.InvalidName) {
		t.Errorf("a name that is a path: %+v, %v", got, err)
	}
	got, err := e.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{link}})
	if err != nil || len(got.Workspaces) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if w := got.Workspaces[0]; w.Path != at || w.Base != base || w.BaseRef == "" || w.Target != "main" || w.Status != croft.ConditionAhead {
		t.Errorf("%+v", w)
	}
	hasEvent := false
	for event, err := range e.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventWorkspaceAdopted}}) {
		if err != nil {
			t.Fatal(err)
		}
		hasEvent = hasEvent || event.Workspace == got.Workspaces[0].ID
	}
	if !hasEvent {
		t.Error("no event tells of it")
	}
}
