package cli

import (
	"bytes"
	"testing"

	"github.com/croft-sh/croft"
)

// TestRemarkRests: what holds for several merges is said once, with their names, and one command is for all of them.
func TestRemarkRests(t *testing.T) {
	kept := func(name, hint string) croft.Merge {
		return croft.Merge{
			WorkspaceName: name, State: croft.MergeDone, Status: croft.MergeMerged, HeldBack: []string{".env"}, Moved: "main moved outside of its lane",
			Kept: &croft.Error{Message: "1 file is not committed", Details: ".env", Hint: hint},
		}
	}
	other := kept("c d", "croft show 'c d'")
	other.HeldBack, other.Kept.Message, other.Kept.Details = []string{"x.pem"}, "sh is at work inside", "sh (1)\nleave the directory"
	var w bytes.Buffer
	a := &app{env: Env{Stderr: &w, ErrWidth: 100, Width: 100}}
	stuck := func(name string, code croft.Code, details string) croft.Merge {
		return croft.Merge{
			WorkspaceName: name, Target: "main", State: croft.MergeDone, Status: croft.MergePending, Reason: code, Message: "a check failed", Details: details,
			Conflicts: []croft.ConflictedPath{{Path: "f1", Hunks: []croft.ConflictHunk{{Line: 3}}}},
		}
	}
	a.remarkSteps(a.remarkRests([]croft.Merge{
		kept("a", "croft remove --yes a"), kept("b", "croft remove --yes b"), other, kept("e", "cd /elsewhere"),
		stuck("f", croft.Conflict, ""), stuck("g", croft.HostDirty, "src/a.go"), stuck("h", croft.CheckFailed, ""), stuck("i", croft.CheckFailed, ""),
	}))
	if want := `  main moved outside of its lane
  f: in conflict with main in f1:3
  g: your checkout of main has changes in src/a.go: commit or stash them first (git stash -u)
  h, i: a check failed
  a, b, e: not committed, because they look like secrets, are large or hidden: .env
  c d: not committed, because they look like secrets, are large or hidden: x.pem
  a, b, e: the workspace stays: 1 file is not committed: .env
  c d: the workspace stays: sh is at work inside: sh (1), leave the directory
  next: croft remove a b
  next: croft show 'c d'
  next: cd /elsewhere
`; w.String() != want {
		t.Errorf("%s", w.String())
	}
}
