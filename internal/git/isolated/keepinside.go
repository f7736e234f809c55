package isolated

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// checkInside fails if the git directory of an isolated checkout has something that
// bringing its refs does not bring: commits in the git directories of submodules, and
// what worktrees that the agent made of it are in the middle of.
func (p *private) checkInside(ctx context.Context) error {
	return errors.Join(p.checkModules(ctx), p.checkInner())
}

// checkModules looks for git directories of submodules with commits that none of
// their remotes has.
func (p *private) checkModules(ctx context.Context) error {
	var dirs []string
	err := fs.WalkDir(p.root.FS(), "modules", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(notThere(err), os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Name() != "objects" || !d.IsDir():
			return nil
		}
		dirs = append(dirs, path.Dir(name))
		return fs.SkipDir
	})
	if err != nil {
		return p.wrongError("modules cannot be read: %v", err)
	}
	var alone error
	for _, dir := range dirs {
		if !p.hasFiles(path.Join(dir, "objects")) {
			continue
		}
		isAlone, err := p.hasOwnCommits(ctx, dir)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || isAlone {
			alone = errors.Join(alone, p.wrongError("commits of the submodule %q are only there", strings.TrimPrefix(dir, "modules/")))
		}
	}
	return alone
}

// hasOwnCommits reports whether the git directory of a submodule names, or named,
// commits that are not its remotes'.
func (p *private) hasOwnCommits(ctx context.Context, dir string) (bool, error) {
	full := filepath.Join(p.w.PrivateDir(), filepath.FromSlash(dir))
	if !worktree.IsOwnGitDir(full) {
		return true, nil
	}
	host, remove, err := p.w.Repo.TempDir()
	if err != nil {
		return false, err
	}
	defer remove()
	sub := gitcmd.NewRepository(p.w.Repo.Git, gitdir.PlaceAt(full, full), filepath.Join(host, "from"))
	sub.Format.Partial = false // an agent names no server that objects are fetched from
	out, err := sub.RunGit(ctx, "rev-list", "--max-count=1", "--all", "--reflog", "--not", "--remotes")
	return strings.TrimSpace(string(out)) != "", err
}

// checkInner looks for worktrees of the agent's own that have more than a HEAD. One
// that cannot be read is found where their HEADs are.
func (p *private) checkInner() error {
	entries, err := fs.ReadDir(p.root.FS(), "worktrees")
	if err != nil {
		return nil //nolint:nilerr // reading their HEADs has failed, or there are none
	}
	var more error
	for _, e := range entries {
		dir := path.Join("worktrees", e.Name())
		if p.hasFiles(path.Join(dir, "refs")) {
			more = errors.Join(more, p.wrongError("%s has refs of its own, which are only there", dir))
		}
		for _, act := range worktree.InProgress {
			if _, err := p.root.Lstat(filepath.FromSlash(path.Join(dir, act.File))); err == nil {
				more = errors.Join(more, p.wrongError("%s is in the middle of a %s, which is only there (%s)", dir, act.What, act.File))
			}
		}
	}
	return more
}

// hasFiles reports whether anything but directories lies below a directory, or may.
func (p *private) hasFiles(dir string) bool {
	err := fs.WalkDir(p.root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(notThere(err), os.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		return errors.Join(err, errSomething)
	})
	return err != nil
}

var errSomething = errors.New("there is something")
