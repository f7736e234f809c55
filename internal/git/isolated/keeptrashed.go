package isolated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// KeepTrashed pulls everything that the git directory of an isolated checkout names, after
// the checkout was moved to the trash at tree: refs, stashes, the HEADs of the
// checkout and of worktrees that the agent added, and what the index names beside the index
// of the admin directory in the trash. It calls keep with the commit that keeps all of this
// and everything that the commit called was keeps, or with "" if there is nothing to keep.
// The objects are not pruned until keep returns. Objects that are reachable from known are
// left out.
//
// The caller knows that there is a git directory. Unless keep failed, an error says why
// something could not be pulled; then either nothing was kept, or all but entries of the
// index and the state of git directories inside of that one.
func (w *Worktree) KeepTrashed(ctx context.Context, tree, was string, known []string, keep func(own string) error) error {
	stowed := w.Repo.WorktreeOf(worktree.Worktree{Path: tree, Admin: w.Admin, Inherit: w.Inherit})
	if !stowed.IsIsolated() {
		return nil
	}
	p, unlock, err := stowed.holdPrivate(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	known = slices.DeleteFunc(slices.Clone(known), func(oid string) bool { return oid == "" })
	own, err := p.readOwnRefs(known)
	if err != nil {
		return err
	}
	if err := p.w.Repo.addKeptBefore(ctx, &own, was); err != nil {
		return err
	}
	release, err := p.pullOwnRefs(ctx, own, was, known)
	if err != nil {
		return err
	}
	defer release()
	releaseStaged, unkept, err := p.pullLateStaged(ctx, &own, filepath.Join(filepath.Dir(tree), "admin"), known)
	if err != nil {
		return err
	}
	defer releaseStaged()
	oid, err := p.w.Repo.storeOwn(ctx, own)
	if err != nil {
		return err
	}
	if err := keep(oid); err != nil {
		return err
	}
	return errors.Join(unkept, p.checkNestedGitDirs(ctx))
}

// maxLateStaged is how many staged objects KeepTrashed pulls. If there are more, it pulls none
// and returns an error.
const maxLateStaged = 1000

// pullLateStaged pulls the objects that the agent's index names and the index of an admin
// directory does not, and adds them to own. The error unkept says what could not be pulled.
func (p *private) pullLateStaged(ctx context.Context, own *ownRefs, admin string, known []string) (release func(), unkept, err error) {
	release = func() {}
	n, left := news{}, map[string]error{}
	if _, err := p.readIndex(ctx, admin, &n); err != nil || n.staged == nil {
		return release, err, ctx.Err()
	}
	blobs, err := p.w.newlyStaged(n.staged, admin)
	switch {
	case err != nil:
		return nil, nil, err
	case len(blobs) > maxLateStaged:
		return release, p.wrongError("its index names %d objects that were not brought to the project", len(blobs)), nil
	case len(blobs) > 0:
		if err := p.checkObjects(); err != nil {
			return release, err, nil
		}
		release, left = p.pullStaged(ctx, blobs, p.existing(ctx, known), p.pull)
	}
	for i, oid := range blobs {
		if left[oid] == nil {
			own.refs[fmt.Sprintf("%sstaged-%d", lateRefs, i)] = oid
		}
	}
	if list := n.unpulledEntries(left); len(list) > 0 {
		unkept = p.wrongError("%d entries of its index cannot be brought, such as %s: %s", len(list), list[0].Name, list[0].Why)
	}
	return release, unkept, ctx.Err()
}

// existing returns those of the objects that the repository has.
func (p *private) existing(ctx context.Context, oids []string) []string {
	return slices.DeleteFunc(slices.Clone(oids), func(oid string) bool { _, err := p.w.Repo.Info(ctx, oid); return err != nil })
}

// lateRefs is the prefix of the names under which objects are kept that no ref of the agent's
// names: the commits of HEADs, the tip of the workspace's branch after the last pull, and
// staged objects.
const lateRefs = "refs/croft/late/"

// readOwnRefs reads the refs that the agent made, and where its branch and each HEAD are,
// without those that known has.
func (p *private) readOwnRefs(known []string) (ownRefs, error) {
	now, err := p.state()
	if err != nil {
		return ownRefs{}, err
	}
	last := p.w.readSyncFile()
	own := last.ownPart(now)
	_, head := now.resolve()
	named := odb.OIDsOf(append(slices.Collect(maps.Values(own.refs)), known...)...)
	named.Add(last.Base)
	for name, oid := range map[string]string{"HEAD": head, "branch": now.Refs["refs/heads/"+last.Branch]} {
		if oid != "" && !named.Has[oid] {
			own.refs[lateRefs+name] = oid
		}
	}
	_, err = p.innerHeads(now.Refs)
	return own, err
}

// addInnerHeads adds the commits that the agent's own worktrees have checked out, unless a ref
// or one of others names them.
func (own *ownRefs) addInnerHeads(inner map[string]string, others ...string) {
	named := odb.OIDsOf(slices.AppendSeq(others, maps.Values(own.refs))...)
	for i, name := range slices.Sorted(maps.Keys(inner)) {
		if oid := inner[name]; oid != "" && !named.Has[oid] {
			named.Add(oid)
			own.refs[fmt.Sprintf("%sworktree-%d", lateRefs, i)] = oid
		}
	}
}

// innerHeads returns the commits that are checked out in worktrees which the agent added,
// by the name of the worktree. If one of them cannot be read, it returns an error together
// with the others.
func (p *private) innerHeads(refs map[string]string) (map[string]string, error) {
	heads := map[string]string{}
	entries, err := fs.ReadDir(p.root.FS(), "worktrees")
	if err != nil {
		if errors.Is(asNotExist(err), os.ErrNotExist) {
			return heads, nil
		}
		return nil, p.wrongError("worktrees cannot be read: %v", err)
	}
	if len(entries) > maxRefs {
		return nil, p.wrongError("it has more than %d worktrees", maxRefs)
	}
	var wrong error
	for _, e := range entries {
		head, err := p.readHead(path.Join("worktrees", e.Name(), "HEAD"))
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			wrong = errors.Join(wrong, err)
		default:
			_, heads[e.Name()] = privateState{Head: head, Refs: refs}.resolve()
		}
	}
	return heads, wrong
}

