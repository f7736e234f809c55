package croft

import "context"

// MountsRequest asks for the mounts and the variables that a container needs to work in
// a workspace, or for what a sandbox has to let an agent write so that it can commit.
type MountsRequest struct {
	Repo      Ref        `json:"repo,omitempty"`
	Workspace Ref        `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Workdir   string     `json:"workdir,omitempty"`   // absolute; default: containers.workdir
	Place     MountPlace `json:"place,omitempty"`     // default: a container
}

// MountPlace says what mounts are for.
type MountPlace string

// What they are for.
const (
	InContainer MountPlace = ""        // a container, which has nothing of this machine but its mounts
	InSandbox   MountPlace = "sandbox" // a sandbox, which has all of this machine at its own paths, and can write the workspace but not git's directories
)

// Mount is a directory or a file of this machine in a container. In a sandbox it has the same path
// as outside.
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
//
// In a sandbox, Mounts are what has to be written for a commit, and what in it must not be
// written because git outside obeys it; the latter may not be there yet.
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
	// plain directory, and with Unsupported if a sandbox could not be kept from what is not
	// the workspace's: see Place.
	Mounts(ctx context.Context, req MountsRequest) (*Mounts, error)
}
