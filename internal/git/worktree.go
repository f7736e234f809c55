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
)

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
	// TrashedIn is the identity of the directory that it is stowed in; empty: it
	// is not known.
	TrashedIn fsx.Identity

	settled bool       // what an isolated checkout's agent did is known
	stand   string     // the git directory that git is given instead of Admin
	index   *indexHold // on its index, by an act that is under way
}

// Linked returns a linked worktree by the name of its admin directory.
func (r *Repository) Linked(admin, path string) *Worktree {
	return &Worktree{Repo: r, Path: path, Admin: filepath.Join(r.CommonDir, "worktrees", admin)}
}

func (w *Worktree) run(ctx context.Context, c call) ([]byte, error) {
	c.inherit = w.Inherit
	d := door{repo: w.Repo, gitDir: w.Admin, work: w.Path, stand: w.stand}
	if w.stand == "" { // else it is put together in another directory
		d.made = w.identities
	}
	return w.Repo.git.run(ctx, d, c)
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

// Elsewhere returns the worktree as it is being put together in another directory:
// a git that runs there has the index in stand, the settings of the worktree, and
// no way to the worktree's own files.
func (w *Worktree) Elsewhere(stand, path string) (*Worktree, error) {
	dir, err := fsx.OpenOwn(stand)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := dir.WriteFile("commondir", []byte(w.Repo.CommonDir+"\n"), 0o600); err != nil {
		return nil, err
	}
	other := *w
	other.stand, other.Path = stand, path
	return &other, nil
}

// Checkout writes the files of HEAD and the index. What was there before is
// overwritten: it is meant for a checkout that is being made. More than one
// worker writes files in parallel.
func (w *Worktree) Checkout(ctx context.Context, workers int) error {
	return w.Change(ctx, func(w *Worktree) error {
		_, err := w.run(ctx, call{
			args:   []string{"reset", "--hard", "--quiet", "--no-recurse-submodules"},
			config: [][2]string{{"checkout.workers", strconv.Itoa(workers)}},
			locks:  true, network: true,
		})
		return err
	})
}

// Untracked says which untracked files a status looks for.
type Untracked string

// The ways to look for untracked files.
const (
	UntrackedNormal Untracked = "normal" // directories as one entry
	UntrackedAll    Untracked = "all"
	UntrackedNone   Untracked = "no"
)

// Status lists what differs from HEAD. With refresh, git writes back what it
// learned about unchanged files, so that the next status is cheap.
func (w *Worktree) Status(ctx context.Context, untracked Untracked, refresh Refresh) iter.Seq2[StatusEntry, error] {
	return func(yield func(StatusEntry, error) bool) {
		err := w.Pull(ctx)
		var entries []StatusEntry
		if err == nil {
			entries, err = w.Repo.status(ctx, checkoutAt{w.Admin, w.Path, w.Inherit}, untracked, refresh)
		}
		if err != nil {
			yield(StatusEntry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Refresh says whether a status may write the index.
type Refresh string

// The choices.
const (
	RefreshNothing Refresh = ""
	RefreshIndex   Refresh = "index"
)

// SkipWorktree sets or clears the bit that hides a tracked file's changes in
// this worktree alone.
func (w *Worktree) SkipWorktree(ctx context.Context, on bool, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	flag := "--no-skip-worktree"
	if on {
		flag = "--skip-worktree"
	}
	return w.Change(ctx, func(w *Worktree) error {
		_, err := w.run(ctx, call{
			args: []string{"update-index", flag, "-z", "--stdin"}, stdin: strings.Join(paths, "\x00") + "\x00", locks: true,
		})
		return err
	})
}

// Tracked returns those of the paths that the index holds.
func (w *Worktree) Tracked(ctx context.Context, paths ...string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := w.run(ctx, call{
		args: append([]string{"ls-files", "-z", "--"}, paths...), env: []string{"GIT_LITERAL_PATHSPECS=1"},
	})
	if err != nil {
		return nil, err
	}
	return splitNUL(out), nil
}

// Modified returns those of the tracked paths whose files differ from the
// index.
func (w *Worktree) Modified(ctx context.Context, paths ...string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := w.run(ctx, call{
		args: append([]string{"diff", "--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "-z", "--"}, paths...), env: []string{"GIT_LITERAL_PATHSPECS=1"},
	})
	if err != nil {
		return nil, err
	}
	return splitNUL(out), nil
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
	return w.writeAdmin("locked", reason+"\n")
}

// ClearLock takes the lock away.
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

// Registered reports whether git knows the worktree and both sides point at
// each other.
func (w *Worktree) Registered() bool {
	return w.Owns(w.Path) && w.names(w.Path)
}

// names reports whether the admin directory names dir as the checkout.
func (w *Worktree) names(dir string) bool {
	b, err := fsx.ReadSmall(filepath.Join(w.Admin, "gitdir"))
	return err == nil && strings.TrimSpace(string(b)) == filepath.ToSlash(filepath.Join(dir, ".git"))
}

// Owns reports whether what is called .git in dir names this worktree.
func (w *Worktree) Owns(dir string) bool {
	if w.IsIsolated() {
		return w.ownsIsolated(dir)
	}
	admin, err := readGitFile(filepath.Join(dir, ".git"))
	return err == nil && admin == w.Admin
}

// Half says which halves of a worktree's registration are there.
type Half struct {
	Path     bool // anything is at the path
	Checkout bool // the checkout names the admin directory
	Admin    bool // and the admin directory names the checkout
}

// Halves looks at both halves of the registration, by reading two files.
func (w *Worktree) Halves() Half {
	if w.Owns(w.Path) {
		return Half{Path: true, Checkout: true, Admin: w.names(w.Path)}
	}
	_, err := os.Lstat(w.Path)
	return Half{Path: err == nil}
}

// Registered lists the worktrees whose admin directories begin with a prefix,
// by reading files only.
func (r *Repository) Registered(prefix string) ([]*Worktree, error) {
	var list []*Worktree
	for _, dir := range []string{filepath.Join(r.CommonDir, "worktrees"), r.isolatedDir()} {
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
			list = append(list, &Worktree{Repo: r, Path: path, Admin: filepath.Join(dir, e.Name())})
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
	admins, err := os.ReadDir(r.commonPath("worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", fsx.ErrNotPlain, err)
	}
	for _, a := range admins {
		dir := filepath.Join(r.commonPath("worktrees"), a.Name())
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
		if e.LockReason, e.Locked, err = (&Worktree{Admin: dir}).LockReason(); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list[1:], func(a, b WorktreeEntry) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// describe says what a git directory has checked out. What cannot be read is
// left empty.
func (r *Repository) describe(ctx context.Context, e *WorktreeEntry, gitDir string) error {
	if e.Bare {
		return nil
	}
	if r.NativeRefs() {
		e.Branch, e.Head, _ = r.RefSnapshot().Head(gitDir)
	} else {
		e.Branch, e.Head, _ = r.HeadOf(ctx, gitDir)
	}
	return ctx.Err()
}

func splitNUL(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// Main returns the main checkout.
func (r *Repository) Main() *Worktree {
	return &Worktree{Repo: r, Path: r.Root, Admin: r.CommonDir}
}
