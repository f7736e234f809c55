package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/direct"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/provision"
)

// repo is one project that the engine works on.
type repo struct {
	id     croft.ID
	path   string // the main checkout, the bare repository, or the plain directory
	common string // git's common directory; empty for a plain directory
	cfg    config.Config
	stamp  config.Stamp    // of the croft.toml that cfg is of
	git    *git.Repository // nil for a plain directory
	trees  trees
	dir    string       // Croft's own, below the state directory
	locks  *flock.Queue // of the repository

	identity  fsx.Identity // of the common directory
	movedFrom string       // the common directory that its records speak of, if that is another one
	lastRules *lastRules   // of its lanes
}

// standing is a project and the place in it that a request was made from.
type standing struct {
	*repo
	place git.Place
}

func (r *repo) name() string {
	return strings.TrimSuffix(filepath.Base(r.path), ".git")
}

func (r *repo) checkoutFor(mode croft.Mode) checkout.Checkout {
	if mode == croft.ModeLegacy {
		return direct.Checkouts{}
	}
	return r.trees
}

func (r *repo) roles() provision.Roles {
	return provision.Roles{Project: r.path, Dir: r.cfg.Roles.Dir, Files: r.cfg.Roles.Files}
}

// lock takes the repository's lock, under which registrations and refs of
// several workspaces change together. It is held for milliseconds.
func (r *repo) lock(ctx context.Context) (*flock.Lock, error) {
	if r.locks == nil {
		return nil, nil // what is not there any more has nothing to guard
	}
	return r.locks.Acquire(ctx)
}

// at finds the project that a request means, and refuses what is no git
// repository.
func (e *Engine) at(ctx context.Context, dir string) (standing, error) {
	s, err := e.standing(ctx, dir)
	if err == nil && s.git == nil {
		err = git.ErrNoRepository
	}
	return s, err
}

// standing finds the project that a request means. A directory without git is
// one only if a workspace was made there before.
func (e *Engine) standing(ctx context.Context, dir string) (standing, error) {
	return e.locate(ctx, dir, knownPlain)
}

func (e *Engine) locate(ctx context.Context, dir string, plain plainMode) (standing, error) {
	if dir == "" {
		dir = e.dir
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.dir, dir)
	}
	place, err := e.placeOf(ctx, dir)
	if errors.Is(err, git.ErrNoRepository) {
		if place, err = e.plainPlace(ctx, dir, plain); errors.Is(err, git.ErrNoRepository) {
			r, err := e.plain(ctx, dir, plain)
			return standing{repo: r}, err
		}
	} else if err == nil && e.isPlain(place.CommonDir) {
		place, err = standIn(place)
	}
	if errors.Is(err, os.ErrNotExist) {
		return standing{}, &croft.Error{Code: croft.NotARepo, Message: fmt.Sprintf("there is no directory %s", dir)}
	}
	if err != nil {
		return standing{}, err
	}
	r, err := e.openOnce(ctx, place.CommonDir, func() (*repo, error) { return e.open(ctx, place) })
	if err != nil {
		return standing{}, err
	}
	return standing{r, r.settled(place)}, nil
}

// settled is a place in a repository of which is known whether it has a main
// checkout. Agents can write core.bare.
func (r *repo) settled(place git.Place) git.Place {
	if git.IsDotGit(r.common) && (place.Root == r.common) != (r.path == r.common) {
		return place.Rooted(r.path)
	}
	return place
}

// placeOf says which repository a directory belongs to. One that is a recorded
// workspace, or lies in one, belongs to the repository of the record, whatever
// the agent that works there has made of it.
func (e *Engine) placeOf(ctx context.Context, dir string) (git.Place, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return git.Place{}, err
	}
	rec, err := e.journal.WorkspaceAt(ctx, real)
	if errors.Is(err, journal.ErrNotFound) {
		return e.git.Discover(ctx, real)
	}
	if err != nil {
		return git.Place{}, err
	}
	known, err := e.journal.Repo(ctx, rec.RepoID)
	if errors.Is(err, journal.ErrNotFound) {
		return git.Place{}, &croft.Error{
			Code: croft.NotARepo, Workspace: rec.Workspace.Name, Message: "the repository of this workspace is not known any more", Hint: "croft list, in the repository",
		}
	}
	if err != nil {
		return git.Place{}, err
	}
	if !fsx.Identity(known.Identity).IsAt(known.CommonDir) {
		return git.Place{}, &croft.Error{
			Code: croft.NotARepo, Workspace: rec.Workspace.Name, Message: fmt.Sprintf("the repository of this workspace is not at %s", known.Path),
			Details: "It was moved, or its drive is not mounted.", Hint: "croft doctor --fix, in the repository",
		}
	}
	place := git.PlaceAt(known.CommonDir, known.Path)
	if err := e.git.CheckOwner(ctx, place); err != nil {
		return git.Place{}, err
	}
	place.GitDir, place.WorkDir = filepath.Join(place.CommonDir, "worktrees", rec.Admin), rec.Workspace.Path
	if rec.Workspace.Mode == croft.ModeIsolated {
		place.GitDir = git.IsolatedDir(e.repoDir(known.ID), rec.Admin)
	}
	return place, nil
}

