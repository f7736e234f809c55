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

// checkNestedGitDirs fails if the agent's git directory has state that pulling its refs does not
// copy: commits in the git directories of submodules, and refs and operations in progress of
// worktrees that the agent added.
func (p *private) checkNestedGitDirs(ctx context.Context) error {
	return errors.Join(p.checkModules(ctx), p.checkInnerWorktrees())
}

// checkModules fails if the git directory of a submodule has commits that none of its
// remote-tracking refs reaches, or if git cannot tell.
func (p *private) checkModules(ctx context.Context) error {
	var dirs []string
	err := fs.WalkDir(p.root.FS(), "modules", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(asNotExist(err), os.ErrNotExist):
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

// hasOwnCommits reports whether refs or reflogs in the git directory of a submodule name
// commits that none of its remote-tracking refs reaches. The answer is yes, too, for a
// directory that is not one by [worktree.IsOwnGitDir]: git is not run there.
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
	sub.Format.Partial = false // objects must not be fetched from a server that the agent names
	out, err := sub.RunGit(ctx, "rev-list", "--max-count=1", "--all", "--reflog", "--not", "--remotes")
	return strings.TrimSpace(string(out)) != "", err
}

// checkInnerWorktrees fails if a worktree that the agent added has more state than a HEAD.
// innerHeads reports those that cannot be read.
func (p *private) checkInnerWorktrees() error {
	entries, err := fs.ReadDir(p.root.FS(), "worktrees")
	if err != nil {
		return nil //nolint:nilerr // innerHeads has failed, or there are no such worktrees
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

// hasFiles reports whether a directory has anything but directories below it. A directory
// that cannot be read counts as having files.
func (p *private) hasFiles(dir string) bool {
	err := fs.WalkDir(p.root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(asNotExist(err), os.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		return errors.Join(err, errHasFiles)
	})
	return err != nil
}

var errHasFiles = errors.New("there is something")
