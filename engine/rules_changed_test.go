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

// TestUserFileChanges: an engine that is open for long goes by the user's file as it is now,
// also for work that another process has submitted: no merge passes without the checks that
// the user asked for meanwhile.
func TestUserFileChanges(t *testing.T) {
	repo := gittest.New(t)
	e := open(t, repo.Dir, &engine.Options{Environ: repo.Env})
	land := func(name string) *croft.Merge {
		t.Helper()
		ws, err := e.Create(t.Context(), croft.CreateRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		gittest.WriteFile(t, filepath.Join(ws.Path, name+".txt"), name)
		m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name})
		if err == nil {
			m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := land("a"); m.Status != croft.MergeMerged {
		t.Fatalf("%s: %s", m.Status, m.Message)
	}
	var home string
	for _, v := range repo.Env {
		if dir, ok := strings.CutPrefix(v, "HOME="); ok {
			home = dir
		}
	}
	file := filepath.Join(home, ".config", "croft", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, file, "branch = 'pfx/{slug}'\n[merge]\nchecks = ['false']\n")
	if m := land("b"); m.Status == croft.MergeMerged || m.Reason != croft.ChecksUntrusted {
		t.Errorf("with checks that nobody approved: %s, %s", m.Status, m.Reason)
	}
	if ws, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "b"}); err != nil || ws.Branch != "pfx/b" {
		t.Errorf("the branch is %v, %v", ws, err)
	}
	gittest.WriteFile(t, file, "[merge\n")
	if _, err := e.Checks(t.Context(), croft.ChecksRequest{}); !errors.Is(err, croft.ConfigInvalid) {
		t.Errorf("with a file that cannot be read: %v", err)
	}
}
