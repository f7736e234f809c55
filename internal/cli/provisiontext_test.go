package cli

import (
	"bytes"
	"testing"

	"github.com/croft-sh/croft"
)

// TestProvisionedOnATerminal: what came into new workspaces stands below their lines, indented as what is said of them
// there; on a pipe it is a line like others.
func TestProvisionedOnATerminal(t *testing.T) {
	copied := func(path string, files int) croft.ProvisionedPath {
		return croft.ProvisionedPath{Path: path, How: croft.ProvisionCopy, Files: files}
	}
	made := func(name string, paths ...croft.ProvisionedPath) croft.Workspace {
		return croft.Workspace{Name: name, Provision: &croft.Provision{State: croft.ProvisionReady, Paths: paths}}
	}
	for width, want := range map[int]string{
		80: "  copied .env\n  b: copied 3 files of .worktreeinclude\n",
		0:  "copied .env\nb: copied 3 files of .worktreeinclude\n",
	} {
		var w bytes.Buffer
		a := &app{env: Env{Stderr: &w, Stdout: &w, Width: width, ErrWidth: width}, out: &output{w: &w}}
		a.noteProvision(made("a", copied(".env", 1)), made("b", copied(".env", 1), copied(".worktreeinclude", 3)))
		if w.String() != want {
			t.Errorf("%d columns: %q, want %q", width, w.String(), want)
		}
	}
}
