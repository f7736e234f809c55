package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/journal"
)

// A directory without git, a plain directory, is a project too. As long as agents write
// in it directly, Croft has only a record of it. When the first workspace is made for
// it, it gets a repository in Croft's state directory, whose main checkout it is. Croft
// writes into the directory only to merge work.

// PlainMode says what is done with a directory without git that the journal does not
// know.
type PlainMode int

// The values of PlainMode.
const (
	KnownPlain  PlainMode = iota // it is refused
	NewPlain                     // it becomes a project
	ShadowPlain                  // it becomes a project with a repository
)

// locatePlain opens a directory without git as a project.
func (p *Projects) locatePlain(ctx context.Context, dir string, mode PlainMode) (*Project, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	return p.OpenOnce(ctx, dir, func() (*Project, error) { return p.openPlain(ctx, dir, mode) })
}

func (p *Projects) openPlain(ctx context.Context, dir string, mode PlainMode) (*Project, error) {
	r := p.withSettings(Project{Path: dir})
	known, err := p.Journal.RepoAt(ctx, PlainPrefix+dir, "")
	switch {
	case err == nil:
		r.ID = known.ID
	case !errors.Is(err, journal.ErrNotFound):
		return nil, err
	case mode == KnownPlain:
		return nil, gitdir.ErrNoRepository
	default:
		if r.ID, err = p.registerPlain(ctx, dir); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// registerPlain records a directory in the journal, unless another process just did,
// and returns its ID.
func (p *Projects) registerPlain(ctx context.Context, dir string) (id croft.ID, err error) {
	err = p.Journal.Update(ctx, func(tx *journal.Tx) error {
		known, err := tx.RepoAt(PlainPrefix+dir, "")
		if err == nil {
			id = known.ID
			return nil
		}
		id = NewID()
		return tx.PutRepo(journal.Repo{ID: id, CommonDir: PlainPrefix + dir, Path: dir}, p.Now())
	})
	return id, err
}

// PlainPrefix begins the common directory of a plain directory's record, so that it
// differs from that of a repository which is made there later.
const PlainPrefix = "plain:"

// plainRoot returns the directory in which the repositories of plain directories lie.
func (p *Projects) plainRoot() string {
	state := p.Settings.Config().StateDir
	if real, err := filepath.EvalSymlinks(state); err == nil {
		state = real
	}
	return filepath.Join(state, "plain")
}

// IsPlain reports whether a common directory is that of a plain directory's repository.
func (p *Projects) IsPlain(common string) bool { return IsWithin(common, p.plainRoot()) }

// hubOf returns the path of a plain directory's repository. It is computed from the
// directory's path, so that the repository is found without the database.
func (p *Projects) hubOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(p.plainRoot(), hex.EncodeToString(sum[:12]), "git")
}

// placeInPlain returns the place of the plain directory whose repository at is in, with
// the worktree of at if that is a workspace.
func placeInPlain(at gitdir.Place) (gitdir.Place, error) {
	place, err := git.PlainPlace(at.CommonDir)
	if err == nil && at.GitDir != at.CommonDir {
		place.GitDir, place.WorkDir = at.GitDir, at.WorkDir
	}
	return place, err
}

// plainPlace finds the repository of a plain directory, or of a directory above it.
// With ShadowPlain it makes one if there is none.
func (p *Projects) plainPlace(ctx context.Context, dir string, mode PlainMode) (gitdir.Place, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return gitdir.Place{}, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if hub := p.hubOf(at); fsx.IsThere(hub) {
			return git.PlainPlace(hub)
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if mode != ShadowPlain {
		return gitdir.Place{}, gitdir.ErrNoRepository
	}
	if err := p.requireCopyable(dir); err != nil {
		return gitdir.Place{}, err
	}
	if err := git.InitPlain(p.hubOf(dir), dir); err != nil && !errors.Is(err, worktree.ErrExists) { // else another process was faster
		return gitdir.Place{}, err
	}
	if err := p.adoptPlain(ctx, dir); err != nil {
		return gitdir.Place{}, err
	}
	p.DeleteOpened(dir) // it was opened as a directory without a repository
	return git.PlainPlace(p.hubOf(dir))
}

// requireCopyable refuses a directory that contains the user's home or Croft's state:
// it is too large to copy for each agent.
func (p *Projects) requireCopyable(dir string) error {
	home := ""
	for _, kv := range p.Environ {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = v
		}
	}
	for _, inside := range []string{home, p.Settings.Config().StateDir} {
		if real, err := filepath.EvalSymlinks(inside); err == nil && inside != "" && IsWithin(real, dir) {
			return &croft.Error{
				Code: croft.NotARepo, Message: fmt.Sprintf("%s is no project: it holds %s", dir, inside), Details: "croft new --mode legacy works in the directory itself", Hint: "git init",
			}
		}
	}
	return nil
}

// CommitPlain commits the files of a plain directory, so that workspaces begin with
// them. It does nothing in a git repository of the user's.
func (p *Projects) CommitPlain(ctx context.Context, r *Project) error {
	if r.Git == nil || !p.IsPlain(r.CommonDir) {
		return nil
	}
	return p.UnderLock(ctx, r, func() error { return r.Git.Baseline(ctx, p.Now()) })
}

// adoptPlain gives the new repository of a plain directory the ID that the directory
// had in the journal before.
func (p *Projects) adoptPlain(ctx context.Context, dir string) error {
	hub := p.hubOf(dir)
	identity, err := fsx.IdentityOf(hub)
	if err != nil {
		return err
	}
	return p.Journal.Update(ctx, func(tx *journal.Tx) error {
		known, err := tx.RepoAt(PlainPrefix+dir, "")
		if errors.Is(err, journal.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.PutRepo(journal.Repo{ID: known.ID, CommonDir: hub, Path: dir, Identity: string(identity)}, p.Now())
	})
}
