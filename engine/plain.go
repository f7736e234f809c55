package engine

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
	"github.com/croft-sh/croft/internal/journal"
)

// A directory without git is a project too. As long as agents write in it
// directly there is nothing but a record of it. Once a workspace of its own is
// asked for, it gets a repository in Croft's state, of which it is the main
// checkout without knowing it: nothing is written into it but what lands there.

// plainMode says what is done about a directory without git that was never
// seen before.
type plainMode int

const (
	knownPlain  plainMode = iota // it is no project
	newPlain                     // it becomes one
	shadowPlain                  // it becomes one with a repository
)

// plain finds a directory without git.
func (e *Engine) plain(ctx context.Context, dir string, mode plainMode) (*repo, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	return e.openOnce(ctx, dir, func() (*repo, error) { return e.openPlain(ctx, dir, mode) })
}

func (e *Engine) openPlain(ctx context.Context, dir string, mode plainMode) (*repo, error) {
	r := e.withSettings(repo{path: dir})
	known, err := e.journal.RepoAt(ctx, plainPrefix+dir, "")
	switch {
	case err == nil:
		r.id = known.ID
	case !errors.Is(err, journal.ErrNotFound):
		return nil, err
	case mode == knownPlain:
		return nil, git.ErrNoRepository
	default:
		if r.id, err = e.registerPlain(ctx, dir); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// registerPlain writes a directory down, unless another process just did.
func (e *Engine) registerPlain(ctx context.Context, dir string) (id croft.ID, err error) {
	err = e.journal.Update(ctx, func(tx *journal.Tx) error {
		known, err := tx.RepoAt(plainPrefix+dir, "")
		if err == nil {
			id = known.ID
			return nil
		}
		id = newID()
		return tx.PutRepo(journal.Repo{ID: id, CommonDir: plainPrefix + dir, Path: dir}, e.now())
	})
	return id, err
}

// plainPrefix keeps a plain directory apart from a repository that is made
// there later.
const plainPrefix = "plain:"

// plainRoot is where the repositories of plain directories lie.
func (e *Engine) plainRoot() string {
	state := e.set.Config().StateDir
	if real, err := filepath.EvalSymlinks(state); err == nil {
		state = real
	}
	return filepath.Join(state, "plain")
}

// isPlain reports whether a repository is one of a plain directory.
func (e *Engine) isPlain(common string) bool { return isWithin(common, e.plainRoot()) }

// hubOf is where the repository of a plain directory lies. It follows from the
// directory's path, so that it is found again without the database.
func (e *Engine) hubOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(e.plainRoot(), hex.EncodeToString(sum[:12]), "git")
}

// standIn is the place of a plain directory that one stands in a workspace of,
// or in the repository of.
func standIn(at git.Place) (git.Place, error) {
	place, err := git.PlainPlace(at.CommonDir)
	if err == nil && at.GitDir != at.CommonDir {
		place.GitDir, place.WorkDir = at.GitDir, at.WorkDir
	}
	return place, err
}

// plainPlace finds the repository of a plain directory, or of one above it, and
// makes one if that is wanted.
func (e *Engine) plainPlace(ctx context.Context, dir string, mode plainMode) (git.Place, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return git.Place{}, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if hub := e.hubOf(at); fsx.IsThere(hub) {
			return git.PlainPlace(hub)
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if mode != shadowPlain {
		return git.Place{}, git.ErrNoRepository
	}
	if err := e.mayCopy(dir); err != nil {
		return git.Place{}, err
	}
	if err := git.InitPlain(e.hubOf(dir), dir); err != nil && !errors.Is(err, git.ErrExists) { // another process was faster
		return git.Place{}, err
	}
	if err := e.adoptPlain(ctx, dir); err != nil {
		return git.Place{}, err
	}
	e.forgetOpened(dir) // what was known of it without one
	return git.PlainPlace(e.hubOf(dir))
}

// mayCopy refuses directories of which nobody wants a copy for each agent: those
// that hold everything of a user or of the machine.
func (e *Engine) mayCopy(dir string) error {
	home := ""
	for _, kv := range e.opts.Environ {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = v
		}
	}
	for _, inside := range []string{home, e.set.Config().StateDir} {
		if real, err := filepath.EvalSymlinks(inside); err == nil && inside != "" && isWithin(real, dir) {
			return &croft.Error{
				Code: croft.NotARepo, Message: fmt.Sprintf("%s is no project: it holds %s", dir, inside), Hint: "git init, or croft new --mode legacy",
			}
		}
	}
	return nil
}

// baseline commits what a plain directory holds, so that work begins from
// there. Of a git repository nothing is committed unasked.
func (e *Engine) baseline(ctx context.Context, r *repo) error {
	if r.git == nil || !e.isPlain(r.common) {
		return nil
	}
	return e.underLock(ctx, r, func() error { return r.git.Baseline(ctx, e.now()) })
}

// adoptPlain gives the new repository of a plain directory the ID that the
// directory had while agents wrote in it.
func (e *Engine) adoptPlain(ctx context.Context, dir string) error {
	hub := e.hubOf(dir)
	identity, err := fsx.IdentityOf(hub)
	if err != nil {
		return err
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		known, err := tx.RepoAt(plainPrefix+dir, "")
		if errors.Is(err, journal.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.PutRepo(journal.Repo{ID: known.ID, CommonDir: hub, Path: dir, Identity: string(identity)}, e.now())
	})
}
