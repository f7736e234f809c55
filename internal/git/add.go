package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
var ErrExists = errors.New("already exists")

// Add registers a linked worktree without any files. Both halves, the admin
// directory and the checkout's directory, are written completely under other
// names and renamed into place, so that git never sees a half of either and a
// crash leaves at most one half, which [Worktree.Discard] removes.
func (r *Repository) Add(ctx context.Context, s AddSpec) (*Worktree, error) {
	if s.Kind == KindIsolated {
		return r.addIsolated(ctx, s)
	}
	w := r.Linked(s.Admin, s.Path)
	if !r.NativeRefs() {
		return w, r.addWithGit(ctx, s)
	}
	if _, err := os.Lstat(s.Path); err == nil {
		return nil, fmt.Errorf("%s: %w", s.Path, ErrExists)
	}
	if err := r.addAdmin(ctx, w, s); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("git.add.admin"); err != nil {
		return nil, err
	}
	return w, w.addTree(s, func(tree *fsx.Dir) error { return tree.WriteFile(".git", []byte(w.pointer()), 0o666) })
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
	made, err := w.record(tree)
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

// record notes the identity of the checkout's directory in the ledger.
func (w *Worktree) record(tree *fsx.Dir) (fsx.Identity, error) {
	made, err := tree.Identity()
	if err == nil {
		err = w.Repo.Made().Put(filepath.Base(w.Admin), fsx.Made{Path: w.Path, Identity: made})
	}
	return made, err
}

func tempPath(s AddSpec) string {
	return filepath.Join(filepath.Dir(s.Path), "."+s.Admin+".tmp")
}

func (r *Repository) stagingDir(admin string) string {
	return filepath.Join(r.CommonDir, "croft", "staging", admin)
}

func (r *Repository) addAdmin(ctx context.Context, w *Worktree, s AddSpec) error {
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
	if err := r.fillAdmin(ctx, w, s, staging); err != nil {
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
	err = moveOrCopy(all, s.Admin, admins, filepath.Base(w.Admin))
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", w.Admin, ErrExists)
	}
	return err
}

// fillAdmin writes the files of an admin directory.
func (r *Repository) fillAdmin(ctx context.Context, w *Worktree, s AddSpec, staging *fsx.Dir) error {
	head := s.Head
	if s.Branch != "" {
		head = "ref: refs/heads/" + s.Branch
	}
	for name, text := range map[string]string{
		"HEAD": head, "commondir": w.toCommon(), "gitdir": filepath.ToSlash(filepath.Join(s.Path, ".git")), "locked": s.Lock,
	} {
		if err := staging.WriteFile(name, []byte(text+"\n"), 0o666); err != nil {
			return err
		}
	}
	if err := r.copyWorktreeConfig(ctx, staging); err != nil || s.Contents == nil {
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
func (r *Repository) copyWorktreeConfig(ctx context.Context, admin *fsx.Dir) error {
	sparse, err := fsx.ReadFile(filepath.Join(r.CommonDir, "info", "sparse-checkout"), maxWorktreeConfig)
	if err == nil {
		err = writeBelow(admin, "info", "sparse-checkout", sparse)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !r.format.worktreeConfig {
		return nil
	}
	text, err := fsx.ReadFile(filepath.Join(r.CommonDir, "config.worktree"), maxWorktreeConfig)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	file := r.ownStaging(filepath.Base(admin.Path()) + ".config")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	defer os.Remove(file)
	for _, key := range []string{"core.bare", "core.worktree"} {
		const notThere = 5
		_, err := r.run(ctx, "config", "--file", file, "--unset-all", key)
		if err != nil && exitCode(err) != notThere {
			return err
		}
	}
	if text, err = fsx.ReadFile(file, maxWorktreeConfig); err != nil {
		return err
	}
	return admin.WriteFile("config.worktree", text, 0o666)
}

// maxWorktreeConfig bounds the settings that a new worktree is given.
const maxWorktreeConfig = 4 << 20

// writeBelow writes a file in a directory below another one; "." is that one
// itself.
func writeBelow(dir *fsx.Dir, sub, name string, data []byte) error {
	if sub == "." {
		return dir.WriteFile(name, data, 0o666)
	}
	in, err := dir.MakeBelow(sub, 0o777)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.WriteFile(name, data, 0o666)
}

// addWithGit is for ref storages whose files are git's own affair. The admin
// directory gets the wanted name because git takes it from the path.
func (r *Repository) addWithGit(ctx context.Context, s AddSpec) error {
	if _, err := os.Lstat(s.Path); err == nil {
		return fmt.Errorf("%s: %w", s.Path, ErrExists)
	}
	tmp := filepath.Join(filepath.Dir(s.Path), s.Admin)
	args := []string{"worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", s.Lock}
	if s.Branch != "" {
		args = append(args, "--", tmp, s.Branch)
	} else {
		args = append(args, "--detach", "--", tmp, s.Head)
	}
	if _, err := r.run(ctx, args...); err != nil {
		return err
	}
	w := r.Linked(s.Admin, s.Path)
	if err := w.writeAdmin("gitdir", filepath.ToSlash(filepath.Join(s.Path, ".git"))+"\n"); err != nil {
		return err
	}
	beside, err := fsx.OpenDir(filepath.Dir(s.Path))
	if err != nil {
		return err
	}
	defer beside.Close()
	tree, err := beside.OpenDir(s.Admin)
	if err != nil {
		return err
	}
	defer tree.Close()
	made, err := w.record(tree)
	if err == nil {
		err = beside.Move(s.Admin, made, beside, filepath.Base(s.Path))
	}
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", s.Path, ErrExists)
	}
	return err
}

// pointer is the content of the checkout's .git file, or of the file in its git
// directory that has the same purpose.
func (w *Worktree) pointer() string {
	if w.IsIsolated() {
		return isolatedPointer + filepath.ToSlash(w.Admin) + "\n"
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
	if err := w.Repo.addAdmin(ctx, w, s); err != nil {
		return err
	}
	if err := w.ClearLock(); err != nil {
		return err
	}
	if _, err := w.run(ctx, call{args: []string{"reset", "--quiet"}, locks: true}); err != nil || !w.IsIsolated() {
		return err
	}
	// The agent's own git directory still knows what was staged.
	if err := w.forgetSync(); err != nil {
		return err
	}
	return w.Harvest(ctx)
}
