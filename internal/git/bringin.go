package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
)

// BringIn says what is merged into a worktree.
type BringIn struct {
	Branch   string // that the worktree is on; empty: on none
	Commit   string
	Name     string // of what is merged in, for the message and for conflict markers
	Identity gitcmd.Identity

	// As is what the merge is concluded as one of, if that is not Commit: a
	// commit whose history it shares, with other files.
	As string
	// Marked are files that have conflict markers in Commit already.
	Marked []Marked
}

// Marked is a file with conflict markers, from undoing the commit Undone.
type Marked struct{ Path, Undone string }

// UncleanError says that files of a worktree are in the way of a merge: they were
// staged, changed or made since its work was committed, or are not committed.
type UncleanError struct {
	Files []string
	Err   error
}

func (e *UncleanError) Error() string { return "files are in the way: " + strings.Join(e.Files, ", ") }

// Unwrap returns what git said.
func (e *UncleanError) Unwrap() error { return e.Err }

// HalfMergedError says that a merge failed after git had begun to write files of
// the worktree. They may be those of before, those of the merge, or some of each.
type HalfMergedError struct{ Err error }

func (e *HalfMergedError) Error() string { return "the merge was not finished: " + e.Err.Error() }

// Unwrap returns what failed.
func (e *HalfMergedError) Unwrap() error { return e.Err }

// BringIn merges a commit into the worktree and leaves the result uncommitted,
// with conflict markers where there are conflicts; those paths are returned.
// The worktree must be clean; if it is not, it fails with an *UncleanError. It
// fails with a *BranchError if the worktree is not on the branch. Nothing is
// written then. If it fails later, it does with a *HalfMergedError.
func (w *Worktree) BringIn(ctx context.Context, in BringIn) (conflicted []string, err error) {
	if err := w.RequireBranch(ctx, in.Branch); err != nil {
		return nil, err
	}
	err = w.ChangeHeld(ctx, func(w *Worktree) error {
		conflicted, err = w.bringIn(ctx, in)
		return err
	})
	return conflicted, err
}

// bringIn merges in a worktree whose index is held. Git merges with a copy of the
// index, which is put in its place together with what says that a merge is in
// progress.
func (w *Worktree) bringIn(ctx context.Context, in BringIn) ([]string, error) {
	if err := w.requireHead(ctx, in.Branch); err != nil {
		return nil, err
	}
	head, err := w.headOf(ctx, in.Branch)
	if err != nil {
		return nil, err
	}
	c, err := w.Repo.copyIndex(w.readAdminFile())
	if err != nil {
		return nil, err
	}
	c.admin, c.isLent = w.Hold.Dir, true
	defer c.discard()
	if err := errors.Join(c.copyIndex(), c.standIn(in.Branch, head)); err != nil {
		return nil, err
	}
	conflicted, err := c.merge(ctx, in)
	if _, isUnclean := errors.AsType[*UncleanError](err); isUnclean {
		return nil, err
	}
	if err == nil {
		c.nameSides(in, conflicted)
		err = c.placeMerge()
	}
	if err != nil {
		return nil, &HalfMergedError{err}
	}
	return conflicted, nil
}

// placeMerge says in the git directory that a merge is in progress, and puts the
// index in its place.
func (c *indexCopy) placeMerge() error {
	if err := failpoint.Hit("bringin.merged"); err != nil {
		return err
	}
	if err := c.deliver(); err != nil {
		return err
	}
	if err := failpoint.Hit("bringin.delivered"); err != nil {
		return err
	}
	return c.replaceIndex()
}

// merge has git merge, and returns the paths in conflict.
func (c *indexCopy) merge(ctx context.Context, in BringIn) ([]string, error) {
	now := time.Now()
	_, err := c.runCall(ctx, gitcmd.Call{
		Args: []string{"-c", "merge.conflictStyle=merge", "merge", "--no-commit", "--no-ff", "-m", fmt.Sprintf("Merge %s", in.Name), in.Commit},
		Env:  append(mergetree.IdentityEnv("AUTHOR", object.Signature(in.Identity.Author, now)), mergetree.IdentityEnv("COMMITTER", object.Signature(in.Identity.Committer, now))...),
	})
	if err != nil && gitcmd.ExitCode(err) != 1 {
		return nil, asUnclean(err)
	}
	conflicted, lerr := c.conflictedPaths(ctx)
	if lerr != nil {
		return nil, errors.Join(err, lerr)
	}
	if err != nil && len(conflicted) == 0 {
		return nil, asUnclean(err)
	}
	mergeHead := filepath.Join(cmp.Or(c.stand, c.at.gitDir), "MERGE_HEAD")
	if in.As == "" || !fsx.IsThere(mergeHead) {
		return conflicted, nil
	}
	if err := fsx.ReplaceFile(mergeHead, []byte(in.As+"\n"), 0o644); err != nil {
		return nil, err
	}
	for _, marked := range in.Marked {
		if slices.Contains(conflicted, marked.Path) {
			continue
		}
		if err := c.markConflict(ctx, in.As, marked); err != nil {
			return nil, err
		}
	}
	return c.conflictedPaths(ctx)
}

// asUnclean finds the files that git names when it refuses to merge over them.
func asUnclean(err error) error {
	failed, ok := errors.AsType[*gitcmd.Error](err)
	if !ok || failed.Kind != "" {
		return err
	}
	files := namedFiles(failed.Stderr)
	if len(files) > 0 || failed.ExitCode == refusedToMerge {
		return &UncleanError{Files: files, Err: err}
	}
	return err
}

// refusedToMerge is how git ends if it leaves a merge alone because of what the
// checkout holds.
const refusedToMerge = 2

// conflictedPaths lists the paths in conflict.
func (c *indexCopy) conflictedPaths(ctx context.Context) ([]string, error) {
	out, err := c.runCall(ctx, gitcmd.Call{Args: []string{"diff", "--name-only", "--diff-filter=U", "-z", "--ignore-submodules=all"}})
	return gitdir.SplitNUL(out), err
}

// markConflict says of a path in the index that it is in conflict: what was undone
// comes from one side, what the target has made of it since from the other.
func (c *indexCopy) markConflict(ctx context.Context, target string, marked Marked) error {
	path := marked.Path
	if _, err := os.Lstat(filepath.Join(c.at.work, filepath.FromSlash(path))); errors.Is(err, os.ErrNotExist) {
		return nil // there is nothing to be resolved in it
	}
	var lines strings.Builder
	fmt.Fprintf(&lines, "0 %s\t%s\x00", c.repo.ZeroOID(), path)
	for stage, commit := range []string{marked.Undone, target, marked.Undone + "^"} {
		out, err := c.runCall(ctx, gitcmd.Call{Args: []string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path}})
		if err != nil {
			return err
		}
		if about, _, ok := strings.Cut(string(out), "\t"); ok {
			if f := strings.Fields(about); len(f) == 3 && f[1] == "blob" {
				fmt.Fprintf(&lines, "%s %s %d\t%s\x00", f[0], f[2], stage+1, path)
			}
		}
	}
	_, err := c.runCall(ctx, gitcmd.Call{Args: []string{"update-index", "-z", "--index-info"}, Stdin: lines.String()})
	return err
}
