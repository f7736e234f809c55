//go:build unix

package fsx_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

// held opens a fresh directory, and returns where it lies.
func held(t *testing.T) (*fsx.Dir, string) {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return open(t, path), path
}

func open(t *testing.T, path string) *fsx.Dir {
	t.Helper()
	d, err := fsx.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func identity(t *testing.T, path string) fsx.Identity {
	t.Helper()
	id, err := fsx.IdentityOf(path)
	must(t, err)
	return id
}

// deepen makes a chain of directories and a file at its end.
func deepen(t *testing.T, top string, levels int) {
	t.Helper()
	at, err := unix.Open(top, unix.O_DIRECTORY, 0)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(at, "d", 0o755))
		next, err := unix.Openat(at, "d", unix.O_DIRECTORY, 0)
		must(t, err, unix.Close(at))
		at = next
	}
	fd, err := unix.Openat(at, "leaf", unix.O_CREAT|unix.O_WRONLY, 0o644)
	must(t, err, unix.Close(fd), unix.Close(at))
}

// descriptors counts the open file descriptors.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	must(t, err)
	return len(entries)
}

func TestRemoveTreeOfAnyDepthAndWidth(t *testing.T) {
	levels, width := 10_000, 200_000
	if testing.Short() {
		levels, width = 2_000, 10_000
	}
	d, path := held(t)
	deep := filepath.Join(path, "deep")
	must(t, os.Mkdir(deep, 0o755))
	for range 3 { // chains beside each other, each longer than a path may be
		deepen(t, deep, levels/3)
		must(t, os.Rename(filepath.Join(deep, "d"), filepath.Join(deep, "chain"+time.Now().Format("150405.000000000"))))
	}
	wide := filepath.Join(path, "wide")
	must(t, os.Mkdir(wide, 0o755))
	for i := range width {
		fd, err := unix.Open(filepath.Join(wide, "f"+string(rune('a'+i%26))+strings.Repeat("x", i%7)+itoa(i)), unix.O_CREAT|unix.O_WRONLY, 0o644)
		must(t, err, unix.Close(fd))
	}
	before, most, steps := descriptors(t), 0, 0
	step := func() error {
		if steps++; steps%101 == 0 {
			most = max(most, descriptors(t))
		}
		return nil
	}
	for _, name := range []string{"deep", "wide"} {
		must(t, d.RemoveTree(name, identity(t, filepath.Join(path, name)), step))
		if fsx.IsThere(filepath.Join(path, name)) {
			t.Errorf("%s is still there", name)
		}
	}
	if most > before+24 {
		t.Errorf("%d descriptors were open, %d before", most, before)
	}
}

func itoa(i int) string {
	var b [8]byte
	n := len(b)
	for ok := true; ok; ok = i > 0 {
		n--
		b[n], i = byte('0'+i%10), i/10
	}
	return string(b[n:])
}

func TestRemoveTreeFollowsNothing(t *testing.T) {
	d, path := held(t)
	victim := filepath.Join(path, "victim")
	must(t, os.MkdirAll(filepath.Join(victim, "sub"), 0o755), os.WriteFile(filepath.Join(victim, "sub", "f"), []byte("x"), 0o644))
	tree := filepath.Join(path, "tree")
	must(t, os.MkdirAll(filepath.Join(tree, "a", "locked", "b"), 0o755), os.Symlink(victim, filepath.Join(tree, "link")),
		os.Symlink(victim, filepath.Join(tree, "a", "link")), unix.Mkfifo(filepath.Join(tree, "pipe"), 0o600),
		os.WriteFile(filepath.Join(tree, "a", "locked", "b", "f"), nil, 0o400), os.Chmod(filepath.Join(tree, "a", "locked", "b"), 0),
		os.Chmod(filepath.Join(tree, "a", "locked"), 0o500))
	want := identity(t, tree)
	if err := d.RemoveTree("victim", want, nil); !errors.Is(err, fsx.ErrOther) {
		t.Errorf("what was not recorded: %v", err)
	}
	if err := d.RemoveTree("victim", "", nil); !errors.Is(err, fsx.ErrOther) {
		t.Errorf("what has no identity: %v", err)
	}
	must(t, os.Symlink(tree, filepath.Join(path, "way")))
	if err := d.RemoveTree("way", want, nil); !errors.Is(err, fsx.ErrOther) {
		t.Errorf("through a link: %v", err)
	}
	must(t, d.RemoveTree("tree", want, nil))
	if fsx.IsThere(tree) || !fsx.IsThere(filepath.Join(victim, "sub", "f")) {
		t.Error("the tree is there, or what a link led to is gone")
	}
	must(t, d.RemoveAll("way"), d.RemoveAll("victim"), d.RemoveAll("victim"))
	if fsx.IsThere(victim) {
		t.Error("RemoveAll left something")
	}
	if err := d.RemoveAll(".."); err == nil {
		t.Error("a name that leads out was taken")
	}
}

