package servicetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// localListScenarios need a shared disk.
type localListScenarios struct{}

// NoGitPerWorkspace lists with a git that fails at every command but its version.
func (localListScenarios) NoGitPerWorkspace(t *testing.T, f *fixture) {
	f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	svc := f.at(f.Dir, "CROFT_GIT_PATH="+fakeGit(t, f, failingGit))
	list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil || len(list.Items) != 2 || list.Items[0].State != croft.Ready || len(list.Items[0].Head) != 40 {
		t.Errorf("Workspaces without git = %+v, %v", list, err)
	}
}

// FailureIsAnError deviates from the specification: a listing that fails is not an empty list.
func (localListScenarios) FailureIsAnError(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	svc := f.at(f.Dir)
	registered := filepath.Join(f.Dir, ".git", "worktrees")
	must(t, errors.Join(os.Rename(registered, registered+".aside"), os.WriteFile(registered, nil, 0o644)))
	list, err := svc.Worktrees(t.Context(), croft.WorktreesRequest{})
	if e := wantCode(t, err, croft.FileIrregular); !strings.Contains(e.Details, registered) {
		t.Errorf("details %q, want the path", e.Details)
	}
	if list != nil {
		t.Errorf("a failed listing returned %v", list)
	}
	must(t, svc.Close())
	if list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{}); err == nil {
		t.Errorf("a closed Service lists %v", list)
	}
}
