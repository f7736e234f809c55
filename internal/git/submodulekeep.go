package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// SubmoduleError says that only a checkout has a commit of a submodule.
type SubmoduleError struct {
	Path, Commit string
	Work         string // the submodule's files in the checkout
}

func (e *SubmoduleError) Error() string {
	return fmt.Sprintf("commit %s of the submodule %q is in %s alone", e.Commit, e.Path, e.Work)
}

// SubmoduleBrokenError says that a commit of a submodule cannot be copied out of a
// checkout, because objects that it needs are missing.
type SubmoduleBrokenError struct {
	Path, Commit string
	Work         string // the submodule's files in the checkout
	Err          error  // git's error
}

func (e *SubmoduleBrokenError) Error() string {
	return fmt.Sprintf("commit %s of the submodule %q in %s is not whole: %v", e.Commit, e.Path, e.Work, e.Err)
}

// Unwrap returns git's error.
func (e *SubmoduleBrokenError) Unwrap() error { return e.Err }

// KeepSubmodules makes sure that the submodule commits which a commit of this worktree
// names exist outside of the worktree. A commit that the submodule's remote-tracking refs
// have, or that the project's copy of the submodule has, does. Any other is copied to the
// project's copy, under a ref of Croft's. It fails with a *SubmoduleError if the project
// has no copy, and with a *SubmoduleBrokenError if objects are missing.
func (w *Worktree) KeepSubmodules(ctx context.Context, commit string) error {
	if commit == "" || !object.IsOID(commit) {
		return nil
	}
	special, err := w.Repo.readSpecialEntries(ctx, w.location())
	if err != nil || len(special.Links) == 0 {
		return err
	}
	level := keptLevel{repo: w.Repo, project: w.Repo, work: w.Path}
	return w.keepLevel(ctx, level, commit, special.Links)
}

// keptLevel is a checkout whose submodules have commits to keep: the worktree, or a submodule in it.
type keptLevel struct {
	repo    *Repository // has the commit of the checkout
	project *Repository // the project's own copy: where the git directories of its submodules are
	work    string
	prefix  string // of the paths of submodules, from the top of the worktree
	depth   int
}

// keepLevel keeps the commits of the submodules at links, as far as a commit names them.
func (w *Worktree) keepLevel(ctx context.Context, l keptLevel, commit string, links []string) error {
	commits, err := l.repo.linkedCommits(ctx, commit, links)
	if err != nil {
		return err
	}
	names, err := l.repo.submoduleNames(ctx, commit)
	if err != nil {
		return err
	}
	for _, path := range links {
		if commits[path] == "" {
			continue
		}
		if err := w.keepSubmodule(ctx, l, path, names[path], commits[path]); err != nil {
			return err
		}
	}
	return nil
}

// submoduleNames returns the names of submodules by their paths, from the .gitmodules of a
// commit.
func (r *Repository) submoduleNames(ctx context.Context, commit string) (map[string]string, error) {
	o, err := r.ReadFileAt(ctx, commit, ".gitmodules")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, object.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := gitconfig.Parse(o.Data)
	if err != nil {
		return nil, nil //nolint:nilerr // git cannot read the names either
	}
	names := map[string]string{}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Key, "submodule."); ok {
			if name, ok = strings.CutSuffix(name, ".path"); ok {
				names[e.Value] = name
			}
		}
	}
	return names, nil
}

// keepSubmodule keeps a commit of a submodule, and those that it names of the submodules in that.
func (w *Worktree) keepSubmodule(ctx context.Context, l keptLevel, path, name, commit string) error {
	dir := filepath.Join(l.work, filepath.FromSlash(path))
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return nil // absent, or a symbolic link
	}
	place, err := gitdir.PlaceIn(dir)
	if err != nil {
		return nil //nolint:nilerr // there is no repository, so there are no commits
	}
	host, remove, err := w.Repo.TempDir()
	if err != nil {
		return err
	}
	defer remove()
	sub := At(w.Repo.Git, place, filepath.Join(host, "from"))
	defer sub.Close()
	sub.Format.Partial = false // objects must not be fetched from a server that the agent names
	if isThere, err := sub.hasVerified(ctx, commit); err != nil || !isThere {
		return err
	}
	to, isThere := l.project.moduleOf(path, name)
	var module *Repository
	if isThere {
		module = At(w.Repo.Git, gitdir.PlaceAt(to, l.project.rootOf(path, to)), filepath.Join(host, "to"))
		defer module.Close()
		module.Format.Partial = false
		if err := w.keepInner(ctx, l, sub, module, dir, path, commit); err != nil {
			return err
		}
		if has, err := module.hasVerified(ctx, commit); err != nil || has && module.checkComplete(ctx, commit, "--all") == nil {
			return err
		}
	}
	out, err := sub.RunGit(ctx, "rev-list", "--max-count=1", commit, "--not", "--remotes")
	if err == nil && strings.TrimSpace(string(out)) == "" {
		return nil // a remote of the submodule has it
	}
	if err == nil && module == nil {
		return &SubmoduleError{Path: l.prefix + path, Commit: commit, Work: dir}
	}
	if err == nil {
		err = module.copyCommit(ctx, sub, commit)
	}
	if err == nil || ctx.Err() != nil || gitcmd.IsStopped(err) {
		return err
	}
	if missing := sub.checkComplete(ctx, commit, "--remotes"); missing != nil && ctx.Err() == nil && !gitcmd.IsStopped(missing) {
		return &SubmoduleBrokenError{Path: l.prefix + path, Commit: commit, Work: dir, Err: missing}
	}
	return err
}

