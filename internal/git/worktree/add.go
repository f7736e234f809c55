package worktree

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
)

// AddSpec describes a linked worktree to register.
type AddSpec struct {
	Admin  string // required: the name of its admin directory
	Path   string // required: its path; must not exist
	Branch string // the branch to check out; empty: Head is detached
	Head   string
	Lock   string // the lock reason that it is created with
	Kind   CheckoutKind
	// Branches are other branches that an isolated checkout gets.
	Branches map[string]string
	// Sparse are the directories that the checkout has besides the files at its top, or AllFiles;
	// empty: it has what the main checkout has.
	Sparse []string
	// Ready, if not nil, has the files and the index; otherwise the worktree is made without any.
	Ready *Ready
	// Contents, if not nil, writes more files to the admin directory before git can see
	// it: the state of a worktree that is restored.
	Contents func(admin string) error
}

// CheckoutKind says how much a checkout shares with its repository.
type CheckoutKind string

// ErrExists says that there is already something at the path of a worktree.
var ErrExists = fsx.ErrExists

// AddTree makes the checkout's directory under another name, records its identity, calls
// fill and renames the directory to its path. With s.Ready it is that directory.
func (w *Worktree) AddTree(s AddSpec, fill func(tree *fsx.Dir) error) error {
	beside, err := fsx.OpenDir(filepath.Dir(s.Path))
	if err != nil {
		return err
	}
	defer beside.Close()
	if s.Ready != nil {
		return w.moveReady(s, beside, fill)
	}
	tmp := filepath.Base(TempPath(s))
	if err := beside.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	if err := failpoint.Hit("git.add.made"); err != nil {
		return err
	}
	tree, err := beside.OpenDir(tmp)
	if err != nil {
		return err
	}
	defer tree.Close()
	made, err := w.recordIdentity(tree)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("git.add.recorded"); err != nil {
		return err
	}
	if err := fill(tree); err != nil {
		return err
	}
	if err := failpoint.Hit("git.add.tree"); err != nil {
		return err
	}
	err = beside.Move(tmp, made, beside, filepath.Base(s.Path))
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", s.Path, ErrExists)
	}
	return err
}

// recordIdentity records the identity of the checkout's directory in the ledger.
func (w *Worktree) recordIdentity(tree *fsx.Dir) (fsx.Identity, error) {
	made, err := tree.Identity()
	if err == nil {
		err = w.Repo.Made().Put(filepath.Base(w.Admin), fsx.Made{Path: w.Path, Identity: made})
	}
	return made, err
}

// TempPath is the path at which the directory of a checkout is made before it is renamed.
func TempPath(s AddSpec) string {
	return filepath.Join(filepath.Dir(s.Path), "."+s.Admin+".tmp")
}

// AddAdmin makes the admin directory of a worktree.
func (r *Repository) AddAdmin(w *Worktree, s AddSpec) error {
	all, err := r.openStaging()
	if err != nil {
		return err
	}
	defer all.Close()
	if err := errors.Join(all.RemoveAll(s.Admin), all.Mkdir(s.Admin, 0o777)); err != nil {
		return err
	}
	staging, err := all.OpenDir(s.Admin)
	if err != nil {
		return err
	}
	defer staging.Close()
	if err := r.fillAdmin(w, s, staging); err != nil {
		return err
	}
	if s.Ready != nil {
		if err := s.Ready.takeIndex(staging); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("git.add.staged"); err != nil {
		return err
	}
	admins, err := w.MakeAdminParent()
	if err != nil {
		return err
	}
	defer admins.Close()
	id, err := staging.Identity()
	if err == nil {
		err = all.MoveOrCopy(s.Admin, id, admins, filepath.Base(w.Admin), LargestAdmin)
	}
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", w.Admin, ErrExists)
	}
	return err
}

// fillAdmin writes the files of an admin directory.
func (r *Repository) fillAdmin(w *Worktree, s AddSpec, staging *fsx.Dir) error {
	head := s.Head
	if s.Branch != "" {
		head = "ref: refs/heads/" + s.Branch
	}
	files := map[string]string{
		"HEAD": head, "commondir": w.RelativeCommonDir(), "gitdir": filepath.ToSlash(filepath.Join(s.Path, ".git")), "locked": s.Lock,
	}
	if !r.HasNativeRefs() {
		maps.Copy(files, otherRefs)
	}
	for name, text := range files {
		if text != "" || name == "locked" {
			text += "\n"
		}
		if err := staging.WriteBelow(path.Dir(name), path.Base(name), []byte(text)); err != nil {
			return err
		}
	}
	if err := r.writeSparse(w, s.Sparse, staging); err != nil || s.Contents == nil {
		return err
	}
	own := r.OwnStaging(s.Admin)
	if err := errors.Join(os.RemoveAll(own), os.MkdirAll(own, 0o700)); err != nil {
		return err
	}
	defer os.RemoveAll(own)
	if err := s.Contents(own); err != nil {
		return err
	}
	from, err := fsx.OpenOwn(own)
	if err != nil {
		return err
	}
	defer from.Close()
	return from.CopyOver(staging, LargestAdmin)
}

// RelativeCommonDir returns the relative path from the admin directory to the common directory.
func (w *Worktree) RelativeCommonDir() string {
	if w.IsIsolated() {
		return filepath.ToSlash(w.Repo.CommonDir)
	}
	return "../.."
}

// MaxWorktreeConfig bounds the size of the settings that are copied.
const MaxWorktreeConfig = 4 << 20

// otherRefs are the files that the admin directory needs in a repository whose refs are
// not files.
var otherRefs = map[string]string{
	"HEAD": "ref: refs/heads/.invalid", "refs/heads": "this repository uses the reftable format", "reftable/tables.list": "",
}

// PointerText returns the content of the checkout's .git file or, for an isolated
// checkout, of pointerFile in its git directory.
func (w *Worktree) PointerText() string {
	if w.IsIsolated() {
		return isolatedPointer + filepath.Base(w.Admin) + "\n"
	}
	return "gitdir: " + filepath.ToSlash(w.Admin) + "\n"
}

// CopyIfExists copies a file if it exists.
func CopyIfExists(src, dst string) error {
	in, err := fsx.Open(src)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(dst), 0o777); err != nil {
		return err
	}
	out, err := os.Create(dst)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
