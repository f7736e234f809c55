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

// A directory without git is a project too. As long as agents write in it
// directly there is nothing but a record of it. Once a workspace of its own is
// asked for, it gets a repository in Croft's state, of which it is the main
// checkout without knowing it: nothing is written into it but what lands there.

// PlainMode says what is done about a directory without git that was never
// seen before.
type PlainMode int

// The values of PlainMode.
const (
	KnownPlain  PlainMode = iota // it is no project
	NewPlain                     // it becomes one
	ShadowPlain                  // it becomes one with a repository
)

// locatePlain finds a directory without git.
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

// registerPlain writes a directory down, unless another process just did.
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

// PlainPrefix keeps a plain directory apart from a repository that is made
// there later.
const PlainPrefix = "plain:"

// plainRoot is where the repositories of plain directories lie.
func (p *Projects) plainRoot() string {
	state := p.Settings.Config().StateDir
	if real, err := filepath.EvalSymlinks(state); err == nil {
		state = real
	}
	return filepath.Join(state, "plain")
}

// IsPlain reports whether a repository is one of a plain directory.
func (p *Projects) IsPlain(common string) bool { return IsWithin(common, p.plainRoot()) }

// hubOf is where the repository of a plain directory lies. It follows from the
// directory's path, so that it is found again without the database.
func (p *Projects) hubOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(p.plainRoot(), hex.EncodeToString(sum[:12]), "git")
}

// standIn is the place of a plain directory that one stands in a workspace of,
// or in the repository of.
func standIn(at gitdir.Place) (gitdir.Place, error) {
	place, err := git.PlainPlace(at.CommonDir)
	if err == nil && at.GitDir != at.CommonDir {
		place.GitDir, place.WorkDir = at.GitDir, at.WorkDir
	}
	return place, err
}

// plainPlace finds the repository of a plain directory, or of one above it, and
// makes one if that is wanted.
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
	if err := git.InitPlain(p.hubOf(dir), dir); err != nil && !errors.Is(err, worktree.ErrExists) { // another process was faster
		return gitdir.Place{}, err
	}
	if err := p.adoptPlain(ctx, dir); err != nil {
		return gitdir.Place{}, err
	}
	p.ForgetOpened(dir) // what was known of it without one
	return git.PlainPlace(p.hubOf(dir))
}

// requireCopyable refuses directories that are too much to copy for each agent: those that
// hold the user's home or Croft's state.
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
				Code: croft.NotARepo, Message: fmt.Sprintf("%s is no project: it holds %s", dir, inside), Hint: "git init, or croft new --mode legacy",
			}
		}
	}
	return nil
}

// Baseline commits what a plain directory holds, so that work begins from
// there. Of a git repository nothing is committed unasked.
func (p *Projects) Baseline(ctx context.Context, r *Project) error {
	if r.Git == nil || !p.IsPlain(r.CommonDir) {
		return nil
	}
	return p.UnderLock(ctx, r, func() error { return r.Git.Baseline(ctx, p.Now()) })
}

// adoptPlain gives the new repository of a plain directory the ID that the
// directory had while agents wrote in it.
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
