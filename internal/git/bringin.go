package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// BringIn says what is merged into a worktree.
type BringIn struct {
	Branch   string // that the worktree is on; empty: on none
	Commit   string
	Name     string // for the message
	Identity Identity

	// As is what the merge is concluded as one of, if that is not Commit: a
	// commit whose history it shares, with other files.
	As string
	// Conflicts are files that have conflict markers in Commit already, from
	// undoing the commit Undone.
	Conflicts []string
	Undone    string
}

// BringIn merges a commit into the worktree and leaves the result uncommitted,
// with conflict markers where there are conflicts; those paths are returned.
// The worktree must be clean. It fails with a *BranchError, and nothing is
// written, if the worktree is not on the branch.
func (w *Worktree) BringIn(ctx context.Context, in BringIn) (conflicted []string, err error) {
	if err := w.RequireBranch(ctx, in.Branch); err != nil {
		return nil, err
	}
	err = w.Change(ctx, func(w *Worktree) error {
		conflicted, err = w.bringIn(ctx, in)
		return err
	})
	return conflicted, err
}

func (w *Worktree) bringIn(ctx context.Context, in BringIn) ([]string, error) {
	now := time.Now()
	_, err := w.run(ctx, call{
		args: []string{"-c", "merge.conflictStyle=merge", "merge", "--no-commit", "--no-ff", "-m", fmt.Sprintf("Merge %s", in.Name), in.Commit}, locks: true,
		env: append(identityEnv("AUTHOR", At(in.Identity.Author, now)), identityEnv("COMMITTER", At(in.Identity.Committer, now))...),
	})
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	conflicted, lerr := w.unmerged(ctx)
	if lerr != nil {
		return nil, errors.Join(err, lerr)
	}
	if err != nil && len(conflicted) == 0 {
		return nil, err
	}
	if in.As == "" || len(w.mergeHeads()) == 0 {
		return conflicted, nil
	}
	if err := replaceFile(filepath.Join(w.Admin, "MERGE_HEAD"), []byte(in.As+"\n"), 0o644); err != nil {
		return nil, err
	}
	for _, path := range in.Conflicts {
		if slices.Contains(conflicted, path) {
			continue
		}
		if err := w.unmerge(ctx, in, path); err != nil {
			return nil, err
		}
	}
	return w.unmerged(ctx)
}

// unmerged lists the paths in conflict.
func (w *Worktree) unmerged(ctx context.Context) ([]string, error) {
	out, err := w.run(ctx, call{args: []string{"diff", "--name-only", "--diff-filter=U", "-z", "--ignore-submodules=all"}})
	return splitNUL(out), err
}

// unmerge says of a path in the index that it is in conflict: what was undone
// comes from one side, what the target has made of it since from the other.
func (w *Worktree) unmerge(ctx context.Context, in BringIn, path string) error {
	if _, err := os.Lstat(filepath.Join(w.Path, filepath.FromSlash(path))); errors.Is(err, os.ErrNotExist) {
		return nil // there is nothing to be resolved in it
	}
	var lines strings.Builder
	fmt.Fprintf(&lines, "0 %s\t%s\x00", w.Repo.ZeroOID(), path)
	for stage, commit := range []string{in.Undone, in.As, in.Undone + "^"} {
		out, err := w.run(ctx, call{args: []string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path}})
		if err != nil {
			return err
		}
		if about, _, ok := strings.Cut(string(out), "\t"); ok {
			if f := strings.Fields(about); len(f) == 3 && f[1] == "blob" {
				fmt.Fprintf(&lines, "%s %s %d\t%s\x00", f[0], f[2], stage+1, path)
			}
		}
	}
	_, err := w.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: lines.String(), locks: true})
	return err
}
