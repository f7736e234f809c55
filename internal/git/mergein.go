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

// MergeSpec describes a merge into a worktree.
type MergeSpec struct {
	Branch   string // that the worktree is on; empty: detached
	Commit   string
	Name     string // of the merged commit, for the message and for conflict markers
	Identity gitcmd.Identity

	// As is written to MERGE_HEAD if it is not Commit: a commit whose history the merge
	// shares, with other files.
	As string
	// Marked are files that have conflict markers in Commit already.
	Marked []MarkedFile
}

// MarkedFile is a file with conflict markers, from reverting the commit Undone.
type MarkedFile struct{ Path, Undone string }

// UncleanError says that files of a worktree prevent a merge: they were staged, changed or
// created since its work was committed, or are not committed.
type UncleanError struct {
	Files []string
	Err   error
}

func (e *UncleanError) Error() string { return "files are in the way: " + strings.Join(e.Files, ", ") }

// Unwrap returns git's error.
func (e *UncleanError) Unwrap() error { return e.Err }

// HalfMergedError says that a merge failed after git had begun to write files of the
// worktree. Each may have its content from before or from the merge.
type HalfMergedError struct{ Err error }

func (e *HalfMergedError) Error() string { return "the merge was not finished: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *HalfMergedError) Unwrap() error { return e.Err }

// MergeIn merges a commit into the worktree and leaves the result uncommitted, with
// conflict markers where there are conflicts; it returns the paths in conflict. It fails
// with an *UncleanError if the worktree is not clean, and with a *BranchError if it is not
// on the branch; nothing is written then. Later failures are a *HalfMergedError.
func (w *Worktree) MergeIn(ctx context.Context, in MergeSpec) (conflicted []string, err error) {
	if err := w.RequireBranch(ctx, in.Branch); err != nil {
		return nil, err
	}
	err = w.ChangeHeld(ctx, func(w *Worktree) error {
		conflicted, err = w.mergeIn(ctx, in)
		return err
	})
	return conflicted, err
}

// mergeIn merges in a worktree whose index is locked. Git merges with a copy of the index,
// which replaces the index together with the files of a merge in progress.
func (w *Worktree) mergeIn(ctx context.Context, in MergeSpec) ([]string, error) {
	if err := w.requireHead(ctx, in.Branch); err != nil {
		return nil, err
	}
	head, err := w.headOf(ctx, in.Branch)
	if err != nil {
		return nil, err
	}
	c, err := w.Repo.copyIndex(w.location())
	if err != nil {
		return nil, err
	}
	c.admin, c.isAdminShared = w.Hold.Dir, true
	defer c.discard()
	if err := errors.Join(c.copyIndex(), c.makeTempGitDir(in.Branch, head)); err != nil {
		return nil, err
	}
	conflicted, err := c.merge(ctx, in)
	if _, isUnclean := errors.AsType[*UncleanError](err); isUnclean {
		return nil, err
	}
	if err == nil {
		c.nameBranches(in, conflicted)
		err = c.placeMerge()
	}
	if err != nil {
		return nil, &HalfMergedError{err}
	}
	return conflicted, nil
}

// placeMerge writes the files of a merge in progress to the git directory, and replaces
// the index.
func (c *indexCopy) placeMerge() error {
	if err := failpoint.Hit("bringin.merged"); err != nil {
		return err
	}
	if err := c.copyProgress(); err != nil {
		return err
	}
	if err := failpoint.Hit("bringin.delivered"); err != nil {
		return err
	}
	return c.replaceIndex()
}

// merge runs git merge, and returns the paths in conflict. If in.As is set, it writes that to
// MERGE_HEAD and marks the files of in.Marked as conflicts.
func (c *indexCopy) merge(ctx context.Context, in MergeSpec) ([]string, error) {
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
	mergeHead := filepath.Join(cmp.Or(c.tempGitDir, c.at.gitDir), "MERGE_HEAD")
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

// asUnclean turns git's refusal to overwrite files into an *UncleanError with their paths.
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

// refusedToMerge is git's exit status if it refuses a merge because of the files of the
// checkout.
const refusedToMerge = 2

// conflictedPaths lists the paths in conflict.
func (c *indexCopy) conflictedPaths(ctx context.Context) ([]string, error) {
	out, err := c.runCall(ctx, gitcmd.Call{Args: []string{"diff", "--name-only", "--diff-filter=U", "-z", "--ignore-submodules=all"}})
	return gitdir.SplitNUL(out), err
}

// markConflict gives a path the stages of a conflict in the index: base is the undone
// commit, ours the target, theirs the parent of the undone commit.
func (c *indexCopy) markConflict(ctx context.Context, target string, marked MarkedFile) error {
	path := marked.Path
	if _, err := os.Lstat(filepath.Join(c.at.work, filepath.FromSlash(path))); errors.Is(err, os.ErrNotExist) {
		return nil // there is no file to resolve
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
