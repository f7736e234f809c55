package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal/txlog"
)

// ErrInUse says that a database was not deleted because it holds repositories.
var ErrInUse = errors.New("the state database is in use")

// Repos lists all repositories in the journal, in the order in which they were first
// seen.
func (j *Journal) Repos(ctx context.Context) ([]Repo, error) {
	return read(ctx, j, scanRepo, `SELECT `+repoColumns+` FROM repos ORDER BY created_at, rowid`)
}

// Files lists the existing files of the database and of its second copy, with the files
// of both that were set aside. The lock file, which other processes wait for, is last.
func (j *Journal) Files() []string {
	list := append([]string{j.path, j.path + "-wal", j.path + "-shm"}, txlog.Beginning(j.path+damagedSuffix)...)
	if j.copy != nil {
		list = append(append(list, j.copy.Path()), txlog.Beginning(j.copy.Path()+damagedSuffix)...)
	}
	list = append(list, lockFile(j.path))
	return slices.DeleteFunc(list, func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// Delete closes the database and deletes it with its second copy, unless it holds a
// repository. Before it deletes, while no other process can write, it calls before; if
// before fails, the database stays. A process that has the database open makes another
// one when it writes.
func (j *Journal) Delete(ctx context.Context, before func() error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	l, err := acquireLock(ctx, j.path, flock.Acquire)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if j.isGone(j.file) {
		return errMoved
	}
	err = inWriteTx(ctx, j.db, func(t *Tx) error {
		known, err := collect(ctx, t, scanRepo, `SELECT `+repoColumns+` FROM repos LIMIT 1`)
		if err == nil && len(known) > 0 {
			err = fmt.Errorf("%w: %s", ErrInUse, known[0].Path)
		}
		if err != nil {
			return err
		}
		return before()
	})
	if err != nil {
		return explain(ctx, err)
	}
	errs := []error{j.closeFiles()} // some systems delete no open file
	for _, path := range j.Files() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// acquireLock takes the lock of a database. Another process may delete the lock file
// while this one waits, so the locked file has to be the one at the path.
func acquireLock(ctx context.Context, path string, acquire func(context.Context, string) (*flock.Lock, error)) (*flock.Lock, error) {
	const tries = 100 // a file system may not be able to tell files apart
	for n := 1; ; n++ {
		l, err := acquire(ctx, lockFile(path))
		if err != nil || n == tries || l.IsAt(lockFile(path)) {
			return l, err
		}
		_ = l.Unlock()
	}
}
