package croft

import "context"

// Repo is the project that workspaces are made from.
type Repo struct {
	ID     ID     `json:"id"`
	Path   string `json:"path"`             // the main checkout, or the bare repository
	Name   string `json:"name"`             // the last part of Path, without .git
	GitDir string `json:"gitDir,omitempty"` // git's common directory; absent for a plain directory
	Branch string `json:"branch"`           // the branch that is checked out; empty when HEAD is detached
	Head   string `json:"head,omitempty"`   // the commit that is checked out; absent in an empty repository
	IsBare bool   `json:"isBare"`
	// IsMissing: it is not at its path, or cannot be read there, and what is asked for by its
	// ID fails. It was moved, deleted, or its drive is not mounted; Problem says what is known.
	IsMissing bool   `json:"isMissing,omitempty"`
	Problem   string `json:"problem,omitempty"`
	Version   string `json:"gitVersion,omitempty"`
}

// RepoRequest names a project.
type RepoRequest struct {
	Repo Ref `json:"repo,omitempty"` // a directory in the project; default: where the Service was opened
}

// ReposRequest chooses projects.
type ReposRequest struct {
	Page
}

// Branch is a local branch of a repository.
type Branch struct {
	Name   string `json:"name"`
	Exists bool   `json:"exists"`
}

// BranchRequest names a branch.
type BranchRequest struct {
	Repo   Ref    `json:"repo,omitempty"`
	Branch string `json:"branch"` // without refs/heads/
}

// Repos is the part of Service that describes projects.
type Repos interface {
	// Repo describes a project. A directory that is in no git repository is NotARepo.
	Repo(ctx context.Context, req RepoRequest) (*Repo, error)

	// Repos lists the projects that this Service knows, also those that are not at their
	// paths any more, in the order in which they were first seen. A project is known once
	// a call has named it, until [Upkeep.Uninstall] forgets it.
	Repos(ctx context.Context, req ReposRequest) (*List[Repo], error)

	// CheckRepo describes a project, as Repo does, in which workspaces can be made. It
	// fails with NotARepo if there is no repository or no commit in it.
	CheckRepo(ctx context.Context, req RepoRequest) (*Repo, error)

	// Branch describes a local branch. A branch that does not exist is an answer, not an
	// error.
	Branch(ctx context.Context, req BranchRequest) (*Branch, error)
}

// Role is a named configuration that is copied into workspaces.
type Role struct {
	Name  string   `json:"name"`
	Dir   string   `json:"dir"`   // where its files lie
	Files []string `json:"files"` // their names; none: the role is not there

	// Snapshot is the snapshot of the workspace from before its changed role files were
	// replaced, if any were.
	Snapshot ID `json:"snapshot,omitempty"`
}

// RoleMode says what copying a role does about files that were changed in the
// workspace.
type RoleMode string

const (
	// RoleSafe refuses to replace changed role files, with WorkspaceDirty. It is the
	// default.
	RoleSafe RoleMode = ""
	// RoleReplace replaces changed role files, after a snapshot of the workspace with
	// them.
	RoleReplace RoleMode = "replace"
)

// RoleRequest names a role, and for copying the workspace that gets it.
type RoleRequest struct {
	Key       string `json:"key,omitempty"` // for copying
	Repo      Ref    `json:"repo,omitempty"`
	Role      string `json:"role,omitempty"`      // default for copying: the workspace's own
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path

	Mode RoleMode `json:"mode,omitempty"` // for copying

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// Roles is the part of Service that finds and copies role configurations.
type Roles interface {
	// Role looks a role up; a role without files is RoleNotFound.
	Role(ctx context.Context, req RoleRequest) (*Role, error)

	// CopyRole copies a role's files into a workspace, also over an earlier copy. They
	// do not show as changes of the agent's.
	CopyRole(ctx context.Context, req RoleRequest) (*Role, error)
}

// Fetch says whether the network is used before the base is looked up.
type Fetch string

const (
	// FetchNever uses what the repository has. It is the default.
	FetchNever Fetch = ""
	// FetchFirst fetches the base's remote first.
	FetchFirst Fetch = "first"
)
