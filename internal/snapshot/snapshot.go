// Package snapshot saves all content of a worktree as one commit, and reads such
// commits; package restore restores them byte for byte. A snapshot holds the index,
// with all stages of a conflict and all flags; modified and untracked files; the state
// of a merge or rebase in progress; nested repositories and submodules with their own
// commits; modes, links and empty directories.
//
// The package writes objects, and private files to a directory that its caller names.
// It never writes to the worktree, nor to the agent's own index. It guarantees that a
// snapshot is a state that the worktree had: a file that changes while it is read is
// read again, and a directory that was only absent is not saved as deleted.
//
// An agent can write entries to its index that git would not make. They are left out, and
// the snapshot says so: git could not check out an index that has them.
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
//	empty        the empty blob, which intent-to-add entries of the index name
//	admin.tar    the worktree's own part of the git directory, index included
//	nested.tar   nested repositories and submodules, whole
//	meta.json    paths and modes that git's trees cannot say
//
// and its parents are HEAD and every commit that a merge or rebase in progress depends
// on, so that one ref keeps all of it. Not kept are times, owners, extended
// attributes and hard links, sockets and devices.
package snapshot

import (
	"encoding/json"
	"errors"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

// version is the format of new snapshots.
const version = 1

// ErrFormat says that a commit is not a snapshot that can be read.
var ErrFormat = errors.New("not a snapshot that this version can read")

// Selection says how Save saves a worktree, and which of the files that git ignores.
type Selection struct {
	// Identity is the identity of the worktree's directory. Empty means the directory
	// that is at its path when an attempt begins.
	Identity fsx.Identity
	// Ignored are patterns of ignored files that are saved as objects.
	Ignored []string
	// Secrets are patterns of ignored regular files that are saved as files that only
	// the user can read, never as objects, even if Ignored names them.
	Secrets []string
	// SecretsDir is the directory for private files; empty means that they are left
	// out.
	SecretsDir string
	// Before is a snapshot that is going to be restored over the worktree. The files
	// that it would overwrite are saved, ignored or not.
	Before string
	// Last are earlier snapshots of the worktree. If the worktree still is as one of
	// them, Save returns that one and stores nothing.
	Last []Last
	// IsPlaced reports whether Croft put the file at a path there. Such a file does not
	// count as changed.
	IsPlaced func(path string) bool
	// Message is the first line of the snapshot's commit, for people.
	Message string
	// Notes are further lines of it, as keys with values, which Describe returns. A value has
	// no line break.
	Notes [][2]string
	// Trashed is set for a worktree in the trash, which git reads through a copy of its
	// admin directory.
	Trashed *Trashed
	// Pin makes a ref of the commit. If it is nil the caller makes one later; then
	// every object is a loose file, which takes longer to write and which another
	// process that repacks the repository does not delete meanwhile.
	Pin func(commit string) error
}

// Last is an earlier snapshot.
type Last struct {
	Commit     string
	SecretsDir string
}

// Trashed is the state of a trashed worktree that the copy of its admin directory does
// not have.
type Trashed struct {
	Admin  string        // the admin directory itself; it may be gone
	Branch string        // the branch that HEAD names in it
	Faults []index.Fault // of its index, which the copy does not have
}

// Saved is the result of Save.
type Saved struct {
	Commit  string
	Files   int   // files that were stored
	Changed int   // paths at which the worktree differs from its commit
	Bytes   int64 // the sizes of the stored files
	Secrets int   // private files that were stored
	LeftOut int   // entries of the index that git would not make
	Seen    *Seen // with Selection.Before
}

// Meta is the metadata of a snapshot that git's trees cannot hold. Paths are bytes, not
// text.
type Meta struct {
	Version int               `json:"version"`
	Head    Head              `json:"head"`
	Deleted [][]byte          `json:"deleted,omitempty"` // tracked, without a file
	Empty   [][]byte          `json:"empty,omitempty"`   // directories without entries
	Modes   []Mode            `json:"modes,omitempty"`
	Special []Mode            `json:"special,omitempty"` // named pipes
	Nested  [][]byte          `json:"nested,omitempty"`
	Secrets map[string][]byte `json:"secrets,omitempty"` // file in SecretsDir → path
	LeftOut []LeftOut         `json:"leftOut,omitempty"`
}

// LeftOut is an entry of the index that the snapshot does not have, because git would not
// make it. The file at its path, if there is one, is saved as any other.
type LeftOut struct {
	Path []byte `json:"path"`
	Why  string `json:"why"`
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
