package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
)

// BranchError says that a checkout is not on the branch that it has to be on, or that
// other checkouts or refs share the branch, so that nothing is committed there.
type BranchError struct {
	Branch    string // that it has to be on; empty: detached
	On        string // that HEAD is on; empty: detached
	Elsewhere string // the git directory of another checkout that has the branch
	Symbolic  string // the target of the branch, if that is a symbolic ref

	// At is the commit that the checkout is at: where it diverged, or where HEAD is not on
	// the branch and has commits that the branch lacks. IsAhead says that the commit also
	// has those of the branch.
	At      string
	IsAhead bool
	// IsDiverged says that an isolated checkout is on the branch, and that the repository's
	// branch of that name has diverged from it.
	IsDiverged bool
	// IsGone says that the repository no longer has a branch of that name.
	IsGone bool
}

func (e *BranchError) Error() string {
	switch {
	case e.Elsewhere != "":
		return fmt.Sprintf("branch %q is checked out in %s too", e.Branch, e.Elsewhere)
	case e.Symbolic != "":
		return fmt.Sprintf("branch %q is a symbolic ref to %s", e.Branch, e.Symbolic)
	case e.IsGone:
		return fmt.Sprintf("branch %q is gone", e.Branch)
	case e.IsDiverged:
		return fmt.Sprintf("branch %q was moved in the repository", e.Branch)
	}
	return fmt.Sprintf("HEAD is on %q, not on %q", e.On, e.Branch)
}

// RequireBranch fails with a *BranchError unless HEAD is on this branch, or detached if
// branch is empty; also if the branch is checked out elsewhere, or is a symbolic ref. It
// writes nothing except by a pull. For an isolated checkout it goes by the agent's own
// HEAD.
func (w *Worktree) RequireBranch(ctx context.Context, branch string) error {
	isPrivate := w.IsIsolated() && !w.IsPulled
	on, err := w.headName(ctx)
	if isPrivate {
		on, err = w.PrivateHeadName()
	}
	if err != nil {
		return err
	}
	if on != headRef(branch) {
		return w.otherBranchError(ctx, branch, on)
	}
	if branch == "" {
		return nil
	}
	if err := w.requirePlain(ctx, branch); err != nil {
		return err
	}
	if _, err := w.Repo.ReadRef(ctx, headRef(branch)); errors.Is(err, refs.ErrNoRef) {
		return &BranchError{Branch: branch, On: branch, IsGone: true}
	} else if err != nil {
		return err
	}
	if used := w.Repo.CheckedOut(branch, w.Admin); len(used) > 0 {
		return &BranchError{Branch: branch, On: branch, Elsewhere: used[0]}
	}
	if !isPrivate {
		return nil
	}
	if err := w.Pull(ctx); err != nil {
		return err
	}
	if on, err = w.headName(ctx); err != nil || on == headRef(branch) {
		return err
	}
	_, at, err := w.Repo.RefSnapshot().Head(w.Admin)
	if err == nil {
		err = &BranchError{Branch: branch, On: branch, IsDiverged: true, At: at}
	}
	return err
}

// otherBranchError says that HEAD is on another branch, and which commits it has there. The
// repository may lack those of an isolated checkout.
func (w *Worktree) otherBranchError(ctx context.Context, branch, on string) error {
	wrong := &BranchError{Branch: branch, On: strings.TrimPrefix(on, "refs/heads/")}
	tip, err := w.Repo.ReadRef(ctx, headRef(branch))
	if branch == "" || err != nil {
		return wrong
	}
	_, at, err := w.PrivateHead(w.Repo.RefSnapshot())
	if err != nil || at == "" {
		return wrong
	}
	if isIn, err := w.Repo.IsAncestor(ctx, at, tip); err == nil && isIn {
		return wrong
	}
	wrong.At = at
	wrong.IsAhead, err = w.Repo.IsAncestor(ctx, tip, at)
	wrong.IsAhead = wrong.IsAhead && err == nil
	return wrong
}

