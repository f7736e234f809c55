// Package isolated is the checkout with a git directory of its own inside, where its
// agent works: refs, index, configuration and hooks there are the agent's alone, and
// its objects are borrowed from a store that the repository keeps for it.
//
// Croft runs no git in that directory and believes nothing in it: files there are read
// through one open root, by size and form, and objects reach the repository only as
// packs that git has checked ([Repository.TransferPack]). In the repository the
// checkout has an admin directory like a linked worktree's, in a place where git does
// not look for worktrees. What the two sides know of each other goes through
// [Worktree.Pull], which brings what the agent did, and [Worktree.Change], which
// carries out an act of Croft's and then shows it to the agent. For a linked checkout
// both do nothing of their own.
//
// It owns the state of the last exchange (Dir/synced), the held refs, and the stores
// as far as an isolated checkout borrows from them.
package isolated

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Repository is a repository that may have isolated checkouts.
type Repository struct{ *worktree.Repository }

// New returns the checkouts of a repository.
func New(r *mergetree.Repository) *Repository {
	return &Repository{&worktree.Repository{Repository: r}}
}

// Worktree is a checkout that may be isolated.
type Worktree struct {
	worktree.Worktree
	Repo *Repository
}

// WorktreeOf is a checkout of the repository.
func (r *Repository) WorktreeOf(w worktree.Worktree) *Worktree {
	w.Repo = r.Repository
	return &Worktree{Worktree: w, Repo: r}
}

// Pending returns HEAD and every commit that the worktree's own state depends
// on, HEAD first, each once. Commits that are gone already are left out.
func (w *Worktree) Pending(ctx context.Context) ([]string, error) {
	var oids []string
	w, err := w.LastKnown(ctx)
	if err != nil {
		return nil, err
	}
	_, head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	oids = append(append(oids, head), w.heldTips(ctx)...)
	for _, name := range worktree.PendingFiles {
		b, err := worktree.ReadAdmin(w.Admin, name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			oid, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			oids = append(oids, oid)
		}
	}
	_ = filepath.WalkDir(filepath.Join(w.Admin, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, err := fsx.ReadSmall(path); err == nil {
				oids = append(oids, strings.TrimSpace(string(b)))
			}
		}
		return nil
	})
	return w.ExistingCommits(ctx, append(oids, w.HeadReflog()...))
}

// LastKnown is the worktree after a harvest, or as it was known before if an
// agent's git directory cannot be read from: what saves work does not wait for
// somebody to mend that. Nothing is harvested through it.
func (w *Worktree) LastKnown(ctx context.Context) (*Worktree, error) {
	if err := w.Pull(ctx); err != nil {
		if _, own := errors.AsType[*PrivateError](err); !own {
			return nil, err
		}
	}
	known := *w
	known.Settled = true
	return &known, nil
}

// heldTips are the tips that an isolated checkout has beside its branch.
func (w *Worktree) heldTips(ctx context.Context) []string {
	if !w.IsIsolated() {
		return nil
	}
	oid, err := w.Repo.ReadRef(ctx, w.HeldRef())
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
	if w.Repo.NativeRefs() {
		return w.Repo.RefSnapshot().Head(w.Admin)
	}
	return w.Repo.HeadOf(ctx, w.Admin)
}

// Index reads what the worktree has staged. The file is read here; one of a
// form that only git can read is rewritten by it, as a copy.
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
	dir, remove, err := w.Repo.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	plain, err := worktree.CopyIndex(w.Admin, dir)
	if err != nil {
		return nil, err
	}
	if _, err := w.RunGit(ctx, gitcmd.Call{
		Args:   []string{"update-index", "--no-split-index", "--index-version", "2", "--force-write-index"},
		Config: [][2]string{{"index.sparse", "false"}}, Env: []string{"GIT_INDEX_FILE=" + plain}, Locks: true,
	}); err != nil {
		return nil, err
	}
	if x, err = w.ReadIndex(plain); err != nil {
		return nil, err
	}
	x.Written = info.ModTime() // what the copy says of files is as old as the index itself
	return x, nil
}

// PrivateHeadName is the ref that HEAD names in the agent's own git directory, or
// empty if it names a commit.
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
