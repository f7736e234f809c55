package worktree

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// An agent can replace any part of a checkout, of its parent directory and of the common
// directory by a symbolic link, at any moment. So Croft creates, moves and deletes in
// directories that it holds open, and moves or deletes a checkout only if it is the very
// directory that was made: its identity is in the ledger before it appears at its path,
// and later in the workspace's record.

// Made is the ledger of the checkouts that were made for a repository, by the names of
// their admin directories.
func (r *Repository) Made() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.Dir, "made")} }

// Made is the identity of the checkout's directory; empty if it is not known.
func (w *Worktree) Made() fsx.Identity {
	if id := w.Repo.Made().Find(filepath.Base(w.Admin)).Identity; id != "" {
		return id
	}
	return w.Identity
}

// IsThere reports whether the directory that was made for this checkout is at its path.
func (w *Worktree) IsThere() bool { return w.Made().IsAt(w.Path) }

// OwnStaging is a directory for admin directories that git reads and does not list. No
// agent can write there.
func (r *Repository) OwnStaging(name string) string { return filepath.Join(r.Dir, "staging", name) }

// openStaging opens the directory in which admin directories are made before they are
// renamed to where git lists them.
func (r *Repository) openStaging() (*fsx.Dir, error) {
	common, err := fsx.OpenDir(r.CommonDir)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	return common.MakeBelow("croft/staging", 0o777)
}

// OpenAdminParent opens the parent of the admin directory.
func (w *Worktree) OpenAdminParent() (*fsx.Dir, error) {
	if w.Repo == nil { // a trashed one
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
	if w.Repo != nil && w.Admin == w.Repo.CommonDir { // the main checkout
		return fsx.OpenDir(w.Admin)
	}
	admins, err := w.OpenAdminParent()
	if err != nil {
		return nil, err
	}
	defer admins.Close()
	return admins.OpenDir(filepath.Base(w.Admin))
}

// MakeAdminParent makes the parent of the admin directory if it does not exist, and opens it.
func (w *Worktree) MakeAdminParent() (*fsx.Dir, error) {
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

// OpenTrashDir opens the directory of the trash that the checkout is, or will be, moved
// to.
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

// DeleteAdmin deletes the admin directory. It is renamed first, so that git never sees part
// of it.
func (w *Worktree) DeleteAdmin() error {
	admins, err := w.OpenAdminParent()
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

// DeleteStaging deletes an admin directory that was not completed.
func (r *Repository) DeleteStaging(name string) error {
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

// LargestAdmin bounds the size of an admin directory that is copied: an index has about a
// hundred bytes per file.
const LargestAdmin = 4 << 30

// MaxAdmin bounds the size of an admin directory's files other than the index. HEAD's
// reflog and the todo list of a rebase grow.
const MaxAdmin = 64 << 20

// ReadAdmin reads a file of an admin directory that is not its index.
func ReadAdmin(gitDir, name string) ([]byte, error) {
	return fsx.ReadFile(filepath.Join(gitDir, filepath.FromSlash(name)), MaxAdmin)
}
