package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/flock"
)

// ErrInUse says that a database is not deleted because it holds repositories.
var ErrInUse = errors.New("the state database is in use")

// Repos lists all repositories that are known, those first that were first seen.
func (j *Journal) Repos(ctx context.Context) ([]Repo, error) {
	return read(ctx, j, scanRepo, `SELECT `+repoColumns+` FROM repos ORDER BY created_at, rowid`)
}

// Files are the files of the database and of its second copy that are there,
// with those of both that were set aside. The one that others wait for is last.
func (j *Journal) Files() []string {
	var list []string
	for _, suffix := range []string{"", "-wal", "-shm"} {
		list = append(list, j.path+suffix)
	}
	list = append(list, entriesBeginning(filepath.Dir(j.path), filepath.Base(j.path)+damagedSuffix)...)
	if j.copy != nil {
		dir := filepath.Dir(j.copy.path)
		list = append(append(list, j.copy.path), entriesBeginning(dir, filepath.Base(j.copy.path)+damagedSuffix)...)
	}
	list = append(list, lockFile(j.path))
	return slices.DeleteFunc(list, func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// entriesBeginning are the entries of a directory that begin with a name.
func entriesBeginning(dir, prefix string) []string {
	var list []string
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			list = append(list, filepath.Join(dir, entry.Name()))
		}
	}
	return list
}

// Delete closes the database and deletes it with its second copy, if it knows no
// repository any more. Once that is known, and while nobody can change it, before is
// called; if it fails, the database stays. Whoever has it open meanwhile makes another
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
	err = inWriteTx(ctx, j.db, func(tx *sql.Tx) error {
		known, err := collect(ctx, tx, scanRepo, `SELECT `+repoColumns+` FROM repos LIMIT 1`)
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
	j.closed = true
	errs := []error{j.db.Close()} // some systems delete no open file
	for _, db := range j.retired {
		errs = append(errs, db.Close())
	}
	j.retired = nil
	if j.copy != nil {
		j.copy.close()
	}
	for _, path := range j.Files() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// acquireLock takes the lock of a database. Its file may be deleted while somebody
// waits for it, so the one that is locked has to be the one that others find.
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
