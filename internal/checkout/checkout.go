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

// ErrExists says that something lies already where a checkout should be made.
var ErrExists = errors.New("the path is taken")

// ErrGone says that there is nothing to bring back.
var ErrGone = errors.New("nothing is left of the checkout")

// ErrDiffers says that a fresh checkout is not what its base says.
var ErrDiffers = errors.New("the checkout differs from its base")

// ErrOther says that what lies at the path, or in the trash, is not what was
// made there. It is left alone.
var ErrOther = errors.New("not what was made there")

// Spec names one checkout. It is all that an implementation needs to find it
// again.
type Spec struct {
	ID      string
	Path    string
	Branch  string // without refs/heads/; empty: detached at Base
	Base    string // the commit that it starts from
	Workers int    // how many files are written at once; default 1
	Kind    Kind   // which implementation it belongs to
	// Branches are others, by their names, that a checkout with a git directory
	// of its own shows from the beginning.
	Branches map[string]string
	// Source is the plain directory whose files the checkout gets, also those
	// that git ignores, and Skip what is not copied from there. Without it the
	// files come from the base.
	Source string
	Skip   []string
	// Identity is what was recorded of the directory when it was made, and
	// TrashedIn what was recorded of the directory in the trash that it lies in. What is
	// something else by now is neither moved nor deleted.
	Identity  fsx.Identity
	TrashedIn fsx.Identity
	// Inherit is kept open by every process that writes.
	Inherit []*os.File
}

// Kind says how much a checkout shares with its project.
type Kind string

// The kinds of checkouts.
const (
	Linked   Kind = ""         // all of the git directory but what is checked out
	Isolated Kind = "isolated" // nothing but objects, which it only reads
)

// ChangeKind says how a path differs from the last commit.
type ChangeKind string

// The kinds of changes.
const (
	Staged     ChangeKind = "staged"
	Modified   ChangeKind = "modified"
	Untracked  ChangeKind = "untracked"
	Conflicted ChangeKind = "conflicted"
	Hidden     ChangeKind = "hidden" // modified, and git was told not to look
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
	Foreign      Health = "foreign"      // something else lies at the path
	Replaced     Health = "replaced"     // a copy of it lies at the path, by what the record says of its identity
)

// Checkout is one way to keep a directory apart.
type Checkout interface {
	// Prepare makes the place. It fails with ErrExists, and touches nothing,
	// if anything is at the path.
	Prepare(ctx context.Context, s Spec) error
	// Fill writes the files of the base.
	Fill(ctx context.Context, s Spec) error
	// Verify compares the files with the base. Differences that any checkout
	// of this commit has, such as line endings, are returned as notes; any
	// other one is ErrDiffers.
	Verify(ctx context.Context, s Spec) (notes []string, err error)
	// Release ends the protection of the checkout's birth.
	Release(s Spec) error
	// Changes lists the uncommitted work.
	Changes(ctx context.Context, s Spec) ([]Change, error)
	// Health looks, without a process, whether the checkout is intact.
	Health(s Spec) Health
	// MoveToTrash moves the checkout into dir, which exists, and ends its
	// registration. It fails with ErrOther, and moves nothing, if something
	// else than what was made is at the path. It may be called again after a
	// crash.
	MoveToTrash(s Spec, dir string) error
	// MoveBack brings a checkout back from dir to its path, registered and
	// protected as at its birth until Release. It fails with ErrExists if
	// something is at the path, and with ErrGone if nothing was stowed. It may
	// be called again after a crash.
	MoveBack(s Spec, dir string) error
	// Discard removes what Prepare and Fill made and nothing else. It may be
	// called again, and for a checkout that was never made.
	Discard(s Spec) error
}
