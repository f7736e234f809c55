package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// realBase is the directory that workspaces are made in, by a path that leads
// through no link. Links of the user's own on the way there are followed once,
// now; the record then says where it led. Inside the project a link may be
// anybody's who had a commit merged, so there none is followed.
func realBase(r *repo, base string) (string, error) {
	real := base
	for rest := ""; ; {
		at, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(at, rest)
			break
		}
		up := filepath.Dir(real)
		if !errors.Is(err, os.ErrNotExist) || up == real || fsx.IsThere(real) {
			return "", err
		}
		real, rest = up, filepath.Join(filepath.Base(real), rest)
	}
	if real != base && isWithin(base, r.path) {
		return "", &croft.Error{
			Code: croft.NotWritable, Message: "the directory for workspaces is a link, or lies behind one, inside the project", Details: base,
			Hint: "remove the link, or choose another layout",
		}
	}
	return real, nil
}

// trashDirs is the ledger of the directories that workspaces are stowed in, by
// the ids of the workspaces. A record has the same identity, but is written
// later; checkouts have a ledger of their own, [git.Repository.Made].
func (r *repo) trashDirs() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.dir, "dirs")} }

// makeTrashDir makes the directory that a workspace is stowed in, and returns
// its identity. One that is there already is taken only if it is known to have
// been made for this.
func (r *repo) makeTrashDir(dir string) (fsx.Identity, error) {
	trash, err := fsx.MakeDir(filepath.Dir(dir), 0o700)
	if err != nil {
		return "", err
	}
	defer trash.Close()
	name := filepath.Base(dir)
	if made := r.trashDirs().Find(name); made.Identity != "" && made.Path == dir {
		if now, err := trash.IdentityOf(name); err == nil && now == made.Identity {
			return now, nil
		}
	}
	_ = trash.Remove(name) // if it is empty, by a process that died before it was recorded
	if err := trash.Mkdir(name, 0o700); errors.Is(err, os.ErrExist) {
		return "", notOurs(dir)
	} else if err != nil {
		return "", err
	}
	if err := failpoint.Hit("trash.dir.made"); err != nil {
		return "", err
	}
	now, err := trash.IdentityOf(name)
	if err == nil {
		err = r.trashDirs().Put(name, fsx.Made{Path: dir, Identity: now})
	}
	return now, err
}

// isTaken reports whether something lies where a workspace would be stowed, and
// is not known to have been made for that.
func (r *repo) isTaken(dir string) bool {
	made := r.trashDirs().Find(filepath.Base(dir))
	return fsx.IsThere(dir) && (made.Path != dir || !made.Identity.IsAt(dir))
}

// openTrashDir opens the directory that a removed workspace lies in.
func openTrashDir(t *journal.Trash) (*fsx.Dir, error) {
	return fsx.OpenDirIs(t.Dir, fsx.Identity(t.Identity))
}

// removeEmpty removes a directory if there is nothing in it, and is silent if
// that cannot be.
func removeEmpty(path string) {
	if path == "" {
		return
	}
	up, err := fsx.OpenDir(filepath.Dir(path))
	if err != nil {
		return
	}
	defer up.Close()
	name := filepath.Base(path)
	if dir, err := up.OpenDir(name); err == nil { // not a file, nor a link
		_ = dir.Close()
		_ = up.Remove(name)
	}
}

// notOurs says that something else lies where a directory of Croft's was.
func notOurs(path string) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Message: "what lies there is not what Croft made; it is left alone", Details: path,
		Hint: fmt.Sprintf("look at %s, move it away, then run the command again", path),
	}
}

// checkStowed fails if what lies in the trash is not what was put there.
func checkStowed(rec journal.Record) error {
	dir, err := openTrashDir(rec.Trash)
	if err == nil {
		defer dir.Close()
		now, terr := dir.IdentityOf("tree")
		if terr == nil && now != fsx.Identity(rec.Identity) {
			err = fsx.ErrOther
		}
	}
	if errors.Is(err, fsx.ErrOther) || errors.Is(err, fsx.ErrLink) {
		if _, isCopy := copyInTrash(rec); isCopy {
			return copyStowed(rec, "else move it away")
		}
		return notOurs(rec.Trash.Dir)
	}
	return err
}

// sweepLedgers forgets what was made for workspaces that are gone for good, and
// removes directories of the trash that nothing is left in. Whoever stows a
// workspace holds the repository's lock.
func (e *Engine) sweepLedgers(ctx context.Context, r *repo) error {
	return e.underLock(ctx, r, func() error {
		records, err := e.journal.Records(ctx, r.id)
		if err != nil {
			return err
		}
		checkouts, dirs := map[string]bool{}, map[string]bool{}
		for _, rec := range records {
			checkouts[rec.Admin] = rec.Trash == nil || !rec.Trash.Purged
			dirs[string(rec.Workspace.ID)] = rec.Trash != nil && rec.Trash.Dir != ""
			dirs[asideName(rec)] = true // a rewind may be at work there
		}
		return errors.Join(sweepLedger(r.git.Made(), checkouts), sweepLedger(r.trashDirs(), dirs), sweepLedger(r.deleted(), dirs))
	})
}

func sweepLedger(l fsx.Ledger, keep map[string]bool) error {
	names, err := l.Names()
	for _, name := range names {
		if keep[name] {
			continue
		}
		made := l.Find(name)
		if removeEmpty(made.Path); !made.Identity.IsAt(made.Path) {
			err = errors.Join(err, l.Drop(name))
		}
	}
	return err
}
