package servicetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

// localRemoveScenarios need a shared disk.
type localRemoveScenarios struct{}

func (localRemoveScenarios) PathIsALink(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	moved := filepath.Join(f.Home, "moved")
	must(t, os.Rename(w.Path, moved))
	if err := os.Symlink(moved, w.Path); err != nil {
		t.Skip("needs symbolic links")
	}
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}, croft.WorkspaceBroken)
	if target, err := os.Readlink(w.Path); err != nil || target != moved {
		t.Errorf("the link, which Croft did not make, leads to %q, %v", target, err)
	}
	if !f.exists(filepath.Join(moved, "README.md")) {
		t.Error("the removal went through the link")
	}
	// A directory that was moved away and back is still the workspace.
	must(t, errors.Join(os.Remove(w.Path), os.Rename(moved, w.Path)))
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
}

func (localRemoveScenarios) LinksAreNotFollowed(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	precious := filepath.Join(f.Home, "precious")
	f.write(filepath.Join(precious, "keep.txt"), "keep")
	if err := os.Symlink(precious, filepath.Join(w.Path, "link")); err != nil {
		t.Skip("needs symbolic links")
	}
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	must(t, errOf(f.with("trash.retention", "0s").GC(t.Context(), croft.GCRequest{})))
	f.wantFile(filepath.Join(precious, "keep.txt"), "keep")
}