// requireHead is RequireBranch by the admin directory's HEAD, without a look at other
// checkouts.
func (w *Worktree) requireHead(ctx context.Context, branch string) error {
	on, err := w.headName(ctx)
	if err != nil {
		return err
	}
	if on != headRef(branch) {
		return &BranchError{Branch: branch, On: strings.TrimPrefix(on, "refs/heads/")}
	}
	return w.requirePlain(ctx, branch)
}

// requirePlain fails with a *BranchError if a branch is a symbolic ref.
func (w *Worktree) requirePlain(ctx context.Context, branch string) error {
	if branch == "" {
		return nil
	}
	to, err := w.Repo.SymbolicBranch(ctx, branch)
	if err == nil && to != "" {
		err = &BranchError{Branch: branch, On: branch, Symbolic: to}
	}
	return err
}

// headRef returns the ref that HEAD names if a branch is checked out.
func headRef(branch string) string {
	if branch == "" {
		return ""
	}
	return "refs/heads/" + branch
}

// headName returns the full name of the ref that HEAD names in the admin directory, or ""
// if HEAD is detached.
func (w *Worktree) headName(ctx context.Context) (string, error) {
	if !w.Repo.HasNativeRefs() {
		out, err := w.RunGit(ctx, gitcmd.Call{Args: []string{"symbolic-ref", "--quiet", "HEAD"}})
		if gitcmd.ExitCode(err) == 1 {
			return "", nil
		}
		return strings.TrimSpace(string(out)), err
	}
	b, err := gitdir.ReadRefFile(filepath.Join(w.Admin, "HEAD"))
	if err != nil {
		return "", err
	}
	text, ref := gitdir.ParseRefFile(b)
	if ref == "" && !object.IsOID(text) {
		return "", fmt.Errorf("%s: not a HEAD: %.80q", w.Admin, text)
	}
	return ref, nil
}

// move is the update of a branch, or of a detached HEAD if branch is empty.
type move struct{ branch, from, to string }

// moveHead moves the branch that is checked out, or a detached HEAD, and syncs it to disk.
// It names the ref, so no other ref moves even if HEAD has been switched. The index is
// replaced when the branch is locked and verified, just before it moves.
func (w *Worktree) moveHead(ctx context.Context, m move, index *indexCopy) error {
	place := func() error { return errors.Join(index.replaceIndex(), failpoint.Hit("commit.placed")) }
	if m.branch != "" && w.Repo.HasNativeRefs() {
		err := w.Repo.UpdateRefsAfter(ctx, place, refs.Update{Ref: headRef(m.branch), New: m.to, Old: m.from})
		if err == nil {
			w.Repo.LogHead(ctx, index.admin, m.from, m.to)
		}
		return err
	}
	if err := place(); err != nil {
		return err
	}
	ref, dirs := "HEAD", []string{w.Admin}
	if m.branch != "" {
		ref = headRef(m.branch)
		dirs = append(dirs, w.Repo.RefDirs([]refs.Update{{Ref: ref}})...)
	}
	if _, err := w.RunGit(ctx, gitcmd.Call{
		Args: []string{"update-ref", "--no-deref", "-m", "commit: croft", ref, m.to, cmp.Or(m.from, w.Repo.ZeroOID())}, Locks: true,
	}); err != nil {
		return err
	}
	return fsx.SyncAll(dirs...)
}

// headOf returns the commit of a branch, or of HEAD if branch is empty; "" if there is
// none yet.
func (w *Worktree) headOf(ctx context.Context, branch string) (string, error) {
	if branch == "" {
		_, oid, err := w.Head(ctx)
		return oid, err
	}
	oid, err := w.Repo.ReadRef(ctx, "refs/heads/"+branch)
	if errors.Is(err, refs.ErrNoRef) {
		return "", nil
	}
	return oid, err
}
