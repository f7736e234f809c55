package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/proc"
)

// Git does not work in a repository of another user unless the user's own configuration
// lists it in safe.directory: the owner of a repository decides what git runs in it. Croft
// passes git directories explicitly, which makes git skip this check, so Croft makes it as
// git does, before it reads anything.

// OwnerError says that a part of a repository belongs to another user, and that
// safe.directory does not list the repository.
type OwnerError struct {
	Top  string // the value that safe.directory would need
	Part string // the path that belongs to another user
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("%s belongs to another user, and safe.directory does not list %s", e.Part, e.Top)
}

// Is makes errors.Is match KindOwner, git's own refusal.
func (e *OwnerError) Is(target error) bool { return target == KindOwner }

// Discover finds the repository of a directory as [gitdir.Discover] does. If the
// repository belongs to another user and the user's safe.directory does not list it,
// Discover fails with an *OwnerError, and has read only .git and commondir files of the
// repository by then.
func (g *Git) Discover(ctx context.Context, dir string) (gitdir.Place, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return gitdir.Place{}, err
	}
	for at := real; ; at = filepath.Dir(at) {
		if parts := PartsAt(at); len(parts) > 0 {
			if err := g.CheckOwnerOf(ctx, at, parts); err != nil {
				return gitdir.Place{}, err
			}
			break
		}
		if filepath.Dir(at) == at {
			return gitdir.Place{}, gitdir.ErrNoRepository
		}
	}
	return gitdir.Discover(real)
}

// CheckOwner fails with an *OwnerError if a repository that was found before belongs to
// another user and the user's safe.directory does not list it.
func (g *Git) CheckOwner(ctx context.Context, p gitdir.Place) error {
	parts := []string{p.CommonDir, p.Root}
	if p.Root != p.CommonDir {
		parts = append(parts, filepath.Join(p.Root, ".git"))
	}
	return g.CheckOwnerOf(ctx, p.Root, parts)
}

// PartsAt lists the paths that make a directory the top of a repository or of a checkout:
// the directory, its .git, and the git directories that this names.
func PartsAt(at string) []string {
	dotGit := filepath.Join(at, ".git")
	parts := []string{at, dotGit}
	info, err := os.Lstat(dotGit)
	if err != nil {
		if gitdir.IsGitDir(at) {
			return []string{at}
		}
		return nil
	}
	real := dotGit
	if info.Mode()&os.ModeSymlink != 0 {
		if real, err = filepath.EvalSymlinks(dotGit); err != nil {
			return parts
		}
		parts = append(parts, real)
		if info, err = os.Stat(real); err != nil {
			return parts
		}
	}
	if !info.Mode().IsRegular() {
		switch {
		case gitdir.IsGitDir(real):
			return parts
		case gitdir.IsGitDir(at):
			return []string{at}
		}
		return nil
	}
	gitDir, err := gitdir.ReadGitFile(real)
	if err != nil {
		return parts
	}
	if _, err := os.Lstat(gitDir); err != nil {
		return parts
	}
	parts = append(parts, gitDir)
	if common, err := gitdir.ReadCommonDir(gitDir); err == nil {
		parts = append(parts, common)
	}
	return parts
}

// CheckOwnerOf compares the owner of every part with the current user.
func (g *Git) CheckOwnerOf(ctx context.Context, top string, parts []string) error {
	for _, part := range parts {
		mine, err := g.isOwnedByUser(part)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !mine {
			return g.checkListed(ctx, top, part)
		}
	}
	return nil
}

// checkListed fails with an *OwnerError unless the user's own configuration lists the
// repository. The repository's own configuration does not count.
func (g *Git) checkListed(ctx context.Context, top, part string) error {
	values, err := g.safeDirectories(ctx)
	if err != nil {
		return err
	}
	if isListed(values, g.Home(), top) {
		return nil
	}
	return &OwnerError{Top: top, Part: part}
}

// safeDirectories returns the values of safe.directory, in order, of the system, the user
// and the environment, and of no repository.
func (g *Git) safeDirectories(ctx context.Context) ([]string, error) {
	root := filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	env := g.baseEnv()
	for _, kv := range g.Options.Environ {
		if strings.HasPrefix(kv, "GIT_CONFIG_") && !strings.HasPrefix(kv, "GIT_CONFIG=") {
			env = append(env, kv)
		}
	}
	args := []string{"config", "-z", "--show-scope", "--includes", "--get-all", "safe.directory"}
	res, err := proc.Run(ctx, proc.Command{Path: g.Options.Path, Args: args, Env: env, Dir: root})
	if err != nil {
		if err = g.Wrap(args, root, err); ExitCode(err) == 1 {
			return nil, nil // there are none
		}
		return nil, err
	}
	var values []string
	for pair := range slices.Chunk(gitdir.SplitNUL(res.Stdout), 2) {
		if len(pair) == 2 && slices.Contains([]string{"system", "global", "command"}, pair[0]) {
			values = append(values, pair[1])
		}
	}
	return values, nil
}

// isListed reports whether values of safe.directory cover a directory. An empty value
// cancels all before it.
func isListed(values []string, home, top string) bool {
	listed := false
	for _, value := range values {
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(home, rest)
		}
		switch below, isPrefix := strings.CutSuffix(value, "/*"); {
		case value == "":
			listed = false
		case value == "*":
			listed = true
		case isPrefix && (below == "" || filepath.IsAbs(below)):
			listed = listed || strings.HasPrefix(filepath.ToSlash(top), strings.TrimSuffix(filepath.ToSlash(realPath(below+"/")), "/")+"/")
		default:
			listed = listed || filepath.IsAbs(value) && realPath(value) == top
		}
	}
	return listed
}

// realPath returns a path without symbolic links if it exists, otherwise the path.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
