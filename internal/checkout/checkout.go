// Package checkout is the contract of an isolated directory. A checkout is
// made in steps, so that only the first needs the repository's lock and every
// one of them can be rolled back:
//
//	Prepare   the place: registered and protected, without files
//	Fill      the files of the base
//	Verify    a comparison of what was written with what should have been
//	Release   the protection of its birth ends; it may be handed out
//
// Discard rolls back any prefix of these steps, also after a crash. MoveToTrash moves
// a checkout away whole and ends its registration; nothing of it is deleted.
//
// Packages worktree, shadow and direct keep this contract, and package checkouttest
// proves it.
package checkout

import (
	"context"
	"errors"
	"os"

	"github.com/croft-sh/croft/internal/fsx"
)

// ErrExists says that the path of a checkout is taken.
var ErrExists = errors.New("the path is taken")

// ErrGone says that nothing of the checkout is left to bring back.
var ErrGone = errors.New("nothing is left of the checkout")

// ErrDiffers says that the files of a fresh checkout are not those of its base.
var ErrDiffers = errors.New("the checkout differs from its base")

// ErrNotReady says that the directory of Spec.Ready could not be used. What Prepare made is to be discarded; then the
// checkout can be made without it.
var ErrNotReady = errors.New("the directory with the files cannot be used")

// ErrOther says that the directory at the path, or in the trash, is not the one that
// was made. It is left alone.
var ErrOther = errors.New("not what was made there")

// Spec names one checkout, with all that an implementation needs to find it again.
type Spec struct {
	ID      string
	Admin   string // the name of its registration with git; default: by its ID
	Path    string
	Branch  string // without refs/heads/; empty: detached at Base
	Base    string // the commit that it starts from
	Workers int    // how many files are written at once; default 1
	Kind    Kind   // which implementation it belongs to
	// Branches are other branches, by name, that a checkout with a git directory of its
	// own has from the beginning.
	Branches map[string]string
	// Sparse are the directories that the checkout has besides the files at its top, or "/" for all; empty: it has
	// what the project's own checkout has.
	Sparse []string
	// Source is the plain directory whose files are copied to the checkout, ignored
	// ones included; Skip are the paths in it that are not copied. Without Source the
	// files come from the base.
	Source string
	Skip   []string
	// Ready, if not nil, has the files of the base already: the checkout is neither filled nor verified. Only checkouts
	// of kind Linked take one.
	Ready *Ready
	// Identity is the recorded identity of the directory when it was made, and
	// TrashedIn that of the directory in the trash that it is in. A directory with
	// another identity is neither moved nor deleted.
	Identity  fsx.Identity
	TrashedIn fsx.Identity
	// Inherit are files that every process that writes the checkout keeps open.
	Inherit []*os.File
}

// Ready is a directory with the files of a commit, and an index for them, where no agent has been.
type Ready struct {
	Path     string
	Identity fsx.Identity
	Index    string
}

// Kind says how much a checkout shares with its project.
type Kind string

// The kinds of checkouts.
const (
	Linked   Kind = ""         // the whole git directory, except for what is checked out
	Isolated Kind = "isolated" // only objects, which it reads
)

// ChangeKind says how a path differs from the last commit.
type ChangeKind string

// The kinds of changes.
const (
	Staged     ChangeKind = "staged"
	Modified   ChangeKind = "modified"
	Untracked  ChangeKind = "untracked"
	Conflicted ChangeKind = "conflicted"
	Hidden     ChangeKind = "hidden" // modified, and git was told not to examine it
)

// Change is one path that differs from the last commit.
type Change struct {
	Path string
	Kind ChangeKind
}

// Health says whether a checkout is what its record says.
type Health string

// The values of Health.
const (
	Intact       Health = "intact"
	Missing      Health = "missing"      // the directory is gone
	Unregistered Health = "unregistered" // the directory is there, its registration is not
	Foreign      Health = "foreign"      // the path has something else
	Replaced     Health = "replaced"     // the path has a copy of it, by the identity in the record
)

// Checkout is one way to keep the directory of an agent apart.
type Checkout interface {
	// Prepare registers the checkout, without files, or with those of s.Ready. It fails with ErrExists, and
	// touches nothing, if anything is at the path, and with ErrNotReady if s.Ready cannot
	// be used.
	Prepare(ctx context.Context, s Spec) error
	// Fill writes the files of the base.
	Fill(ctx context.Context, s Spec) error
	// Verify compares the files with the base. Differences that any checkout of this
	// commit has, such as line endings, are returned as notes; any other difference is
	// ErrDiffers.
	Verify(ctx context.Context, s Spec) (notes []string, err error)
	// Release ends the protection of the checkout's birth.
	Release(s Spec) error
	// Changes lists the uncommitted work.
	Changes(ctx context.Context, s Spec) ([]Change, error)
	// Health reports, without starting a process, whether the checkout is intact.
	Health(s Spec) Health
	// MoveToTrash moves the checkout into dir, which exists, and ends its registration.
	// It fails with ErrOther, and moves nothing, if the directory at the path is not
	// the one that was made. It may be called again after a crash.
	MoveToTrash(s Spec, dir string) error
	// MoveBack moves a checkout from dir to its path, registered and protected as at
	// its birth until Release. It fails with ErrExists if something is at the path, and
	// with ErrGone if dir has no checkout. It may be called again after a crash.
	MoveBack(s Spec, dir string) error
	// Discard removes the directory and the registration that Prepare and Fill made,
	// and nothing else. It may be called again, and for a checkout that was never made.
	Discard(s Spec) error
}
