package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Progress returns the operation that is in progress in the worktree: "merge", "rebase",
// "cherry-pick", "revert", "bisect", or "".
func (w *Worktree) Progress() string {
	for _, p := range worktree.InProgress {
		if _, err := os.Lstat(filepath.Join(w.Admin, p.File)); err == nil {
			return p.What
		}
	}
	return ""
}

// MergeHeads returns the commits of MERGE_HEAD.
func (w *Worktree) MergeHeads() []string {
	b, err := worktree.ReadAdmin(w.Admin, "MERGE_HEAD")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// IsMergedIn reports whether a commit of MERGE_HEAD has a path.
func (w *Worktree) IsMergedIn(ctx context.Context, path string) (bool, error) {
	if strings.ContainsAny(path, "\n\x00") {
		return false, nil // such a path cannot be looked up
	}
	for _, oid := range w.MergeHeads() {
		if !object.IsOID(oid) {
			continue
		}
		_, err := w.Repo.Info(ctx, oid+":"+path)
		if err == nil || !errors.Is(err, object.ErrMissing) {
			return err == nil, err
		}
	}
	return false, nil
}

func (w *Worktree) location() checkoutAt { return checkoutAt{w.Admin, w.Path, w.Inherit} }

// Work is what CommitWork commits in addition to the index.
type Work struct {
	Branch   string        // that it is committed to; empty: HEAD is detached
	Paths    []string      // added as they are on disk
	Gone     []string      // tracked files that no longer exist
	Without  []string      // removed from the index; the files stay
	Commit   object.Commit // without tree and parents
	Identity gitcmd.Identity
	Seen     Seen
	Merging  Merging // of WorkCommit
}

// Merging says what a merge in progress is to a commit of work.
type Merging string

// The values of Merging.
const (
	MergeConcluded Merging = ""         // what is merged are parents of the commit
	MergeLeftOut   Merging = "left out" // the commit is one of the files only: MERGE_HEAD, which an agent may write, need not name a commit
)

// Seen says which work may be committed; the zero value: any.
type Seen struct {
	Head string         // this commit, with nothing to add to it
	Work *object.Commit // a commit with the files and the parents of this one
}

// ErrUnseen says that the work is not the one that was seen.
var ErrUnseen = errors.New("the work is not what was seen")

// Require fails with ErrUnseen if the work is not the one that was seen. oid is the commit
// of the work, or empty if the commit is yet to be made. The parents count, too: a merge
// that takes nothing over from the target changes no file, and undoes the target when it
// lands.
func (s Seen) Require(oid string, work object.Commit) error {
	if s.Head != "" && oid != s.Head {
		return ErrUnseen
	}
	if s.Work != nil && (work.Tree != s.Work.Tree || !slices.Equal(work.Parents, s.Work.Parents)) {
		return ErrUnseen
	}
	return nil
}

// CommitWork commits work together with the index, and returns the new commit, or HEAD's
// if there is nothing to commit. It concludes a merge in progress. The commit is on disk
// when it returns. Until then the agent's index and branch are unchanged; if the process
// is killed in between, everything that would have been committed is staged.
//
// It fails with a *BranchError, and writes nothing, if the checkout is not on the branch;
// see [Worktree.RequireBranch].
func (w *Worktree) CommitWork(ctx context.Context, work Work) (oid string, err error) {
	if err := w.Repo.CheckConfig(); err != nil {
		return "", err
	}
	if err := w.RequireBranch(ctx, work.Branch); err != nil {
		return "", err
	}
	err = w.ChangeHeld(ctx, func(w *Worktree) error {
		for range commitTries {
			oid, err = w.commitWork(ctx, work)
			// A git commit of the agent's unlocks the index before it moves the branch, so
			// the branch may move after it was read here.
			if !errors.Is(err, gitcmd.KindRefStale) {
				break
			}
		}
		return err
	})
	return oid, err
}

// commitTries bounds how often CommitWork starts again because the branch moved.
const commitTries = 5

// commitWork commits work in a worktree whose index is locked.
func (w *Worktree) commitWork(ctx context.Context, work Work) (string, error) {
	copied, err := w.Repo.copyIndex(w.location())
	if err != nil {
		return "", err
	}
	copied.admin, copied.isAdminShared = w.Hold.Dir, true
	defer copied.discard()
	if err := copied.copyIndex(); err != nil {
		return "", err
	}
	if err := w.requireHead(ctx, work.Branch); err != nil {
		return "", err
	}
	head, err := w.headOf(ctx, work.Branch)
	if err != nil {
		return "", err
	}
	if err := copied.makeTempGitDir(work.Branch, head); err != nil {
		return "", err
	}
	tree, err := copied.tree(ctx, work)
	if err != nil {
		return "", err
	}
	c := work.Commit
	merging := w.MergeHeads()
	var was object.Commit
	if head != "" {
		c.Parents = append([]string{head}, merging...)
		if was, err = w.Repo.ReadCommit(ctx, head); err != nil {
			return "", err
		}
	}
	if head != "" && was.Tree == tree && len(merging) == 0 {
		return head, work.Seen.Require(head, was)
	}
	c.Tree = tree
	if err := work.Seen.Require("", c); err != nil {
		return "", err
	}
	oid, err := copied.commit(ctx, c, work.Identity)
	if err != nil {
		return "", err
	}
	release, err := copied.q.KeepCommits(ctx, oid)
	if err != nil {
		return "", err
	}
	defer release()
	if err := failpoint.Hit("commit.kept"); err != nil {
		return "", err
	}
	if err := w.moveHead(ctx, move{work.Branch, head, oid}, copied); err != nil {
		return "", err
	}
	if err := failpoint.Hit("commit.moved"); err != nil {
		return "", err
	}
	for _, name := range []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE"} {
		_ = copied.admin.Remove(name)
	}
	return oid, nil
}

