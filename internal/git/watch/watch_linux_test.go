package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// tree is a directory with files, and an admin directory beside it.
func tree(t *testing.T, dirs ...string) Checkout {
	t.Helper()
	top := t.TempDir()
	at := Checkout{Path: filepath.Join(top, "files"), Admin: filepath.Join(top, "admin")}
	for _, dir := range append(dirs, ".", "../admin") {
		if err := os.MkdirAll(filepath.Join(at.Path, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(at.Path, dir, "file"), "one")
	}
	return at
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// look walks a tree as a walk of a checkout does, and keeps an answer. It reports whether it is kept.
func look(t *testing.T, w *Watches, at Checkout) bool {
	t.Helper()
	m := w.Begin(at)
	defer m.Drop()
	if err := enterAll(m, at.Path); err != nil {
		t.Fatal(err)
	}
	m.Keep("key", at.Path)
	return holds(w, at)
}

func enterAll(m *Mark, dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	m.Enter(int(f.Fd()))
	list, err := f.ReadDir(-1)
	for _, e := range list {
		if e.IsDir() && err == nil {
			err = enterAll(m, filepath.Join(dir, e.Name()))
		}
	}
	return err
}

func holds(w *Watches, at Checkout) bool {
	answer, ok := w.Answer(at, "key")
	return ok && answer == at.Path
}

func opened(t *testing.T, o Options) *Watches {
	t.Helper()
	w := Open(o)
	t.Cleanup(w.Close)
	if s := w.State(); s.Why != Complete {
		t.Fatalf("nothing is watched: %s", s.Why)
	}
	return w
}

// TestWhateverIsTouched: an answer holds until anything below is touched in any way, and not longer.
func TestWhateverIsTouched(t *testing.T) {
	at := tree(t, "a/b", "c")
	w := opened(t, Options{})
	in := func(name string) string { return filepath.Join(at.Path, name) }
	beside := filepath.Join(filepath.Dir(at.Path), "beside")
	long, err := os.OpenFile(in("c/file"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	for _, k := range []struct {
		name  string
		touch func() error
	}{
		{"a write to a file that was open before", func() error { _, err := long.WriteAt([]byte("x"), 0); return err }},
		{"the mode of a file", func() error { return os.Chmod(in("a/b/file"), 0o644) }},
		{"the time of a file", func() error { return os.Chtimes(in("c/file"), time.Now(), time.Unix(7, 0)) }},
		{"a new file", func() error { return os.WriteFile(in("a/b/new"), nil, 0o600) }},
		{"a file renamed over another", func() error { return os.Rename(in("a/b/new"), in("a/b/file")) }},
		{"a link", func() error { return os.Symlink("file", in("a/link")) }},
		{"another name in a directory", func() error { return os.Link(in("file"), in("c/other")) }},
		{"a name that is gone", func() error { return os.Remove(in("c/other")) }},
		{"a directory", func() error { return os.Mkdir(in("c/d"), 0o755) }},
		{"a directory that is gone", func() error { return os.RemoveAll(in("a/b")) }},
		{"a directory that went away", func() error { return os.Rename(in("c/d"), beside) }},
		{"and came back", func() error { return os.Rename(beside, in("c/d")) }},
		{"the top, away and back", func() error {
			if err := os.Rename(at.Path, beside); err != nil {
				return err
			}
			return os.Rename(beside, at.Path)
		}},
		{"the index", func() error { return os.WriteFile(filepath.Join(at.Admin, "index"), nil, 0o600) }},
		{"mapped memory", func() error { return writeMapped(in("file")) }},
	} {
		if !look(t, w, at) || !holds(w, at) {
			t.Fatalf("before %s: nothing was touched, and no answer", k.name)
		}
		since := w.Since(at)
		if since == 0 || w.Since(at) != since {
			t.Errorf("before %s: %d, and then %d", k.name, since, w.Since(at))
		}
		if err := k.touch(); err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		if holds(w, at) {
			t.Errorf("%s: the answer holds", k.name)
		}
		if look(t, w, at) && w.Since(at) == since {
			t.Errorf("%s: the same number", k.name)
		}
	}
}

func writeMapped(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 3, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil { // the memory keeps the file open
		return err
	}
	b[0]++
	return syscall.Munmap(b)
}

// TestAnotherAtThePath: the answer is about the directories that were walked, not about their paths.
func TestAnotherAtThePath(t *testing.T) {
	at := tree(t, "a")
	w := opened(t, Options{})
	parent := filepath.Dir(at.Path)
	if !look(t, w, at) {
		t.Fatal("no answer")
	}
	if err := os.Rename(parent, parent+".away"); err != nil { // nothing in it is touched
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent + ".away") })
	for _, dir := range []string{at.Path, at.Admin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if holds(w, at) {
		t.Error("another directory has the answer of the one that was there")
	}
	if _, ok := w.Answer(Checkout{Path: at.Admin, Admin: at.Admin}, "key"); ok {
		t.Error("another path has the answer")
	}
}

// TestMeanwhile: what is touched while a checkout is walked ends the walk's answer, wherever it was.
func TestMeanwhile(t *testing.T) {
	at := tree(t, "a", "b")
	w := opened(t, Options{})
	for _, name := range []string{"file", "a/file", "b/file", "../admin/file"} {
		m := w.Begin(at)
		if err := enterAll(m, at.Path); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(at.Path, name), "two")
		m.Keep("key", at.Path)
		if holds(w, at) {
			t.Errorf("%s was written meanwhile, and the answer holds", name)
		}
	}
	if s := w.State(); s.Watches != 0 || s.Checkouts != 0 {
		t.Errorf("watches are left: %+v", s)
	}
	if !look(t, w, at) {
		t.Error("no answer")
	}
	w.Begin(at).Drop() // a walk without an answer
	if s := w.State(); s.Watches != 0 || holds(w, at) {
		t.Errorf("watches are left of what was dropped, or the answer before holds: %+v", s)
	}
}

// TestOtherAnswers: an answer has a key and an end.
func TestOtherAnswers(t *testing.T) {
	at := tree(t)
	w := opened(t, Options{Holds: 300 * time.Millisecond})
	if !look(t, w, at) {
		t.Fatal("no answer")
	}
	if _, ok := w.Answer(at, "other"); ok {
		t.Error("an answer with another key")
	}
	if old := w.Older(0, 9); len(old) != 1 || old[0] != at.Path {
		t.Errorf("the older ones are %v", old)
	}
	time.Sleep(310 * time.Millisecond)
	if holds(w, at) {
		t.Error("an answer holds for ever")
	}
	time.Sleep(310 * time.Millisecond)
	if old := w.Older(0, 9); len(old) != 0 || w.State().Watches != 0 {
		t.Errorf("nobody found it again, and it is watched: %v", old)
	}
}

// TestRenewed: an answer that was found again holds for longer, unless something was told meanwhile or it is another one.
func TestRenewed(t *testing.T) {
	at := tree(t)
	w := opened(t, Options{Holds: 300 * time.Millisecond})
	if !look(t, w, at) {
		t.Fatal("no answer")
	}
	if w.Renew(at, "another", time.Now()) || w.Renew(Checkout{Path: at.Path + "x", Admin: at.Admin}, at.Path, time.Now()) {
		t.Error("what was not kept is renewed")
	}
	later := time.Now().Add(time.Minute)
	if !w.Renew(at, at.Path, later) {
		t.Fatal("nothing was touched, and the answer is not renewed")
	}
	if old := w.Older(0, 9); len(old) != 0 || !holds(w, at) {
		t.Errorf("a renewed answer is old, or does not hold: %v", old)
	}
	if err := os.WriteFile(filepath.Join(at.Path, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.Renew(at, at.Path, later) || holds(w, at) {
		t.Error("an answer is renewed although something was touched")
	}
	var none *Watches
	if none.Renew(at, at.Path, later) {
		t.Error("nothing is watched")
	}
}

// TestMoment: a moment has what was told before it began, and says of a checkout what it has said before.
func TestMoment(t *testing.T) {
	at, other := tree(t), tree(t)
	w := opened(t, Options{Pause: time.Hour}) // nobody but a moment reads
	for _, c := range []Checkout{at, other} {
		if !look(t, w, c) {
			t.Fatal("no answer")
		}
	}
	write := func(c Checkout) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(c.Path, "new"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := w.Moment()
	number := first.Since(at)
	if number == 0 || first.Since(other) == 0 {
		t.Fatal("nothing was touched")
	}
	write(at)
	if first.Since(at) != number {
		t.Error("a moment takes back what it said")
	}
	second := w.Moment()
	if _, ok := second.Answer(at, "key"); ok || second.Since(at) != 0 {
		t.Error("a moment does not know what was told before it began")
	}
	if second.Since(other) == 0 {
		t.Error("another checkout was touched")
	}
	write(other)
	if w.Moment().Since(other) != 0 {
		t.Error("what was told between two moments is not known to the second")
	}
	var none *Watches
	if none.Moment().Since(at) != 0 {
		t.Error("nothing is watched")
	}
}

// TestOverflow: the kernel keeps so many events and no more. What it did not tell of is not taken for untouched.
func TestOverflow(t *testing.T) {
	busy, last := tree(t, "a"), tree(t, "a")
	w := opened(t, Options{Pause: time.Hour}) // nobody reads
	if !look(t, w, busy) || !look(t, w, last) {
		t.Fatal("no answer")
	}
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	queue := 0
	if _, err := fmt.Sscan(string(b), &queue); err != nil || queue > 200_000 {
		t.Skip("the queue is too long to run over: ", queue)
	}
	for i := range queue/2 + 100 { // each is told twice, or more often
		name := filepath.Join(busy.Path, "a", fmt.Sprint("n", i))
		write(t, name, "")
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(last.Path, "a/file"), "two") // nobody is told of it
	if holds(w, last) || holds(w, busy) {
		t.Error("an answer holds of which something may have been told")
	}
	if s := w.State(); s.Overflows == 0 || s.Checkouts != 0 || s.Watches != 0 {
		t.Errorf("the queue did not run over: %+v", s)
	}
	if !look(t, w, last) {
		t.Error("after it nothing is watched any more")
	}
}

// TestBounds: no more is watched than is allowed, those that were touched last first, and none has everything.
func TestBounds(t *testing.T) {
	w := opened(t, Options{Most: 16})
	var all []Checkout
	for range 6 {
		all = append(all, tree(t, "a")) // three directories each
		time.Sleep(10 * time.Millisecond)
	}
	for _, at := range all {
		look(t, w, at)
	}
	for i, at := range all {
		if holds(w, at) != (i > 0) {
			t.Errorf("checkout %d: %v, those that were touched last are watched", i, i > 0)
		}
	}
	if look(t, w, all[0]) {
		t.Error("the one that was touched first has taken the place of another")
	}
	if s := w.State(); s.Why != OverShare || s.Watches > 16 || s.Checkouts != 5 {
		t.Errorf("the state is %+v", s)
	}
	write(t, filepath.Join(all[0].Path, "a/file"), "two")
	write(t, filepath.Join(all[0].Path, "file"), "two")
	time.Sleep(10 * time.Millisecond)
	if err := os.Chmod(all[0].Path, 0o700); err != nil { // it is at work now
		t.Fatal(err)
	}
	if !look(t, w, all[0]) || holds(w, all[1]) {
		t.Error("the one at work is not watched instead of the idlest")
	}
	if wide := tree(t, "a", "b", "c", "d", "e"); look(t, w, wide) {
		t.Error("one has more than its part")
	}
	if s := w.State(); s.Watches > 16 {
		t.Errorf("the state is %+v", s)
	}
}

// TestOthers: what is not on a file system of this kernel alone is not watched.
func TestOthers(t *testing.T) {
	w := opened(t, Options{})
	if m := w.Begin(Checkout{Path: "/proc/self", Admin: "/proc/self"}); m != nil {
		t.Error("/proc is watched")
	}
	at := tree(t)
	if err := os.Symlink(at.Admin, at.Admin+".link"); err != nil {
		t.Fatal(err)
	}
	if m := w.Begin(Checkout{Path: at.Path, Admin: at.Admin + ".link"}); m != nil {
		t.Error("a link is followed")
	}
	var none *Watches
	none.Begin(at).Enter(0)
	if holds(none, at) || none.Older(0, 9) != nil || none.State().Why != Unsupported {
		t.Error("nothing watches something")
	}
}

// TestClosed: nothing is left, and nothing is answered.
func TestClosed(t *testing.T) {
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	at := tree(t, "a")
	warm := Open(Options{}) // the poller of the runtime has descriptors of its own
	warm.Close()
	before := files()
	for range 5 {
		w := Open(Options{})
		if !look(t, w, at) {
			t.Fatal("no answer")
		}
		m := w.Begin(at)
		w.Close()
		if m.Enter(0); holds(w, at) || w.Begin(at) != nil {
			t.Error("it answers after its end")
		}
		m.Keep("key", at.Path)
		m.Drop()
		w.Close()
		if s := w.State(); s.Checkouts+s.Watches != 0 {
			t.Errorf("left: %+v", s)
		}
	}
	if now := files(); now != before {
		t.Errorf("%d files are open, before %d", now, before)
	}
}

// TestAtOnce: several goroutines walk, write and ask at once. Whoever asks after a write has no answer from before.
func TestAtOnce(t *testing.T) {
	w := opened(t, Options{Pause: time.Millisecond})
	var all sync.WaitGroup
	for i := range 8 {
		at := tree(t, "a")
		all.Go(func() {
			for n := range 60 {
				m := w.Begin(at)
				if err := enterAll(m, at.Path); err != nil {
					t.Error(err)
				}
				m.Keep("key", at.Path)
				if n%3 == 0 {
					if err := os.WriteFile(filepath.Join(at.Path, "a/file"), []byte(fmt.Sprint(i, n)), 0o600); err != nil {
						t.Error(err)
					}
					if holds(w, at) {
						t.Error("written, and the answer holds")
					}
				} else if !holds(w, at) && w.State().Overflows == 0 {
					t.Error("nothing was written, and no answer")
				}
			}
		})
	}
	all.Wait()
}

// limited runs a test of this package again, in a namespace of users where a limit of the kernel is as low
// as it says.
func limited(t *testing.T, limit string) bool {
	t.Helper()
	if name, is := strings.CutPrefix(os.Getenv("WATCH_LIMIT"), limit+" "); is {
		return name == t.Name()
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "WATCH_LIMIT="+limit+" "+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Skip("no namespace of users here: ", err)
	}
	if err != nil || strings.Contains(string(out), "--- SKIP") {
		t.Log(string(out))
		if err != nil {
			t.Error(err)
		}
	}
	return false
}

func setLimit(t *testing.T, name, value string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/"+name, []byte(value), 0o644); err != nil {
		t.Skip(err)
	}
}

// TestNoWatchLeft: the user's watches are used up, by whatever program.
func TestNoWatchLeft(t *testing.T) {
	if !limited(t, "watches") {
		return
	}
	setLimit(t, "max_inotify_watches", "7")
	w := opened(t, Options{Most: 100})
	a, b, c := tree(t, "a"), tree(t, "a"), tree(t, "a")
	if !look(t, w, a) || !look(t, w, b) || look(t, w, c) {
		t.Error("two of three fit")
	}
	if s := w.State(); s.Why != NoWatch || s.Watches != 6 || s.Checkouts != 2 {
		t.Errorf("the state is %+v", s)
	}
	write(t, filepath.Join(a.Path, "a/file"), "two")
	if holds(w, a) || !holds(w, b) {
		t.Error("what is watched is told no more")
	}
}

// TestNoInstanceLeft: the user's instances are used up.
func TestNoInstanceLeft(t *testing.T) {
	if !limited(t, "instances") {
		return
	}
	setLimit(t, "max_inotify_instances", "0")
	w := Open(Options{})
	defer w.Close()
	if at := tree(t); look(t, w, at) || w.State().Why != NoInstance {
		t.Errorf("the state is %+v", w.State())
	}
}
