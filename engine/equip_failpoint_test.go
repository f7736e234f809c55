//go:build failpoints

package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledWhileEquipping kills a process at every point of a creation that copies files. The
// next call rolls the creation back, and the files of the project are as they were.
func TestKilledWhileEquipping(t *testing.T) {
	t.Parallel()
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := provisioned(t)
		r.Write("croft.toml", "[ports]\ncount = 3\n[[provision.path]]\npath = \"deps\"\nhow = \"clone\"\n")
		r.Write(".gitignore", ".env\nconf/\ndeps/\n")
		r.Commit("settings")
		r.Write("deps/a", "a\n")
		return r, task{Create: &croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a"}}}}
	}
	everyPoint(t, 1, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		before := traceOf(t, r)
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		gc(t, e)
		if !wereHandedOut(t, e, job) {
			wantTrace(t, r, before)
		}
		list, err := e.CreateAll(t.Context(), *job.Create)
		if err != nil {
			t.Fatal(err)
		}
		w := list.Workspaces[0]
		if got := w.Provision.Paths[0]; got.Files != 3 || len(got.Skipped) > 0 {
			t.Errorf("%+v", got)
		}
		if len(w.Ports) != 3 || w.Env["PORT"] != fmt.Sprint(w.Ports[0].Port) || !exists(filepath.Join(w.Path, ".croft.env")) {
			t.Errorf("ports %v, variables %v", w.Ports, w.Env)
		}
		for name, want := range map[string]string{".env": "KEY=1\n", "conf/a/one": "1\n", "conf/two": "2\n", "deps/a": "a\n"} {
			if read(t, filepath.Join(w.Path, name)) != want || read(t, filepath.Join(r.Dir, name)) != want {
				t.Errorf("%s is another one", name)
			}
		}
	})
}

// TestKilledWhileMovingPorts kills a process at every point of a move of ports. After the next call the record and the
// file with variables agree, on the ports of before or on others, and a repeated request with the key moves once.
func TestKilledWhileMovingPorts(t *testing.T) {
	t.Parallel()
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := provisioned(t)
		r.Write("croft.toml", "[ports]\ncount = 3\n")
		r.Commit("settings")
		create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a"})
		return r, task{Call: "UpdateWorkspace", Request: []byte(`{"key":"k","workspace":"a","ports":"move"}`)}
	}
	everyPoint(t, 1, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		before := show(t, engineIn(t, r, 0), "a")
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		gc(t, e)
		then := show(t, e, "a")
		if w := then; envPort(t, w) != fmt.Sprint(w.Ports[0].Port) || w.Env["PORT"] != envPort(t, w) {
			t.Errorf("ports %v, variables %v, file %s", w.Ports, w.Env, envPort(t, w))
		}
		got, err := e.UpdateWorkspace(t.Context(), croft.UpdateRequest{Key: "k", Workspace: "a", Ports: croft.PortsMove})
		if err != nil {
			t.Fatal(err)
		}
		if w := show(t, e, "a"); !slices.Equal(w.Ports, got.Ports) || envPort(t, w) != got.Env["PORT"] || slices.Equal(got.Ports, before.Ports) {
			t.Errorf("from %v to %v, answered %v", before.Ports, w.Ports, got.Ports)
		}
		if !slices.Equal(then.Ports, before.Ports) && !slices.Equal(then.Ports, got.Ports) {
			t.Errorf("moved twice: from %v to %v to %v", before.Ports, then.Ports, got.Ports)
		}
	})
}

// TestFailedMoveGivesNoPortsTwice: a move of ports that fails gives the old ones back only if nobody has them. Another project's
// workspace gets them between the record of the move and its failure.
func TestFailedMoveGivesNoPortsTwice(t *testing.T) {
	t.Parallel()
	r, other := provisioned(t), provisioned(t)
	other.Env = r.Env // one state
	for _, at := range []*gittest.Repo{r, other} {
		at.Write("croft.toml", "[ports]\ncount = 50\nrange = \"31700-31799\"\n") // two blocks that no other test looks at
		at.Commit("settings")
	}
	e := engineIn(t, r, 0)
	a := create(t, e, croft.CreateRequest{Name: "a"})
	goOn := paused(t, r, task{Call: "UpdateWorkspace", Request: []byte(`{"workspace":"a","ports":"move"}`)}, "ports.moved")
	b := create(t, engineIn(t, other, 0), croft.CreateRequest{Name: "b"})
	if !slices.Equal(a.Ports, b.Ports) {
		t.Fatalf("b has %v, a had %v", b.Ports, a.Ports)
	}
	file := filepath.Join(a.Path, ".croft.env")
	if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "x"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if out, err := goOn(); err == nil {
		t.Errorf("the move succeeded: %s", out)
	}
	if now := show(t, e, "a"); slices.Equal(now.Ports, b.Ports) || len(now.Ports) != 50 {
		t.Errorf("a has %v, b %v", now.Ports, b.Ports)
	}
}