func (c *indexCopy) tree(ctx context.Context, work Work) (string, error) {
	// Deleted files are removed from the index first: a symbolic link may have replaced a
	// directory. A file that was deleted may exist again: the files were listed before the
	// index was locked.
	var gone, paths []string
	for _, p := range work.Gone {
		if isFileInCheckout(c.at.work, p) {
			paths = append(paths, p)
		} else {
			gone = append(gone, p)
		}
	}
	if err := c.unstagePaths(ctx, slices.Concat(gone, work.Without)); err != nil {
		return "", err
	}
	paths = slices.Concat(work.Paths, paths)
	if err := c.forgetFiles(paths); err != nil {
		return "", err
	}
	if err := c.updatePaths(ctx, paths); err != nil {
		return "", err
	}
	out, err := c.run(ctx, "", "write-tree")
	return strings.TrimSpace(string(out)), err
}

// isFileInCheckout reports whether there is something other than a directory at a path of
// a checkout, and no symbolic link above it.
func isFileInCheckout(top, path string) bool {
	for dir := gitdir.ParentDir(path); dir != ""; dir = gitdir.ParentDir(dir) {
		if info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir))); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(path)))
	return err == nil && !info.IsDir()
}

func (c *indexCopy) commit(ctx context.Context, made object.Commit, id gitcmd.Identity) (string, error) {
	if !id.Signs {
		return c.q.OwnObjects().Write("commit", made.Encode())
	}
	return c.repo.CommitSigned(ctx, made, gitcmd.Call{Env: c.q.Env, Config: mergetree.Unsynced})
}

// WorkCommit makes a commit of the worktree's current state in a session of merges. It
// touches neither the worktree nor the repository. A merge in progress counts as
// concluded, unless it is left out. It returns HEAD's commit if there is nothing else. The same state gives the
// same commit.
func (w *Worktree) WorkCommit(ctx context.Context, a *mergetree.Session, work Work) (string, error) {
	_, head, err := w.Head(ctx)
	if err != nil || head == "" {
		return head, err
	}
	was, err := a.ReadCommit(ctx, head)
	if err != nil {
		return "", err
	}
	tree, err := w.draftTree(ctx, a, was.Tree, work)
	if errors.Is(err, errAskGit) {
		tree, err = w.workTree(ctx, a, head, work)
	}
	if err != nil {
		return "", err
	}
	merging := w.MergeHeads()
	if work.Merging == MergeLeftOut {
		merging = nil
	}
	if was.Tree == tree && len(merging) == 0 {
		return head, nil
	}
	for _, oid := range merging { // an agent may write anything there, and a walk through the history ends at it
		if !object.IsOID(oid) {
			return "", fmt.Errorf("MERGE_HEAD: not a commit: %q", oid)
		}
		if _, err := a.ReadCommit(ctx, oid); err != nil {
			return "", fmt.Errorf("MERGE_HEAD: %w", err)
		}
	}
	return a.Quarantine().OwnObjects().Write("commit", object.Commit{
		Tree: tree, Parents: append([]string{head}, merging...), Signature: syntheticAfter(was), Message: "uncommitted work",
	}.Encode())
}

// workTree has git write the tree of the index with the work added.
func (w *Worktree) workTree(ctx context.Context, a *mergetree.Session, head string, work Work) (string, error) {
	dir, err := os.MkdirTemp(a.Quarantine().Dir, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	// The copy has a directory of its own; its objects go to the session's quarantine.
	c := &indexCopy{repo: w.Repo, at: w.location(), q: &mergetree.Quarantine{Repo: w.Repo.Repository.Repository.Repository, Dir: dir, Env: a.Quarantine().Env}}
	defer c.release()
	if err := errors.Join(c.copyIndex(), c.makeTempGitDir("", head)); err != nil {
		return "", err
	}
	return c.tree(ctx, work)
}

// syntheticAfter returns an author line with the time of the parent, for a commit that is
// made only to be merged. Git walks histories by commit time: a child that seems older
// than all others would make it walk them to the end.
func syntheticAfter(parent object.Commit) string {
	_, when, ok := strings.Cut(parent.Signature, "> ")
	if !ok {
		return mergetree.SyntheticAuthor
	}
	who, _, _ := strings.Cut(mergetree.SyntheticAuthor, "> ")
	return who + "> " + when
}
