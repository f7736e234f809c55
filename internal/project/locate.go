package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/beside"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/direct"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/provision"
)

// Project is one project that the engine works on.
type Project struct {
	ID        croft.ID
	Path      string // the main checkout, the bare repository, or the plain directory
	CommonDir string // git's common directory; empty for a plain directory
	Config    config.Config
	stamp     config.Stamp    // of the croft.toml that Config was read from
	settings  *config.Set     // those of the user that Config was read from
	Git       *git.Repository // nil for a plain directory
	Trees     trees
	Dir       string       // Croft's own directory for the project, below the state directory
	locks     *flock.Queue // for the repository's lock

	Identity  fsx.Identity // of the common directory
	MovedFrom string       // the common directory that its records name, if the repository was moved since
}

// Location is a project, and the checkout in it that a request was made from.
type Location struct {
	*Project
	Place gitdir.Place
}

// Name returns the name of the project's directory, without the suffix ".git".
func (r *Project) Name() string {
	return strings.TrimSuffix(filepath.Base(r.Path), ".git")
}

// CheckoutFor returns the implementation that makes and removes checkouts of a mode.
func (r *Project) CheckoutFor(mode croft.Mode) checkout.Checkout {
	if mode == croft.ModeLegacy {
		return direct.Checkouts{}
	}
	return r.Trees
}

// Roles returns the project's roles for agents.
func (r *Project) Roles() provision.Roles {
	return provision.Roles{Project: r.Path, Dir: r.Config.Roles.Dir, Files: r.Config.Roles.Files}
}

// Lock takes the repository's lock, under which registrations and refs of several
// workspaces change together. It is held for milliseconds. If the repository is gone, the
// lock is nil.
func (r *Project) Lock(ctx context.Context) (*flock.Lock, error) {
	if r.locks == nil {
		return nil, nil // the repository is gone, and with it all that the lock guards
	}
	return r.locks.Acquire(ctx)
}

// LocateGit finds the project that a request means, and refuses a directory without
// git.
func (p *Projects) LocateGit(ctx context.Context, dir string) (Location, error) {
	s, err := p.Locate(ctx, dir)
	if err == nil && s.Git == nil {
		err = gitdir.ErrNoRepository
	}
	return s, err
}

// Locate finds the project that a request means. It knows a directory without git only
// if a workspace was made there before.
func (p *Projects) Locate(ctx context.Context, dir string) (Location, error) {
	return p.LocateAs(ctx, dir, KnownPlain)
}

// LocateAs finds the project that a request means, as Locate does; plain says what is
// done with a directory without git.
func (p *Projects) LocateAs(ctx context.Context, ref croft.Ref, plain PlainMode) (Location, error) {
	dir, err := p.RepoDir(ctx, ref)
	if err != nil {
		return Location{}, err
	}
	place, err := p.placeOf(ctx, dir)
	if errors.Is(err, gitdir.ErrNoRepository) {
		if place, err = p.plainPlace(ctx, dir, plain); errors.Is(err, gitdir.ErrNoRepository) {
			r, err := p.locatePlain(ctx, dir, plain)
			return Location{Project: r}, beside.Error(ctx, p.Journal, dir, err)
		}
	} else if err == nil && p.IsPlain(place.CommonDir) {
		place, err = placeInPlain(place)
	}
	if fsx.IsNoPath(err) {
		return Location{}, &croft.Error{Code: croft.NotARepo, Message: fmt.Sprintf("there is no directory %.300s", dir)}
	}
	if err != nil {
		return Location{}, err
	}
	r, err := p.OpenOnce(ctx, place.CommonDir, func() (*Project, error) { return p.Open(ctx, place) })
	if err != nil {
		return Location{}, err
	}
	return Location{r, r.withKnownRoot(place)}, nil
}

// RepoDir returns the directory of the project that a Ref names: an absolute path.
func (p *Projects) RepoDir(ctx context.Context, ref croft.Ref) (string, error) {
	kind, text := croft.CutRef(ref)
	if kind.Is(croft.RefPath) {
		return p.absolute(ctx, text), nil
	}
	if kind == croft.RefName {
		return "", &croft.Error{Code: croft.InvalidRequest, Message: "a project is named by a directory or by its ID, and has no name", Details: ref}
	}
	known, err := p.Journal.Repo(ctx, croft.ID(text))
	if errors.Is(err, journal.ErrNotFound) {
		return "", &croft.Error{Code: croft.NotARepo, Message: fmt.Sprintf("no project with the ID %q is known", text), Hint: "croft repos"}
	}
	if err == nil && !fsx.Identity(known.Identity).IsAt(known.CommonDir) && known.CommonDir != "" {
		return "", &croft.Error{Code: croft.NotARepo, Message: "the project is not where it was", Details: known.Path, Hint: "croft list, in the project where it is now"}
	}
	return known.Path, err
}

