package worktree

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// An agent can exchange any part of a checkout, of the directory that it lies
// in and of the common directory for a link, at any moment. So what is made,
// moved or deleted there is done in directories that are held open, and a
// checkout is moved or deleted only if it is the very directory that was made:
// its identity is in the ledger from before the moment that it appears at its
// path, and in the workspace's record after that.

// Made is the ledger of the checkouts that were made for a repository, by the
// names of their admin directories.
func (r *Repository) Made() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.Dir, "made")} }

// Made is the identity of the checkout's directory; empty if it is not known.
func (w *Worktree) Made() fsx.Identity {
	if id := w.Repo.Made().Find(filepath.Base(w.Admin)).Identity; id != "" {
		return id
	}
	return w.Identity
}

// IsThere reports whether the directory that was made for this checkout lies at
// its path.
func (w *Worktree) IsThere() bool { return w.Made().IsAt(w.Path) }

// OwnStaging is a place for admin directories that git reads and does not list.
// No agent can write there.
func (r *Repository) OwnStaging(name string) string { return filepath.Join(r.Dir, "staging", name) }

// openStaging opens the place where admin directories are put together that
// will be renamed to where git lists them.
func (r *Repository) openStaging() (*fsx.Dir, error) {
	common, err := fsx.OpenDir(r.CommonDir)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	return common.MakeBelow("croft/staging", 0o777)
}

// OpenAdmins opens the directory that the admin directory lies in.
func (w *Worktree) OpenAdmins() (*fsx.Dir, error) {
	if w.Repo == nil { // a stowed one
		return fsx.OpenDir(filepath.Dir(w.Admin))
	}
	if w.IsIsolated() || filepath.Dir(w.Admin) == w.Repo.OwnStaging("") {
		return fsx.OpenOwn(filepath.Dir(w.Admin))
	}
	common, err := fsx.OpenDir(w.Repo.CommonDir)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	return common.OpenBelow("worktrees")
}

// OpenAdmin opens the admin directory.
func (w *Worktree) OpenAdmin() (*fsx.Dir, error) {
	if w.Repo != nil && w.Admin == w.Repo.CommonDir { // the main checkout's
		return fsx.OpenDir(w.Admin)
	}
	admins, err := w.OpenAdmins()
	if err != nil {
		return nil, err
	}
	defer admins.Close()
	return admins.OpenDir(filepath.Base(w.Admin))
}

// MakeAdmins makes the directory that the admin directory lies in, and opens it.
func (w *Worktree) MakeAdmins() (*fsx.Dir, error) {
	if w.IsIsolated() {
		if err := os.MkdirAll(filepath.Dir(w.Admin), 0o777); err != nil {
			return nil, err
		}
		return fsx.OpenOwn(filepath.Dir(w.Admin))
	}
	common, err := fsx.OpenDir(w.Repo.CommonDir)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	return common.MakeBelow("worktrees", 0o777)
}

// OpenTrashDir opens the directory that the checkout is, or will be, stowed in.
func (w *Worktree) OpenTrashDir(dir string) (*fsx.Dir, error) {
	if w.TrashedIn == "" {
		return fsx.OpenDir(dir)
	}
	return fsx.OpenDirIs(dir, w.TrashedIn)
}

// WriteAdmin replaces one file of the admin directory.
func (w *Worktree) WriteAdmin(name, text string) error {
	admin, err := w.OpenAdmin()
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.WriteFile(name, []byte(text), 0o644)
}

// DropAdmin deletes the admin directory. It is renamed away first, so that git
// never sees a half of it.
func (w *Worktree) DropAdmin() error {
	admins, err := w.OpenAdmins()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer admins.Close()
	name := filepath.Base(w.Admin)
	id, err := admins.IdentityOf(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !w.IsIsolated() {
		staging, err := w.Repo.openStaging()
		if err != nil {
			return err
		}
		defer staging.Close()
		if err := staging.RemoveAll(name); err != nil {
			return err
		}
		if err := admins.Move(name, id, staging, name); err == nil {
			return staging.RemoveAll(name)
		}
	}
	return admins.RemoveAll(name)
}

// DropStaging deletes what is left of an admin directory that was not finished.
func (r *Repository) DropStaging(name string) error {
	common, err := fsx.OpenDir(r.CommonDir)
	if err != nil {
		return err
	}
	defer common.Close()
	staging, err := common.OpenBelow("croft/staging")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, fsx.ErrLink) {
		return nil
	}
	if err != nil {
		return err
	}
	defer staging.Close()
	return staging.RemoveAll(name)
}

// LargestAdmin bounds what is copied of an admin directory: an index has about
// a hundred bytes for each file.
const LargestAdmin = 4 << 30

// MaxAdmin bounds the files of an admin directory other than its index, of which the
// reflog of HEAD and a list of what a rebase has left to do grow.
const MaxAdmin = 64 << 20

// ReadAdmin reads a file of an admin directory that is not its index.
func ReadAdmin(gitDir, name string) ([]byte, error) {
	return fsx.ReadFile(filepath.Join(gitDir, filepath.FromSlash(name)), MaxAdmin)
}