// repoDir is the directory of Croft's own for a repository: what an agent can
// write is not believed, so nothing that decides lies in the repository.
func (e *Engine) repoDir(id croft.ID) string {
	return filepath.Join(e.set.Config().StateDir, "repos", string(id))
}

// settingsFor are the settings with those of a directory's croft.toml.
func (e *Engine) settingsFor(dir string) config.Config {
	set := e.set.ForRepo(dir)
	for _, text := range set.Problems() {
		e.notice("%s", text)
	}
	return set.Config()
}

// open makes a repository known: its ID and its settings.
func (e *Engine) open(ctx context.Context, place git.Place) (*repo, error) {
	if git.IsBareByAccident(place.CommonDir) {
		place = place.Rooted(filepath.Dir(place.CommonDir)) // where its main checkout lies, whatever the configuration says
	}
	r := &repo{path: place.Root, common: place.CommonDir, lastRules: &lastRules{}}
	var err error
	if r.identity, err = fsx.IdentityOf(place.CommonDir); err != nil {
		return nil, err
	}
	known, err := e.register(ctx, r)
	if err != nil {
		return nil, err
	}
	if known.CommonDir == r.common {
		r.path = known.Path
		place = r.settled(place)
	}
	r = e.withSettings(*r)
	r.id, r.dir = known.ID, e.repoDir(known.ID)
	if known.CommonDir != r.common {
		r.movedFrom = known.CommonDir
		e.notice("the repository was at %s when it was last seen; croft doctor --fix lets its workspaces follow", known.Path)
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, err
	}
	e.noticeOfGit(noticeOnce)
	r.locks = flock.NewQueue(filepath.Join(r.dir, "lock"))
	r.git = e.git.At(place, r.dir)
	r.trees = treesOf(r.git)
	return r, nil
}

// register finds a repository by what it is: the identity of its common
// directory, at its place or, if it was moved, at another one. One that is not
// known is written down; what is at the place of another one that was known
// there gets nothing of what belongs to that.
func (e *Engine) register(ctx context.Context, r *repo) (journal.Repo, error) {
	now := journal.Repo{CommonDir: r.common, Path: r.path, Identity: string(r.identity)}
	known, err := e.journal.RepoAt(ctx, r.common, now.Identity)
	if err == nil && (known.Path == now.Path || isOtherForm(known, now)) {
		return known, nil
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return now, err
	}
	err = e.journal.Update(ctx, func(tx *journal.Tx) error {
		known, err = tx.RepoAt(r.common, now.Identity)
		if errors.Is(err, journal.ErrNotFound) {
			known, err = tx.RepoOf(now.Identity)
		}
		switch {
		case err == nil && (known.CommonDir != r.common || isOtherForm(known, now)): // it was moved, or is seen through another mount
			return nil
		case err == nil:
			now.ID = known.ID
		case errors.Is(err, journal.ErrNotFound):
			now.ID = newID()
		default:
			return err
		}
		known = now
		return tx.PutRepo(now, e.now())
	})
	return known, err
}

// isOtherForm reports whether a repository was known with a main checkout and its
// configuration says now that it has none, or the other way round. Agents can
// write that, so that it stays what it was.
func isOtherForm(known, now journal.Repo) bool {
	return git.IsDotGit(now.CommonDir) && (known.Path == known.CommonDir) != (now.Path == now.CommonDir)
}

// describeRepo describes the project that a directory lies in.
func (e *Engine) describeRepo(ctx context.Context, s standing, _ string) (*croft.Repo, error) {
	out := &croft.Repo{ID: s.id, Path: s.path, Name: s.name(), GitDir: s.common, IsBare: s.place.Bare}
	if v, err := e.git.Version(); err == nil {
		out.Version = v.String()
	}
	var err error
	out.Branch, out.Head, err = s.head(ctx)
	return out, err
}

// checkRepo says whether workspaces can be made.
func checkRepo(ctx context.Context, s standing, _ string) error {
	_, head, err := s.head(ctx)
	if err == nil && head == "" {
		err = noCommits()
	}
	return err
}

func noCommits() error {
	return &croft.Error{
		Code: croft.NotARepo, Message: "the repository has no commit to start from",
		Hint: `git commit --allow-empty -m "first commit"`,
	}
}

func branchIsThere(ctx context.Context, s standing, branch string) (bool, error) {
	_, err := s.git.ReadRef(ctx, "refs/heads/"+branch)
	if errors.Is(err, git.ErrNoRef) {
		return false, nil
	}
	return err == nil, err
}

// head is the branch and the commit that one stands on.
func (s standing) head(ctx context.Context) (branch, oid string, err error) {
	if s.git.NativeRefs() {
		return s.git.Snapshot().Head(s.place.GitDir)
	}
	return s.git.HeadOf(ctx, s.place.GitDir)
}
