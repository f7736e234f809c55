package isolated

import (
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

// Change does something to a checkout, and lets the agent's own git directory
// know, where there is one: first what the agent did is harvested, and while
// the act lasts the agent's git cannot stage or commit. If the process dies in
// between, the next harvest tells the agent's git directory. The act is given
// the worktree to use.
func (w *Worktree) Change(ctx context.Context, act func(*Worktree) error) error {
	if !w.IsIsolated() || w.Settled {
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
	if err := p.syncBothSides(ctx); err != nil {
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
	settled.Settled = true
	acted := act(&settled)
	if err := failpoint.Hit("change.acted"); err != nil {
		return err
	}
	// What an act did before it failed is told too.
	return errors.Join(acted, p.pushState(context.WithoutCancel(ctx), state))
}

// isHeld reports whether a lock of Croft's lies on the agent's index.
func (p *private) isHeld() bool {
	b, err := p.read(gitdir.IndexLock)
	_, isCrofts := worktree.LockOwner(b)
	return err == nil && isCrofts
}

// holdIndex takes the lock of the agent's index, as git does. The caller holds
// the kernel lock that every Croft holds meanwhile: one of Croft's that lies there
// was left by one that died.
func (p *private) holdIndex(ctx context.Context) (unlock func(), err error) {
	if p.isHeld() {
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

// pushState makes the private git directory what the admin directory is. The
// caller holds the lock.
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
	if err := p.pushObjects(ctx, last, now, head, x); err != nil {
		return err
	}
	if data, err = p.indexToPush(ctx, head, x, data); err != nil {
		return err
	}
	if err := failpoint.Hit("deliver.sent"); err != nil {
		return err
	}
	if err := p.copyIn(branch, head, data); err != nil {
		return err
	}
	if err := failpoint.Hit("deliver.copied"); err != nil {
		return err
	}
	// The two agree now: what holds the private side's objects is made anew.
	if now, err = p.state(); err != nil {
		return err
	}
	n, err := p.readNews(ctx, last, now)
	if err != nil {
		return err
	}
	return p.applyPulled(ctx, last, n)
}

// adminIndex reads the index of the admin directory; both are nil without one.
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

// indexToPush is the index as the private side can have it: it may name trees
// only if they are those of the commit that is checked out, because no others
// are brought.
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

// pushObjects brings objects of the repository to the private side: the commit that is
// checked out, what an act is in the middle of, and what is staged.
func (p *private) pushObjects(ctx context.Context, last SyncState, now privateState, head string, x *index.Index) error {
	_, was := now.resolve()
	has := odb.OIDsOf(slices.Concat([]string{last.Base}, slices.Collect(maps.Values(now.Refs)), []string{was})...)
	wanted := []string{head}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "REBASE_HEAD"} {
		b, err := worktree.ReadAdmin(p.w.Admin, name)
		if err != nil {
			continue
		}
		for oid := range strings.FieldsSeq(string(b)) { // which may be gone
			if !p.isOID(oid) {
				continue
			}
			if _, err := p.w.Repo.Info(ctx, oid); err == nil {
				wanted = append(wanted, oid)
			}
		}
	}
	wanted = slices.DeleteFunc(has.Without(wanted), func(oid string) bool { return !p.isOID(oid) })
	blobs, err := p.stagedBeside(ctx, head, x)
	if err != nil {
		return err
	}
	return p.push(ctx, append(wanted, blobs...), has.List)
}

// stagedBeside lists the staged objects that the commit which is checked out
// does not have.
func (p *private) stagedBeside(ctx context.Context, head string, x *index.Index) ([]string, error) {
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
	known := map[string]bool{p.w.Repo.emptyBlob(): true}
	for _, e := range entries {
		known[e.OID] = true
	}
	var list []string
	for _, e := range x.Entries {
		if e.Mode != "160000" && !known[e.OID] {
			known[e.OID] = true
			list = append(list, e.OID)
		}
	}
	return list, nil
}

// copyIn writes what the admin directory says to the private one.
func (p *private) copyIn(branch, head string, index []byte) error {
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
	there := progressPaths(admin)
	for _, name := range progressPaths(p.root.FS()) {
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
	for _, name := range progressDirs {
		_ = p.root.Remove(name)
	}
	return p.copyExcludes()
}

// copyExcludes adds the patterns that the repository's checkouts ignore to
// those of the private git directory.
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

// Push shows branches of the repository in the git directory of an isolated
// checkout, by a pack of their own, so that nothing there depends on what
// becomes of them. A branch of the agent's own is left alone; those that were
// shown before and are not named any more go. Of any other worktree everything
// is seen anyway.
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
	return p.show(ctx, branches)
}

func (p *private) show(ctx context.Context, branches map[string]string) error {
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
		if mine := now.Refs[ref]; name == last.Branch || !gitdir.CanBeRef(ref) || mine != "" && mine != oid && mine != last.Delivered[ref] {
			continue
		}
		if now.Refs[ref] != oid {
			if err := p.replace(ref, []byte(oid+"\n")); err != nil {
				return err
			}
		}
		next[ref] = oid
	}
	for ref, oid := range last.Delivered {
		if _, still := next[ref]; !still && now.Refs[ref] == oid && now.Head != "ref: "+ref {
			if err := p.dropRef(ref); err != nil {
				return err
			}
		}
	}
	last.Delivered = next
	if last.Private, err = p.state(); err != nil {
		return err
	}
	return p.w.WriteSyncState(last)
}

// dropRef deletes a ref, from the file of packed ones too.
func (p *private) dropRef(ref string) error {
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

// Croft locks the index of a checkout as git does, by a file index.lock. That
// file is written under another name and gets its own by link(2), so that it is
// whole from its first moment. It names a lease, which is locked by the kernel for
// as long as its owner lives: whoever finds the file can tell whether the owner is
// alive, and a lock of somebody who is alive is never taken over.

// ChangeHeld is [Worktree.Change] by an act that holds the checkout's index from
// its beginning to its end: neither a git of the agent's nor another Croft changes
// it meanwhile. It fails with ErrIndexLocked, before anything is done, if somebody
// else keeps it locked. The act runs no git that locks the index itself.
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