// keepInner keeps the commits of the submodules in a submodule.
func (w *Worktree) keepInner(ctx context.Context, l keptLevel, sub, module *Repository, dir, path, commit string) error {
	if l.depth >= deepestSubmodule {
		return nil
	}
	special, err := sub.readSpecialEntries(ctx, checkoutAt{gitDir: sub.GitDir, work: dir, inherit: w.Inherit})
	if err != nil || len(special.Links) == 0 {
		return ctx.Err() // an index that cannot be read names no submodules
	}
	return w.keepLevel(ctx, keptLevel{repo: sub, project: module, work: dir, prefix: l.prefix + path + "/", depth: l.depth + 1}, commit, special.Links)
}

// rootOf returns the checkout of a submodule in the project, if module is its git directory, and module otherwise.
func (r *Repository) rootOf(path, module string) string {
	at := filepath.Join(r.Root, filepath.FromSlash(path))
	if place, err := gitdir.PlaceIn(at); err == nil && !r.Bare && place.CommonDir == module {
		return at
	}
	return module
}

// checkComplete fails if an object is missing that a commit needs and certain refs do not
// reach.
func (r *Repository) checkComplete(ctx context.Context, commit, refs string) error {
	_, err := r.RunGit(ctx, "rev-list", "--objects", "--quiet", commit, "--not", refs)
	return err
}

// hasVerified reports whether the repository has an object whose content matches its name.
func (r *Repository) hasVerified(ctx context.Context, oid string) (bool, error) {
	o, err := r.OpenObjects()
	if err != nil {
		return false, err
	}
	defer o.Close()
	_, err = o.Verify(ctx, oid, object.KeepNothing)
	if errors.Is(err, object.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// moduleOf returns the git directory of the project's own copy of a submodule.
func (r *Repository) moduleOf(path, name string) (string, bool) {
	var candidates []string
	at := filepath.Join(r.Root, filepath.FromSlash(path))
	if place, err := gitdir.PlaceIn(at); err == nil && !r.Bare && r.isModule(place.CommonDir, at) {
		candidates = append(candidates, place.CommonDir)
	}
	for _, n := range []string{name, path} {
		if n != "" && filepath.IsLocal(filepath.FromSlash(n)) {
			candidates = append(candidates, filepath.Join(r.CommonDir, "modules", filepath.FromSlash(n)))
		}
	}
	for _, dir := range candidates {
		if worktree.IsOwnGitDir(dir) {
			return dir, true
		}
	}
	return "", false
}

// isModule reports whether a git directory belongs to a submodule of the project: it is
// below the project's own git directory, or in the submodule's checkout.
func (r *Repository) isModule(dir, checkout string) bool {
	rel, err := filepath.Rel(filepath.Join(r.CommonDir, "modules"), dir)
	isBelow := err == nil && rel != "." && filepath.IsLocal(rel)
	return isBelow || dir == filepath.Join(checkout, ".git")
}

// submoduleRefs is the prefix of refs that keep submodule commits which only a workspace
// had.
const submoduleRefs = "refs/croft/submodule/"

// copyCommit copies a commit and what it needs from another repository, and creates a ref for
// it.
func (r *Repository) copyCommit(ctx context.Context, from *Repository, commit string) error {
	all, err := r.Refs(ctx, "refs/")
	if err != nil {
		return err
	}
	o, err := from.OpenObjects()
	if err != nil {
		return err
	}
	defer o.Close()
	var known []string
	for _, ref := range all {
		if _, err := o.Verify(ctx, ref.OID, object.KeepNothing); err == nil && len(known) < maxKnown && !slices.Contains(known, ref.OID) {
			known = append(known, ref.OID)
		}
	}
	objects := filepath.Join(from.CommonDir, "objects")
	_, err = r.TransferPack(ctx, odb.Transfer{
		Wanted: []string{commit}, Known: known, From: []string{"GIT_OBJECT_DIRECTORY=" + objects},
		Into: gitcmd.Call{Args: []string{"index-pack", "--stdin", "--fix-thin"}, Config: odb.NotTrusted},
	})
	if err != nil {
		return err
	}
	err = r.UpdateRefs(ctx, refs.Update{Ref: submoduleRefs + commit, New: commit})
	if errors.Is(err, gitcmd.KindRefStale) {
		return nil // the repository has it already
	}
	return err
}

// maxKnown bounds how many commits are passed as known to the transfer.
const maxKnown = 200
