// Package isolated is the checkout that has a git directory of its own, in which its agent
// works. Refs, index, configuration and hooks in that directory are the agent's alone; its
// objects come from an alternates store that the repository keeps for it.
//
// No git that Croft starts has that directory as its git directory, and Croft trusts
// nothing in it. Git reads and writes its objects directory after Croft has seen that
// only plain files lie there; other files are read through one open root, with limits of
// size and form, and objects reach the repository only as packs that git has checked
// ([Repository.TransferPack]). In the repository the
// checkout has an admin directory like that of a linked worktree, in a place where git
// does not look for worktrees. Two methods synchronise the sides: [Worktree.Pull] copies
// what the agent did into the repository, and [Worktree.Change] carries out an operation
// of Croft's and then copies its result to the agent's git directory. For a linked
// checkout neither has anything to synchronise.
//
// The package owns the state of the last synchronisation (Dir/synced), the pin refs, and
// the alternates stores as far as isolated checkouts use them.
package isolated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Repository is a repository that may have isolated checkouts.
type Repository struct{ *worktree.Repository }

// New returns the repository with its checkouts.
func New(r *mergetree.Repository) *Repository {
	return &Repository{&worktree.Repository{Repository: r}}
}

// Worktree is a checkout that may be isolated.
type Worktree struct {
	worktree.Worktree
	Repo *Repository
}

// WorktreeOf returns w as a checkout of this repository.
func (r *Repository) WorktreeOf(w worktree.Worktree) *Worktree {
	w.Repo = r.Repository
	return &Worktree{Worktree: w, Repo: r}
}

// Pending returns HEAD and every commit that the worktree's own state depends on, HEAD
// first, each once. It leaves out commits that no longer exist.
func (w *Worktree) Pending(ctx context.Context) ([]string, error) {
	w, err := w.LastKnown(ctx)
	if err != nil {
		return nil, err
	}
	_, head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	oids := slices.Concat([]string{head}, w.pinnedTips(ctx), worktree.PendingOIDs(func(name string) ([]byte, error) {
		return worktree.ReadAdmin(w.Admin, name)
	}))
	return w.ExistingCommits(ctx, slices.Concat(oids, w.refsOfAdmin(), w.HeadReflog()))
}

// refsOfAdmin returns what the refs name that only this worktree has: those below refs/worktree,
// refs/bisect and refs/rewritten.
func (w *Worktree) refsOfAdmin() (oids []string) {
	_ = filepath.WalkDir(filepath.Join(w.Admin, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, err := fsx.ReadSmall(path); err == nil {
				oids = append(oids, strings.TrimSpace(string(b)))
			}
		}
		return nil
	})
	return oids
}

// TipsOfAdmin returns the commits that refs of this worktree name which no other has. It needs the admin
// directory only.
func (w *Worktree) TipsOfAdmin(ctx context.Context) ([]string, error) {
	oids := w.refsOfAdmin()
	if len(oids) == 0 {
		return nil, nil
	}
	return w.ExistingCommits(ctx, oids)
}

// LastKnown pulls and returns the worktree. If the agent's git directory cannot be read,
// it returns the worktree as of the last pull: saving work must not wait until that
// directory is repaired. Methods of the worktree that it returns do not pull.
func (w *Worktree) LastKnown(ctx context.Context) (*Worktree, error) {
	if err := w.Pull(ctx); err != nil {
		if _, own := errors.AsType[*PrivateError](err); !own {
			return nil, err
		}
	}
	known := *w
	known.IsPulled = true
	return &known, nil
}

// pinnedTips returns the tips that an isolated checkout has besides its branch, from its pin
// ref.
func (w *Worktree) pinnedTips(ctx context.Context) []string {
	if !w.IsIsolated() {
		return nil
	}
	oid, err := w.Repo.ReadRef(ctx, w.PinRef())
	if err != nil {
		return nil
	}
	c, err := w.Repo.ReadCommit(ctx, oid)
	if err != nil {
		return nil
	}
	return c.Parents
}

// Head returns the branch and the commit that are checked out. The branch is
// empty when HEAD is detached; the commit is empty when the branch has none.
func (w *Worktree) Head(ctx context.Context) (branch, oid string, err error) {
	if err := w.Pull(ctx); err != nil {
		return "", "", err
	}
	if w.Repo.HasNativeRefs() {
		return w.Repo.RefSnapshot().Head(w.Admin)
	}
	return w.Repo.HeadByGit(ctx, w.Admin)
}

// Index reads the index of the worktree. An index in a form that only git reads is copied,
// and git rewrites the copy. One that git cannot read either is read as that of HEAD, with
// a fault.
func (w *Worktree) Index(ctx context.Context) (*index.Index, error) {
	w, err := w.LastKnown(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(w.Admin, "index")
	x, err := w.ReadIndex(path)
	if errors.Is(err, os.ErrNotExist) {
		return &index.Index{}, nil
	}
	if !errors.Is(err, index.ErrUnreadable) {
		return x, err
	}
	x, err = w.ExpandIndex(ctx)
	if errors.Is(err, gitcmd.KindIndex) || errors.Is(err, index.ErrUnreadable) {
		return w.headIndex(ctx, err)
	}
	return x, err
}

// headIndex returns the index that HEAD would have, for one that cannot be read.
func (w *Worktree) headIndex(ctx context.Context, why error) (*index.Index, error) {
	_, head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	var files []object.TreeEntry
	if head != "" {
		if files, err = w.Repo.ReadTree(ctx, head+"^{tree}"); err != nil {
			return nil, err
		}
	}
	return index.OfTree(files, fmt.Sprintf("the index cannot be read: %v", why)), nil
}

// PrivateHeadName returns the ref that HEAD names in the agent's git directory, or "" if
// HEAD is detached.
func (w *Worktree) PrivateHeadName() (string, error) {
	p, err := w.openPrivate()
	if err != nil {
		return "", err
	}
	defer p.close()
	b, err := p.read("HEAD")
	if err != nil {
		return "", p.wrongError("HEAD cannot be read")
	}
	_, ref := gitdir.ParseRefFile(b)
	return ref, nil
}
