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

// KeepTrashed brings what the git directory of an isolated checkout that was stowed
// in a directory names and has: its refs, its stashes, and what is checked out there
// and in worktrees that the agent made of it. It hands over the commit that keeps all
// of it and all that was kept before by was, "" if there is nothing to keep; the
// objects are not pruned until keep returns. What known leads to is kept without it.
//
// The caller knows that there is a git directory. Unless keep failed, an error says why
// not all of it could be brought: nothing is kept then, or all but what lies in git
// directories inside of it.
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
	own, err := p.allOwn(known)
	if err != nil {
		return err
	}
	if err := p.w.Repo.addKept(ctx, &own, was); err != nil {
		return err
	}
	release, err := p.bringAll(ctx, own, was, known)
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
	return p.checkInside(ctx)
}

// lateRefs is where a commit is kept by name that a HEAD, or the workspace's branch,
// came to after what is known of it.
const lateRefs = "refs/croft/late/"

// allOwn reads what the agent made, and where its branch and each HEAD are, unless
// that is known.
func (p *private) allOwn(known []string) (ownRefs, error) {
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

// addLate names what worktrees of an agent's own have checked out, unless a ref or
// something else does.
func (own *ownRefs) addLate(inner map[string]string, others ...string) {
	named := odb.OIDsOf(slices.AppendSeq(others, maps.Values(own.refs))...)
	for i, name := range slices.Sorted(maps.Keys(inner)) {
		if oid := inner[name]; oid != "" && !named.Has[oid] {
			named.Add(oid)
			own.refs[fmt.Sprintf("%sworktree-%d", lateRefs, i)] = oid
		}
	}
}

// innerHeads reads what is checked out in the worktrees that an agent made of its
// git directory, by their names. It fails if there is one that cannot be read, and
// returns the others.
func (p *private) innerHeads(refs map[string]string) (map[string]string, error) {
	heads := map[string]string{}
	entries, err := fs.ReadDir(p.root.FS(), "worktrees")
	if err != nil {
		if errors.Is(notThere(err), os.ErrNotExist) {
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

// addKept adds what a commit keeps that is not named any more.
func (r *Repository) addKept(ctx context.Context, own *ownRefs, was string) error {
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
	beside, err := r.BesideCommits(ctx, was)
	own.more = slices.Concat(c.Parents, beside)
	return err
}

// BesideCommits are the tags, files and trees that a commit of [Worktree.KeepOwn]
// keeps.
func (r *Repository) BesideCommits(ctx context.Context, own string) ([]string, error) {
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

// HasAlone reports whether a commit of [Worktree.KeepOwn] keeps a tag, a file or a
// tree that the repository has by no ref of its own.
func (r *Repository) HasAlone(ctx context.Context, own string) (bool, error) {
	beside, err := r.BesideCommits(ctx, own)
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
		if strings.HasPrefix(ref.Name, "refs/heads/") { // of a commit alone git does not mark the files
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
			return true, nil // a tag, of which only the text is kept
		}
	}
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{Args: []string{"rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin"}, Stdin: in.String()})
	if err != nil {
		return false, err
	}
	alone := odb.OIDsOf(beside...)
	return slices.ContainsFunc(strings.Fields(string(out)), func(oid string) bool { return alone.Has[oid] }), nil
}

// bringAll brings what refs and stashes name, as far as it is there.
func (p *private) bringAll(ctx context.Context, own ownRefs, was string, known []string) (release func(), err error) {
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
	for name, oid := range own.refs { // a damaged pack looks as if nothing was there
		if !isThere[oid] {
			return nil, p.wrongError("%s names %s, which is not there or damaged", name, oid)
		}
	}
	if was != "" {
		known = append(known, was)
	}
	known = slices.DeleteFunc(known, func(oid string) bool { _, err := p.w.Repo.Info(ctx, oid); return err != nil })
	release, left := p.pullWhole(ctx, there, known, p.pull)
	if len(left) > 0 {
		release()
		oid := slices.Min(slices.Collect(maps.Keys(left)))
		return nil, p.wrongError("%d of its objects are not whole, such as %s: %v", len(left), oid, left[oid])
	}
	return release, nil
}

// mostPulls bounds how often git is asked again for what is whole.
const mostPulls = 200

// pullWhole brings those of some objects that are whole, with all that they lead to,
// by a function such as pull. It returns those that were left out, with the reason.
func (p *private) pullWhole(ctx context.Context, wanted, known []string, pull pulling) (release func(), left map[string]error) {
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
		if pulls++; pulls > mostPulls {
			leave(wanted, fmt.Errorf("it was left out after %d attempts", mostPulls))
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

// presentObjects are those of some objects that the private side has.
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
