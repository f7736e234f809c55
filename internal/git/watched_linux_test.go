package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/watch"
)

// TestWatchedAnswersAreGits: over random edits of all kinds, what is shown of a watched checkout is what git
// says at that moment: on a disk, and in memory, where a write through mapped memory changes no time of its file.
// CROFT_LONG=1 takes 300 checkouts.
func TestWatchedAnswersAreGits(t *testing.T) {
	trees := 5
	if os.Getenv("CROFT_LONG") != "" {
		trees = 300
	}
	if total, ok := watchTrees(t, "/var/tmp", trees); ok && (total.held < 2*trees || total.dirtyHeld < trees || total.touched < trees) {
		t.Errorf("hardly anything was watched: %+v", total)
	}
	watchTrees(t, "/dev/shm", 2)
}

// watchTrees compares answers over random edits of checkouts in a directory.
func watchTrees(t *testing.T, dir string, trees int) (watchedTally, bool) {
	t.Setenv("TMPDIR", dir)
	const steps = 30
	seed, total := uint64(time.Now().UnixNano()), watchedTally{}
	for i := range trees {
		ok := t.Run(fmt.Sprint("seed-", seed+uint64(i)), func(t *testing.T) {
			w := newWatchedTree(t, seed+uint64(i))
			for range steps {
				w.step()
				w.compare()
				if w.rnd.IntN(2) == 0 { // nothing changes: the answer is known without a walk
					time.Sleep(80 * time.Millisecond)
					w.compare()
					w.compare()
				}
			}
			total.held += w.held
			total.dirtyHeld += w.dirtyHeld
			total.touched += w.watches.State().Touched
		})
		if !ok {
			return total, false
		}
	}
	t.Logf("%s: %+v", dir, total)
	return total, true
}

type watchedTally struct{ held, dirtyHeld, touched int }

type watchedTree struct {
	watchedTally
	t       *testing.T
	rnd     *rand.Rand
	r       *gittest.Repo
	repo    *Repository
	of      *Worktree
	watches *watch.Watches
	long    *os.File // open since before the last walk
	log     []string
}

func newWatchedTree(t *testing.T, seed uint64) *watchedTree {
	w := &watchedTree{t: t, rnd: rand.New(rand.NewPCG(seed, 2)), r: gittest.New(t), watches: watch.Open(watch.Options{})}
	t.Cleanup(w.watches.Close)
	for _, name := range []string{"a", "b.log", "dir/a", "dir/sub/b", "dir/sub/c", "e/f/g", "gone/x"} {
		w.r.Write(name, "first of "+name+"\n")
	}
	w.r.Write(".gitignore", "*.log\nbuild/\n")
	w.r.Commit("first")
	w.repo = open(t, w.r, func(o *gitcmd.Options) { o.Watches = w.watches })
	w.of = addWorktree(t, w.r, w.repo, "wt")
	return w
}

func (w *watchedTree) in(name string) string { return filepath.Join(w.of.Path, name) }

func (w *watchedTree) pick(list ...string) string { return list[w.rnd.IntN(len(list))] }

func (w *watchedTree) file() string {
	return w.in(w.pick("a", "b.log", "dir/a", "dir/sub/b", "dir/sub/c", "e/f/g", "new", "dir/new", "deep/down/new", "build/x"))
}

func (w *watchedTree) git(args ...string) {
	w.log = append(w.log, "git "+strings.Join(args, " "))
	_, _ = w.r.TryGit(w.of.Path, args...)
}

// step changes something. What fails is part of the game.
func (w *watchedTree) step() {
	path := w.file()
	act := w.pick("write", "write", "in place", "same size", "through an open file", "over", "append", "chmod", "touch", "link", "remove", "trees", "tree away",
		"mapped", "other name", "top away", "top away", "parent away", "index", "index", "commit", "reset", "branch", "branch moved", "detached",
		"rules", "excluded", "user's rules", "attributes", "nested", "ignored", "lock", "config")
	w.log = append(w.log, act+" "+strings.TrimPrefix(path, w.of.Path+"/"))
	text := []byte(w.pick("one\n", "two\n", "some more\n", "cr\r\n"))
	switch act {
	case "write":
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, text, 0o600)
	case "in place", "same size":
		w.inPlace(path, act == "same size")
	case "through an open file":
		if w.long == nil {
			w.long, _ = os.OpenFile(w.in("dir/a"), os.O_WRONLY, 0)
			w.t.Cleanup(func() { _ = w.long.Close() })
		} else if _, err := w.long.WriteAt(text, 0); err != nil && w.long != nil {
			w.t.Log(err)
		}
	case "over":
		_ = os.WriteFile(w.of.Path+".other", text, 0o600)
		_ = os.Rename(w.of.Path+".other", path)
	case "append":
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.Write(text)
			_ = f.Close()
		}
	case "chmod":
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(path, info.Mode()^0o100)
		}
	case "touch":
		at := time.Now().Add(time.Duration(w.rnd.IntN(9)-6) * time.Second)
		_ = os.Chtimes(path, at, at)
	case "link":
		_ = os.Remove(path)
		_ = os.Symlink("a", path)
	case "remove":
		_ = os.Remove(path)
	case "trees":
		_ = os.RemoveAll(w.in(w.pick("dir/sub", "e", "deep", "build", "more")))
		_ = os.MkdirAll(w.in("more/and/more"), 0o755)
		_ = os.WriteFile(w.in("more/and/more/x"), text, 0o600)
	case "tree away":
		_ = os.Rename(w.in("e"), w.of.Path+".e")
		_ = os.Rename(w.of.Path+".e", w.in(w.pick("e", "dir/e")))
	case "mapped":
		w.mapped(path)
	case "other name":
		w.otherName(path, text)
	default:
		w.stepOfGit(act, text)
	}
}

