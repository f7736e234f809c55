// Package worktree is a checkout as git knows it: its admin directory, its index and
// the lock on it. What a checkout's files hold, and what happens to it, is in the
// packages above.
//
// A path is not believed to be the checkout because it was one: what was made has its
// identity in a ledger of Croft's own (place.go), directories that an agent can write
// are opened once and then used by handle, and an index is changed only by a process
// that holds git's own lock on it (indexhold.go).
package worktree

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

// Repository is a repository whose checkouts can be looked at.
type Repository struct{ *mergetree.Repository }

// Worktree is a linked or an isolated checkout: what needs files on disk.
type Worktree struct {
	Repo  *Repository
	Path  string // the top of the checkout
	Admin string // its directory below <common dir>/worktrees

	// Inherit is handed to every process that writes here, so that a kernel
	// lock among the files is held until the last of them has ended.
	Inherit []*os.File

	// Identity is what was recorded of the checkout's directory when it was
	// made, if the ledger does not know it any more.
	Identity fsx.Identity
	// TrashedIn is the identity of the directory in the trash that it was moved to;
	// empty: it is not known.
	TrashedIn fsx.Identity

	Settled bool       // what an isolated checkout's agent did is known
	StandIn string     // the git directory that git is given instead of Admin
	Hold    *IndexHold // on its index, by an act that is under way
}

// Run runs git in the checkout.
func (w *Worktree) RunGit(ctx context.Context, c gitcmd.Call) ([]byte, error) {
	c.Inherit = w.Inherit
	d := gitcmd.Target{Repo: w.Repo.Core(), GitDir: w.Admin, Work: w.Path, StandIn: w.StandIn}
	if w.StandIn == "" { // else it is put together in another directory
		d.Identities = w.identities
	}
	return w.Repo.Git.Run(ctx, d, c)
}

// identities are those of the checkout's directory, by the ledger and by the record.
// An import or an older state may leave either behind.
func (w *Worktree) identities() []fsx.Identity {
	var list []fsx.Identity
	for _, id := range []fsx.Identity{w.Made(), w.Identity} {
		if id != "" {
			list = append(list, id)
		}
	}
	return list
}

// Names reports whether the admin directory names dir as the checkout.
func (w *Worktree) Names(dir string) bool {
	b, err := fsx.ReadSmall(filepath.Join(w.Admin, "gitdir"))
	return err == nil && strings.TrimSpace(string(b)) == filepath.ToSlash(filepath.Join(dir, ".git"))
}

// InProgress says by which file git knows what it is in the middle of.
var InProgress = []struct{ File, What string }{
	{"rebase-merge", "rebase"},
	{"rebase-apply", "rebase"},
	{"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"},
	{"BISECT_LOG", "bisect"},
	{"MERGE_HEAD", "merge"},
}

// IsIsolated reports whether the checkout has a git directory of its own.
func (w *Worktree) IsIsolated() bool {
	return w.Repo != nil && filepath.Dir(w.Admin) == w.Repo.IsolatedDir()
}

// PointerFile is the file of a private git directory that says which checkout
// it is.
const PointerFile = "croft"

// isolatedPointer begins the pointer of an isolated checkout.
const isolatedPointer = "admin: "

// PinRef is the ref that keeps what an isolated checkout's agent has, beside
// its branch: what it staged, other branches, what an act is in the middle of.
func (w *Worktree) PinRef() string {
	id := strings.TrimPrefix(filepath.Base(w.Admin), "croft-")
	return path.Join("refs/croft/ws", id, "held")
}

// IsOwnGitDir reports whether what git writes into a git directory stays there:
// nothing in it is a link, or leads to another one.
func IsOwnGitDir(dir string) bool {
	for _, name := range []string{"", "objects", "objects/pack", "refs", "refs/croft", "refs/croft/submodule", "logs"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		real, err := filepath.EvalSymlinks(path)
		_, there := os.Lstat(path)
		if err == nil && real != path || err != nil && there == nil {
			return false
		}
	}
	_, shares := os.Lstat(filepath.Join(dir, "commondir"))
	return fsx.IsThere(filepath.Join(dir, "objects")) && errors.Is(shares, os.ErrNotExist)
}

// submoduleAdmin is the part of an admin directory that a look does not need and
// that may be large: the repositories of submodules.
const submoduleAdmin = "modules"

// CopyAdmin copies what a look needs to a place of Croft's own. What an agent
// may have put there that is no file is left out.
func (r *Repository) CopyAdmin(from, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	dst, err := fsx.OpenOwn(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	src, err := r.OpenDir(from)
	if err == nil {
		defer src.Close()
		err = src.CopyInto(dst, LargestAdmin, func(name string) bool {
			return strings.HasSuffix(name, ".lock") || name == submoduleAdmin
		})
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, fsx.ErrLink) {
		return err
	}
	// What an index notes of files is believed by how old the index is.
	if info, err := os.Lstat(filepath.Join(from, "index")); err == nil && fsx.IsThere(filepath.Join(to, "index")) {
		if err := os.Chtimes(filepath.Join(to, "index"), info.ModTime(), info.ModTime()); err != nil {
			return err
		}
	}
	return dst.WriteFile("commondir", []byte(filepath.ToSlash(r.CommonDir)+"\n"), 0o644)
}
