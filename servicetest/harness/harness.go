// Package harness is what stands between a suite of scenarios and the implementation that it
// tests: the machine on which the implementation has its workspaces. Package servicetest has
// the scenarios, and says how they are run.
package harness

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

// Harness is what the suite needs besides the Service itself: the hands of a user who
// sits where the workspaces are. An implementation on another machine, or on many, brings
// one of its own; Local is that of an implementation on this machine.
//
//	type lab struct{ pool *Pool }
//
//	func (lab) Capabilities() []harness.Capability { return nil }
//
//	func (l lab) Start(t *testing.T) harness.Host {
//		box := l.pool.Take(t) // a machine, or a user on one, with nothing of an earlier test
//		t.Cleanup(box.Release)
//		return box // whose methods run git and touch files over there
//	}
//
//	func TestService(t *testing.T) { servicetest.Run(t, lab{pool}) }
type Harness interface {
	// Capabilities are what the implementation, or the harness, has and others may lack. A
	// scenario that needs another one is skipped, and the capability's name is the reason.
	Capabilities() []Capability

	// Start returns the place where one scenario happens. It is called once by every
	// scenario, by many at the same time. What has to be given back is registered with
	// t.Cleanup.
	Start(t *testing.T) Host
}

// Host is a user with an empty home directory and no records of Croft, on the machine of
// the Service under test. Paths are absolute, have slashes, and are those that the Service
// has in requests and answers: the suite takes them from there, puts names of files behind
// them, and hands them back to the Host. It never opens one itself. An error of a Host ends
// the scenario, but for those that say that a file is not there, or that git failed.
//
// Where workspaces lie on several machines, the Host finds the machine by the path.
type Host interface {
	// Root is a directory of the user's. It has the directory "home", which is the home of
	// the user, and of Git and of the Service with it, and else nothing that the suite did
	// not put there. The suite makes its repositories below it, with Write and Git, and
	// workspaces may be made there, too.
	Root() string

	// Open opens the Service under test in a directory, which may be one of a project, of a
	// workspace or of neither. Several may be open at the same time. The Host closes them
	// when t ends. The variables, as "name=value", are given only where the capability
	// Environment is there.
	Open(t *testing.T, dir string, env ...string) croft.Service

	// Git runs git in a directory and returns what it printed, without the last newline. It
	// has the identity "Ada <ada@example.com>", as the Service has, and no configuration of
	// the machine's. If git fails, the error has what git wrote to standard error.
	Git(dir string, args ...string) (string, error)

	// Write writes a file, and makes the directories above it.
	Write(path, content string) error

	// Read returns the content of a file.
	Read(path string) (string, error)

	// Remove deletes a file, or a directory with all that is in it. It is no error if there
	// is none.
	Remove(path string) error

	// Stat returns the type and the permissions of a file or directory, and follows no
	// link. The error is fs.ErrNotExist if there is none.
	Stat(path string) (fs.FileMode, error)

	// List returns the paths of a directory and of all files and directories below it,
	// sorted as filepath.WalkDir does. It is empty if there is no such directory.
	List(dir string) ([]string, error)

	// Configure sets a key of the user's configuration, such as "trash.retention", for
	// Services that are opened from now on. The value is written as in a variable of the
	// environment; an empty one stands for the default.
	Configure(key, value string) error

	// LoseState loses all records of the Services, as when their database was deleted with
	// all its copies. Projects and workspaces stay as they are. The suite uses a Service
	// that was open before no more. It is called only where the capability LostState is
	// there.
	LoseState() error
}

// Capability is something that not every implementation can do, or not every harness.
type Capability string

// The capabilities.
const (
	// SharedDisk: the paths of the Host are those of the process that runs the test, on the
	// same kernel. Scenarios that need it look at inodes, times and links outside of checkouts,
	// or have a git that fails: they are the suite of the engine, more than of the contract.
	SharedDisk Capability = "shared disk"

	// Layout: the engine's files are where its documentation says. Workspaces lie beside the
	// project or in .worktrees and are git worktrees of its repository, removed ones are in the
	// trash beside them, what git must not show is in info/exclude, and what git must keep is
	// below refs/croft.
	Layout Capability = "layout"

	// Isolated: workspaces may have a git directory of their own (croft.ModeIsolated).
	Isolated Capability = "isolated workspaces"

	// PlainDirectories: a project may be a directory without git.
	PlainDirectories Capability = "plain directories"

	// Environment: a Service has the variables with which it was opened.
	Environment Capability = "environment"

	// LostState: a project is found again after Host.LoseState.
	LostState Capability = "lost state"
)

// AllCapabilities returns every capability, those of the engine.
func AllCapabilities() []Capability {
	return []Capability{SharedDisk, Layout, Isolated, PlainDirectories, Environment, LostState}
}

// Missing returns the first capability that a harness lacks of those that are needed, or "".
func Missing(h Harness, needed []Capability) Capability {
	has := h.Capabilities()
	for _, c := range needed {
		if !slices.Contains(has, c) {
			return c
		}
	}
	return ""
}
