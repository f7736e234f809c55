//go:build failpoints

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledWhileRenewing kills a process at every point of a refresh. After the next call every copy is the project's file or the
// agent's edit, also one that it made after the kill, and nothing temporary is left.
func TestKilledWhileRenewing(t *testing.T) {
	t.Parallel()
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := provisioned(t)
		create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a"})
		r.Write(".env", "KEY=changed\n")
		r.Write("conf/two", "changed\n")
		return r, task{Call: "Provision", Request: []byte(`{"workspace":"a","mode":"refresh"}`)}
	}
	everyPoint(t, 1, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		at := show(t, e, "a").Path
		edit := "KEY=mine\n"
		if n%2 == 0 {
			edit = "KEY=changed\n"
		} else if err := os.WriteFile(filepath.Join(at, ".env"), []byte(edit), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a", Mode: croft.ProvisionRefresh})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{".env": edit, "conf/two": "changed\n", "conf/a/one": "1\n"} {
			if text := read(t, filepath.Join(at, name)); text != want {
				t.Errorf("%s has %q, want %q", name, text, want)
			}
		}
		if n%2 == 0 && len(got.Drift) > 0 || n%2 == 1 && (len(got.Drift) != 1 || got.Drift[0].Path != ".env") {
			t.Errorf("drift: %+v", got.Drift)
		}
		if left, _ := filepath.Glob(filepath.Join(at, ".croft-old*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if read(t, filepath.Join(r.Dir, ".env")) != "KEY=changed\n" {
			t.Error("the project's .env is another one")
		}
	})
}
