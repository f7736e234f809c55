package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/object"
)

// SubmoduleError says that a commit of a submodule is in a checkout alone.
type SubmoduleError struct {
	Path, Commit string
	Work         string // the submodule's files in the checkout
}

func (e *SubmoduleError) Error() string {
	return fmt.Sprintf("commit %s of the submodule %q is in %s alone", e.Commit, e.Path, e.Work)
}

// SubmoduleBrokenError says that a commit of a submodule cannot be brought out of a
// checkout, because not all that it needs is there.
type SubmoduleBrokenError struct {
	Path, Commit string
	Work         string // the submodule's files in the checkout
	Err          error  // what git says
}

func (e *SubmoduleBrokenError) Error() string {
	return fmt.Sprintf("commit %s of the submodule %q in %s is not whole: %v", e.Commit, e.Path, e.Work, e.Err)
}

// Unwrap returns what git says.
func (e *SubmoduleBrokenError) Unwrap() error { return e.Err }

// KeepSubmodules makes sure that the commits of submodules which a commit of this
// worktree names can be had without the worktree. One that the submodule's own
// remotes have, or that the project's copy of the submodule has, can. Another one
// is brought into the project's copy, under a ref of Croft's; where the project has
// no copy, it is a *SubmoduleError; where it is not whole, a *SubmoduleBrokenError.
func (w *Worktree) KeepSubmodules(ctx context.Context, commit string) error {
	if commit == "" || !object.IsOID(commit) {
		return nil
	}
	special, err := w.Repo.hasSpecialEntries(ctx, w.readAdminFile())
	if err != nil || len(special.Links) == 0 {
		return err
	}
	args := append([]string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"}, special.Links...)
	out, err := w.Repo.run(ctx, args...)
	if err != nil {
		return err
	}
	names, err := w.Repo.submoduleNames(ctx, commit)
	if err != nil {
		return err
	}
	for _, line := range splitNUL(out) {
		about, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(about)
		if len(f) != 3 || f[0] != linkMode || !object.IsOID(f[2]) {
			continue
		}
		if err := w.keepSubmodule(ctx, path, names[path], f[2]); err != nil {
			return err
		}
	}
	return nil
}

// submoduleNames are the names of submodules by their paths, as a commit has them.
func (r *Repository) submoduleNames(ctx context.Context, commit string) (map[string]string, error) {
	o, err := r.ReadFileAt(ctx, commit, ".gitmodules")
	if errors.Is(err, object.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := parseConfig(o.Data)
	if err != nil {
		return nil, nil //nolint:nilerr // git cannot tell their names either
	}
	names := map[string]string{}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.key, "submodule."); ok {
			if name, ok = strings.CutSuffix(name, ".path"); ok {
				names[e.value] = name
			}
		}
	}
	return names, nil
}

func (w *Worktree) keepSubmodule(ctx context.Context, path, name, commit string) error {
	dir := filepath.Join(w.Path, filepath.FromSlash(path))
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return nil // not there, or a link that leads elsewhere
	}
	place, err := placeAt(dir)
	if err != nil {
		return nil //nolint:nilerr // there is no repository, so nothing was committed
	}
	host, remove, err := w.Repo.TempDir()
	if err != nil {
		return err
	}
	defer remove()
	sub := w.Repo.git.At(place, filepath.Join(host, "from"))
	defer sub.Close()
	sub.format.partial = false // an agent names no server that objects are fetched from
	if isThere, err := sub.has(ctx, commit); err != nil || !isThere {
		return err
	}
	to, isThere := w.Repo.moduleOf(path, name)
	var module *Repository
	if isThere {
		module = w.Repo.git.At(PlaceAt(to, to), filepath.Join(host, "to"))
		defer module.Close()
		module.format.partial = false
		if has, err := module.has(ctx, commit); err != nil || has && module.checkWhole(ctx, commit, "--all") == nil {
			return err
		}
	}
	out, err := sub.run(ctx, "rev-list", "--max-count=1", commit, "--not", "--remotes")
	if err == nil && strings.TrimSpace(string(out)) == "" {
		return nil // a remote of the submodule has it
	}
	if err == nil && module == nil {
		return &SubmoduleError{Path: path, Commit: commit, Work: dir}
	}
	if err == nil {
		err = module.bring(ctx, sub, commit)
	}
	if err == nil || ctx.Err() != nil || isStopped(err) {
		return err
	}
	if missing := sub.checkWhole(ctx, commit, "--remotes"); missing != nil && ctx.Err() == nil && !isStopped(missing) {
		return &SubmoduleBrokenError{Path: path, Commit: commit, Work: dir, Err: missing}
	}
	return err
}