func (w *watchedTree) inPlace(path string, isTimeKept bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	data, _ := os.ReadFile(path)
	for i := range data {
		data[i] ^= 0x20 & (data[i] >> 1)
	}
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
		_, _ = f.Write(data)
		_ = f.Close()
	}
	if isTimeKept {
		_ = os.Chtimes(path, info.ModTime(), info.ModTime())
	}
}

func (w *watchedTree) mapped(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if b, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		if info, err := f.Stat(); err == nil && info.Size() > 0 {
			b[0] ^= 1
			_ = unix.Msync(b, unix.MS_SYNC)
		}
		_ = unix.Munmap(b)
	}
}

// otherName writes a file by a name that it has elsewhere, with a look in between.
func (w *watchedTree) otherName(path string, text []byte) {
	other := w.of.Path + ".name"
	_ = os.Remove(other)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || os.Link(path, other) != nil {
		return
	}
	_ = os.Chmod(path, 0o600) // which is told
	time.Sleep(80 * time.Millisecond)
	w.compare()
	w.compare()
	_ = os.WriteFile(other, append(text, "by its other name\n"...), 0o600)
}

func (w *watchedTree) stepOfGit(act string, text []byte) {
	switch act {
	case "top away": // something else stands there for a while
		_ = os.Rename(w.of.Path, w.of.Path+".away")
		if w.rnd.IntN(2) == 0 {
			_ = os.WriteFile(filepath.Join(w.of.Path+".away", "a"), text, 0o600)
		}
		_ = os.Rename(w.of.Path+".away", w.of.Path)
	case "parent away":
		parent := filepath.Dir(w.of.Path)
		_ = os.Rename(parent, parent+".away")
		_ = os.WriteFile(filepath.Join(parent+".away", filepath.Base(w.of.Path), "dir/a"), text, 0o600)
		_ = os.Rename(parent+".away", parent)
	case "index":
		w.git("add", w.pick("--all", "--update"), ".")
	case "commit":
		w.git("add", "--all")
		w.git("commit", "--quiet", "-m", "next")
	case "reset":
		w.git("reset", "--quiet", w.pick("--hard", "--mixed", "--soft"), w.pick("HEAD", "HEAD~1"))
	case "branch":
		w.git("checkout", "--quiet", "-B", w.pick("one", "two"))
	case "branch moved": // from outside, which touches nothing in the checkout
		name := strings.TrimSpace(w.r.GitIn(w.of.Path, "rev-parse", "--symbolic-full-name", "HEAD"))
		if strings.HasPrefix(name, "refs/heads/") {
			_, _ = w.r.TryGit(w.r.Dir, "update-ref", name, w.pick("refs/heads/main", name+"~1"))
			if w.rnd.IntN(2) == 0 {
				_, _ = w.r.TryGit(w.r.Dir, "pack-refs", "--all")
			}
		}
	case "detached":
		w.git("checkout", "--quiet", "--detach")
	case "rules":
		_ = os.WriteFile(w.in(w.pick(".gitignore", "dir/.gitignore", "more/.gitignore")), []byte(w.pick("*\n", "*.log\n", "new\n", "")), 0o600)
	case "excluded":
		w.r.Write(".git/info/exclude", w.pick("new\n", "more/\n", ""))
	case "user's rules":
		gittest.WriteFile(w.t, filepath.Join(w.r.Home, ".config/git/ignore"), w.pick("new\n", "deep/\n", ""))
	case "attributes":
		_ = os.WriteFile(w.in(w.pick(".gitattributes", "dir/.gitattributes")), []byte(w.pick("* text\n", "* ident\n", "")), 0o600)
	case "nested":
		if w.rnd.IntN(4) == 0 {
			w.git("init", "--quiet", w.pick("nest", "dir/nest", "build/nest"))
		}
	case "ignored":
		_ = os.MkdirAll(w.in("build/more"), 0o755)
		_ = os.WriteFile(w.in("build/more/x"), text, 0o600)
	case "lock":
		_ = os.WriteFile(filepath.Join(w.of.Admin, "locked"), text, 0o600)
	case "config":
		w.git("config", w.pick("core.autocrlf", "core.fileMode"), w.pick("true", "false"))
	}
}

