// Package pool keeps checkouts of a project in stock, so that a new workspace is a rename instead of thousands of
// written files.
//
// A spare has the files of a commit and an index for them (package git/spare). It lies beside the project's workspaces,
// in the directory .pool, where no agent works; what is known of it lies in Croft's own directory for the project, where
// no agent can write. A spare is handed out once, and the directory of a workspace never becomes one. The last spare is
// not handed out but copied.
//
// Creation only takes ([Pool.Take]): in a few milliseconds, or not at all, and then git writes the files. The stock is
// filled, brought to the commits that workspaces start from, and kept within its limits by [Pool.Refill], which runs
// after a command has answered, in the daemon, or when a user asks for it.
//
// The same is done for directories that provisioning copies into new workspaces ([Pool.TakeCopy]). They lie beside the
// spares, and are kept and deleted in the same way. Each of them is handed out: what it is a copy of is there.
//
// The package owns the directory .pool, and the directory pool in Croft's own. A spare belongs to the process that
// holds its lock. One that is not marked as whole and whose lock nobody holds is what a killed process has left: Refill
// deletes it, if its directory is the one that was made.
package pool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/spare"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
)

// Pool keeps the spares of all projects.
type Pool struct {
	*project.Projects
	Provisioner Provisioner // required
}

// stock is a part of the pool of one project: its spare checkouts, or its copies of directories ([copiesOf]).
type stock struct {
	r   *project.Project
	dir string // what is known, in Croft's own directory for the project
	at  string // the spares themselves
	// holds reports whether the directory of a spare that is whole is as it was made, as far as a short look tells.
	holds func(*item) bool
}

func stockOf(r *project.Project) (*stock, error) {
	at, err := project.RealBase(r, filepath.Join(filepath.Dir(r.Path), r.Name()+".croft", ".pool"))
	return &stock{r: r, dir: filepath.Join(r.Dir, "pool"), at: at, holds: (*item).isIntact}, err
}

// The files of a spare in Croft's own directory.
const (
	lockFile    = "lock"
	indexFile   = "index"
	samplesFile = "samples" // of its files; read when it is taken
	wholeFile   = "whole"   // the facts; there as long as the spare can be handed out
)

// facts are what is known of a spare that is whole.
type facts struct {
	Commit string `json:"commit"`
	Stamp  string `json:"stamp"` // how git wrote the files; see [gitcmd.Repository.FileStamp]
	User   string `json:"user"`  // whose files they are, with which permissions
	Boot   string `json:"boot"`  // the start of the machine: the files were not synced
	Files  int64  `json:"files"`
	Bytes  int64  `json:"bytes"`

	Copied copied `json:"copied,omitzero"` // what a copy is of
}

// item is a spare of a stock.
type item struct {
	*stock
	id   string
	tree *spare.Tree
	facts
}

// ledger records which directories were made for spares.
func (s *stock) ledger() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(s.dir, "made")} }

// lock takes the lock under which spares are chosen. It is held for a millisecond.
func (s *stock) lock(ctx context.Context) (*flock.Lock, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	return flock.Acquire(ctx, filepath.Join(s.dir, lockFile))
}

// own returns a path in Croft's own directory of the spare.
func (i *item) own(name string) string { return filepath.Join(i.dir, "spares", i.id, name) }

// item returns the spare with an ID, also one that is not whole.
func (s *stock) item(id string) *item {
	i := &item{stock: s, id: id}
	made := s.ledger().Find(id)
	i.tree = &spare.Tree{Repo: s.r.Git.Repository.Repository, Path: made.Path, Identity: made.Identity, Index: i.own(indexFile)}
	return i
}

// ids lists the spares, whole or not.
func (s *stock) ids() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "spares"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, err
}

// whole lists the spares that can be handed out: written as git would write them now.
func (s *stock) whole(stamp string) ([]*item, error) {
	return s.wholeUntil(stamp, func([]*item) bool { return false })
}

