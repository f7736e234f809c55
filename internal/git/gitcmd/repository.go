package gitcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// DirFor returns a directory of Croft's own for a repository of which only the path is
// known.
func (g *Git) DirFor(common string) string {
	sum := sha256.Sum256([]byte(common))
	return filepath.Join(g.Options.ConfigDir, "repos", hex.EncodeToString(sum[:8]))
}

// Repository is a repository in which git can be run.
type Repository struct {
	*writers.Repository
	Git    *Git
	Format gitdir.Format

	config settingsCache
	host   hostCache
}

// NewRepository returns the repository at a place. Croft's own files about it are in dir,
// which is made when it is needed.
func NewRepository(g *Git, p gitdir.Place, dir string) *Repository {
	r := &Repository{Repository: &writers.Repository{Place: p, Dir: dir}, Git: g}
	if g.Options.Scratch != "" {
		r.Scratch = filepath.Join(g.Options.Scratch, filepath.Base(dir))
	}
	r.Format = r.formatOf()
	return r
}

// formatOf returns the pinned format, or the current one if Croft has not seen the
// repository before.
func (r *Repository) formatOf() gitdir.Format {
	rec, err := r.readRecord()
	if err != nil {
		return gitdir.ReadFormat(r.CommonDir)
	}
	f := gitdir.ReadFormat(r.CommonDir)
	f.ObjectFormat, f.RefStorage, f.Partial = "", "", false
	for _, s := range rec.Pinned {
		f.Set(s.Key, s.Value)
	}
	return f
}

// Version returns the version of the git that is run.
func (r *Repository) Version() (gitdir.Version, error) { return r.Git.Version() }

// ZeroOID is the object name that stands for no object.
func (r *Repository) ZeroOID() string { return strings.Repeat("0", r.ObjectFormat().HexLen()) }

// ObjectFormat is the hash function of object names.
func (r *Repository) ObjectFormat() object.Format { return object.Format(r.Format.ObjectFormat) }

// HasNativeRefs reports whether refs are files, so that they can be read without
// a process.
func (r *Repository) HasNativeRefs() bool {
	return r.Format.RefStorage == "" || r.Format.RefStorage == "files"
}

// Core returns the repository as this package knows it. The Repository types that embed
// this one have the method, too.
func (r *Repository) Core() *Repository { return r }

// RunGit runs git in the common directory, without a work tree.
func (r *Repository) RunGit(ctx context.Context, args ...string) ([]byte, error) {
	return r.Git.Run(ctx, Target{Repo: r}, Call{Args: args})
}

// Fatal is the exit status of git's fatal errors.
const Fatal = 128

// IsAncestor reports whether commit a is reachable from commit b. A commit that is gone, as after a reset and git gc, is reachable
// from none.
func (r *Repository) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	if a == b {
		return true, nil
	}
	return AskAncestor(a, b, func(args ...string) error {
		_, err := r.RunGit(ctx, args...)
		return err
	})
}

// AskAncestor has run ask git whether commit a is reachable from commit b, with what IsAncestor says of a commit that is gone.
func AskAncestor(a, b string, run func(args ...string) error) (bool, error) {
	err := run("merge-base", "--is-ancestor", "--end-of-options", a, b)
	if ExitCode(err) == 1 {
		return false, nil
	}
	if ExitCode(err) == Fatal && ExitCode(run("cat-file", "-e", "--end-of-options", a)) == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergeBase returns the best common ancestor of two commits, or "".
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.RunGit(ctx, "merge-base", "--end-of-options", a, b)
	if ExitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// AheadBehind counts the commits that a has and b lacks, and the reverse.
func (r *Repository) AheadBehind(ctx context.Context, a, b string) (ahead, behind int, err error) {
	out, err := r.RunGit(ctx, "rev-list", "--left-right", "--count", "--end-of-options", a+"..."+b, "--")
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscanf(string(out), "%d\t%d\n", &ahead, &behind); err != nil {
		return 0, 0, fmt.Errorf("not an answer of rev-list: %q", out)
	}
	return ahead, behind, nil
}

// Upstream returns the full name of the ref that a branch tracks, or "".
func (r *Repository) Upstream(ctx context.Context, branch string) (string, error) {
	out, err := r.RunGit(ctx, "for-each-ref", "--format=%(refname)%00%(upstream)", "refs/heads/"+branch)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		name, upstream, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		if name == "refs/heads/"+branch {
			return upstream, nil
		}
	}
	return "", nil
}

// Fetch updates a remote's remote-tracking branches, with the user's credentials. It fails
// with a *ConfigChangedError if the address of the remote differs from the pinned one. The
// main checkout's FETCH_HEAD is not changed.
func (r *Repository) Fetch(ctx context.Context, remote string) error {
	if err := r.CheckRemote(remote); err != nil {
		return err
	}
	_, err := r.Git.Run(ctx, r.RemoteTarget(), Call{
		Args: []string{
			"fetch", "--no-tags", "--quiet", "--no-recurse-submodules", "--no-write-fetch-head",
			"--upload-pack=git-upload-pack", "--end-of-options", remote,
		},
		Network: true, Remote: remote,
	})
	return err
}