// compare compares what is shown with what git says now.
func (w *watchedTree) compare() {
	w.t.Helper()
	s := w.repo.RememberedStatuses(w.t.Context())
	defer s.Close()
	held, isHeld := s.watched(w.of, UntrackedAll)
	shown, err := s.Of(w.t.Context(), w.of, UntrackedAll)
	said, gitErr := w.repo.status(w.t.Context(), checkoutAt{w.of.Admin, w.of.Path, w.of.Inherit}, UntrackedAll, RefreshNothing)
	if gitErr != nil {
		if err == nil {
			w.t.Fatalf("git fails, and %v is shown: %v\nafter %q", shown, gitErr, w.log)
		}
		return
	}
	if err != nil || len(shown)+len(said) > 0 && !reflect.DeepEqual(shown, said) {
		w.t.Fatalf("shown (watched: %v):\n%v %v\ngit says:\n%v\nafter %q", isHeld, shown, err, said, w.log)
	}
	if isHeld {
		if w.held++; len(held) > 0 {
			w.dirtyHeld++
		}
	}
}

// TestWatchedIsForShowing: no status that acts decide by is one that was watched, and what is walked
// again holds on.
func TestWatchedIsForShowing(t *testing.T) {
	w := newWatchedTree(t, 1)
	time.Sleep(1100 * time.Millisecond) // the index is in a later second than the files
	w.compare()
	w.compare()
	if w.held != 1 {
		t.Fatalf("the second look is %d times watched", w.held)
	}
	s := w.repo.Statuses(t.Context())
	defer s.Close()
	if _, ok := s.watched(w.of, UntrackedAll); ok {
		t.Error("an act believes what is watched")
	}
	if old := w.watches.Older(0, 9); len(old) != 1 {
		t.Fatalf("%d answers", len(old))
	}
	began := time.Now()
	RenewWatched(t.Context(), w.watches, 0, 9)
	if old := w.watches.Older(time.Since(began), 9); len(old) != 0 {
		t.Errorf("it was not walked again: %v", old)
	}
	if w.compare(); w.held != 2 {
		t.Error("what was walked again does not hold")
	}
}

// TestRenewal: what is watched is found again by stat where nothing has changed, and the answer is the one that was. A change that
// nothing tells of, through another name of a file, is found.
func TestRenewal(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // in memory git is asked wherever a file has changed
	w := newWatchedTree(t, 1)
	time.Sleep(1100 * time.Millisecond) // the index is in a later second than the files
	w.compare()
	number := w.of.Untouched()
	if number == 0 {
		t.Fatal("nothing was touched, and it is not known")
	}
	RenewWatched(t.Context(), w.watches, 0, 9)
	if got := w.of.Untouched(); got != number {
		t.Errorf("the checkout was walked: %d, then %d", number, got)
	}
	name := filepath.Join(t.TempDir(), "name")
	if err := os.Link(w.in("a"), name); err != nil {
		t.Fatal(err)
	}
	w.watches.Older(0, 9) // what the link itself told, if it did, is read
	if err := os.WriteFile(name, []byte("by its other name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	RenewWatched(t.Context(), w.watches, 0, 9)
	w.compare()
}

// TestMappedInMemory: where a write through mapped memory changes no time of its file, what git said of a file that differs is not
// repeated: the file may be as it is staged by now.
func TestMappedInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/shm")
	w := newWatchedTree(t, 1)
	path := w.in("a")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	staged := b[0]
	if _, err := f.WriteAt([]byte{staged ^ 1}, 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // what is remembered has not changed for a while
	w.compare()
	w.compare()
	before, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b[0] = staged
	after, err := f.Stat()
	if err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Skipf("a write through mapped memory changes times here: %v", err)
	}
	w.compare()
	if got := w.r.GitIn(w.of.Path, "status", "--porcelain"); got != "" {
		t.Errorf("git says %q", got)
	}
}

// TestSecondNames: a checkout is not watched whose index, HEAD or .git has another name: what is written by that is not told.
func TestSecondNames(t *testing.T) {
	w := newWatchedTree(t, 1)
	time.Sleep(1100 * time.Millisecond) // the index is in a later second than the files
	for i, file := range []string{filepath.Join(w.of.Admin, "index"), filepath.Join(w.of.Admin, "HEAD"), w.in(".git")} {
		name := filepath.Join(w.r.Home, fmt.Sprint("name", i))
		if err := os.Link(file, name); err != nil {
			t.Fatal(err)
		}
		gittest.WriteFile(t, filepath.Join(w.of.Admin, "touched"), "what was known before holds no longer\n")
		w.compare()
		if w.compare(); w.held != i {
			t.Errorf("%s has a second name, and is watched", file)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		w.compare()
		if w.compare(); w.held != i+1 {
			t.Fatalf("%s has no second name, and is not watched", file)
		}
	}
}
