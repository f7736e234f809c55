package git

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	info, err := os.Lstat(dotGit)
	switch {
	case err == nil && info.Mode().IsRegular():
		return linked(at, dotGit)
	case err == nil:
		if real, err := filepath.EvalSymlinks(dotGit); err == nil && isGitDir(real) {
			return Place{Root: at, CommonDir: real, GitDir: real, WorkDir: at}, nil
		}
	}
	if !isGitDir(at) {
		return Place{}, ErrNoRepository
	}
	p := Place{Root: at, CommonDir: at, GitDir: at, Bare: true}
	if f := readFormat(at); filepath.Base(at) == ".git" && !f.bare {
		p.Root, p.Bare = filepath.Dir(at), false
	}
	return p, nil
}

// linked resolves a .git file: a linked worktree, or a submodule.
func linked(at, dotGit string) (Place, error) {
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
	b, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, os.ErrNotExist) {
		if !isGitDir(gitDir) {
			return Place{}, ErrDeadWorktree
		}
		return Place{Root: at, CommonDir: gitDir, GitDir: gitDir, WorkDir: at}, nil
	}
	rel := strings.TrimSpace(string(b))
	if err != nil || rel == "" {
		return Place{}, ErrDeadWorktree
	}
	common := rel
	if !filepath.IsAbs(rel) {
		common = filepath.Join(gitDir, rel)
	}
	if common, err = filepath.EvalSymlinks(common); err != nil || !isGitDir(common) {
		return Place{}, ErrDeadWorktree
	}
	p := Place{CommonDir: common, GitDir: gitDir, WorkDir: at}
	p.Root, p.Bare = mainOf(common)
	return p, nil
}

// mainOf finds the main checkout that belongs to a common directory.
func mainOf(common string) (root string, bare bool) {
	f := readFormat(common)
	switch {
	case f.worktree != "" && filepath.IsAbs(f.worktree):
		return filepath.Clean(f.worktree), false
	case f.worktree != "":
		return filepath.Join(common, f.worktree), false
	case filepath.Base(common) == ".git" && !f.bare:
		return filepath.Dir(common), false
	default:
		return common, true
	}
}

// readGitFile returns the directory that a .git file names.
func readGitFile(path string) (string, error) {
	b, err := readSmall(path)
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
}

func readFormat(common string) format {
	var out format
	f, err := os.Open(filepath.Join(common, "config"))
	if err != nil {
		return out
	}
	defer f.Close()
	section := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch section + "." + strings.ToLower(strings.TrimSpace(key)) {
		case "core.bare":
			out.bare = isTrue(value)
		case "core.worktree":
			out.worktree = value
		case "extensions.objectformat":
			out.objectFormat = value
		case "extensions.refstorage":
			out.refStorage = value
		case "extensions.worktreeconfig":
			out.worktreeConfig = isTrue(value)
		}
	}
	return out
}

func isTrue(v string) bool {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}
