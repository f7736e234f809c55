package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/proc"
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
	tmp := tempPath(s)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tmp, ".git"), []byte(w.pointer()), 0o666); err != nil {
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

func (r *Repository) addAdmin(w *Worktree, s AddSpec) error {
	staging := w.staging()
	if err := os.MkdirAll(staging, 0o777); err != nil {
		return err
	}
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
		file := filepath.Join(staging, filepath.FromSlash(name))
		if text != "" || name == "locked" {
			text += "\n"
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			return err
		}
	}
	if err := r.copyWorktreeConfig(staging); err != nil {
		return err
	}
	if s.Contents != nil {
		if err := s.Contents(staging); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("git.add.staged"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(w.Admin), 0o777); err != nil {
		return err
	}
	return renameNew(staging, w.Admin)
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
func (r *Repository) copyWorktreeConfig(admin string) error {
	if err := copyIfThere(filepath.Join(r.CommonDir, "info", "sparse-checkout"), filepath.Join(admin, "info", "sparse-checkout")); err != nil {
		return err
	}
	if !r.format.worktreeConfig {
		return nil
	}
	entries, err := readConfigFile(r.common("config.worktree"))
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
	return os.WriteFile(filepath.Join(admin, "config.worktree"), text.Bytes(), 0o666)
}

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

// Discard removes everything that Add and Checkout made and nothing else: the
// checkout only if its .git file names this worktree, the admin directory only
// if it names this checkout. It may be called again, and after a crash at any
// point of Add.
func (w *Worktree) Discard() error {
	if w.IsIsolated() {
		return w.discardIsolated()
	}
	admin := filepath.Base(w.Admin)
	var errs []error
	for _, dir := range []string{w.Path, tempPath(AddSpec{Admin: admin, Path: w.Path})} {
		errs = append(errs, w.discardTree(dir))
	}
	staging := w.Repo.stagingDir(admin)
	errs = append(errs, os.RemoveAll(staging))
	if w.names(w.Path) {
		// It goes in one step, so that git never sees a half of it.
		if err := os.Rename(w.Admin, staging); err != nil {
			errs = append(errs, os.RemoveAll(w.Admin))
		}
		errs = append(errs, os.RemoveAll(staging))
	}
	return errors.Join(errs...)
}

// discardTree removes a directory that is a checkout of this worktree, or the
// beginning of one: nothing in it but a part of the .git file.
func (w *Worktree) discardTree(dir string) error {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	if w.Owns(dir) {
		// The .git file goes last: it is the proof that the rest may go.
		return removeTree(dir, ".git")
	}
	if dir == w.Path {
		return nil // it appears there complete or not at all
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != ".git" {
		return err
	}
	file := filepath.Join(dir, ".git")
	if b, err := readSmall(file); err == nil && strings.HasPrefix(w.pointer(), string(b)) {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if err := os.Remove(dir); err != nil && !isNotEmpty(dir) {
		return err
	}
	return nil
}

func isNotEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// pointer is the content of the checkout's .git file, or of the file in its git
// directory that has the same purpose.
func (w *Worktree) pointer() string {
	if w.IsIsolated() {
		return isolatedPointer + filepath.Base(w.Admin) + "\n"
	}
	return "gitdir: " + filepath.ToSlash(w.Admin) + "\n"
}

// removeTree deletes a directory without leaving it by a link; the entry named
// last is deleted at the end.
func removeTree(dir, last string) error {
	if err := removeBut(dir, last); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// Deregister moves the admin directory to dst, after which git does not know
// the worktree any more.
//
// Other gits may be at work. One that is listing worktrees dies if a directory
// that it has just seen is gone, so the worktree first stops being listed, and
// its directory goes a moment later. One that is committing there, or a gc that
// is rewriting the reflog, has the lock of HEAD, so that is taken too. It may
// be called again after a crash at any point. The caller holds the repository's
// lock.
func (w *Worktree) Deregister(dst string) error {
	return w.DeregisterWhile(dst, func() error { return nil })
}

// DeregisterWhile is Deregister for those who have something to do in the
// moment that the directory has to wait. If that fails, the directory stays.
func (w *Worktree) DeregisterWhile(dst string, meanwhile func() error) error {
	const pointer, hidden = "gitdir", "gitdir.removed"
	var gone time.Time // when every git that has seen it is through
	if err := os.Rename(filepath.Join(w.Admin, pointer), filepath.Join(w.Admin, hidden)); err == nil {
		gone = time.Now().Add(listingTime)
	}
	if err := failpoint.Hit("git.deregister.hidden"); err != nil {
		return err
	}
	// A git that starts from here on does not see it.
	listing := make(chan bool, 1)
	go func() { listing <- isListing() }()
	if err := meanwhile(); err != nil {
		return err
	}
	if <-listing {
		time.Sleep(time.Until(gone))
	}
	w.holdHead()
	w.DropDebris()
	if err := failpoint.Hit("git.deregister.held"); err != nil {
		return err
	}
	err := os.Rename(w.Admin, dst)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		if cerr := os.CopyFS(dst, os.DirFS(w.Admin)); cerr != nil {
			return errors.Join(err, cerr)
		}
		if err := os.RemoveAll(w.Admin); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("git.deregister.moved"); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(dst, headLock))
	_ = os.Rename(filepath.Join(dst, hidden), filepath.Join(dst, pointer))
	return nil
}

// listingTime is how long a git that lists worktrees may take from reading
// that there is one to reading what it is.
const listingTime = 10 * time.Millisecond

// isListing reports whether a git may be listing worktrees now. Those that Croft
// itself keeps running do not.
func isListing() bool {
	found, known := proc.Any("git", func(args []string) bool {
		return !slices.ContainsFunc(args, func(arg string) bool { return arg == "cat-file" || arg == "update-ref" || arg == "merge-tree" })
	})
	return found || !known || !proc.SeesAll()
}

// headLock is the file under which git changes HEAD and its reflog.
const headLock = "HEAD.lock"

// headLockOurs is what Croft writes into it; git writes what HEAD becomes.
const headLockOurs = "croft\n"

// headPatience is how long such a change may take. A lock that is older was
// left behind by a git that was killed.
const headPatience = time.Second

// holdHead takes git's lock of the worktree's HEAD, or waits until whoever has
// it must be done.
func (w *Worktree) holdHead() {
	for deadline := time.Now().Add(headPatience); ; time.Sleep(5 * time.Millisecond) {
		path := filepath.Join(w.Admin, headLock)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			_, _ = f.WriteString(headLockOurs)
			_ = f.Close()
		} else if b, err := readSmall(path); err == nil && string(b) == headLockOurs {
			return // of a Croft that died here
		}
		if !errors.Is(err, os.ErrExist) || time.Now().After(deadline) {
			return
		}
	}
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
	_ = os.RemoveAll(w.staging())
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
	return w.Harvest(ctx)
}
