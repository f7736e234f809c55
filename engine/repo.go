package engine

import (
	"bytes"
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
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/provision"
	"github.com/croft-sh/croft/internal/seal"
)

// repo is one project that the engine works on.
type repo struct {
	id     croft.ID
	path   string // the main checkout, the bare repository, or the plain directory
	common string // git's common directory; empty for a plain directory
	cfg    config.Config
	git    *git.Repository // nil for a plain directory
	trees  trees
	box    func() (*seal.Box, error) // opens the key of this host

	lastRules *lastRules // of its lanes
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
	return flock.Acquire(ctx, filepath.Join(r.common, "croft", "lock"))
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
	place, err := git.Discover(dir)
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
	e.mu.Lock()
	defer e.mu.Unlock()
	if r, ok := e.repos[place.CommonDir]; ok {
		return standing{r, place}, nil
	}
	r, err := e.open(ctx, place)
	if err != nil {
		return standing{}, err
	}
	e.repos[place.CommonDir] = r
	return standing{r, place}, nil
}

// open makes a repository known: its ID, its settings, its records.
func (e *Engine) open(ctx context.Context, place git.Place) (*repo, error) {
	set, err := e.set.ForRepo(place.Root)
	if err != nil {
		return nil, err
	}
	r := &repo{path: place.Root, common: place.CommonDir, cfg: set.Config(), git: e.git.At(place), box: e.box, lastRules: &lastRules{}}
	if r.git.IsBareByAccident() {
		r.path = filepath.Dir(r.common) // where its main checkout lies, whatever the configuration says
	}
	r.trees = treesOf(r.git)
	if r.id, err = readID(place.CommonDir); err != nil {
		return nil, err
	}
	if r.id == "" || !e.isCurrent(ctx, r) {
		err = e.register(ctx, r)
	}
	if err == nil {
		e.knownMu.Lock()
		e.known = append(e.known, r)
		e.knownMu.Unlock()
	}
	return r, err
}

// isCurrent reports whether the database knows a repository at its place, and
// has seen everything that happened to it.
func (e *Engine) isCurrent(ctx context.Context, r *repo) bool {
	// In this order: a database that is being written meanwhile is ahead.
	seen := readGeneration(r.common)
	if seen.Number > 0 {
		if has, err := e.journal.HasSeen(ctx, r.id, seen); err != nil || !has {
			return false
		}
	}
	known, err := e.journal.Repo(ctx, r.id)
	return err == nil && known.CommonDir == r.common && known.Path == r.path
}

func idFile(common string) string { return filepath.Join(common, "croft", "id") }

func readID(common string) (croft.ID, error) {
	b, err := os.ReadFile(idFile(common))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return croft.ID(bytes.TrimSpace(b)), err
}

// register writes a repository down that is new, was moved or was copied, or
// whose database was lost, and takes over the records that hang on its refs.
func (e *Engine) register(ctx context.Context, r *repo) error {
	if err := os.MkdirAll(filepath.Join(r.common, "croft"), 0o777); err != nil {
		return err
	}
	l, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if r.id, err = readID(r.common); err != nil {
		return err
	}
	copied := r.id != "" && e.isCopy(ctx, r)
	if copied {
		r.id = ""
	}
	if r.id == "" {
		if r.id, err = e.writeID(ctx, r, copied); err != nil {
			return err
		}
	}
	seen := readGeneration(r.common)
	if err := e.outdate(ctx, r, seen); err != nil {
		return err
	}
	if err := e.journal.Update(ctx, func(tx *journal.Tx) error {
		return tx.PutRepo(journal.Repo{ID: r.id, CommonDir: r.common, Path: r.path}, e.now())
	}); err != nil {
		return err
	}
	if _, err := e.importRecords(ctx, r); err != nil {
		return err
	}
	if err := e.relocate(ctx, r); err != nil {
		return err
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.See(r.id, seen) })
}

// writeID gives a repository its ID, on disk before it is used. One whose file
// was lost gets the ID back that the database has for its place.
func (e *Engine) writeID(ctx context.Context, r *repo, copied bool) (croft.ID, error) {
	id := newID()
	if known, err := e.journal.RepoAt(ctx, r.common); err == nil && !copied {
		id = known.ID
	}
	return id, git.WriteFile(idFile(r.common), []byte(id+"\n"))
}

// isCopy reports whether the ID belongs to another repository that is still
// there: then this one was copied from it, directory and all.
func (e *Engine) isCopy(ctx context.Context, r *repo) bool {
	known, err := e.journal.Repo(ctx, r.id)
	if err != nil || known.CommonDir == r.common {
		return false
	}
	id, err := readID(known.CommonDir)
	return err == nil && id == r.id
}

// Repo describes the project that a directory lies in.
func (e *Engine) Repo(ctx context.Context, dir string) (*croft.Repo, error) {
	s, err := e.at(ctx, dir)
	if err != nil {
		return nil, explain("repo", "", err)
	}
	out := &croft.Repo{ID: s.id, Path: s.path, Name: s.name(), GitDir: s.common, IsBare: s.place.Bare}
	if v, err := e.git.Version(); err == nil {
		out.Version = v.String()
	}
	out.Branch, out.Head, err = s.head(ctx)
	return out, explain("repo", "", err)
}

// Check says whether workspaces can be made.
func (e *Engine) Check(ctx context.Context, dir string) error {
	s, err := e.at(ctx, dir)
	if err != nil {
		return explain("check", "", err)
	}
	_, head, err := s.head(ctx)
	if err == nil && head == "" {
		err = noCommits()
	}
	return explain("check", "", err)
}

func noCommits() error {
	return &croft.Error{
		Code: croft.NotARepo, Message: "the repository has no commit to start from",
		Hint: `git commit --allow-empty -m "first commit"`,
	}
}

// BranchExists says whether a local branch is there.
func (e *Engine) BranchExists(ctx context.Context, dir, branch string) (bool, error) {
	s, err := e.at(ctx, dir)
	if err != nil {
		return false, explain("branch", "", err)
	}
	_, err = s.git.ReadRef(ctx, "refs/heads/"+branch)
	if errors.Is(err, git.ErrNoRef) {
		return false, nil
	}
	return err == nil, explain("branch", "", err)
}

// head is the branch and the commit that one stands on.
func (s standing) head(ctx context.Context) (branch, oid string, err error) {
	if s.git.NativeRefs() {
		return s.git.Snapshot().Head(s.place.GitDir)
	}
	return s.git.HeadOf(ctx, s.place.GitDir)
}
