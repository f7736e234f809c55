// Package gitdir knows the files of a git directory: where a repository and its checkouts
// are, its format, .git files, ref files, alternates, and the names that git gives to
// files.
//
// It reads files and starts no process. It follows a path in a file no further than git
// would, and opens only regular files.
package gitdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// ErrNoRepository says that a directory is in no git repository.
var ErrNoRepository = errors.New("not in a git repository")

// ErrDeadWorktree says that a .git file names a directory that does not exist. The search
// does not continue upwards then: the next repository above would be the wrong one.
var ErrDeadWorktree = errors.New("the directory's .git file points to nothing")

// Place is the location of a directory in a repository.
type Place struct {
	Root      string // the main checkout, or the bare repository itself
	CommonDir string
	GitDir    string // CommonDir in the main checkout, the admin directory in a linked worktree
	WorkDir   string // the top of the checkout that the directory is in; empty in a bare repository
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
		p, err := PlaceIn(at)
		if !errors.Is(err, ErrNoRepository) {
			return p, err
		}
		if filepath.Dir(at) == at {
			return Place{}, ErrNoRepository
		}
	}
}

// PlaceIn returns the place of the repository whose checkout or git directory is at. It
// does not search upwards.
func PlaceIn(at string) (Place, error) {
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
		if IsGitDir(real) {
			return mainPlace(at, real), nil
		}
	case !errors.Is(err, os.ErrNotExist):
		return Place{}, err
	}
	if !IsGitDir(at) {
		return Place{}, ErrNoRepository
	}
	p := Place{CommonDir: at, GitDir: at}
	p.Root, p.Bare = findMain(at)
	return p, nil
}

// PlaceAt returns the place of a repository's main checkout, or of a bare repository,
// whose common directory and root are known.
func PlaceAt(common, root string) Place {
	p := Place{Root: root, CommonDir: common, GitDir: common, WorkDir: root}
	if root == common {
		p.WorkDir, p.Bare = "", true
	}
	return p
}

// WithRoot returns the same place with another root, for a repository whose main checkout,
// or the lack of one, is known from elsewhere than its configuration.
func (p Place) WithRoot(root string) Place {
	p.Root, p.Bare = root, root == p.CommonDir
	if p.GitDir == p.CommonDir {
		p.WorkDir = root
		if p.Bare {
			p.WorkDir = ""
		}
	}
	return p
}

// mainPlace returns the place of a main checkout, unless the repository is bare.
func mainPlace(at, gitDir string) Place {
	if ReadFormat(gitDir).Bare {
		return Place{Root: gitDir, CommonDir: gitDir, GitDir: gitDir, Bare: true}
	}
	return Place{Root: at, CommonDir: gitDir, GitDir: gitDir, WorkDir: at}
}

// resolveGitFile resolves the .git file of a linked worktree or a submodule.
func resolveGitFile(at, dotGit string) (Place, error) {
	gitDir, err := ReadGitFile(dotGit)
	if err != nil {
		return Place{}, err
	}
	if _, err := os.Stat(gitDir); err != nil {
		return Place{}, ErrDeadWorktree
	}
	if gitDir, err = filepath.EvalSymlinks(gitDir); err != nil {
		return Place{}, err
	}
	common, err := ReadCommonDir(gitDir)
	if errors.Is(err, os.ErrNotExist) {
		if !IsGitDir(gitDir) {
			return Place{}, ErrDeadWorktree
		}
		return Place{Root: at, CommonDir: gitDir, GitDir: gitDir, WorkDir: at}, nil
	}
	if err != nil || !IsGitDir(common) {
		return Place{}, ErrDeadWorktree
	}
	p := Place{CommonDir: common, GitDir: gitDir, WorkDir: at}
	p.Root, p.Bare = findMain(common)
	return p, nil
}

// ReadCommonDir returns the common directory that an admin directory names, with symbolic
// links resolved. It fails with os.ErrNotExist only if the admin directory has no file
// commondir, and with ErrDeadWorktree if that file is empty or names no existing path.
func ReadCommonDir(admin string) (string, error) {
	common, err := writtenCommonDir(admin)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(common)
	if err != nil {
		return "", ErrDeadWorktree
	}
	return real, nil
}

// LeadsTo reports whether the common directory of an admin directory is one that has no link in its path.
func LeadsTo(admin, common string) bool {
	written, err := writtenCommonDir(admin)
	if err != nil {
		return false
	}
	if written == common {
		return true
	}
	real, err := filepath.EvalSymlinks(written)
	return err == nil && real == common
}

func writtenCommonDir(admin string) (string, error) {
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
	return common, nil
}

// findMain finds the main checkout of a common directory. An agent can write core.worktree,
// so the directory that it names counts only if that names this repository in turn, as a
// submodule does.
func findMain(common string) (root string, bare bool) {
	f := ReadFormat(common)
	if f.Bare {
		return common, true
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common), false
	}
	if f.Worktree != "" {
		root = f.Worktree
		if !filepath.IsAbs(root) {
			root = filepath.Join(common, root)
		}
		back, err := ReadGitFile(filepath.Join(root, ".git"))
		if err == nil {
			back, err = filepath.EvalSymlinks(back)
		}
		if err == nil && back == common {
			return filepath.Clean(root), false
		}
	}
	return common, true
}

// ReadGitFile returns the directory that a .git file names.
func ReadGitFile(path string) (string, error) {
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

// IsGitDir reports whether a directory looks like a git directory, as git decides it.
func IsGitDir(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// Format is what git reads from a repository's own config file before any other
// configuration; includes do not count there.
type Format struct {
	Bare           bool
	Worktree       string
	ObjectFormat   string // "" means sha1
	RefStorage     string // "" means files
	WorktreeConfig bool
	Partial        bool // a partial clone, which lacks objects
}

// ReadFormat reads the format of a repository from its configuration. A setting that
// cannot be read has its default.
func ReadFormat(common string) Format {
	out := Format{}
	out.read(filepath.Join(common, "config"))
	if out.WorktreeConfig {
		// With extensions.worktreeConfig, git keeps the settings of the main checkout in
		// this file.
		out.read(filepath.Join(common, "config.worktree"))
	}
	return out
}

// read reads the settings of a file. One that cannot be read is ignored here: git is not
// run before it can be read.
func (out *Format) read(file string) {
	entries, _ := gitconfig.ReadFile(file)
	for _, e := range entries {
		out.Set(e.Key, e.Setting().Value)
	}
}

// Set applies one setting of the configuration.
func (out *Format) Set(key, value string) {
	switch key {
	case "core.bare":
		out.Bare = gitconfig.IsTrue(value)
	case "core.worktree":
		out.Worktree = value
	case "extensions.objectformat":
		out.ObjectFormat = value
	case "extensions.refstorage":
		out.RefStorage = value
	case "extensions.partialclone":
		out.Partial = value != ""
	case "extensions.worktreeconfig":
		out.WorktreeConfig = gitconfig.IsTrue(value)
	}
	if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") {
		out.Partial = out.Partial || gitconfig.IsTrue(value)
	}
}
