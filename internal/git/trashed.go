package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Trashed describes a worktree in the trash, which git no longer lists.
type Trashed struct {
	Name  string // of its admin directory, when it had one
	Admin string // the admin directory in the trash; it may be gone
	Tree  string // the checkout in the trash
	Head  string // the commit that was checked out; empty if there was none
}

// TrashedGit is a worktree in the trash that git can read.
type TrashedGit struct {
	*Worktree
	Branch string        // the branch of HEAD; empty when it was detached
	Faults []index.Fault // of the index in the trash, which the copy does not have

	// Unreadable is why the index in the trash cannot be read, or empty. What was staged is
	// not known then.
	Unreadable string

	isOwnAdmin bool // the admin directory is the worktree's own
}

// Close removes the temporary admin directory.
func (p *TrashedGit) Close() error {
	if p.isOwnAdmin {
		return nil
	}
	return os.RemoveAll(p.Admin)
}

// OpenTrashed lets git read a trashed worktree without registering it. The files that git
// needs are copied to an admin directory that git does not list: from the trash the paths
// do not lead to the repository, and the branch may be gone, so HEAD of the copy is
// detached. Its index has no entries that git would not make. The trashed directories are
// not written. It fails with ErrIncomplete if HEAD cannot be read.
func (r *Repository) OpenTrashed(ctx context.Context, s Trashed) (*TrashedGit, error) {
	admin := r.OwnStaging(s.Name + peekSuffix)
	if err := os.RemoveAll(admin); err != nil { // left by a process that was killed
		return nil, err
	}
	p := &TrashedGit{Worktree: r.worktreeOf(worktree.Worktree{Path: s.Tree, Admin: admin})}
	if err := r.CopyAdmin(s.Admin, admin); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	err := p.detachHead(ctx, s.Head)
	if err == nil {
		err = p.leaveOutFaults(ctx)
	}
	if err == nil {
		err = failpoint.Hit("git.peek")
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// WithoutFiles opens what the admin directory alone has; it reads nothing at the
// checkout's path. An agent may have written the admin directory, so its commondir and
// HEAD are not used.
func (w *Worktree) WithoutFiles(head string) (*TrashedGit, error) {
	alone := *w
	alone.Path, alone.IsPulled = "", true
	if w.IsIsolated() || !w.Repo.HasNativeRefs() || head == "" {
		return &TrashedGit{Worktree: &alone, isOwnAdmin: true}, nil
	}
	alone.Admin = w.Repo.OwnStaging(filepath.Base(w.Admin) + peekSuffix)
	p := &TrashedGit{Worktree: &alone}
	err := os.RemoveAll(alone.Admin) // left by a process that was killed
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

// SweepTrashedGits removes the temporary admin directories of killed processes. No process may
// have a trashed worktree open.
func (r *Repository) SweepTrashedGits() error {
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

// detachHead detaches HEAD at the commit, and makes an index from it if there is none, as
// for a checkout that had lost its registration.
func (p *TrashedGit) detachHead(ctx context.Context, head string) error {
	var err error
	if !fsx.IsThere(filepath.Join(p.Admin, "HEAD")) {
		if err := os.WriteFile(filepath.Join(p.Admin, "HEAD"), []byte(head+"\n"), 0o644); err != nil {
			return err
		}
	}
	if p.Branch, _, err = p.Head(ctx); err != nil {
		return fmt.Errorf("HEAD %w: %w", ErrIncomplete, err)
	}
	if head == "" {
		return nil
	}
	if p.Repo.HasNativeRefs() {
		err = os.WriteFile(filepath.Join(p.Admin, "HEAD"), []byte(head+"\n"), 0o644)
	} else {
		_, err = p.RunGit(ctx, gitcmd.Call{Args: []string{"update-ref", "--no-deref", "HEAD", head}, Locks: true})
	}
	if err == nil && !fsx.IsThere(filepath.Join(p.Admin, "index")) {
		_, err = p.RunGit(ctx, gitcmd.Call{Args: []string{"read-tree", head}, Locks: true})
	}
	return err
}

// IgnoredDirs lists the directories in which git ignores everything. It does not list what
// is below an ignored directory.
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
