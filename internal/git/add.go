package git

import (
	"bytes"
	"context"
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
	Path   string // required: where it will lie; must not exist
	Branch string // the branch it has checked out; empty: Head, detached
	Head   string
	Lock   string // the reason of the lock that it is born with
	// Kind says what kind of checkout it is.
	Kind CheckoutKind
	// Branches are other branches that an isolated checkout shows.
	Branches map[string]string
	// Contents, if given, writes more into the admin directory before git can
	// see it: the state of a worktree that is brought back.
	Contents func(admin string) error
}

// CheckoutKind says how much a checkout shares with its repository.
type CheckoutKind string

// The kinds.
const (
	KindLinked   CheckoutKind = ""         // a worktree of git's: everything but HEAD, index and files
	KindIsolated CheckoutKind = "isolated" // objects, which it can only read
)

// ErrExists says that something is already where a worktree should be.
var ErrExists = fsx.ErrExists

// Add registers a linked worktree without any files. Both halves, the admin
// directory and the checkout's directory, are written completely under other
// names and renamed into place, so that git never sees a half of either and a
// crash leaves at most one half, which [Worktree.Discard] removes.
func (r *Repository) Add(ctx context.Context, s AddSpec) (*Worktree, error) {
	if s.Kind == KindIsolated {
		return r.addIsolated(ctx, s)
	}
	w := r.Linked(s.Admin, s.Path)
	if _, err := os.Lstat(s.Path); err == nil {
		return nil, fmt.Errorf("%s: %w", s.Path, ErrExists)
	}
	if err := r.addAdmin(w, s); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("git.add.admin"); err != nil {
		return nil, err
	}
	if !r.NativeRefs() {
		if err := w.setHead(ctx, s); err != nil {
			return nil, err
		}
	}
	return w, w.addTree(s, func(tree *fsx.Dir) error { return tree.WriteFile(".git", []byte(w.pointerText()), 0o666) })
}

// addTree makes the checkout's directory under another name, records what it is,
// has it filled and renames it to its path.
func (w *Worktree) addTree(s AddSpec, fill func(tree *fsx.Dir) error) error {
	beside, err := fsx.OpenDir(filepath.Dir(s.Path))
	if err != nil {
		return err
	}
	defer beside.Close()
	tmp := filepath.Base(tempPath(s))
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

// recordIdentity notes the identity of the checkout's directory in the ledger.
func (w *Worktree) recordIdentity(tree *fsx.Dir) (fsx.Identity, error) {
	made, err := tree.Identity()
	if err == nil {
		err = w.Repo.Made().Put(filepath.Base(w.Admin), fsx.Made{Path: w.Path, Identity: made})
	}
	return made, err
}

func tempPath(s AddSpec) string {
	return filepath.Join(filepath.Dir(s.Path), "."+s.Admin+".tmp")
}

func (r *Repository) addAdmin(w *Worktree, s AddSpec) error {
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
	if err := failpoint.Hit("git.add.staged"); err != nil {
		return err
	}
	admins, err := w.makeAdmins()
	if err != nil {
		return err
	}
	defer admins.Close()
	err = all.MoveOrCopy(s.Admin, admins, filepath.Base(w.Admin), largestAdmin)
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
		"HEAD": head, "commondir": w.toCommon(), "gitdir": filepath.ToSlash(filepath.Join(s.Path, ".git")), "locked": s.Lock,
	}
	if !r.NativeRefs() {
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
	if err := r.copyWorktreeConfig(staging); err != nil || s.Contents == nil {
		return err
	}
	own := r.ownStaging(s.Admin)
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
	return from.CopyOver(staging, largestAdmin)
}

// toCommon is the way from the admin directory to the common directory.
func (w *Worktree) toCommon() string {
	if w.IsIsolated() {
		return filepath.ToSlash(w.Repo.CommonDir)
	}
	return "../.."
}

// copyWorktreeConfig gives a new worktree the per-worktree settings of the
// main checkout, as git does, but for those that say where that one lies.
func (r *Repository) copyWorktreeConfig(admin *fsx.Dir) error {
	sparse, err := fsx.ReadFile(filepath.Join(r.CommonDir, "info", "sparse-checkout"), maxWorktreeConfig)
	if err == nil {
		err = admin.WriteBelow("info", "sparse-checkout", sparse)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !r.format.worktreeConfig {
		return nil
	}
	entries, err := readConfigFile(r.commonPath("config.worktree"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, e := range entries {
		if e.key != "core.bare" && e.key != "core.worktree" {
			writeEntry(&text, e)
		}
	}
	return admin.WriteFile("config.worktree", text.Bytes(), 0o666)
}

// maxWorktreeConfig bounds the settings that a new worktree is given.
const maxWorktreeConfig = 4 << 20

// setHead checks out a branch or a commit where HEAD is not a file that can be
// written before git sees it.
func (w *Worktree) setHead(ctx context.Context, s AddSpec) error {
	args := []string{"update-ref", "--no-deref", "HEAD", s.Head}
	if s.Branch != "" {
		args = []string{"symbolic-ref", "HEAD", "refs/heads/" + s.Branch}
	}
	_, err := w.Repo.git.run(ctx, door{repo: w.Repo, gitDir: w.Admin}, call{args: args, locks: true})
	return err
}

// otherRefs are the files that make an admin directory one of a repository whose
// refs are not files.
var otherRefs = map[string]string{
	"HEAD": "ref: refs/heads/.invalid", "refs/heads": "this repository uses the reftable format", "reftable/tables.list": "",
}

// pointerText returns the content of the checkout's .git file or, for an isolated
// checkout, of pointerFile in its git directory.
func (w *Worktree) pointerText() string {
	if w.IsIsolated() {
		return isolatedPointer + filepath.Base(w.Admin) + "\n"
	}
	return "gitdir: " + filepath.ToSlash(w.Admin) + "\n"
}

func copyIfThere(src, dst string) error {
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

// Register makes git know a checkout again whose admin directory was pruned.
// The files stay as they are; the index is made anew from HEAD.
func (w *Worktree) Register(ctx context.Context, s AddSpec) error {
	if !w.Owns(s.Path) {
		return fmt.Errorf("%s is not a checkout of this worktree", s.Path)
	}
	if s.Branch != "" {
		if _, err := w.Repo.ReadRef(ctx, "refs/heads/"+s.Branch); err != nil {
			s.Branch = ""
		}
	}
	if err := w.Repo.addAdmin(w, s); err != nil {
		return err
	}
	if err := w.ClearLock(); err != nil {
		return err
	}
	if !w.Repo.NativeRefs() {
		if err := w.setHead(ctx, s); err != nil {
			return err
		}
	}
	if _, err := w.run(ctx, call{args: []string{"reset", "--quiet"}, locks: true}); err != nil || !w.IsIsolated() {
		return err
	}
	// The agent's own git directory still knows what was staged.
	if err := w.borrowAgain(); err != nil {
		return err
	}
	if err := w.forgetSync(); err != nil {
		return err
	}
	return w.Pull(ctx)
}