// absolute returns the absolute path for a path in a request: a relative one is taken
// from where the caller stands.
func (p *Projects) absolute(ctx context.Context, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.dirOf(ctx), path)
}

// withKnownRoot returns place with the main checkout that the journal records, if
// core.bare in the repository's configuration contradicts it. Agents can write
// core.bare.
func (r *Project) withKnownRoot(place gitdir.Place) gitdir.Place {
	if gitdir.IsDotGit(r.CommonDir) && (place.Root == r.CommonDir) != (r.Path == r.CommonDir) {
		return place.WithRoot(r.Path)
	}
	return place
}

// placeOf finds the repository that a directory belongs to. A directory in a recorded
// workspace belongs to the repository of the record, even if the agent has replaced the
// workspace's .git.
func (p *Projects) placeOf(ctx context.Context, dir string) (gitdir.Place, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return gitdir.Place{}, err
	}
	rec, err := p.Journal.WorkspaceAt(ctx, real)
	if errors.Is(err, journal.ErrNotFound) {
		return p.Git.Discover(ctx, real)
	}
	if err != nil {
		return gitdir.Place{}, err
	}
	known, err := p.Journal.Repo(ctx, rec.RepoID)
	if errors.Is(err, journal.ErrNotFound) {
		return gitdir.Place{}, &croft.Error{
			Code: croft.NotARepo, Workspace: rec.Workspace.Name, Message: "the repository of this workspace is not known any more", Hint: "croft list, in the repository",
		}
	}
	if err != nil {
		return gitdir.Place{}, err
	}
	if !fsx.Identity(known.Identity).IsAt(known.CommonDir) {
		return gitdir.Place{}, &croft.Error{
			Code: croft.NotARepo, Workspace: rec.Workspace.Name, Message: fmt.Sprintf("the repository of this workspace is not at %s", known.Path),
			Details: "It was moved, or its drive is not mounted.", Hint: "croft doctor --fix, in the repository",
		}
	}
	place := gitdir.PlaceAt(known.CommonDir, known.Path)
	if err := p.Git.CheckOwner(ctx, place); err != nil {
		return gitdir.Place{}, err
	}
	place.GitDir, place.WorkDir = filepath.Join(place.CommonDir, "worktrees", rec.Admin), rec.Workspace.Path
	if rec.Workspace.Mode == croft.ModeIsolated {
		place.GitDir = gitcmd.IsolatedDir(p.DirOf(known.ID), rec.Admin)
	}
	return place, nil
}

// DirOf returns Croft's own directory for a repository. It lies outside of the
// repository, because agents can write there.
func (p *Projects) DirOf(id croft.ID) string {
	return filepath.Join(p.Settings.Config().StateDir, "repos", string(id))
}

// settingsFor returns the settings, including those of a directory's croft.toml.
func (p *Projects) settingsFor(dir string) config.Config {
	set := p.Settings.ForRepo(dir)
	p.notes.SetFile(dir, set.Problems())
	return set.Config()
}

