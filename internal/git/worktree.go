package git

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Worktree is a linked or an isolated checkout, with the operations that write files.
type Worktree struct {
	isolated.Worktree
	Repo *Repository
}

// with returns w as a checkout of this repository.
func (r *Repository) with(w *isolated.Worktree) *Worktree { return &Worktree{Worktree: *w, Repo: r} }

func (r *Repository) worktreeOf(w worktree.Worktree) *Worktree { return r.with(r.WorktreeOf(w)) }

// OfAdmin returns a checkout of which only the admin directory is known, in the repository
// or in the trash. Only its lock can be read and cleared.
func OfAdmin(dir string) *Worktree {
	return &Worktree{Worktree: isolated.Worktree{Worktree: worktree.Worktree{Admin: dir}}}
}

// Isolated returns an isolated worktree by the name of its admin directory.
func (r *Repository) Isolated(admin, path string) *Worktree {
	return r.with(r.Repository.Isolated(admin, path))
}

// Change calls act, which may change the checkout, as [isolated.Worktree.Change] does.
func (w *Worktree) Change(ctx context.Context, act func(*Worktree) error) error {
	return w.Worktree.Change(ctx, func(i *isolated.Worktree) error { return act(w.Repo.with(i)) })
}

// ChangeHeld is Change with the checkout's index locked.
func (w *Worktree) ChangeHeld(ctx context.Context, act func(*Worktree) error) error {
	return w.Worktree.ChangeHeld(ctx, func(i *isolated.Worktree) error { return act(w.Repo.with(i)) })
}

// LastKnown is [isolated.Worktree.LastKnown].
func (w *Worktree) LastKnown(ctx context.Context) (*Worktree, error) {
	known, err := w.Worktree.LastKnown(ctx)
	if err != nil {
		return nil, err
	}
	return w.Repo.with(known), nil
}

// Linked returns a linked worktree by the name of its admin directory.
func (r *Repository) Linked(admin, path string) *Worktree {
	return r.worktreeOf(worktree.Worktree{Path: path, Admin: filepath.Join(r.CommonDir, "worktrees", admin)})
}

// InDirectory returns the worktree while it is made in another directory: git there uses the
// index in stand and the settings of the worktree, and cannot reach the worktree's own
// files.
func (w *Worktree) InDirectory(stand, path string) (*Worktree, error) {
	dir, err := fsx.OpenOwn(stand)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := dir.WriteFile("commondir", []byte(w.Repo.CommonDir+"\n"), 0o600); err != nil {
		return nil, err
	}
	other := *w
	other.TempGitDir, other.Path = stand, path
	return &other, nil
}

// Checkout writes the files of HEAD and the index, and overwrites existing files: it is
// for a checkout that is being made. More than one worker writes files in parallel.
func (w *Worktree) Checkout(ctx context.Context, workers int) error {
	return w.Change(ctx, func(w *Worktree) error {
		_, err := w.RunGit(ctx, gitcmd.Call{
			Args:   []string{"reset", "--hard", "--quiet", "--no-recurse-submodules"},
			Config: [][2]string{{"checkout.workers", strconv.Itoa(workers)}},
			Locks:  true, Network: true,
		})
		return err
	})
}

// Untracked says which untracked files a status looks for.
type Untracked string

// The untracked files that a status lists.
const (
	UntrackedNormal Untracked = "normal" // a directory as one entry
	UntrackedAll    Untracked = "all"
	UntrackedNone   Untracked = "no"
)

