package isolated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Pull copies what the agent of an isolated checkout did in its own git directory to
// the repository: commits and staged blobs by a pack that git checks strictly, its
// branch by compare-and-swap, and HEAD, index and operations in progress to the admin
// directory. If nothing is new, it reads a few small files and starts no process. For
// any other worktree, and if the git directory is gone, it does nothing.
//
// If another process moved the branch in the repository and the agent's commit does not
// descend from it, or if the branch is checked out elsewhere or is a symbolic ref, Pull
// leaves the branch alone, detaches HEAD in the admin directory at the agent's commit,
// keeps that commit by the pin ref, and returns nil. It moves no other branch.
//
// It fails with a *PrivateError if the git directory is not as Croft made it, or if its HEAD,
// its index or the objects that these need cannot be read.
func (w *Worktree) Pull(ctx context.Context) error {
	if !w.IsIsolated() || w.IsPulled {
		return nil
	}
	p, err := w.openPrivate()
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil // the checkout is gone or being removed; the admin directory has its last known state
		}
		return err
	}
	defer p.close()
	if _, err := os.Lstat(w.Admin); err != nil {
		return nil
	}
	if err := p.checkLayout(); err != nil {
		return err
	}
	if last := w.readSyncState(); !last.Pending && !p.hasCroftLock() {
		now, err := p.state()
		if err != nil || last.isUpToDate(now) {
			return err
		}
	}
	l, err := w.lockSync(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if p.hasCroftLock() { // the Croft process that locked the index has died: a live one would hold the lock that is ours now
		_ = p.root.Remove(gitdir.IndexLock)
	}
	return p.syncBothSides(ctx)
}

func (w *Worktree) lockSync(ctx context.Context) (*flock.Lock, error) {
	if err := os.MkdirAll(w.SyncStateDir(), 0o777); err != nil {
		return nil, err
	}
	return flock.Acquire(ctx, filepath.Join(w.SyncStateDir(), "lock"))
}

// syncBothSides makes the agent's git directory and the repository agree. The caller holds
// the lock of the synchronisation.
func (p *private) syncBothSides(ctx context.Context) error {
	if p.w.readSyncState().Pending {
		unlock, err := p.holdIndex(ctx)
		if err != nil {
			return err
		}
		defer unlock()
	}
	return p.syncHeld(ctx)
}

// syncHeld is syncBothSides for a caller that holds the agent's index, too, or knows that
// no change is pending.
func (p *private) syncHeld(ctx context.Context) error {
	last := p.w.readSyncState()
	if last.Pending { // the process that changed the repository's side has died
		return p.pushState(ctx, p.w.readSyncFile())
	}
	now, err := p.state()
	if err != nil || last.isUpToDate(now) {
		return err
	}
	return p.pullState(ctx, last, now)
}

// isUpToDate reports whether there is nothing to pull: the agent's git directory is
// unchanged, and the repository's branch is at the same commit. A branch that could not be
// moved, because it was checked out elsewhere, is tried again.
func (last SyncState) isUpToDate(now privateState) bool {
	mine := now.Refs["refs/heads/"+last.Branch]
	return now.equal(last.Private) && !last.Apart && (last.Branch == "" || mine == "" || mine == last.Tip)
}

// news is what one pull copies.
type news struct {
	now    privateState
	tips   []string     // objects that HEAD, refs, reflogs and operations in progress name, that of HEAD first
	staged *index.Index // nil: there is no index
	index  []byte       // the bytes of the index file
	trees  *index.Tree
	blobs  []string // staged blobs that the repository may not have
	named  string   // the content with the entries that leaveOut left out
}

// content identifies what is staged, without the stat data of files.
func (n news) content() string {
	if n.trees == nil {
		return ""
	}
	return fmt.Sprintf("%x %d %d", n.trees.OID, n.trees.Entries, len(n.staged.Entries))
}