// Open opens a repository, and records it in the journal if it is not known. One that was
// moved keeps its ID and the paths in the journal; MovedFrom has its earlier common
// directory, and the user gets a notice.
func (p *Projects) Open(ctx context.Context, place gitdir.Place) (*Project, error) {
	if git.IsBareByAccident(place.CommonDir) {
		place = place.WithRoot(filepath.Dir(place.CommonDir)) // the main checkout, even if the configuration says that there is none
	}
	r := &Project{Path: place.Root, CommonDir: place.CommonDir}
	var err error
	if r.Identity, err = fsx.IdentityOf(place.CommonDir); err != nil {
		return nil, err
	}
	known, err := p.registerRepository(ctx, r)
	if err != nil {
		return nil, err
	}
	if known.CommonDir == r.CommonDir {
		r.Path = known.Path
		place = r.withKnownRoot(place)
	}
	r = p.withSettings(*r)
	r.ID, r.Dir = known.ID, p.DirOf(known.ID)
	if known.CommonDir != r.CommonDir {
		r.MovedFrom = known.CommonDir
		p.Notice("the repository was at %s when it was last seen; croft doctor --fix lets its workspaces follow", known.Path)
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	p.NoticeOfGit(noticeOnce)
	r.locks = flock.NewQueue(filepath.Join(r.Dir, "lock"))
	r.Git = git.At(p.Git, place, r.Dir)
	r.Trees = TreesOf(r.Git)
	return r, nil
}

// registerRepository finds the record of a repository by the identity of its common
// directory, at its path or, if it was moved, at another one. It records a repository
// that is not known. A repository that lies at the path of another, earlier one gets a
// new ID and none of its records.
func (p *Projects) registerRepository(ctx context.Context, r *Project) (journal.Repo, error) {
	now := journal.Repo{CommonDir: r.CommonDir, Path: r.Path, Identity: string(r.Identity)}
	known, err := p.Journal.RepoAt(ctx, r.CommonDir, now.Identity)
	if err == nil && (known.Path == now.Path || isOtherForm(known, now)) {
		return known, nil
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return now, err
	}
	err = p.Journal.Update(ctx, func(tx *journal.Tx) error {
		known, err = tx.RepoAt(r.CommonDir, now.Identity)
		if errors.Is(err, journal.ErrNotFound) {
			known, err = tx.RepoOf(now.Identity)
		}
		switch {
		case err == nil && (known.CommonDir != r.CommonDir || isOtherForm(known, now)): // it was moved, or is seen through another mount
			return nil
		case err == nil:
			now.ID = known.ID
		case errors.Is(err, journal.ErrNotFound):
			now.ID = NewID()
		default:
			return err
		}
		known = now
		return tx.PutRepo(now, p.Now())
	})
	return known, err
}

// isOtherForm reports whether the journal says that a repository has a main checkout
// while its configuration says that it has none, or the other way round. Agents can
// write the configuration, so the journal's word holds.
func isOtherForm(known, now journal.Repo) bool {
	return gitdir.IsDotGit(now.CommonDir) && (known.Path == known.CommonDir) != (now.Path == now.CommonDir)
}

// DescribeRepo describes a project: its paths, its git, and its current branch and
// commit.
func (p *Projects) DescribeRepo(ctx context.Context, s Location, _ croft.RepoRequest) (*croft.Repo, error) {
	out := &croft.Repo{ID: s.ID, Path: s.Path, Name: s.Name(), GitDir: s.CommonDir, IsBare: s.Place.Bare}
	if v, err := p.Git.Version(); err == nil {
		out.Version = v.String()
	}
	var err error
	out.Branch, out.Head, err = s.Head(ctx)
	return out, err
}

// CheckRepo describes a project. It fails if no workspaces can be made there because the
// repository has no commit.
func (p *Projects) CheckRepo(ctx context.Context, s Location, req croft.RepoRequest) (*croft.Repo, error) {
	out, err := p.DescribeRepo(ctx, s, req)
	if err == nil && out.Head == "" {
		err = s.NoCommitsError()
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// NoCommitsError says that a repository has no commit to start from. The first commit has the files that lie there: a workspace
// gets only what is committed.
func (r *Project) NoCommitsError() error {
	e := &croft.Error{
		Code: croft.NotARepo, Message: "the repository has no commit to start from",
		Hint: `git commit --allow-empty -m "first commit"`,
	}
	entries, _ := os.ReadDir(r.Path) // without them the hint is the one for an empty directory
	if r.Path != r.CommonDir && slices.ContainsFunc(entries, func(f os.DirEntry) bool { return f.Name() != ".git" }) {
		e.Hint = `git add -A && git commit -m "first commit"`
	}
	return e
}

// DescribeBranch reports whether a project has a local branch.
func DescribeBranch(ctx context.Context, s Location, req croft.BranchRequest) (*croft.Branch, error) {
	_, err := s.Git.ReadRef(ctx, "refs/heads/"+req.Branch)
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return nil, err
	}
	return &croft.Branch{Name: req.Branch, Exists: err == nil}, nil
}

// Head returns the branch and the commit of the checkout that the request was made
// from.
func (s Location) Head(ctx context.Context) (branch, oid string, err error) {
	if s.Git.HasNativeRefs() {
		return s.Git.RefSnapshot().Head(s.Place.GitDir)
	}
	return s.Git.HeadByGit(ctx, s.Place.GitDir)
}
