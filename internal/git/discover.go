package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// ErrNoRepository says that a directory is in no git repository.
var ErrNoRepository = errors.New("not in a git repository")

// ErrDeadWorktree says that a .git file leads nowhere. The search does not go
// on upwards then: the next repository above would be the wrong one.
var ErrDeadWorktree = errors.New("the directory's .git file points to nothing")

// Place is where a directory lies in a repository.
type Place struct {
	Root      string // the main checkout, or the bare repository itself
	CommonDir string
	GitDir    string // CommonDir in the main checkout, the admin directory in a linked worktree
	WorkDir   string // the top of the checkout that the directory lies in; empty in a bare repository
	Bare      bool
}

// Discover finds the repository of a directory by reading files only.
func Discover(dir string) (Place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Place{}, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		p, err := placeAt(at)
		if !errors.Is(err, ErrNoRepository) {
			return p, err
		}
		if filepath.Dir(at) == at {
			return Place{}, ErrNoRepository
		}
	}
}

func placeAt(at string) (Place, error) {
	dotGit := filepath.Join(at, ".git")
	_, err := os.Lstat(dotGit)
	switch {
	case err == nil:
		real, err := filepath.EvalSymlinks(dotGit)
		if err != nil {
			return Place{}, ErrDeadWorktree
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
			return resolveGitFile(at, real)
		}
		if isGitDir(real) {
			return mainPlace(at, real), nil
		}
	case !errors.Is(err, os.ErrNotExist):
		return Place{}, err
	}
	if !isGitDir(at) {
		return Place{}, ErrNoRepository
	}
	p := Place{CommonDir: at, GitDir: at}
	p.Root, p.Bare = mainOf(at)
	return p, nil
}

// PlaceAt is the place of a repository's main checkout, or of a bare repository,
// that is known to have its common directory and its root there.
func PlaceAt(common, root string) Place {
	p := Place{Root: root, CommonDir: common, GitDir: common, WorkDir: root}
	if root == common {
		p.WorkDir, p.Bare = "", true
	}
	return p
}

// Rooted is the same place in a repository of which is known, from elsewhere than
// its configuration, where its main checkout lies, or that it has none.
func (p Place) Rooted(root string) Place {
	p.Root, p.Bare = root, root == p.CommonDir
	if p.GitDir == p.CommonDir {
		p.WorkDir = root
		if p.Bare {
			p.WorkDir = ""
		}
	}
	return p
}

// mainPlace is the place of a main checkout, unless the repository says that
// it has none.
func mainPlace(at, gitDir string) Place {
	if readFormat(gitDir).bare {
		return Place{Root: gitDir, CommonDir: gitDir, GitDir: gitDir, Bare: true}
	}
	return Place{Root: at, CommonDir: gitDir, GitDir: gitDir, WorkDir: at}
}

// resolveGitFile resolves a .git file: a linked worktree, or a submodule.
func resolveGitFile(at, dotGit string) (Place, error) {
	gitDir, err := readGitFile(dotGit)
	if err != nil {
		return Place{}, err
	}
	if _, err := os.Stat(gitDir); err != nil {
		return Place{}, ErrDeadWorktree
	}
	if gitDir, err = filepath.EvalSymlinks(gitDir); err != nil {
		return Place{}, err
	}
	common, err := readCommonDir(gitDir)
	if errors.Is(err, os.ErrNotExist) {
		if !isGitDir(gitDir) {
			return Place{}, ErrDeadWorktree
		}
		return Place{Root: at, CommonDir: gitDir, GitDir: gitDir, WorkDir: at}, nil
	}
	if err != nil || !isGitDir(common) {
		return Place{}, ErrDeadWorktree
	}
	p := Place{CommonDir: common, GitDir: gitDir, WorkDir: at}
	p.Root, p.Bare = mainOf(common)
	return p, nil
}

// readCommonDir returns the common directory that an admin directory names.
// Only a missing file is os.ErrNotExist.
func readCommonDir(admin string) (string, error) {
	b, err := fsx.ReadSmall(filepath.Join(admin, "commondir"))
	if err != nil {
		return "", err
	}
	common := strings.TrimSpace(string(b))
	if common == "" {
		return "", ErrDeadWorktree
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(admin, common)
	}
	real, err := filepath.EvalSymlinks(common)
	if err != nil {
		return "", ErrDeadWorktree
	}
	return real, nil
}

// mainOf finds the main checkout that belongs to a common directory. Who works
// in a checkout can write core.worktree, so what it names is believed only if
// it names this repository in turn, as a submodule does.
func mainOf(common string) (root string, bare bool) {
	f := readFormat(common)
	if f.bare {
		return common, true
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common), false
	}
	if f.worktree != "" {
		root = f.worktree
		if !filepath.IsAbs(root) {
			root = filepath.Join(common, root)
		}
		back, err := readGitFile(filepath.Join(root, ".git"))
		if err == nil {
			back, err = filepath.EvalSymlinks(back)
		}
		if err == nil && back == common {
			return filepath.Clean(root), false
		}
	}
	return common, true
}

// readGitFile returns the directory that a .git file names.
func readGitFile(path string) (string, error) {
	b, err := fsx.ReadSmall(path)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok || dir == "" {
		return "", ErrDeadWorktree
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	return filepath.Clean(dir), nil
}

func isGitDir(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// format is what git reads from a repository's own config file before it
// reads any other configuration; includes do not count there.
type format struct {
	bare           bool
	worktree       string
	objectFormat   string // "" means sha1
	refStorage     string // "" means files
	worktreeConfig bool
	partial        bool // a clone that lacks objects
}

func readFormat(common string) format {
	out := format{}
	out.read(filepath.Join(common, "config"))
	if out.worktreeConfig {
		// Where worktrees have a configuration of their own, git keeps what
		// concerns the main one in this file.
		out.read(filepath.Join(common, "config.worktree"))
	}
	return out
}

// read takes what a file says. One that cannot be read says nothing here: no
// git runs before it can be.
func (out *format) read(file string) {
	entries, _ := readConfigFile(file)
	for _, e := range entries {
		out.set(e.key, e.setting().Value)
	}
}

func (out *format) set(key, value string) {
	switch key {
	case "core.bare":
		out.bare = isTrue(value)
	case "core.worktree":
		out.worktree = value
	case "extensions.objectformat":
		out.objectFormat = value
	case "extensions.refstorage":
		out.refStorage = value
	case "extensions.partialclone":
		out.partial = value != ""
	case "extensions.worktreeconfig":
		out.worktreeConfig = isTrue(value)
	}
	if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") {
		out.partial = out.partial || isTrue(value)
	}
}

func isTrue(v string) bool {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}