// wholeUntil is whole, but reads no further spares once enough returns true for those that it has.
func (s *stock) wholeUntil(stamp string, enough func([]*item) bool) ([]*item, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	user, boot := proc.Writer(), proc.Here().Boot
	var list []*item
	for _, id := range ids {
		i := s.item(id)
		text, err := os.ReadFile(i.own(wholeFile))
		if err != nil || json.Unmarshal(text, &i.facts) != nil || i.tree.Path == "" || i.tree.Identity == "" {
			continue
		}
		if i.Stamp == stamp && i.User == user && i.Boot == boot && filepath.Dir(i.tree.Path) == s.at {
			list = append(list, i)
		}
		if enough(list) {
			break
		}
	}
	return list, nil
}

// setWhole marks a spare as whole, with its facts. A file beside them has what is read when it is taken.
func (i *item) setWhole(f facts, beside string, content []byte) error {
	mark, err := json.Marshal(f)
	if err == nil {
		err = fsx.ReplaceFile(i.own(beside), content, 0o600)
	}
	if err == nil {
		err = fsx.ReplaceFile(i.own(wholeFile), mark, 0o600) // the last one
	}
	if err == nil {
		i.facts = f
	}
	return err
}

// samples returns some files of the spare as they were when it was made.
func (i *item) samples() (list []spare.Sample, ok bool) {
	text, err := os.ReadFile(i.own(samplesFile))
	return list, err == nil && json.Unmarshal(text, &list) == nil
}

// newItem makes an empty spare, which the caller holds until it unlocks it.
func (s *stock) newItem() (*item, *flock.Lock, error) {
	id := string(project.NewID())
	i := &item{stock: s, id: id}
	if err := os.MkdirAll(filepath.Dir(i.own(lockFile)), 0o700); err != nil {
		return nil, nil, err
	}
	if err := failpoint.Hit("pool.begun"); err != nil {
		return nil, nil, err
	}
	lock, err := flock.New(i.own(lockFile))
	if err != nil {
		return nil, nil, err
	}
	if err := i.makeTree(); err != nil {
		_ = lock.Unlock()
		return nil, nil, err
	}
	made := s.item(id)
	made.tree.Inherit = []*os.File{lock.ForChild()}
	return made, lock, nil
}

func (i *item) makeTree() error {
	base, err := fsx.MakeDir(filepath.Dir(i.at), 0o777)
	if err != nil {
		return err
	}
	defer base.Close()
	all, err := base.MakeBelow(filepath.Base(i.at), 0o700)
	if err != nil {
		return err
	}
	defer all.Close()
	if err := all.Mkdir(i.id, 0o777); err != nil {
		return err
	}
	if err := failpoint.Hit("pool.made"); err != nil {
		return err
	}
	id, err := all.IdentityOf(i.id)
	if err != nil {
		return err
	}
	if err := i.ledger().Put(i.id, fsx.Made{Path: filepath.Join(i.at, i.id), Identity: id}); err != nil {
		return err
	}
	return failpoint.Hit("pool.recorded")
}

// remove deletes a spare that the caller holds. Its directory is deleted only if it is where it was made.
func (i *item) remove() error {
	if err := os.Remove(i.own(wholeFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if made := i.ledger().Find(i.id); made.Path != "" {
		if err := removeTree(made); err != nil {
			return err
		}
		if err := failpoint.Hit("pool.removed"); err != nil {
			return err
		}
	} else if err := i.removeUnrecorded(); err != nil {
		return err
	}
	return errors.Join(i.ledger().Delete(i.id), os.RemoveAll(filepath.Dir(i.own(lockFile))))
}

// removeUnrecorded deletes the empty directory of a spare whose maker died before it could record which one it had made.
func (i *item) removeUnrecorded() error {
	all, err := fsx.OpenDir(i.at)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer all.Close()
	dir, err := all.OpenBelow(i.id)
	if err != nil {
		return nil // there is none, or what has its name is not ours
	}
	defer dir.Close()
	if dir.IsEmpty() {
		return all.Remove(i.id)
	}
	return nil
}

func removeTree(made fsx.Made) error {
	all, err := fsx.OpenDir(filepath.Dir(made.Path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer all.Close()
	name := filepath.Base(made.Path)
	now, err := all.IdentityOf(name)
	if err != nil || now != made.Identity {
		return nil // it was handed out, or is not ours
	}
	return all.RemoveTree(name, made.Identity, nil)
}

// workers is how many processes or threads write the files of a spare.
func (s *stock) workers() int {
	if n := s.r.Config.Checkout.Workers; n > 0 {
		return n
	}
	return runtime.NumCPU()
}
