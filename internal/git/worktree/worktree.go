// Package worktree is a checkout as git knows it: its admin directory, its index and the
// lock on it. Its files, and the operations on it, are in the packages above.
//
// A path alone does not identify a checkout: the directory that was made has its identity
// in a ledger of Croft's own (place.go), directories that an agent can write are opened
// once and then used by handle, and an index is changed only by a process that holds git's
// own lock on it (indexhold.go).
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

// Repository is a repository with checkouts.
type Repository struct{ *mergetree.Repository }

// Worktree is a linked or an isolated checkout.
type Worktree struct {
	Repo  *Repository
	Path  string // the top of the checkout
	Admin string // its directory below <common dir>/worktrees

	// Inherit is passed to every process that writes here, so that a kernel lock on one of
	// these files is held until the last process has ended.
	Inherit []*os.File

	// Identity is the identity in the workspace's record, for a checkout that is no longer
	// in the ledger.
	Identity fsx.Identity
	// TrashedIn is the identity of the directory in the trash that it was moved to; empty:
	// not known.
	TrashedIn fsx.Identity

	IsPulled   bool       // an isolated checkout is not pulled again
	TempGitDir string     // the git directory that git is given instead of Admin
	Hold       *IndexHold // the lock on its index, while an operation holds it
}

// RunGit runs git in the checkout.
func (w *Worktree) RunGit(ctx context.Context, c gitcmd.Call) ([]byte, error) {
	c.Inherit = w.Inherit
	d := gitcmd.Target{Repo: w.Repo.Core(), GitDir: w.Admin, Work: w.Path, TempGitDir: w.TempGitDir}
	if w.TempGitDir == "" { // otherwise the checkout is being made in another directory
		d.Identities = w.identities
	}
	return w.Repo.Git.Run(ctx, d, c)
}

// identities returns the identities of the checkout's directory in the ledger and in the
// record. After an import or with an older state, either may be outdated.
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

// InProgress has the files by which git knows an operation in progress.
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

// PointerFile is the file of an isolated checkout's git directory that says which checkout
// it belongs to.
const PointerFile = "croft"

// isolatedPointer is the prefix of its content.
const isolatedPointer = "admin: "

// PinRef is the ref that keeps what the agent of an isolated checkout has besides its
// branch: staged files, other branches, commits of an operation in progress.
func (w *Worktree) PinRef() string {
	id := strings.TrimPrefix(filepath.Base(w.Admin), "croft-")
	return path.Join("refs/croft/ws", id, "held")
}

// IsOwnGitDir reports whether what Croft's git writes to a git directory stays there: the
// directory has objects and no file commondir, and neither it nor objects, objects/pack,
// refs, refs/croft, refs/croft/submodule or logs leads through a symbolic link. Other
// entries are not examined.
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

// submoduleAdmin is the part of an admin directory that CopyAdmin leaves out because it
// may be large: the git directories of submodules.
const submoduleAdmin = "modules"

// CopyAdmin copies the regular files of an admin directory to a directory of Croft's own,
// so that git can read a worktree there.
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
	// Git trusts cached stat data by the index's mtime, so keep it.
	if info, err := os.Lstat(filepath.Join(from, "index")); err == nil && fsx.IsThere(filepath.Join(to, "index")) {
		if err := os.Chtimes(filepath.Join(to, "index"), info.ModTime(), info.ModTime()); err != nil {
			return err
		}
	}
	return dst.WriteFile("commondir", []byte(filepath.ToSlash(r.CommonDir)+"\n"), 0o644)
}