// checkWhole fails if something is not there that a commit needs and certain refs
// do not have.
func (r *Repository) checkWhole(ctx context.Context, commit, refs string) error {
	_, err := r.run(ctx, "rev-list", "--objects", "--quiet", commit, "--not", refs)
	return err
}

// has reports whether a repository has an object, in a form that is what its name
// says.
func (r *Repository) has(ctx context.Context, oid string) (bool, error) {
	o, err := r.openObjects()
	if err != nil {
		return false, err
	}
	defer o.Close()
	_, err = o.Look(ctx, oid, object.KeepNothing)
	if errors.Is(err, object.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// moduleOf is the git directory of the project's own copy of a submodule.
func (r *Repository) moduleOf(path, name string) (string, bool) {
	var candidates []string
	at := filepath.Join(r.Root, filepath.FromSlash(path))
	if place, err := placeAt(at); err == nil && !r.Bare && r.isModule(place.CommonDir, at) {
		candidates = append(candidates, place.CommonDir)
	}
	for _, n := range []string{name, path} {
		if n != "" && filepath.IsLocal(filepath.FromSlash(n)) {
			candidates = append(candidates, filepath.Join(r.CommonDir, "modules", filepath.FromSlash(n)))
		}
	}
	for _, dir := range candidates {
		if isOwnGitDir(dir) {
			return dir, true
		}
	}
	return "", false
}

// isModule reports whether a git directory is one that a submodule of the project
// has: below the project's own, or in the submodule's checkout.
func (r *Repository) isModule(dir, checkout string) bool {
	rel, err := filepath.Rel(filepath.Join(r.CommonDir, "modules"), dir)
	isBelow := err == nil && rel != "." && filepath.IsLocal(rel)
	return isBelow || dir == filepath.Join(checkout, ".git")
}

// isOwnGitDir reports whether what git writes into a git directory stays there:
// nothing in it is a link, or leads to another one.
func isOwnGitDir(dir string) bool {
	for _, name := range []string{"", "objects", "objects/pack", "refs", "refs/croft", "refs/croft/submodule", "logs"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		real, err := filepath.EvalSymlinks(path)
		_, there := os.Lstat(path)
		if err == nil && real != path || err != nil && there == nil {
			return false
		}
	}
	_, shares := os.Lstat(filepath.Join(dir, "commondir"))
	return fsx.IsThere(filepath.Join(dir, "objects")) && errors.Is(shares, os.ErrNotExist)
}

// submoduleRefs keep commits of submodules that only a workspace had.
const submoduleRefs = "refs/croft/submodule/"

// bring copies a commit, and what it needs, from another repository, and names it.
func (r *Repository) bring(ctx context.Context, from *Repository, commit string) error {
	refs, err := r.Refs(ctx, "refs/")
	if err != nil {
		return err
	}
	o, err := from.openObjects()
	if err != nil {
		return err
	}
	defer o.Close()
	var known []string
	for _, ref := range refs {
		if _, err := o.Look(ctx, ref.OID, object.KeepNothing); err == nil && len(known) < mostKnown && !slices.Contains(known, ref.OID) {
			known = append(known, ref.OID)
		}
	}
	objects := filepath.Join(from.CommonDir, "objects")
	_, err = r.transferPack(ctx, carrying{
		wanted: []string{commit}, known: known, from: []string{"GIT_OBJECT_DIRECTORY=" + objects},
		into: call{args: []string{"index-pack", "--stdin", "--fix-thin"}, config: notTrusted},
	})
	if err != nil {
		return err
	}
	err = r.UpdateRefs(ctx, RefUpdate{Ref: submoduleRefs + commit, New: commit})
	if errors.Is(err, KindRefStale) {
		return nil // it is there
	}
	return err
}

// mostKnown bounds how many commits are told to be there.
const mostKnown = 200