// Status lists the differences from HEAD. With refresh, git writes the stat data of
// unchanged files to the index, so that the next status is cheap. Without, git is started only
// where [Statuses] does not prove that there are none.
func (w *Worktree) Status(ctx context.Context, untracked Untracked, refresh Refresh) iter.Seq2[odb.StatusEntry, error] {
	return func(yield func(odb.StatusEntry, error) bool) {
		entries, err := w.listChanges(ctx, untracked, refresh)
		if err != nil {
			yield(odb.StatusEntry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (w *Worktree) listChanges(ctx context.Context, untracked Untracked, refresh Refresh) ([]odb.StatusEntry, error) {
	if refresh == RefreshNothing {
		s := w.Repo.Statuses(ctx)
		defer s.Close()
		return s.Of(ctx, w, untracked)
	}
	if err := w.Pull(ctx); err != nil {
		return nil, err
	}
	return w.Repo.status(ctx, checkoutAt{w.Admin, w.Path, w.Inherit}, untracked, refresh)
}

// Refresh says whether a status may write the index.
type Refresh string

// Whether a status writes the index.
const (
	RefreshNothing Refresh = ""
	RefreshIndex   Refresh = "index"
)

// SkipWorktree sets or clears the skip-worktree bit of paths, which hides changes of a
// tracked file in this worktree alone.
func (w *Worktree) SkipWorktree(ctx context.Context, on bool, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	flag := "--no-skip-worktree"
	if on {
		flag = "--skip-worktree"
	}
	return w.Change(ctx, func(w *Worktree) error {
		_, err := w.RunGit(ctx, gitcmd.Call{
			Args: []string{"update-index", flag, "-z", "--stdin"}, Stdin: strings.Join(paths, "\x00") + "\x00", Locks: true,
		})
		return err
	})
}

// Tracked returns those of the paths that are in the index.
func (w *Worktree) Tracked(ctx context.Context, paths ...string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := w.RunGit(ctx, gitcmd.Call{
		Args: append([]string{"ls-files", "-z", "--"}, paths...), Env: []string{"GIT_LITERAL_PATHSPECS=1"},
	})
	if err != nil {
		return nil, err
	}
	return gitdir.SplitNUL(out), nil
}

// Modified returns those of the tracked paths whose files differ from the
// index.
func (w *Worktree) Modified(ctx context.Context, paths ...string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := w.RunGit(ctx, gitcmd.Call{
		Args: append([]string{"diff", "--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "-z", "--"}, paths...), Env: []string{"GIT_LITERAL_PATHSPECS=1"},
	})
	if err != nil {
		return nil, err
	}
	return gitdir.SplitNUL(out), nil
}

// LockReason returns the reason of the worktree's lock and whether there is
// one.
func (w *Worktree) LockReason() (string, bool, error) {
	b, err := fsx.ReadSmall(filepath.Join(w.Admin, "locked"))
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	return strings.TrimSpace(string(b)), err == nil, err
}

// SetLock locks the worktree against pruning and removal by git, or replaces
// the reason.
func (w *Worktree) SetLock(reason string) error {
	return w.WriteAdmin("locked", reason+"\n")
}

// ClearLock unlocks the worktree.
func (w *Worktree) ClearLock() error {
	admin, err := w.OpenAdmin()
	if err == nil {
		defer admin.Close()
		err = admin.Remove("locked")
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// IsRegistered reports whether admin directory and checkout name each other.
func (w *Worktree) IsRegistered() bool {
	return w.Owns(w.Path) && w.Names(w.Path)
}

// Owns reports whether the .git in dir names this worktree.
func (w *Worktree) Owns(dir string) bool {
	if w.IsIsolated() {
		return w.OwnsIsolated(dir)
	}
	admin, err := gitdir.ReadGitFile(filepath.Join(dir, ".git"))
	return err == nil && admin == w.Admin
}

// Half says which halves of a worktree's registration exist.
type Half struct {
	Path     bool // something is at the path
	Checkout bool // the checkout names the admin directory
	Admin    bool // the admin directory names the checkout
}

// Halves checks both halves of the registration, by reading two files.
func (w *Worktree) Halves() Half {
	if w.Owns(w.Path) {
		return Half{Path: true, Checkout: true, Admin: w.Names(w.Path)}
	}
	_, err := os.Lstat(w.Path)
	return Half{Path: err == nil}
}

// Registered lists the worktrees whose admin directories begin with prefix, by reading
// files only.
func (r *Repository) Registered(prefix string) ([]*Worktree, error) {
	var list []*Worktree
	for _, dir := range []string{filepath.Join(r.CommonDir, "worktrees"), r.IsolatedDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return list, err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), prefix) {
				continue
			}
			b, err := fsx.ReadSmall(filepath.Join(dir, e.Name(), "gitdir"))
			if err != nil {
				continue
			}
			path := filepath.Dir(strings.TrimSpace(string(b)))
			list = append(list, r.worktreeOf(worktree.Worktree{Path: path, Admin: filepath.Join(dir, e.Name())}))
		}
	}
	return list, nil
}

// WorktreeEntry is one worktree as git has it registered.
type WorktreeEntry struct {
	Path       string
	Head       string
	Branch     string // without refs/heads/; empty when HEAD is detached
	Bare       bool
	Locked     bool
	LockReason string
}

// List lists the registered worktrees, the main one first, the others by their
// paths.
func (r *Repository) List(ctx context.Context) ([]WorktreeEntry, error) {
	list := []WorktreeEntry{{Path: r.Root, Bare: r.Bare}}
	if err := r.describe(ctx, &list[0], r.CommonDir); err != nil {
		return nil, err
	}
	admins, err := os.ReadDir(r.CommonPath("worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", fsx.ErrNotPlain, err)
	}
	for _, a := range admins {
		dir := filepath.Join(r.CommonPath("worktrees"), a.Name())
		b, err := fsx.ReadSmall(filepath.Join(dir, "gitdir"))
		if err != nil {
			continue // git does not list it either
		}
		path := filepath.FromSlash(strings.TrimSuffix(strings.TrimSpace(string(b)), "/.git"))
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		e := WorktreeEntry{Path: path}
		if err := r.describe(ctx, &e, dir); err != nil {
			return nil, err
		}
		if e.LockReason, e.Locked, err = OfAdmin(dir).LockReason(); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list[1:], func(a, b WorktreeEntry) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// describe fills in what a git directory has checked out. What cannot be read is left
// empty.
func (r *Repository) describe(ctx context.Context, e *WorktreeEntry, gitDir string) error {
	if e.Bare {
		return nil
	}
	if r.HasNativeRefs() {
		e.Branch, e.Head, _ = r.RefSnapshot().Head(gitDir)
	} else {
		e.Branch, e.Head, _ = r.HeadByGit(ctx, gitDir)
	}
	return ctx.Err()
}

// Main returns the main checkout.
func (r *Repository) Main() *Worktree {
	return r.worktreeOf(worktree.Worktree{Path: r.Root, Admin: r.CommonDir})
}
