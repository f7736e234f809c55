package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
)

// AddSpec describes a linked worktree to register.
type AddSpec struct {
	Admin  string // required: the name of its admin directory
	Path   string // required: where it will lie; must not exist
	Branch string // the branch it has checked out; empty: Head, detached
	Head   string
	Lock   string // the reason of the lock that it is born with
}

// ErrExists says that something is already where a worktree should be.
var ErrExists = errors.New("already exists")

// Add registers a linked worktree without any files. Both halves, the admin
// directory and the checkout's directory, are written completely under other
// names and renamed into place, so that git never sees a half of either and a
// crash leaves at most one half, which [Worktree.Discard] removes.
func (r *Repository) Add(ctx context.Context, s AddSpec) (*Worktree, error) {
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
	tmp := tempPath(s)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return nil, err
	}
	pointer := "gitdir: " + filepath.ToSlash(w.Admin) + "\n"
	if err := os.WriteFile(filepath.Join(tmp, ".git"), []byte(pointer), 0o666); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("git.add.tree"); err != nil {
		return nil, err
	}
	return w, renameNew(tmp, s.Path)
}

func tempPath(s AddSpec) string {
	return filepath.Join(filepath.Dir(s.Path), "."+s.Admin+".tmp")
}

func (r *Repository) stagingDir(admin string) string {
	return filepath.Join(r.CommonDir, "croft", "staging", admin)
}

func (r *Repository) addAdmin(ctx context.Context, w *Worktree, s AddSpec) error {
	staging := r.stagingDir(s.Admin)
	if err := os.MkdirAll(staging, 0o777); err != nil {
		return err
	}
	head := s.Head
	if s.Branch != "" {
		head = "ref: refs/heads/" + s.Branch
	}
	for name, text := range map[string]string{
		"HEAD": head, "commondir": "../..", "gitdir": filepath.ToSlash(filepath.Join(s.Path, ".git")), "locked": s.Lock,
	} {
		if err := os.WriteFile(filepath.Join(staging, name), []byte(text+"\n"), 0o666); err != nil {
			return err
		}
	}
	if err := r.copyWorktreeConfig(ctx, staging); err != nil {
		return err
	}
	if err := failpoint.Hit("git.add.staged"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(w.Admin), 0o777); err != nil {
		return err
	}
	return renameNew(staging, w.Admin)
}

// copyWorktreeConfig gives a new worktree the per-worktree settings of the
// main checkout, as git does, but for those that say where that one lies.
func (r *Repository) copyWorktreeConfig(ctx context.Context, admin string) error {
	if err := copyIfThere(filepath.Join(r.CommonDir, "info", "sparse-checkout"), filepath.Join(admin, "info", "sparse-checkout")); err != nil {
		return err
	}
	if !r.format.worktreeConfig {
		return nil
	}
	file := filepath.Join(admin, "config.worktree")
	if err := copyIfThere(filepath.Join(r.CommonDir, "config.worktree"), file); err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	for _, key := range []string{"core.bare", "core.worktree"} {
		const notThere = 5
		_, err := r.run(ctx, "config", "--file", file, "--unset-all", key)
		if err != nil && exitCode(err) != notThere {
			return err
		}
	}
	return nil
}

// addWithGit is for ref storages whose files are git's own affair. The admin
// directory gets the wanted name because git takes it from the path.
func (r *Repository) addWithGit(ctx context.Context, s AddSpec) error {
	if _, err := os.Lstat(s.Path); err == nil {
		return fmt.Errorf("%s: %w", s.Path, ErrExists)
	}
	tmp := filepath.Join(filepath.Dir(s.Path), s.Admin)
	args := []string{"worktree", "add", "--quiet", "--no-track", "--no-checkout", "--lock", "--reason", s.Lock}
	if s.Branch != "" {
		args = append(args, "--", tmp, s.Branch)
	} else {
		args = append(args, "--detach", "--", tmp, s.Head)
	}
	if _, err := r.run(ctx, args...); err != nil {
		return err
	}
	admin := filepath.Join(r.CommonDir, "worktrees", s.Admin)
	if err := replaceFile(filepath.Join(admin, "gitdir"), []byte(filepath.ToSlash(filepath.Join(s.Path, ".git"))+"\n"), 0o644); err != nil {
		return err
	}
	return renameNew(tmp, s.Path)
}

// Discard removes everything that Add and Checkout made and nothing else: the
// checkout only if its .git file names this worktree. It may be called again,
// and after a crash at any point of Add.
func (w *Worktree) Discard() error {
	admin := filepath.Base(w.Admin)
	spec := AddSpec{Admin: admin, Path: w.Path}
	var errs []error
	if w.Owns(w.Path) {
		// The .git file goes last: it is the proof that the rest may go.
		errs = append(errs, removeTree(w.Path, ".git"))
	}
	for _, dir := range []string{tempPath(spec), filepath.Join(filepath.Dir(w.Path), admin)} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	errs = append(errs, os.RemoveAll(w.Admin), os.RemoveAll(w.Repo.stagingDir(admin)))
	return errors.Join(errs...)
}

// removeTree deletes a directory without leaving it by a link; the entry named
// last is deleted at the end.
func removeTree(dir, last string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == last {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(dir)
}

// Deregister moves the admin directory to dst, after which git does not know
// the worktree any more. It happens under git's own lock of the worktree's
// HEAD: a git that is committing there, or a gc that is rewriting the reflog,
// would fail if the directory went away under it.
func (w *Worktree) Deregister(dst string) error {
	w.holdHead()
	defer os.Remove(filepath.Join(dst, headLock))
	err := os.Rename(w.Admin, dst)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if cerr := os.CopyFS(dst, os.DirFS(w.Admin)); cerr != nil {
		return errors.Join(err, cerr)
	}
	return os.RemoveAll(w.Admin)
}

// headLock is the file under which git changes HEAD and its reflog.
const headLock = "HEAD.lock"

// headPatience is how long such a change may take. A lock that is older was
// left behind by a git that was killed.
const headPatience = time.Second

// holdHead takes git's lock of the worktree's HEAD, or waits until whoever has
// it must be done.
func (w *Worktree) holdHead() {
	for deadline := time.Now().Add(headPatience); ; time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile(filepath.Join(w.Admin, headLock), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			_ = f.Close()
		}
		if !errors.Is(err, os.ErrExist) || time.Now().After(deadline) {
			return
		}
	}
}

func copyIfThere(src, dst string) error {
	in, err := os.Open(src)
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
	_ = os.RemoveAll(w.Repo.stagingDir(s.Admin))
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
	_, err := w.run(ctx, call{args: []string{"reset", "--quiet"}, locks: true})
	return err
}
