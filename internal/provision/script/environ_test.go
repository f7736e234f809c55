package script

import (
	"slices"
	"testing"
)

// TestEnviron: what the workspace or the tool has set that a caller was started in does not reach commands; the rest does.
func TestEnviron(t *testing.T) {
	keeps := []string{"HOME=/h", "CROFT_STATE_DIR=/s", "CODEX_HOME=/c", "PORTER=1", "GITHUB_TOKEN=t"}
	drops := []string{
		"GIT_DIR=/g", "PWD=/p", "CROFT_WORKSPACE=other", "CROFT_WORKSPACE_ID=1", "CROFT_REPO=/r", "CROFT=1", "CROFT_TRUST=hash", "CROFT_PORT_3=1",
		"CONDUCTOR_PORT=1", "CONDUCTOR_WORKSPACE_PATH=/w", "ROOT_WORKTREE_PATH=/m", "CODEX_WORKTREE_PATH=/w", "CROFT_TEMPLATE_name=x",
	}
	if got := Environ(slices.Concat(drops, keeps, []string{"PORT=80", "PORT_WEB=80"})); !slices.Equal(got, append(slices.Clone(keeps), "PORT=80", "PORT_WEB=80")) {
		t.Errorf("%q", got)
	}
	if got := Environ(slices.Concat(keeps, []string{"PORT=80", "PORT_WEB=80", "CROFT_PORT=80"})); !slices.Equal(got, keeps) {
		t.Errorf("in a workspace: %q", got)
	}
}
