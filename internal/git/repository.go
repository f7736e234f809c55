package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// Repository is a repository without regard to any checkout: its refs, its
// objects, its registrations.
type Repository struct {
	Place
	Dir string // Croft's own directory for the repository, where no agent can write

	git    *Git
	format format
	config settingsCache
	host   hostCache

	refs    refSession
	writer  refWriter
	inPack  packedCache
	objects objectSession
	idle    idleMergeTrees
}

// Open opens the repository that a directory lies in. Croft's own files about it
// lie below the directory for generated configuration.
func (g *Git) Open(dir string) (*Repository, error) {
	p, err := Discover(dir)
	if err != nil {
		return nil, err
	}
	return g.At(p, g.dirFor(p.CommonDir)), nil
}

// dirFor is a directory of Croft's own for a repository that nothing else is
// known of but where it lies.
func (g *Git) dirFor(common string) string {
	sum := sha256.Sum256([]byte(common))
	return filepath.Join(g.opts.ConfigDir, "repos", hex.EncodeToString(sum[:8]))
}

// At opens a repository that was discovered before. What Croft itself notes
// about it, locks it with and keeps of it lies in dir, which is made when it is
// needed.
func (g *Git) At(p Place, dir string) *Repository {
	r := &Repository{Place: p, Dir: dir, git: g}
	r.refs.repo, r.writer.repo, r.objects.repo = r, r, r
	r.format = r.formatOf()
	return r
}

// formatOf is the format that was pinned, or that of a repository that Croft has
// not seen before.
func (r *Repository) formatOf() format {
	rec, err := r.readRecord()
	if err != nil {
		return readFormat(r.CommonDir)
	}
	f := readFormat(r.CommonDir)
	f.objectFormat, f.refStorage, f.partial = "", "", false
	for _, s := range rec.Pinned {
		f.set(s.Key, s.Value)
	}
	return f
}

// Version is the version of the git that is run.
func (r *Repository) Version() (Version, error) { return r.git.Version() }

// Close ends the long-lived processes.
func (r *Repository) Close() error {
	r.idle.close()
	r.writer.close()
	return errors.Join(r.refs.close(), r.objects.close())
}

// Git returns the git that the repository is used with.
func (r *Repository) Git() *Git { return r.git }

// ZeroOID is the object name that stands for no object.
func (r *Repository) ZeroOID() string { return strings.Repeat("0", r.objectFormat().HexLen()) }

// objectFormat is the hash by which objects are named.
func (r *Repository) objectFormat() object.Format { return object.Format(r.format.objectFormat) }

// NativeRefs reports whether refs are files, so that they can be read without
// a process.
func (r *Repository) NativeRefs() bool {
	return r.format.refStorage == "" || r.format.refStorage == "files"
}

func (r *Repository) run(ctx context.Context, args ...string) ([]byte, error) {
	return r.git.run(ctx, door{repo: r}, call{args: args})
}

// ErrNoCommit says that a name leads to no commit.
var ErrNoCommit = errors.New("names no commit")

// ResolveCommit returns the commit that a revision names.
func (r *Repository) ResolveCommit(ctx context.Context, rev string) (string, error) {
	if !isRevision(rev) {
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	info, err := r.Info(ctx, rev+"^{commit}")
	// Of an upstream that there is not, git does not say so but dies.
	if errors.Is(err, object.ErrMissing) || strings.Contains(rev, "@{") && exitCode(err) == fatal {
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	return info.OID, err
}

// fatal is the status with which git dies.
const fatal = 128

func isRevision(rev string) bool {
	return rev != "" && !strings.HasPrefix(rev, "-") && !strings.ContainsAny(rev, "\n\x00")
}

// ResolveCommitAt is ResolveCommit for a revision that may speak of HEAD: the
// HEAD of the given git directory.
func (r *Repository) ResolveCommitAt(ctx context.Context, gitDir, rev string) (string, error) {
	if gitDir == r.CommonDir || !isRevision(rev) {
		return r.ResolveCommit(ctx, rev)
	}
	out, err := r.git.run(ctx, door{repo: r, gitDir: gitDir}, call{
		args: []string{"rev-parse", "--quiet", "--verify", "--end-of-options", rev + "^{commit}"},
	})
	if exitCode(err) > 0 {
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	oid := strings.TrimSpace(string(out))
	if err == nil && !object.IsOID(oid) { // a revision that excludes something
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	return oid, err
}

// IsAncestor reports whether commit a is reachable from commit b.
func (r *Repository) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	if a == b {
		return true, nil
	}
	_, err := r.run(ctx, "merge-base", "--is-ancestor", "--end-of-options", a, b)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergeBase is the best common ancestor of two commits, or empty.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.run(ctx, "merge-base", "--end-of-options", a, b)
	if exitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// AheadBehind counts the commits that a has and b lacks, and the reverse.
func (r *Repository) AheadBehind(ctx context.Context, a, b string) (ahead, behind int, err error) {
	out, err := r.run(ctx, "rev-list", "--left-right", "--count", "--end-of-options", a+"..."+b, "--")
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
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname)%00%(upstream)", "refs/heads/"+branch)
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

// Fetch brings a remote's branches up to date, with the user's credentials. It
// fails with a *ConfigChangedError if the repository says another address by now
// than when Croft first saw it.
// The main checkout's FETCH_HEAD stays as it is.
func (r *Repository) Fetch(ctx context.Context, remote string) error {
	if err := r.checkConfig(func(key string) bool { return strings.HasPrefix(key, "remote."+remote+".") }); err != nil {
		return err
	}
	d := door{repo: r}
	if info, err := os.Stat(r.Root); err == nil && info.IsDir() {
		d.cwd = r.Root // the address of a remote may be relative to it
	}
	_, err := r.git.run(ctx, d, call{
		args: []string{
			"fetch", "--no-tags", "--quiet", "--no-recurse-submodules", "--no-write-fetch-head",
			"--upload-pack=git-upload-pack", "--end-of-options", remote,
		},
		network: true,
	})
	return err
}
