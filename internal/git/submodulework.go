package git

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/refs"
)

// SubmoduleWork lists the submodules of this worktree, and theirs, that have commits which
// neither their remote-tracking refs nor the project's own copies have: those of HEAD, of
// any ref and of the stash. They go with the directory. One that cannot be read is listed,
// too.
func (w *Worktree) SubmoduleWork(ctx context.Context) ([]string, error) {
	if err := w.Pull(ctx); err != nil {
		return nil, err
	}
	special, err := w.Repo.readSpecialEntries(ctx, w.location())
	if err != nil || len(special.Links) == 0 {
		return nil, err
	}
	top, err := filepath.EvalSymlinks(w.Path)
	if err != nil {
		return nil, err
	}
	_, head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	f := &submoduleWork{w: w}
	err = f.addLevel(ctx, keptLevel{repo: w.Repo, project: w.Repo, work: top}, head, special.Links)
	return f.found, err
}

// submoduleWork finds the submodules of one worktree that have work.
type submoduleWork struct {
	w     *Worktree
	found []string
}

// addLevel adds the submodules at links that have work. project is nil in a submodule of
// which the project has no copy.
func (f *submoduleWork) addLevel(ctx context.Context, l keptLevel, head string, links []string) error {
	var names map[string]string
	if head != "" {
		var err error
		if names, err = l.repo.submoduleNames(ctx, head); err != nil {
			return err
		}
	}
	for _, path := range links {
		hasWork, err := f.look(ctx, l, path, names[path])
		if stopped := stoppedBy(ctx, err); stopped != nil {
			return stopped
		}
		if err != nil || hasWork {
			f.found = append(f.found, l.prefix+path)
		}
	}
	return nil
}

// stoppedBy returns err if it says nothing about what was read: the call has ended, or took
// too long.
func stoppedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if gitcmd.IsStopped(err) {
		return err
	}
	return nil
}

// look reports whether a submodule has work, and looks into its own.
func (f *submoduleWork) look(ctx context.Context, l keptLevel, path, name string) (bool, error) {
	dir := filepath.Join(l.work, filepath.FromSlash(path))
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return false, nil // absent, or a symbolic link
	}
	if parts := gitcmd.PartsAt(dir); len(parts) > 0 {
		if err := f.w.Repo.Git.CheckOwnerOf(ctx, dir, parts); err != nil {
			return true, nil //nolint:nilerr // Croft reads nothing that another user owns
		}
	}
	place, err := gitdir.PlaceIn(dir)
	if errors.Is(err, gitdir.ErrNoRepository) {
		return false, nil // not populated
	}
	if err != nil {
		return false, err
	}
	host, remove, err := f.w.Repo.TempDir()
	if err != nil {
		return false, err
	}
	defer remove()
	sub := At(f.w.Repo.Git, place, filepath.Join(host, "from"))
	defer sub.Close()
	sub.Format.Partial = false // objects must not be fetched from a server that the agent names
	var module *Repository
	if l.project != nil {
		if to, isThere := l.project.moduleOf(path, name); isThere {
			module = At(f.w.Repo.Git, gitdir.PlaceAt(to, l.project.rootOf(path, to)), filepath.Join(host, "to"))
			defer module.Close()
			module.Format.Partial = false
		}
	}
	hasWork, err := sub.hasCommitsBeside(ctx, module)
	if err != nil || hasWork {
		return hasWork, err // it is kept whole, and its own submodules with it
	}
	return false, f.lookInside(ctx, l, sub, module, dir, path)
}

// lookInside adds the submodules of a submodule that have work.
func (f *submoduleWork) lookInside(ctx context.Context, l keptLevel, sub, module *Repository, dir, path string) error {
	special, err := sub.readSpecialEntries(ctx, checkoutAt{gitDir: sub.GitDir, work: dir, inherit: f.w.Inherit})
	if err != nil || len(special.Links) == 0 {
		return err
	}
	if l.depth >= deepestSubmodule {
		return errTooDeep
	}
	_, head, err := sub.RefSnapshot().Head(sub.GitDir)
	if !sub.HasNativeRefs() {
		_, head, err = sub.HeadByGit(ctx, sub.GitDir)
	}
	if err != nil {
		return err
	}
	return f.addLevel(ctx, keptLevel{repo: sub, project: module, work: dir, prefix: l.prefix + path + "/", depth: l.depth + 1}, head, special.Links)
}

var errTooDeep = errors.New("it is too deep in other submodules")

// mostTips bounds how many tips of a submodule are compared one by one, and how many
// stashes. One that has more counts as one with work.
const mostTips = 100

// hasCommitsBeside reports whether HEAD, the refs or the stash of a submodule reach a
// commit that none of its remote-tracking refs reaches, and no ref of the project's copy.
// module is nil if the project has none.
func (r *Repository) hasCommitsBeside(ctx context.Context, module *Repository) (bool, error) {
	stashes, err := r.stashes(ctx)
	if err != nil || len(stashes) > mostTips {
		return true, err
	}
	out, err := r.RunGit(ctx, slices.Concat([]string{"rev-list", "--max-count=1", "--all"}, stashes, []string{"--not", "--remotes"})...)
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return false, err
	}
	if module == nil {
		return true, nil
	}
	out, err = r.RunGit(ctx, append([]string{"rev-list", "--no-walk", "--exclude=refs/remotes/*", "--all"}, stashes...)...)
	if err != nil {
		return false, err
	}
	known, err := module.Refs(ctx, "refs/")
	if err != nil {
		return false, err
	}
	tips := slices.DeleteFunc(strings.Fields(string(out)), func(tip string) bool {
		return slices.ContainsFunc(known, func(k refs.Ref) bool { return k.OID == tip })
	})
	if len(tips) > mostTips {
		return true, nil
	}
	for _, tip := range tips {
		if isBeside, err := r.isBeside(ctx, module, tip); err != nil || isBeside {
			return true, err
		}
	}
	return false, nil
}

// stashes returns the commits of a submodule's stash.
func (r *Repository) stashes(ctx context.Context) ([]string, error) {
	found, err := r.Refs(ctx, gitdir.StashRef)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	out, err := r.RunGit(ctx, "rev-list", "--walk-reflogs", gitdir.StashRef)
	return strings.Fields(string(out)), err
}

// isBeside reports whether a commit of a submodule is reached neither by its
// remote-tracking refs nor by a ref or the HEAD of the project's copy.
func (r *Repository) isBeside(ctx context.Context, module *Repository, commit string) (bool, error) {
	out, err := r.RunGit(ctx, "rev-list", "--max-count=1", commit, "--not", "--remotes")
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return false, err
	}
	if has, err := module.hasVerified(ctx, commit); err != nil || !has {
		return true, err
	}
	// Those of its worktrees do not count: this checkout may be one.
	out, err = module.RunGit(ctx, "rev-list", "--max-count=1", commit, "--not", "--single-worktree", "--all")
	return len(bytes.TrimSpace(out)) > 0, err
}