// swapInside replaces a directory in a tree by a link, again and again, while the tree is
// deleted.
func TestRemoveTreeWhileLinksAreSwappedIn(t *testing.T) {
	d, path := held(t)
	victim := filepath.Join(path, "victim")
	must(t, os.MkdirAll(filepath.Join(victim, "x", "y"), 0o755), os.WriteFile(filepath.Join(victim, "x", "y", "f"), nil, 0o644))
	for range 50 {
		tree := filepath.Join(path, "tree")
		must(t, os.MkdirAll(filepath.Join(tree, "x", "y"), 0o755), os.WriteFile(filepath.Join(tree, "x", "y", "f"), nil, 0o644))
		must(t, os.Symlink(victim, filepath.Join(path, "link")), os.Symlink(filepath.Join(victim, "x"), filepath.Join(path, "link2")))
		stop, done := make(chan bool), make(chan bool)
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = os.Rename(filepath.Join(tree, "x"), filepath.Join(path, "aside"))
				_ = os.Rename(filepath.Join(path, "link2"), filepath.Join(tree, "x"))
				_ = os.Rename(filepath.Join(tree, "x"), filepath.Join(path, "link2"))
				_ = os.Rename(filepath.Join(path, "aside"), filepath.Join(tree, "x"))
			}
		}()
		runtime.Gosched()
		_ = d.RemoveTree("tree", identity(t, tree), nil)
		close(stop)
		<-done
		must(t, os.RemoveAll(tree), os.RemoveAll(filepath.Join(path, "aside")), os.RemoveAll(filepath.Join(path, "link")), os.RemoveAll(filepath.Join(path, "link2")))
		if !fsx.IsThere(filepath.Join(victim, "x", "y", "f")) {
			t.Fatal("the deletion left its tree")
		}
	}
}

func TestOpenDirTakesNoLink(t *testing.T) {
	_, path := held(t)
	must(t, os.MkdirAll(filepath.Join(path, "a", "b", "c"), 0o755), os.Symlink(filepath.Join(path, "a"), filepath.Join(path, "l")),
		os.WriteFile(filepath.Join(path, "f"), nil, 0o644))
	for _, p := range []string{"l", "l/b", "l/b/c", "f"} {
		if _, err := fsx.OpenDir(filepath.Join(path, p)); !errors.Is(err, fsx.ErrLink) {
			t.Errorf("%s: %v", p, err)
		}
		if _, err := fsx.MakeDir(filepath.Join(path, p, "new"), 0o755); !errors.Is(err, fsx.ErrLink) {
			t.Errorf("making %s/new: %v", p, err)
		}
	}
	d, err := fsx.MakeDir(filepath.Join(path, "a", "n", "m"), 0o755)
	must(t, err, d.Close())
	d = open(t, path)
	for _, p := range []string{"l/b", "l", "../" + filepath.Base(path), "a/../a"} {
		if sub, err := d.OpenBelow(p); err == nil && p != "a/../a" {
			t.Errorf("%s was opened: %s", p, sub.Path())
		}
	}
	if _, err := fsx.OpenDirIs(filepath.Join(path, "a"), identity(t, filepath.Join(path, "a", "b"))); !errors.Is(err, fsx.ErrOther) {
		t.Errorf("another directory: %v", err)
	}
}