func (p *private) pullState(ctx context.Context, last SyncState, now privateState) error {
	n, err := p.readNews(ctx, last, now)
	if err != nil {
		return err
	}
	release, left, err := p.fetchObjects(ctx, last, n)
	if err != nil {
		return err
	}
	defer release()
	last.Left = p.nameUnpulled(n, left)
	if err := p.leaveOut(&n, left); err != nil {
		return err
	}
	if err := failpoint.Hit("harvest.fetched"); err != nil {
		return err
	}
	return p.applyPulled(ctx, last, n)
}

// applyPulled makes the repository's side equal to the agent's git directory. The
// repository has the objects already.
func (p *private) applyPulled(ctx context.Context, last SyncState, n news) error {
	from, to, err := p.branchMove(ctx, last, n)
	if err != nil {
		return err
	}
	held, err := p.storePinCommit(ctx, last, n, to)
	if err != nil {
		return err
	}
	if from != to { // if this process dies after the move, the branch must not seem moved by another
		last.Next = to
		if err := p.w.WriteSyncState(last); err != nil {
			return err
		}
	}
	head, err := p.moveRefs(ctx, last, n, refs.Update{Ref: "refs/heads/" + last.Branch, Old: from, New: to}, held)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("harvest.refs"); err != nil {
		return err
	}
	if err := p.copyToAdmin(n, head); err != nil {
		return err
	}
	if err := failpoint.Hit("harvest.copied"); err != nil {
		return err
	}
	last.Private, last.Staged, last.Pending, last.Next = n.now, cmp.Or(n.named, n.content()), false, ""
	mine := n.now.Refs["refs/heads/"+last.Branch]
	if last.Apart = mine != "" && mine != to; !last.Apart {
		last.Tip = to // if they are apart, to is the commit of another process, which the next pull must not overwrite
	}
	return p.w.WriteSyncState(last)
}

// readNews reads what there is to pull.
func (p *private) readNews(ctx context.Context, last SyncState, now privateState) (news, error) {
	n := news{now: now}
	_, head := now.resolve()
	tips := odb.OIDsOf(head)
	for name, oid := range now.Refs {
		if last.Pushed[name] != oid {
			tips.Add(oid)
		}
	}
	for _, oid := range now.Inner {
		tips.Add(oid)
	}
	slices.Sort(tips.List[min(1, len(head)):])
	for _, oid := range slices.Concat(p.pendingOIDs(), worktree.StashOIDs(now.Stash)) {
		if p.isOID(oid) {
			tips.Add(oid)
		}
	}
	n.tips = tips.List
	data, err := p.readIndex(ctx, p.w.Admin, &n)
	if err != nil || n.staged == nil {
		return n, err
	}
	if n.trees, err = n.staged.Trees(p.w.Repo.ObjectFormat()); err != nil {
		return n, p.wrongError("its index names what cannot be in a tree: %v", err)
	}
	if len(n.staged.Faults) > 0 {
		n.index, err = n.staged.EncodeEntries(p.w.Repo.ObjectFormat())
	} else {
		n.index, err = n.staged.Plain(data, n.trees, p.w.Repo.ObjectFormat())
	}
	if err != nil {
		return n, err
	}
	n.blobs, err = p.w.newlyStaged(n.staged, p.w.Admin)
	return n, err
}

// readIndex reads the agent's index, if there is one, and returns its bytes, which git
// rewrote in a copy of the admin directory if only git reads them.
func (p *private) readIndex(ctx context.Context, admin string, n *news) ([]byte, error) {
	data, err := p.read("index")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if n.staged, err = index.Parse(data, p.w.Repo.ObjectFormat().NewHash()); err == nil {
		return data, nil
	}
	if data, err = p.expandIndex(ctx, admin, data); err != nil {
		return nil, err
	}
	if n.staged, err = index.Parse(data, p.w.Repo.ObjectFormat().NewHash()); err != nil {
		return nil, p.wrongError("its index cannot be read")
	}
	return data, nil
}

