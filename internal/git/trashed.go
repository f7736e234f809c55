package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Trashed names a worktree that was moved away whole and that git does not know
// any more.
type Trashed struct {
	Name  string // of its admin directory, while it had one
	Admin string // where that was moved to; it may be gone
	Tree  string // where the checkout was moved to
	Head  string // the commit that it had checked out; empty if there was none
}

// TrashedGit is a look at a stowed worktree.
type TrashedGit struct {
	*Worktree
	Branch string // what HEAD said, without refs/heads/; empty when it was detached

	isBorrowed bool // its admin directory is the worktree's own
}

// Close ends the look.
func (p *TrashedGit) Close() error {
	if p.isBorrowed {
		return nil
	}
	return os.RemoveAll(p.Admin)
}

// OpenTrashed lets git look at a stowed worktree without registering it. What git
// needs of the admin directory is copied to a place that git does not list:
// where it lies now, it does not lead to the repository, and the branch that it
// names may be gone, so the copy has the commit checked out by itself. The
// stowed directories are not written.
func (r *Repository) OpenTrashed(ctx context.Context, s Trashed) (*TrashedGit, error) {
	admin := r.OwnStaging(s.Name + peekSuffix)
	if err := os.RemoveAll(admin); err != nil { // of a look that was killed
		return nil, err
	}
	p := &TrashedGit{Worktree: r.worktreeOf(worktree.Worktree{Path: s.Tree, Admin: admin})}
	if err := r.CopyAdmin(s.Admin, admin); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	err := p.settleHead(ctx, s.Head)
	if err == nil {
		err = failpoint.Hit("git.peek")
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// WithoutFiles is a look at what the admin directory alone knows: nothing is
// looked for at the checkout's path. An agent can have written the admin
// directory of a worktree, so what says there which repository it belongs to, and
// which commit is checked out, does not count.
func (w *Worktree) WithoutFiles(head string) (*TrashedGit, error) {
	alone := *w
	alone.Path, alone.Settled = "", true
	if w.IsIsolated() || !w.Repo.NativeRefs() || head == "" {
		return &TrashedGit{Worktree: &alone, isBorrowed: true}, nil
	}
	alone.Admin = w.Repo.OwnStaging(filepath.Base(w.Admin) + peekSuffix)
	p := &TrashedGit{Worktree: &alone}
	err := os.RemoveAll(alone.Admin) // of a look that was killed
	if err == nil {
		err = w.Repo.CopyAdmin(w.Admin, alone.Admin)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(alone.Admin, "HEAD"), []byte(head+"\n"), 0o644)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// SweepPeeks removes what is left of looks that were killed. Nobody may be
// looking.
func (r *Repository) SweepPeeks() error {
	entries, err := os.ReadDir(r.OwnStaging(""))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), peekSuffix) {
			err = errors.Join(err, os.RemoveAll(r.OwnStaging(entry.Name())))
		}
	}
	return err
}

const peekSuffix = ".peek"

// settleHead puts HEAD on the commit, and makes an index where there is none: that
// of a checkout which had lost its registration.
func (p *TrashedGit) settleHead(ctx context.Context, head string) error {
	var err error
	if !fsx.IsThere(filepath.Join(p.Admin, "HEAD")) {
		if err := os.WriteFile(filepath.Join(p.Admin, "HEAD"), []byte(head+"\n"), 0o644); err != nil {
			return err
		}
	}
	if p.Branch, _, err = p.Head(ctx); err != nil {
		return err
	}
	if head == "" {
		return nil
	}
	if p.Repo.NativeRefs() {
		err = os.WriteFile(filepath.Join(p.Admin, "HEAD"), []byte(head+"\n"), 0o644)
	} else {
		_, err = p.RunGit(ctx, gitcmd.Call{Args: []string{"update-ref", "--no-deref", "HEAD", head}, Locks: true})
	}
	if err == nil && !fsx.IsThere(filepath.Join(p.Admin, "index")) {
		_, err = p.RunGit(ctx, gitcmd.Call{Args: []string{"read-tree", head}, Locks: true})
	}
	return err
}

// IgnoredDirs lists the directories in which git ignores everything. What lies
// below a directory that is ignored as such is not listed.
func (w *Worktree) IgnoredDirs(ctx context.Context) ([]string, error) {
	out, err := w.RunGit(ctx, gitcmd.Call{Args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}})
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, path := range gitdir.SplitNUL(out) {
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
