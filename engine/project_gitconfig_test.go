package engine

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestChangedConfigurationRefusesWrites: calls that read or remove still work, all others
// are refused until a person has approved the configuration.
func TestChangedConfigurationRefusesWrites(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	e, err := Open(t.Context(), g.Dir, &Options{Environ: g.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Create(t.Context(), croft.CreateRequest{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, w.Path+"/new.txt", "new\n")
	g.GitIn(w.Path, "add", "new.txt")
	g.GitIn(w.Path, "commit", "--quiet", "-m", "new")
	g.Git("config", "user.name", "Mallory")
	main := g.Git("rev-parse", "main")

	if _, err := e.Create(t.Context(), croft.CreateRequest{Name: "b"}); !errors.Is(err, croft.ConfigChanged) {
		t.Errorf("create: %v, want CONFIG_CHANGED", err)
	}
	if m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"}); err == nil && m.Status == croft.MergeMerged {
		t.Errorf("merge: %+v", m)
	}
	if g.Git("rev-parse", "main") != main {
		t.Error("main moved")
	}
	if list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); err != nil || len(list.Items) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
	d, err := e.GitConfig(t.Context(), croft.GitConfigRequest{})
	if err != nil || len(d.Changes) != 1 || d.Changes[0].Key != "user.name" {
		t.Fatalf("%+v, %v", d, err)
	}
	for where, req := range map[string]croft.AcceptGitConfigRequest{
		"no hash": {}, "another hash": {Hash: "x"}, "in the workspace": {Repo: w.Path, Hash: d.Hash},
	} {
		if _, err := e.AcceptGitConfig(t.Context(), req); !errors.Is(err, croft.ConfigChanged) {
			t.Errorf("%s: %v, want CONFIG_CHANGED", where, err)
		}
	}
	if _, err := e.AcceptGitConfig(t.Context(), croft.AcceptGitConfigRequest{Hash: d.Hash}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Create(t.Context(), croft.CreateRequest{Name: "b"}); err != nil {
		t.Errorf("accepted, and still: %v", err)
	}
}