// addKeptBefore adds the objects that the commit was keeps and that no ref names any more.
func (r *Repository) addKeptBefore(ctx context.Context, own *ownRefs, was string) error {
	if was == "" {
		return nil
	}
	before, err := r.readOwn(ctx, was)
	if err != nil {
		return err
	}
	for name, oid := range before.refs {
		if own.refs[name] == "" {
			own.refs[name] = oid
		}
	}
	if own.stash == "" {
		own.stash = before.stash
	}
	if own.head == "" {
		own.head = before.head
	}
	c, err := r.ReadCommit(ctx, was)
	if err != nil {
		return err
	}
	beside, err := r.KeptObjects(ctx, was)
	own.more = slices.Concat(c.Parents, beside)
	return err
}

// pullOwnRefs pulls the objects that refs and stashes name, as far as they exist.
func (p *private) pullOwnRefs(ctx context.Context, own ownRefs, was string, known []string) (release func(), err error) {
	var wanted []string
	for _, oid := range own.refs {
		wanted = append(wanted, oid)
	}
	for _, oid := range worktree.StashOIDs(own.stash) {
		if p.isOID(oid) {
			wanted = append(wanted, oid)
		}
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	if len(wanted) == 0 {
		return func() {}, nil
	}
	if err := p.checkObjects(); err != nil {
		return nil, err
	}
	there, err := p.w.Repo.Present(ctx, wanted, p.privateObjects())
	if err != nil {
		return nil, p.wrongError("its objects cannot be read: %v", err)
	}
	isThere := odb.OIDsOf(there...).Has
	for name, oid := range own.refs { // with a damaged pack, no object at all seems to exist
		if !isThere[oid] {
			return nil, p.wrongError("%s names %s, which is not there or damaged", name, oid)
		}
	}
	if was != "" {
		known = append(slices.Clone(known), was)
	}
	release, left := odb.PullComplete(ctx, there, p.existing(ctx, known), p.pull)
	if len(left) > 0 {
		release()
		oid := slices.Min(slices.Collect(maps.Keys(left)))
		return nil, p.wrongError("%d of its objects are not whole, such as %s: %v", len(left), oid, left[oid])
	}
	return release, nil
}