// leaveOut leaves out the entries of the index that name one of the objects: a tree that
// named them would make the repository incomplete.
func (p *private) leaveOut(n *news, left map[string]error) (err error) {
	if !slices.ContainsFunc(n.blobs, func(oid string) bool { return left[oid] != nil }) {
		return nil
	}
	n.named, n.staged = n.content(), n.staged.WithoutObjects(left)
	if n.trees, err = n.staged.Trees(p.w.Repo.ObjectFormat()); err == nil {
		n.index, err = n.staged.EncodeEntries(p.w.Repo.ObjectFormat())
	}
	return err
}

// expandIndex has git write an index that is split or sparse as an ordinary one. Git works
// on a copy of the admin directory, the index and the shared index that it refers to.
func (p *private) expandIndex(ctx context.Context, from string, data []byte) ([]byte, error) {
	admin := p.w.Repo.OwnStaging(filepath.Base(p.w.Admin) + ".unfold")
	defer os.RemoveAll(admin)
	if err := os.RemoveAll(admin); err != nil {
		return nil, err
	}
	if err := p.w.Repo.CopyAdmin(from, admin); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if sum, ok := strings.CutPrefix(e.Name(), "sharedindex."); ok && object.IsOID(sum) {
			if b, err := p.read(e.Name()); err == nil {
				err = os.WriteFile(filepath.Join(admin, e.Name()), b, 0o600)
				if err != nil {
					return nil, err
				}
			}
		}
	}
	file := filepath.Join(admin, "index")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	plain := p.w.Repo.WorktreeOf(worktree.Worktree{Path: p.w.Path, Admin: admin})
	if _, err := plain.RunGit(ctx, gitcmd.Call{
		Args:   []string{"update-index", "--no-split-index", "--index-version", "2", "--force-write-index"},
		Config: [][2]string{{"index.sparse", "false"}}, Env: []string{"GIT_INDEX_FILE=" + file}, Locks: true,
	}); err != nil {
		return nil, p.wrongError("its index cannot be read: %v", err)
	}
	return os.ReadFile(file)
}

// newlyStaged lists the objects of an index that the index in an admin directory does not
// name, without the empty blob, which [worktree.Repository.WriteStaged] stores.
func (w *Worktree) newlyStaged(x *index.Index, admin string) ([]string, error) {
	known := map[string]bool{w.Repo.EmptyBlob(): true}
	was, err := w.ReadIndex(filepath.Join(admin, "index"))
	if err == nil {
		for _, e := range was.Entries {
			known[e.OID] = true
		}
	} else if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, index.ErrUnreadable) {
		return nil, err
	}
	return x.ObjectsBeside(known), nil
}

// knownCommits returns commits that the repository has with everything that they reach:
// their objects need not be transferred.
func (p *private) knownCommits(ctx context.Context, last SyncState) []string {
	var list []string
	if held, err := p.w.Repo.ReadRef(ctx, p.w.PinRef()); err == nil {
		if c, err := p.w.Repo.ReadCommit(ctx, held); err == nil {
			list = append([]string{held}, c.Parents...)
		}
	}
	if last.Base != "" {
		list = append(list, p.existing(ctx, []string{last.Base})...)
	}
	if last.Branch != "" {
		if tip, err := p.w.Repo.ReadRef(ctx, "refs/heads/"+last.Branch); err == nil {
			list = append(list, tip)
		}
	}
	return list
}

// branchMove returns the commit of the workspace's branch in the repository, and the one
// that it will be at: the agent's, or the same. A branch that another process moved is
// not moved, unless the agent's commit descends from its tip; nor is one that is checked
// out elsewhere or is a symbolic ref.
func (p *private) branchMove(ctx context.Context, last SyncState, n news) (from, to string, err error) {
	if last.Branch == "" {
		return "", "", nil
	}
	ref := "refs/heads/" + last.Branch
	if from, err = p.w.Repo.ReadRef(ctx, ref); err != nil && !errors.Is(err, refs.ErrNoRef) {
		return "", "", err
	}
	mine := n.now.Refs[ref]
	if mine == "" || mine == from {
		return from, from, nil
	}
	if moves, err := p.mayMoveBranch(ctx, last, from, mine); err != nil || !moves {
		return from, from, err
	}
	return from, mine, nil
}