func TestMoveOnlyWhatWasRecorded(t *testing.T) {
	d, path := held(t)
	a, to := filepath.Join(path, "a"), filepath.Join(path, "to")
	must(t, os.MkdirAll(filepath.Join(a, "x"), 0o755), os.Mkdir(to, 0o755), os.Mkdir(filepath.Join(path, "other"), 0o755))
	want, into := identity(t, a), open(t, to)
	if err := d.Move("other", want, into, "tree"); !errors.Is(err, fsx.ErrOther) {
		t.Errorf("another one: %v", err)
	}
	must(t, os.Mkdir(filepath.Join(to, "taken"), 0o755))
	if err := d.Move("a", want, into, "taken"); !errors.Is(err, os.ErrExist) {
		t.Errorf("onto an empty directory: %v", err)
	}
	must(t, d.Move("a", want, into, "tree"))
	if identity(t, filepath.Join(to, "tree")) != want {
		t.Error("it did not arrive")
	}
	must(t, os.Symlink(filepath.Join(to, "tree"), a))
	if err := d.Move("a", want, into, "again"); !errors.Is(err, fsx.ErrLink) {
		t.Errorf("a link to it: %v", err)
	}
}

func TestWriteFileReplacesALink(t *testing.T) {
	d, path := held(t)
	victim := filepath.Join(path, "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o644), os.Symlink(victim, filepath.Join(path, "f")))
	if b, err := d.ReadFile("f", 10); !errors.Is(err, fsx.ErrNotRegular) {
		t.Errorf("read through the link: %q, %v", b, err)
	}
	must(t, d.WriteFile("f", []byte("text"), 0o600))
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("the link's file is %q, %v", b, err)
	}
	if b, err := d.ReadFile("f", 10); err != nil || string(b) != "text" {
		t.Errorf("the file is %q, %v", b, err)
	}
	if _, err := d.Create("f", 0o600); !errors.Is(err, os.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	if names, err := d.Names(); err != nil || len(names) != 2 {
		t.Errorf("left: %q, %v", names, err)
	}
}

func TestCopyIntoLeavesOutWhatIsNoFile(t *testing.T) {
	d, path := held(t)
	from, to := filepath.Join(path, "from"), filepath.Join(path, "to")
	must(t, os.MkdirAll(filepath.Join(from, "logs"), 0o755), os.Mkdir(to, 0o755), os.WriteFile(filepath.Join(from, "logs", "HEAD"), []byte("log"), 0o644),
		os.Symlink("/etc/passwd", filepath.Join(from, "index")), os.Symlink("/etc", filepath.Join(from, "dir")), unix.Mkfifo(filepath.Join(from, "HEAD"), 0o600))
	src, dst := open(t, from), open(t, to)
	must(t, src.CopyInto(dst, 100, nil))
	if names, err := dst.Names(); err != nil || len(names) != 1 || names[0] != "logs" {
		t.Errorf("copied: %q, %v", names, err)
	}
	huge := filepath.Join(from, "huge")
	must(t, os.WriteFile(huge, nil, 0o644), os.Truncate(huge, 1<<40), d.RemoveAll("to"), os.Mkdir(to, 0o755))
	if err := src.CopyInto(open(t, to), 1<<20, nil); !errors.Is(err, fsx.ErrTooLarge) {
		t.Errorf("a file of a terabyte: %v", err)
	}
}

func TestLedger(t *testing.T) {
	l := fsx.Ledger{Dir: filepath.Join(t.TempDir(), "made")}
	if m := l.Find("x"); m != (fsx.Made{}) {
		t.Error(m)
	}
	want := fsx.Made{Path: "/a b/c\nd", Identity: "1@2"}
	must(t, l.Put("x", want), l.Put("y", fsx.Made{Path: "/y", Identity: "3"}))
	if m := l.Find("x"); m != want {
		t.Error(m)
	}
	if names, err := l.Names(); err != nil || len(names) != 2 {
		t.Error(names, err)
	}
	must(t, l.Delete("x"), l.Delete("x"))
	if m := l.Find("x"); m != (fsx.Made{}) || l.Find("../made/y") != (fsx.Made{}) {
		t.Error(m)
	}
	if l.Put("../z", want) == nil {
		t.Error("a name that leads out was taken")
	}
}

// TestRemoveTemp: temporary files of a process that died while it wrote are deleted, and no
// file that only has a similar name.
func TestRemoveTemp(t *testing.T) {
	d, err := fsx.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	left := "." + rand.Text() + ".tmp"
	for _, name := range []string{left, ".mine.tmp", "index", rand.Text() + ".tmp"} {
		if err := d.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.RemoveTemp(); err != nil {
		t.Fatal(err)
	}
	if names, err := d.Names(); err != nil || len(names) != 3 || slices.Contains(names, left) {
		t.Errorf("%q, %v", names, err)
	}
}
