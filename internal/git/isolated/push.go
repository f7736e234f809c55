package isolated

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Change calls act, which may change the checkout. For an isolated checkout it then copies
// the result to the agent's git directory, also if act failed. It pulls first, and holds
// the agent's index lock while act runs, so that the agent's git cannot stage or
// commit; it fails with ErrIndexLocked if that lock is not free in time. If the process
// dies in between, the next pull updates the agent's git directory. act has to use the
// worktree that it is given.
func (w *Worktree) Change(ctx context.Context, act func(*Worktree) error) error {
	if !w.IsIsolated() || w.IsPulled {
		return act(w)
	}
	p, release, err := w.holdPrivate(ctx)
	if err != nil {
		return err
	}
	defer release()
	unlock, err := p.holdIndex(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.syncHeld(ctx); err != nil {
		return err
	}
	state := w.readSyncState()
	state.Pending = true
	if err := w.WriteSyncState(state); err != nil {
		return err
	}
	if err := failpoint.Hit("change.begun"); err != nil {
		return err
	}
	settled := *w
	settled.IsPulled = true
	acted := act(&settled)
	if err := failpoint.Hit("change.acted"); err != nil {
		return err
	}
	// The agent's git directory is also updated with what act did before it failed.
	return errors.Join(acted, p.pushState(context.WithoutCancel(ctx), state))
}

// hasCroftLock reports whether the agent's index has a lock file of Croft's.
func (p *private) hasCroftLock() bool {
	b, err := p.read(gitdir.IndexLock)
	_, isCrofts := worktree.LockOwner(b)
	return err == nil && isCrofts
}

// holdIndex takes the lock file of the agent's index, as git does. The caller holds the
// kernel lock of the synchronisation, so a lock file of Croft's that exists already was
// left by a process that died.
func (p *private) holdIndex(ctx context.Context) (unlock func(), err error) {
	if p.hasCroftLock() {
		_ = p.root.Remove(gitdir.IndexLock)
	}
	dir, err := fsx.OpenDir(p.w.PrivateDir())
	if err != nil {
		return nil, err
	}
	h, err := p.w.Repo.HoldIndex(ctx, p.w.PrivateDir(), dir, worktree.SweptAfter)
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return func() { h.Release(); _ = dir.Close() }, nil
}

// pushState makes the agent's git directory equal to the admin directory. If the agent has
// changed since last what that would overwrite, it pulls that instead, like any newer
// work. The caller holds the lock and the agent's index.
func (p *private) pushState(ctx context.Context, last SyncState) error {
	w := p.w
	branch, head, err := w.Repo.RefSnapshot().Head(w.Admin)
	if err != nil {
		return err
	}
	now, err := p.state()
	if err != nil {
		return err
	}
	x, data, err := w.adminIndex()
	if err != nil {
		return err
	}
	if moved, err := p.hasMoved(ctx, last, now, branch, head, x); err != nil {
		return err
	} else if moved {
		return p.pullState(ctx, last, now)
	}
	if err := p.pushObjects(ctx, last, now, head, x); err != nil {
		return err
	}
	if data, err = p.indexToPush(ctx, head, x, data); err != nil {
		return err
	}
	if err := failpoint.Hit("deliver.sent"); err != nil {
		return err
	}
	if err := p.copyToPrivate(branch, head, data); err != nil {
		return err
	}
	if err := failpoint.Hit("deliver.copied"); err != nil {
		return err
	}
	// Both sides agree now. The pin ref is made anew for the objects of the agent's git
	// directory.
	if now, err = p.state(); err != nil {
		return err
	}
	if !last.Private.hasTips(now, branch, head) { // the agent's git can move refs without the index lock
		return p.pullState(ctx, last, now)
	}
	n, err := p.readNews(ctx, last, now)
	if err != nil {
		return err
	}
	last.Left = slices.DeleteFunc(last.Left, func(u Unpulled) bool { return strings.HasPrefix(u.Name, entryOf) }) // the index is Croft's
	return p.applyPulled(ctx, last, n)
}

// hasMoved reports whether the agent has changed since last what a push of the branch, the
// commit and the index overwrites. What is as the push would write it does not count: a
// push may have been interrupted.
func (p *private) hasMoved(ctx context.Context, last SyncState, now privateState, branch, head string, x *index.Index) (bool, error) {
	was, target, ref := last.Private, head, "refs/heads/"+branch
	if branch != "" {
		target = "ref: " + ref
	}
	if was.Head != "" && // otherwise Croft has just made the git directory
		(now.Head != was.Head && now.Head != target || branch != "" && now.Refs[ref] != was.Refs[ref] && now.Refs[ref] != head) {
		return true, nil
	}
	names := slices.Concat(slices.Collect(maps.Keys(was.Files)), slices.Collect(maps.Keys(now.Files)))
	for _, name := range names {
		switch {
		case now.Files[name] == was.Files[name]:
		case name == "index":
			if moved, err := p.hasStaged(ctx, last, now, x); moved || err != nil {
				return moved, err
			}
		default:
			mine, mineErr := p.read(name)
			theirs, theirsErr := fsx.ReadFile(filepath.Join(p.w.Admin, filepath.FromSlash(name)), maxPrivate)
			if (mineErr == nil) != (theirsErr == nil) || !bytes.Equal(mine, theirs) {
				return true, nil
			}
		}
	}
	return false, nil
}

// hasStaged reports whether the agent's index has other content than at last and than x.
// That git only refreshed the stat data of files does not count.
func (p *private) hasStaged(ctx context.Context, last SyncState, now privateState, x *index.Index) (bool, error) {
	n, err := p.readNews(ctx, last, now)
	if err != nil || n.content() == last.Staged {
		return false, err
	}
	if x == nil {
		return true, nil
	}
	trees, err := x.Trees(p.w.Repo.ObjectFormat())
	return n.content() != news{staged: x, trees: trees}.content(), err
}

// adminIndex reads the index of the admin directory; index and bytes are nil without one.
func (w *Worktree) adminIndex() (*index.Index, []byte, error) {
	data, _, err := index.ReadFile(filepath.Join(w.Admin, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	x, err := index.Parse(data, w.Repo.ObjectFormat().NewHash())
	return x, data, err
}

// indexToPush returns the index for the agent's git directory. Its cache tree is dropped
// unless it is the tree of the commit that is checked out: other trees are not
// transferred.
func (p *private) indexToPush(ctx context.Context, head string, x *index.Index, data []byte) ([]byte, error) {
	if x == nil {
		return nil, nil
	}
	if head != "" {
		c, err := p.w.Repo.ReadCommit(ctx, head)
		if err != nil || c.Tree == x.Tree {
			return data, err
		}
	}
	return x.Plain(data, nil, p.w.Repo.ObjectFormat())
}

// pushObjects transfers objects of the repository to the agent's git directory: the commit
// that is checked out, the commits of an operation in progress, and the staged blobs.
func (p *private) pushObjects(ctx context.Context, last SyncState, now privateState, head string, x *index.Index) error {
	_, was := now.resolve()
	has := odb.OIDsOf(slices.Concat([]string{last.Base}, slices.Collect(maps.Values(now.Refs)), []string{was})...)
	var pending []string
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "REBASE_HEAD"} {
		b, _ := worktree.ReadAdmin(p.w.Admin, name)
		pending = append(pending, strings.Fields(string(b))...)
	}
	isNone := func(oid string) bool { return !p.isOID(oid) }
	pending = p.existing(ctx, slices.DeleteFunc(pending, isNone)) // each may have been pruned
	wanted := slices.DeleteFunc(has.Without(append([]string{head}, pending...)), isNone)
	blobs, err := p.stagedBesideHead(ctx, head, x)
	if err != nil {
		return err
	}
	return p.push(ctx, append(wanted, blobs...), has.List)
}

// stagedBesideHead lists the staged objects that are not in the tree of head; none without a
// head. If the empty blob is among them, it stores that.
func (p *private) stagedBesideHead(ctx context.Context, head string, x *index.Index) ([]string, error) {
	if x == nil || head == "" {
		return nil, nil
	}
	commit, err := p.w.Repo.ReadCommit(ctx, head)
	if err != nil {
		return nil, err
	}
	if x.Tree == commit.Tree {
		return nil, nil
	}
	entries, err := p.w.Repo.ReadTree(ctx, commit.Tree)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range entries {
		known[e.OID] = true
	}
	list := x.ObjectsBeside(known)
	if slices.Contains(list, p.w.Repo.EmptyBlob()) { // of intent-to-add, which no ref keeps
		_, err = p.w.Repo.WriteBlob(nil)
	}
	return list, err
}

// copyToPrivate copies HEAD, the branch that HEAD names, the index, operations in progress and
// ignore patterns from the repository to the agent's git directory.
func (p *private) copyToPrivate(branch, head string, index []byte) error {
	w := p.w
	admin := os.DirFS(w.Admin)
	if branch != "" {
		if head != "" {
			if err := p.replace("refs/heads/"+branch, []byte(head+"\n")); err != nil {
				return err
			}
		}
		head = "ref: refs/heads/" + branch
	}
	if err := p.replace("HEAD", []byte(head+"\n")); err != nil {
		return err
	}
	if index != nil {
		info, err := os.Stat(filepath.Join(w.Admin, "index"))
		if err != nil {
			return err
		}
		if err := p.replace("index", index); err != nil {
			return err
		}
		if err := p.root.Chtimes("index", info.ModTime(), info.ModTime()); err != nil {
			return err
		}
	}
	there := gitdir.ProgressPaths(admin)
	for _, name := range gitdir.ProgressPaths(p.root.FS()) {
		if name != "logs/HEAD" && !slices.Contains(there, name) {
			if err := p.root.RemoveAll(filepath.FromSlash(name)); err != nil {
				return err
			}
		}
	}
	for _, name := range there {
		b, err := fsx.ReadFile(filepath.Join(w.Admin, filepath.FromSlash(name)), maxPrivate)
		if err != nil {
			return err
		}
		if err := p.replace(name, b); err != nil {
			return err
		}
	}
	for _, name := range gitdir.ProgressDirs {
		_ = p.root.Remove(name)
	}
	return p.copyExcludes()
}

// copyExcludes adds the ignore patterns of the repository to info/exclude of the agent's
// git directory.
func (p *private) copyExcludes() error {
	have, err := p.read("info/exclude")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(have), "\n"), "\n")
	var missing []string
	for line := range strings.Lines(p.w.Repo.sharedExcludes()) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !slices.Contains(lines, line) {
			missing = append(missing, line)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return p.replace("info/exclude", []byte(strings.TrimLeft(strings.Join(append(lines, missing...), "\n")+"\n", "\n")))
}

// Push writes branches of the repository to the git directory of an isolated checkout.
// It pulls first. The objects are transferred in a pack, so the agent's git directory
// does not depend on what happens to the branches later. It does not touch a branch of
// the agent's own. It deletes branches of an earlier Push that are no longer named,
// unless the agent moved them or has them checked out. For any other worktree it does
// nothing: it has the repository's refs.
func (w *Worktree) Push(ctx context.Context, branches map[string]string) error {
	if !w.IsIsolated() {
		return nil
	}
	p, release, err := w.holdPrivate(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := p.syncBothSides(ctx); err != nil {
		return err
	}
	return p.showBranches(ctx, branches)
}

func (p *private) showBranches(ctx context.Context, branches map[string]string) error {
	last := p.w.readSyncState()
	now, err := p.state()
	if err != nil {
		return err
	}
	has := odb.OIDsOf(append(slices.Collect(maps.Values(now.Refs)), last.Base)...)
	wanted := has.Without(slices.Sorted(maps.Values(branches)))
	if err := p.push(ctx, slices.Compact(wanted), has.List); err != nil {
		return err
	}
	if err := failpoint.Hit("deliver.siblings"); err != nil {
		return err
	}
	next := map[string]string{}
	for name, oid := range branches {
		ref := "refs/heads/" + name
		if mine := now.Refs[ref]; name == last.Branch || !gitdir.CanBeRef(ref) || mine != "" && mine != oid && mine != last.Pushed[ref] {
			continue
		}
		if now.Refs[ref] != oid {
			if err := p.replace(ref, []byte(oid+"\n")); err != nil {
				return err
			}
		}
		next[ref] = oid
	}
	for ref, oid := range last.Pushed {
		if _, still := next[ref]; !still && now.Refs[ref] == oid && now.Head != "ref: "+ref {
			if err := p.deleteRef(ref); err != nil {
				return err
			}
		}
	}
	last.Pushed = next
	if last.Private, err = p.state(); err != nil {
		return err
	}
	return p.w.WriteSyncState(last)
}

// deleteRef deletes a ref, loose and packed.
func (p *private) deleteRef(ref string) error {
	packed, err := p.read("packed-refs")
	if err == nil && strings.Contains(string(packed), " "+ref+"\n") {
		var kept strings.Builder
		for line := range strings.Lines(string(packed)) {
			if !strings.HasSuffix(line, " "+ref+"\n") {
				kept.WriteString(line)
			}
		}
		if err := p.replace("packed-refs", []byte(kept.String())); err != nil {
			return err
		}
	}
	err = p.root.Remove(filepath.FromSlash(ref))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// ChangeHeld is Worktree.Change with the checkout's index locked while act runs:
// neither a git of the agent's nor another Croft process can change the index. It fails
// with ErrIndexLocked, before act is called, if another process keeps it locked; what
// the agent did may have been pulled by then. act must not run a git that locks the
// index itself.
func (w *Worktree) ChangeHeld(ctx context.Context, act func(*Worktree) error) error {
	return w.Change(ctx, func(w *Worktree) error {
		admin, err := w.OpenAdmin()
		if err != nil {
			return err
		}
		defer admin.Close()
		h, err := w.Repo.HoldIndex(ctx, w.Admin, admin, worktree.SweptAfter)
		if err != nil {
			return err
		}
		defer h.Release()
		held := *w
		held.Hold, held.Inherit = h, h.Inherit(w.Inherit)
		return act(&held)
	})
}
