package git

import (
	"context"
	"errors"
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

// Progress says what the worktree is in the middle of: "merge", "rebase",
// "cherry-pick", "revert", "bisect", or nothing.
func (w *Worktree) Progress() string {
	for _, p := range worktree.InProgress {
		if _, err := os.Lstat(filepath.Join(w.Admin, p.File)); err == nil {
			return p.What
		}
	}
	return ""
}

// mergeHeads are the commits that a merge in progress brings in.
func (w *Worktree) mergeHeads() []string {
	b, err := worktree.ReadAdmin(w.Admin, "MERGE_HEAD")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// IsMergedIn reports whether a merge in progress brings a path in.
func (w *Worktree) IsMergedIn(ctx context.Context, path string) (bool, error) {
	if strings.ContainsAny(path, "\n\x00") {
		return false, nil // the question could not be asked
	}
	for _, oid := range w.mergeHeads() {
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

func (w *Worktree) readAdminFile() checkoutAt { return checkoutAt{w.Admin, w.Path, w.Inherit} }

// Work is what of a worktree is committed beside what is staged.
type Work struct {
	Branch   string        // that it is committed to; empty: to none, HEAD is detached
	Paths    []string      // as they are on disk
	Gone     []string      // tracked, and not there any more
	Without  []string      // staged, and taken out; on disk they stay
	Commit   object.Commit // its tree and its parents are found
	Identity gitcmd.Identity
}

// CommitWork commits work, together with what is staged, and returns the new
// commit; or the last one, where there is nothing to commit. A merge in progress
// is concluded. The commit is on disk when it returns. Until then the agent's
// index and branch are as they were; killed in between, all is staged that would
// have been committed.
//
// It fails with a *BranchError, and nothing is written, if the checkout is not on
// the branch; see [Worktree.RequireBranch].
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
			// A git commit of the agent's lets go of the index before it moves the
			// branch, which may be after it was read here.
			if !errors.Is(err, gitcmd.KindRefStale) {
				break
			}
		}
		return err
	})
	return oid, err
}

// commitTries is how often a branch may move while work is committed to it.
const commitTries = 5

// commitWork commits work in a worktree whose index is held.
func (w *Worktree) commitWork(ctx context.Context, work Work) (string, error) {
	copied, err := w.Repo.copyIndex(w.readAdminFile())
	if err != nil {
		return "", err
	}
	copied.admin, copied.isLent = w.Hold.Dir, true
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
	if err := copied.standIn(work.Branch, head); err != nil {
		return "", err
	}
	tree, err := copied.tree(ctx, work)
	if err != nil {
		return "", err
	}
	c := work.Commit
	merging := w.mergeHeads()
	if head != "" {
		c.Parents = append([]string{head}, merging...)
		was, err := w.Repo.ReadCommit(ctx, head)
		if err != nil || was.Tree == tree && len(merging) == 0 {
			return head, err
		}
	}
	c.Tree = tree
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
	// What goes makes room: a link may lie where there was a directory.
	// What was gone may be back: the files were looked at before the index was held.
	var gone, paths []string
	for _, p := range work.Gone {
		if isReachable(c.at.work, p) {
			paths = append(paths, p)
		} else {
			gone = append(gone, p)
		}
	}
	if err := c.unstagePaths(ctx, slices.Concat(gone, work.Without)); err != nil {
		return "", err
	}
	if err := c.updatePaths(ctx, slices.Concat(work.Paths, paths)); err != nil {
		return "", err
	}
	out, err := c.run(ctx, "", "write-tree")
	return strings.TrimSpace(string(out)), err
}

// isReachable reports whether something that is no directory lies at a path of a
// checkout, and not behind a link.
func isReachable(top, path string) bool {
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

// WorkCommit makes a commit of what the worktree holds now among attempts: the
// worktree is not touched, and nothing is left in
// the repository. A merge in progress counts as concluded. It returns HEAD's
// commit where there is nothing else. The same state gives the same commit.
func (w *Worktree) WorkCommit(ctx context.Context, a *mergetree.Session, work Work) (string, error) {
	_, head, err := w.Head(ctx)
	if err != nil || head == "" {
		return head, err
	}
	dir, err := os.MkdirTemp(a.Quarantine().Dir, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	// The copy lies apart, its objects among the attempts.
	c := &indexCopy{repo: w.Repo, at: w.readAdminFile(), q: &mergetree.Quarantine{Repo: w.Repo.Repository.Repository.Repository, Dir: dir, Env: a.Quarantine().Env}}
	defer c.release()
	if err := errors.Join(c.copyIndex(), c.standIn("", head)); err != nil {
		return "", err
	}
	tree, err := c.tree(ctx, work)
	if err != nil {
		return "", err
	}
	was, err := a.ReadCommit(ctx, head)
	merging := w.mergeHeads()
	if err != nil || was.Tree == tree && len(merging) == 0 {
		return head, err
	}
	return a.Quarantine().OwnObjects().Write("commit", object.Commit{
		Tree: tree, Parents: append([]string{head}, merging...), Signature: syntheticAfter(was), Message: "uncommitted work",
	}.Encode())
}

// syntheticAfter signs a commit that is made only to be merged at the time of
// its parent. Git walks histories by time: a child that seems to be older than
// all others makes it walk them to their very end.
func syntheticAfter(parent object.Commit) string {
	_, when, ok := strings.Cut(parent.Signature, "> ")
	if !ok {
		return mergetree.SyntheticAuthor
	}
	who, _, _ := strings.Cut(mergetree.SyntheticAuthor, "> ")
	return who + "> " + when
}
