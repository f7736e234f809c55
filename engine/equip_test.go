package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// provisioned returns a repository whose .worktreeinclude names ignored files.
func provisioned(t *testing.T) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Write(".gitignore", ".env\nconf/\n")
	r.Write(".worktreeinclude", ".env\nconf/\n")
	r.Commit("rules")
	r.Write(".env", "KEY=1\n")
	r.Write("conf/a/one", "1\n")
	r.Write("conf/two", "2\n")
	return r
}

// TestIncludedFilesAreCopies: an agent that writes into its copies, or deletes them, changes nothing in the project.
func TestIncludedFilesAreCopies(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	if err := os.Chmod(filepath.Join(r.Dir, ".env"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	if info, err := os.Stat(filepath.Join(w.Path, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, ".env"), "KEY=2\n")
	if err := os.RemoveAll(filepath.Join(w.Path, "conf")); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(r.Dir, ".env")) != "KEY=1\n" || read(t, filepath.Join(r.Dir, "conf/a/one")) != "1\n" {
		t.Error("the project's files were changed")
	}
	if s, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || s.Dirty() {
		t.Errorf("Status = %+v, %v", s, err)
	}
}

// TestIncludeLimits: what is over a limit is left out and named, and what fits is copied.
func TestIncludeLimits(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	r.Write("conf/large", strings.Repeat("x", 5000))
	e := engineIn(t, r, 0, "provision.max_bytes", "100")
	w := create(t, e, croft.CreateRequest{Name: "a"})
	got := w.Provision.Paths[0]
	if got.Files != 3 || len(got.Skipped) != 1 || got.Skipped[0] != (croft.Skipped{Path: "conf/large", Reason: croft.SkipTooLarge}) {
		t.Errorf("%+v", got)
	}
	f := engineIn(t, r, 0, "provision.max_files", "1")
	w = create(t, f, croft.CreateRequest{Name: "b"})
	if got := w.Provision.Paths[0]; got.Files != 1 || len(got.Skipped) != 3 || got.Skipped[0].Reason != croft.SkipTooMany {
		t.Errorf("%+v", got)
	}
}

// TestIsolatedGetsNoSecrets: an isolated workspace gets ignored files only if the user says so, also when it is set up again.
func TestIsolatedGetsNoSecrets(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	for setting, want := range map[string]bool{"false": false, "true": true} {
		e := engineIn(t, r, 0, "provision.secrets", setting)
		w := create(t, e, croft.CreateRequest{Mode: croft.ModeIsolated})
		if got := exists(filepath.Join(w.Path, ".env")); got != want {
			t.Errorf("%s: copied %v", setting, got)
		}
		provisionAgain(t, e, croft.ProvisionRequest{Workspace: croft.ByID(w.ID)})
		if got := exists(filepath.Join(w.Path, ".env")); got != want {
			t.Errorf("%s, again: copied %v", setting, got)
		}
	}
}

// TestPortsAreNobodyElses: workspaces that several engines make at once, in two projects, have no port in common.
func TestPortsAreNobodyElses(t *testing.T) {
	t.Parallel()
	r, other := provisioned(t), provisioned(t)
	other.Env = r.Env // one state
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]string{}
	for i := range 6 {
		at := []*gittest.Repo{r, other}[i%2]
		e := engineIn(t, at, 0, "ports.count", "3")
		wg.Go(func() {
			for n := range 3 {
				w, err := e.Create(t.Context(), croft.CreateRequest{Name: fmt.Sprintf("w%d-%d", i, n)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, p := range w.Ports {
					if was := seen[p.Port]; was != "" {
						t.Errorf("%s and %s have port %d", was, w.Name, p.Port)
					}
					seen[p.Port] = w.Name
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 54 {
		t.Errorf("%d ports, want 54", len(seen))
	}
}
