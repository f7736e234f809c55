package croft

import "context"

// Repo is the project that workspaces are made from.
type Repo struct {
	ID      ID     `json:"id"`
	Path    string `json:"path"`             // the main checkout, or the bare repository
	Name    string `json:"name"`             // the last part of Path, without .git
	GitDir  string `json:"gitDir,omitempty"` // git's common directory; absent for a plain directory
	Branch  string `json:"branch"`           // the branch that is checked out; empty when HEAD is detached
	Head    string `json:"head,omitempty"`   // the commit that is checked out; absent in an empty repository
	IsBare  bool   `json:"isBare"`
	Version string `json:"gitVersion,omitempty"`
}

// Repos is the part of Service that knows projects.
type Repos interface {
	// Repo describes the project that a directory lies in; an empty dir means
	// the one in which the Service was opened. A directory that is in no git
	// repository is NotARepo.
	Repo(ctx context.Context, dir string) (*Repo, error)

	// Check says whether workspaces can be made: it fails with NotARepo when
	// there is no repository or no commit in it.
	Check(ctx context.Context, dir string) error

	// BranchExists says whether a local branch of that name is there.
	BranchExists(ctx context.Context, dir, branch string) (bool, error)
}

// Role is a named configuration that is copied into workspaces.
type Role struct {
	Name  string   `json:"name"`
	Dir   string   `json:"dir"`   // where its files lie
	Files []string `json:"files"` // their names; none: the role is not there

	// Snapshot is what a workspace was before its own version of the files was
	// replaced, if that was.
	Snapshot ID `json:"snapshot,omitempty"`
}

// RoleMode says what copying a role does about files that were changed in the
// workspace.
type RoleMode string

const (
	// RoleSafe refuses them as WorkspaceDirty. It is the default.
	RoleSafe RoleMode = ""
	// RoleReplace replaces them, after a snapshot of the workspace with them.
	RoleReplace RoleMode = "replace"
)

// RoleRequest names a role, and for copying the workspace that gets it.
type RoleRequest struct {
	Repo      string `json:"repo,omitempty"`
	Role      string `json:"role,omitempty"`      // default for copying: the workspace's own
	Workspace string `json:"workspace,omitempty"` // a name, an ID or a path

	Mode RoleMode `json:"mode,omitempty"` // for copying
}

// Roles is the part of Service that knows role configurations.
type Roles interface {
	// Role looks a role up; a role without files is RoleNotFound.
	Role(ctx context.Context, req RoleRequest) (*Role, error)

	// CopyRole copies a role's files into a workspace, again if they were
	// there. They do not show as changes of the agent's.
	CopyRole(ctx context.Context, req RoleRequest) (*Role, error)
}
