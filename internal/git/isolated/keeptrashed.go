package isolated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// KeepTrashed pulls everything that the git directory of an isolated checkout names, after
// the checkout was moved to the trash at tree: refs, stashes, and the HEADs of the
// checkout and of worktrees that the agent added. It calls keep with the commit that keeps
// all of this and all that the commit was kept before, or with "" if there is nothing to
// keep. The objects are not pruned until keep returns. What is reachable from known is
// left out.
//
// The caller knows that there is a git directory. Unless keep failed, an error says why
// something could not be pulled; then either nothing was kept, or all but the state of git
// directories inside of that one.
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
	oid, err := p.w.Repo.storeOwn(ctx, own)
	if err != nil {
		return err
	}
	if err := keep(oid); err != nil {
		return err
	}
	return p.checkNestedGitDirs(ctx)
}

// lateRefs is the prefix of the names under which commits are kept that a HEAD or the
// workspace's branch moved to after the last pull.
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
		b, err := p.read(path.Join("worktrees", e.Name(), "HEAD"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		oid, ref := gitdir.ParseRefFile(b)
		switch {
		case err != nil:
			wrong = errors.Join(wrong, p.wrongError("worktrees/%s/HEAD cannot be read", e.Name()))
		case ref != "" && strings.HasPrefix(ref, "refs/") && gitdir.CanBeRef(ref):
			heads[e.Name()] = refs[ref]
		case ref != "" || !p.isOID(oid):
			wrong = errors.Join(wrong, p.wrongError("worktrees/%s/HEAD names nothing that can be checked out", e.Name()))
		default:
			heads[e.Name()] = oid
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
	beside, err := r.keptObjects(ctx, was)
	own.more = slices.Concat(c.Parents, beside)
	return err
}

// keptObjects returns the tags, blobs and trees that a commit of [Worktree.KeepOwn]
// keeps.
func (r *Repository) keptObjects(ctx context.Context, own string) ([]string, error) {
	var oids []string
	for _, dir := range []string{"tags", "objects"} {
		out, err := r.RunGit(ctx, "ls-tree", "-z", "--name-only", "--full-tree", own, dir+"/")
		if err != nil {
			return nil, err
		}
		for _, name := range gitdir.SplitNUL(out) {
			oids = append(oids, path.Base(name))
		}
	}
	return oids, nil
}

// HasOnlyCopy reports whether a commit of [Worktree.KeepOwn] keeps a tag, a blob or a tree
// that no ref of the repository reaches.
func (r *Repository) HasOnlyCopy(ctx context.Context, own string) (bool, error) {
	beside, err := r.keptObjects(ctx, own)
	if err != nil || len(beside) == 0 {
		return false, err
	}
	refs, err := r.Refs(ctx)
	if err != nil {
		return false, err
	}
	var in strings.Builder
	named := map[string]bool{}
	for _, ref := range refs {
		if !strings.HasPrefix(ref.Name, "refs/croft/") {
			named[ref.OID] = true
			in.WriteString("^" + ref.OID + "\n")
		}
		if strings.HasPrefix(ref.Name, "refs/heads/") { // given a commit alone, rev-list does not mark its blobs
			in.WriteString("^" + ref.OID + "^{tree}\n")
		}
	}
	for _, oid := range beside {
		in.WriteString(oid + "\n")
		o, err := r.Info(ctx, own+":objects/"+oid)
		if err != nil && !errors.Is(err, object.ErrMissing) {
			return false, err
		}
		if o.OID == "" && !named[oid] {
			return true, nil // a tag: only its text is kept
		}
	}
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{Args: []string{"rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin"}, Stdin: in.String()})
	if err != nil {
		return false, err
	}
	alone := odb.OIDsOf(beside...)
	return slices.ContainsFunc(strings.Fields(string(out)), func(oid string) bool { return alone.Has[oid] }), nil
}

// pullOwnRefs pulls the objects that refs and stashes name, as far as they exist.
func (p *private) pullOwnRefs(ctx context.Context, own ownRefs, was string, known []string) (release func(), err error) {
	var wanted []string
	for _, oid := range own.refs {
		wanted = append(wanted, oid)
	}
	for _, oid := range stashOIDs(own.stash) {
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
	there, err := p.presentObjects(ctx, wanted)
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
		known = append(known, was)
	}
	known = slices.DeleteFunc(known, func(oid string) bool { _, err := p.w.Repo.Info(ctx, oid); return err != nil })
	release, left := p.pullComplete(ctx, there, known, p.pull)
	if len(left) > 0 {
		release()
		oid := slices.Min(slices.Collect(maps.Keys(left)))
		return nil, p.wrongError("%d of its objects are not whole, such as %s: %v", len(left), oid, left[oid])
	}
	return release, nil
}

// maxPulls bounds how often pullComplete starts a transfer.
const maxPulls = 200

// pullComplete pulls those of the wanted objects that are complete, with everything that they
// reach. It returns the others, each with the reason.
func (p *private) pullComplete(ctx context.Context, wanted, known []string, pull pulling) (release func(), left map[string]error) {
	left = map[string]error{}
	var releases []func()
	pulls := 0
	leave := func(wanted []string, err error) {
		for _, oid := range wanted {
			left[oid] = err
		}
	}
	var some func(wanted []string)
	some = func(wanted []string) {
		if pulls++; pulls > maxPulls {
			leave(wanted, fmt.Errorf("it was left out after %d attempts", maxPulls))
			return
		}
		release, err := pull(ctx, wanted, known)
		switch {
		case err == nil:
			releases, known = append(releases, release), slices.Concat(known, wanted)
		case len(wanted) == 1 || ctx.Err() != nil:
			leave(wanted, err)
		default:
			half := len(wanted) / 2
			some(wanted[:half])
			some(wanted[half:])
		}
	}
	some(wanted)
	return func() {
		for _, release := range releases {
			release()
		}
	}, left
}

// presentObjects returns those of the objects that the agent's git directory has.
func (p *private) presentObjects(ctx context.Context, oids []string) ([]string, error) {
	out, err := p.w.Repo.Git.Run(ctx, gitcmd.Target{Repo: p.w.Repo.Core()}, gitcmd.Call{
		Args: []string{"cat-file", "--batch-check"}, Stdin: strings.Join(oids, "\n") + "\n", Env: p.privateObjects(), Config: odb.NotTrusted,
	})
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 {
			list = append(list, f[0])
		}
	}
	return list, nil
}
