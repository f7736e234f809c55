package script

import (
	"slices"
	"strings"
)

// Environ returns the caller's environment without what controls git, and without what belongs to the workspace or the tool
// that the caller was started in: a command has the values of its own workspace, or none.
func Environ(caller []string) []string {
	isInWorkspace := slices.ContainsFunc(caller, func(kv string) bool { return strings.HasPrefix(kv, "CROFT_PORT=") })
	return slices.DeleteFunc(slices.Clone(caller), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		isPort := name == "PORT" || strings.HasPrefix(name, "PORT_")
		return slices.Contains(ofAnother, name) || isInWorkspace && isPort ||
			slices.ContainsFunc(prefixesOfAnother, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// The variables of a workspace, of the tools whose set-up files are read, and of git.
var (
	prefixesOfAnother = []string{"GIT_", "CROFT_WORKSPACE", "CROFT_PORT", "CROFT_TEMPLATE_", "CONDUCTOR_", "SUPERSET_", "EMDASH_"}
	ofAnother         = []string{
		"PWD", "OLDPWD", "CROFT", "CROFT_REPO", "CROFT_TRUST", "ROOT_WORKTREE_PATH", "CODEX_SOURCE_TREE_PATH", "CODEX_WORKTREE_PATH",
	}
)
