// Package snapshot saves everything that a worktree holds as one commit, and
// reads such commits; package restore brings them back byte for byte. Saved is what
// is staged, with all stages of a conflict and all flags; what is modified or
// untracked; what is in progress, such as a merge or a rebase; nested repositories
// and submodules with their own commits; modes, links and empty directories.
//
// The package writes objects, and private files to a directory that its caller names.
// It never writes to the worktree, nor to the agent's own index. It keeps true that a
// snapshot is a state that the worktree had: what changes while it is read is read
// again, and a directory that was only absent is not saved as deleted.
//
// Files are stored as they are on disk: no filter runs and no line ending
// changes. Tracked files that were not touched are not stored again; git
// writes them anew from the index, as it wrote them the first time.
//
// A snapshot is one commit. Its tree holds
//
//	files/       raw contents of what differs from the index, in one directory
//	staged/      the tree that the index describes, which keeps its objects
//	stages/      the other stages of a conflict
//	empty        an empty file, which the index names for what is going to be added
//	admin.tar    the worktree's own part of the git directory, index included
//	nested.tar   nested repositories and submodules, whole
//	meta.json    paths and modes that git's trees cannot say
//
// and its parents are HEAD and every commit that an act in progress depends
// on, so that one ref keeps all of it. Not kept are times, owners, extended
// attributes and hard links, sockets and devices.
package snapshot

import (
	"encoding/json"
	"errors"

	"github.com/croft-sh/croft/internal/fsx"
)

// version is the format of new snapshots.
const version = 1

// ErrFormat says that a commit is not a snapshot that can be read.
var ErrFormat = errors.New("not a snapshot that this version can read")

// Selection says how Save saves a worktree, and which of the files that git ignores.
type Selection struct {
	// Identity is that of the worktree's directory. Empty means the one that lies at
	// its path when an attempt begins.
	Identity fsx.Identity
	// Ignored are patterns of ignored files that are saved as objects.
	Ignored []string
	// Secrets are patterns of ignored regular files that are saved as files that only
	// the user can read, never as objects, also if Ignored names them.
	Secrets []string
	// SecretsDir is where those files go; empty means that they are left out.
	SecretsDir string
	// Before is a snapshot that is going to be restored over the worktree. What
	// it would overwrite is saved, ignored or not.
	Before string
	// Last are snapshots of the worktree that were saved before. If the worktree still
	// is what one of them holds, that is the answer, and nothing is stored.
	Last []Last
	// Placed reports whether Croft put the file at a path there. Such a file does not
	// count as changed.
	Placed func(path string) bool
	// Message is the first line of the snapshot's commit, for people.
	Message string
	// Trashed is set for a worktree that was moved away and that git looks at
	// through a copy of its admin directory.
	Trashed *Trashed
	// Pin makes a ref of the commit. Without it the caller does so later; then
	// every object is a loose file, which takes longer to write and which another
	// process that repacks the repository does not delete meanwhile.
	Pin func(commit string) error
}

// Last is a snapshot that was saved before.
type Last struct {
	Commit     string
	SecretsDir string
}

// Trashed says what a copy of an admin directory cannot.
type Trashed struct {
	Admin  string // the admin directory itself; it may be gone
	Branch string // what HEAD names in it
}

// Saved is a snapshot.
type Saved struct {
	Commit  string
	Files   int   // files that were stored
	Changed int   // paths at which the worktree is not as its commit
	Bytes   int64 // sizes of what was stored
	Secrets int   // files that were stored apart
	Seen    *Seen // with Selection.Before
}

// Meta is what git's trees cannot say. Paths are bytes, not text.
type Meta struct {
	Version int               `json:"version"`
	Head    Head              `json:"head"`
	Deleted [][]byte          `json:"deleted,omitempty"` // tracked, and not there
	Empty   [][]byte          `json:"empty,omitempty"`   // directories without anything
	Modes   []Mode            `json:"modes,omitempty"`
	Special []Mode            `json:"special,omitempty"` // named pipes
	Nested  [][]byte          `json:"nested,omitempty"`
	Secrets map[string][]byte `json:"secrets,omitempty"` // file in SecretsDir → path
}

// Mode is a path and the permissions that it had.
type Mode struct {
	Path []byte `json:"path"`
	Mode uint32 `json:"mode"`
}

func decodeMeta(b []byte) (Meta, error) {
	var m Meta
	if err := json.Unmarshal(b, &m); err != nil || m.Version != version {
		return m, errors.Join(ErrFormat, err)
	}
	return m, nil
}
