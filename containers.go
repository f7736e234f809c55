package croft

import "context"

// MountsRequest asks for the mounts and the variables that a container needs to work in
// a workspace.
type MountsRequest struct {
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Workdir   string `json:"workdir,omitempty"`   // absolute; default: containers.workdir
}

// Mount is a directory or a file of this machine in a container.
type Mount struct {
	Source     string `json:"source"`
	Target     string `json:"target"`
	IsReadOnly bool   `json:"readOnly"`
	IsFile     bool   `json:"file,omitempty"`
}

// Mounts has the mounts and the variables that a container needs to work in a
// workspace. git works there as it does outside, but the parts of the repository that
// decide which programs git runs are read-only there, and so are the registrations of
// other worktrees.
type Mounts struct {
	Workspace ID                `json:"workspace"`
	Workdir   string            `json:"workdir"`         // the workspace in the container, and its working directory
	Mounts    []Mount           `json:"mounts"`          // in an order in which they can be made
	Env       map[string]string `json:"env"`             // variables that a process there needs
	Notes     []string          `json:"notes,omitempty"` // what will not work there
}

// Containers is the part of Service for programs that run agents in containers.
type Containers interface {
	// Mounts returns the mounts and the variables that a container needs to work in a
	// workspace. It fails with WorkspaceBroken if a part of the workspace is not a
	// plain directory.
	Mounts(ctx context.Context, req MountsRequest) (*Mounts, error)
}