// moveRefs moves the workspace's branch and the pin ref. It returns the new content of
// HEAD in the admin directory: the branch if it is at the agent's commit, else that
// commit. No other branch ever moves, whatever the agent's HEAD names.
func (p *private) moveRefs(ctx context.Context, last SyncState, n news, branch refs.Update, held string) (head string, err error) {
	repo := p.w.Repo
	was, err := repo.ReadRef(ctx, p.w.PinRef())
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return "", err
	}
	updates := []refs.Update{{Ref: p.w.PinRef(), New: held, Old: was}, branch}
	updates = slices.DeleteFunc(updates, func(u refs.Update) bool { return u.New == u.Old })
	if err := repo.UpdateRefs(ctx, updates...); err != nil {
		return "", err
	}
	on, oid := n.now.resolve()
	if on != "" && on == last.Branch && oid == branch.New {
		return "ref: " + branch.Ref, nil
	}
	return oid, nil
}

// mayMoveBranch reports whether the repository's branch, now at tip, may be moved to the
// agent's commit mine. It fails with a *PrivateError if mine is not a commit.
func (p *private) mayMoveBranch(ctx context.Context, last SyncState, tip, mine string) (bool, error) {
	info, err := p.w.Repo.Info(ctx, mine)
	if err != nil || info.Type != "commit" {
		return false, p.wrongError("its branch %s is at no commit", last.Branch)
	}
	if to, err := p.w.Repo.SymbolicBranch(ctx, last.Branch); err != nil || to != "" {
		return false, err
	}
	if len(p.w.Repo.CheckedOut(last.Branch, p.w.Admin)) > 0 {
		return false, nil
	}
	// Before the first pull the branch is where the checkout was made from. If the state of
	// the synchronisation is lost, it is unknown which process moved the branch.
	if tip == "" || tip == cmp.Or(last.Tip, last.Base) || tip == last.Next {
		return true, nil
	}
	return p.w.Repo.IsAncestor(ctx, tip, mine)
}

// copyToAdmin copies HEAD, the index and operations in progress to the admin directory. They
// are copies, so they are not synced to disk.
func (p *private) copyToAdmin(n news, head string) error {
	w := p.w
	if head != "" { // otherwise HEAD names a branch without a commit
		if err := fsx.ReplaceIfChanged(filepath.Join(w.Admin, "HEAD"), head+"\n"); err != nil {
			return err
		}
	}
	if n.index != nil {
		info, err := p.root.Lstat("index")
		if err != nil {
			return err
		}
		next := filepath.Join(w.Admin, writers.NextIndex)
		if err := os.WriteFile(next, n.index, 0o666); err != nil {
			return err
		}
		if err := errors.Join(os.Chtimes(next, info.ModTime(), info.ModTime()), os.Rename(next, filepath.Join(w.Admin, "index"))); err != nil {
			return err
		}
	}
	for _, name := range gitdir.ProgressPaths(os.DirFS(w.Admin)) {
		if _, ok := n.now.Files[name]; !ok {
			if err := os.RemoveAll(filepath.Join(w.Admin, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	for name := range n.now.Files {
		if name == "index" {
			continue
		}
		b, err := p.read(name)
		if err != nil {
			continue // the operation is over
		}
		path := filepath.Join(w.Admin, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := fsx.ReplaceFile(path, b, 0o644); err != nil {
			return err
		}
	}
	for _, name := range gitdir.ProgressDirs { // to git, the directory alone means that the operation is in progress
		_ = os.Remove(filepath.Join(w.Admin, name))
	}
	return nil
}
