package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// KeepStowed brings what the git directory of an isolated checkout that was stowed
// in a directory names and has: its refs, its stashes, and what is checked out there
// and in worktrees that the agent made of it. It hands over the commit that keeps all
// of it and all that was kept before by was, "" if there is nothing to keep; the
// objects are not pruned until keep returns. What known leads to is kept without it.
//
// Unless keep failed, an error says why not all of it could be brought, and nothing is
// kept.
func (w *Worktree) KeepStowed(ctx context.Context, tree, was string, known []string, keep func(own string) error) error {
	stowed := &Worktree{Repo: w.Repo, Path: tree, Admin: w.Admin, Inherit: w.Inherit}
	if !stowed.IsIsolated() {
		return nil
	}
	p, unlock, err := stowed.holdPrivate(ctx)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it had none any more
	}
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
	return keep(oid)
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
	own := last.own(now)
	heads, err := p.innerHeads(now.Refs)
	if err != nil {
		return own, err
	}
	_, heads["HEAD"] = now.resolve()
	heads["branch"] = now.Refs["refs/heads/"+last.Branch]
	named := map[string]bool{"": true, last.Base: true}
	for _, oid := range known {
		named[oid] = true
	}
	for _, oid := range own.refs {
		named[oid] = true
	}
	for name, oid := range heads {
		if !named[oid] {
			own.refs[lateRefs+name] = oid
		}
	}
	return own, nil
}

// innerHeads reads what is checked out in the worktrees that an agent made of its
// git directory.
func (p *private) innerHeads(refs map[string]string) (map[string]string, error) {
	heads := map[string]string{}
	entries, err := fs.ReadDir(p.root.FS(), "worktrees")
	if err != nil {
		if errors.Is(notThere(err), os.ErrNotExist) {
			return heads, nil
		}
		return nil, p.wrong("worktrees cannot be read: %v", err)
	}
	if len(entries) > maxRefs {
		return nil, p.wrong("it has more than %d worktrees", maxRefs)
	}
	for i, e := range entries {
		b, err := p.read(path.Join("worktrees", e.Name(), "HEAD"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, p.wrong("worktrees/%s/HEAD cannot be read", e.Name())
		}
		oid, ref := parseRefFile(b)
		switch {
		case ref != "" && strings.HasPrefix(ref, "refs/") && canBeRef(ref):
			oid = refs[ref]
		case ref != "" || !p.isOID(oid):
			return nil, p.wrong("worktrees/%s/HEAD names nothing that can be checked out", e.Name())
		}
		heads[fmt.Sprintf("worktree-%d", i)] = oid
	}
	return heads, nil
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
		out, err := r.run(ctx, "ls-tree", "-z", "--name-only", "--full-tree", own, dir+"/")
		if err != nil {
			return nil, err
		}
		for _, name := range splitNUL(out) {
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
		if err != nil && !errors.Is(err, ErrNoObject) {
			return false, err
		}
		if o.OID == "" && !named[oid] {
			return true, nil // a tag, of which only the text is kept
		}
	}
	out, err := r.git.run(ctx, door{repo: r}, call{args: []string{"rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin"}, stdin: in.String()})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(strings.Fields(string(out)), func(oid string) bool { return slices.Contains(beside, oid) }), nil
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
	there, err := p.present(ctx, wanted)
	if err != nil {
		return nil, p.wrong("its objects cannot be read: %v", err)
	}
	for name, oid := range own.refs { // a damaged pack looks as if nothing was there
		if !slices.Contains(there, oid) {
			return nil, p.wrong("%s names %s, which is not there or damaged", name, oid)
		}
	}
	if was != "" {
		known = append(known, was)
	}
	known = slices.DeleteFunc(known, func(oid string) bool { _, err := p.w.Repo.Info(ctx, oid); return err != nil })
	release, err = p.pullWhole(ctx, there, known)
	if err != nil {
		release()
		return nil, p.wrong("not all of its objects are whole: %v", err)
	}
	return release, nil
}

// mostPulls bounds how often git is asked again for what is whole.
const mostPulls = 200

// pullWhole brings those of some objects that are whole, with all that they lead to.
// It fails with why one was left out; release is to be called nevertheless.
func (p *private) pullWhole(ctx context.Context, wanted, known []string) (release func(), err error) {
	var releases []func()
	pulls := 0
	var some func(wanted []string) error
	some = func(wanted []string) error {
		if pulls++; pulls > mostPulls {
			return fmt.Errorf("%d objects were left out after %d attempts", len(wanted), mostPulls)
		}
		release, err := p.pull(ctx, wanted, known)
		switch {
		case err == nil:
			releases, known = append(releases, release), slices.Concat(known, wanted)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case len(wanted) == 1:
			return fmt.Errorf("%s: %w", wanted[0], err)
		}
		half := len(wanted) / 2
		return errors.Join(some(wanted[:half]), some(wanted[half:]))
	}
	err = some(wanted)
	return func() {
		for _, release := range releases {
			release()
		}
	}, err
}

// present are those of some objects that the private side has.
func (p *private) present(ctx context.Context, oids []string) ([]string, error) {
	out, err := p.w.Repo.git.run(ctx, door{repo: p.w.Repo}, call{
		args: []string{"cat-file", "--batch-check"}, stdin: strings.Join(oids, "\n") + "\n", env: p.privateObjects(), config: notTrusted,
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
