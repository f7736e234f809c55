package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
)

// setting is a directory with files, and a move of them.
type setting struct {
	t    *testing.T
	at   Place
	kept string
}

func newSetting(t *testing.T) *setting {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &setting{t: t, kept: filepath.Join(top, "kept")}
	s.at = Place{
		Work: filepath.Join(top, "work"), Own: filepath.Join(top, "state", "own"),
		Sum: func(in *fsx.Dir, name string, _ fsx.Entry) (string, error) {
			b, err := in.ReadFile(name, 1<<20)
			sum := sha256.Sum256(b)
			return hex.EncodeToString(sum[:]), err
		},
		Keep: func(_ string, move func(*fsx.Dir, string) error) error {
			earlier, _ := os.ReadDir(s.kept)
			dir := filepath.Join(s.kept, fmt.Sprint(len(earlier)))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			in, err := fsx.OpenOwn(dir)
			if err != nil {
				return err
			}
			return errors.Join(move(in, "saved"), in.Close())
		},
	}
	return s
}

func (s *setting) write(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.at.Work, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *setting) read(path string) string {
	b, err := os.ReadFile(filepath.Join(s.at.Work, path))
	if err != nil {
		return "-"
	}
	return string(b)
}

// keptFiles returns what was kept.
func (s *setting) keptFiles() (list []string) {
	_ = filepath.WalkDir(s.kept, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(path)
			list = append(list, string(b))
		}
		return nil
	})
	return list
}

// The files of a move: one is changed, one deleted with its directory, one added in a new one, and a file becomes a directory.
var paths = []string{"changed", "dir/deleted", "new/added", "turns", "turns/deep/in"}

// begin makes the files, and a move that has its new files.
func (s *setting) begin() (*Move, List) {
	s.t.Helper()
	for _, dir := range []string{s.at.Work, s.at.Own} {
		if err := os.RemoveAll(dir); err != nil {
			s.t.Fatal(err)
		}
	}
	s.write("changed", "old\n")
	s.write("dir/deleted", "old\n")
	s.write("turns", "old\n")
	m, err := New(s.at)
	if err != nil {
		s.t.Fatal(err)
	}
	list := List{Dirs: map[string]os.FileMode{"dir": os.ModeDir | 0o755}, NewDirs: []string{"turns/deep", "new"}}
	for _, path := range paths {
		f := File{Path: path}
		dir, _ := fsx.OpenDir(filepath.Dir(filepath.Join(s.at.Work, path)))
		if dir != nil {
			f.Was, _ = dir.Stat(filepath.Base(path))
			f.WasSum, _ = s.at.Sum(dir, filepath.Base(path), f.Was)
			_ = dir.Close()
		}
		if path != "dir/deleted" && path != "turns" {
			file := filepath.Join(m.Dir(), path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("new\n"), 0o644)); err != nil {
				s.t.Fatal(err)
			}
			if f.New, err = m.Written(path); err != nil {
				s.t.Fatal(err)
			}
		}
		list.Files = append(list.Files, f)
	}
	return m, list
}

func (s *setting) want(want map[string]string) {
	s.t.Helper()
	for _, path := range paths {
		if got := s.read(path); got != want[path] && (want[path] != "" || got != "-") {
			s.t.Errorf("%s is %q, want %q", path, got, want[path])
		}
	}
	if fsx.IsThere(s.at.Own) {
		s.t.Error("the directory of Croft's own is left")
	}
}

var (
	before = map[string]string{"changed": "old\n", "dir/deleted": "old\n", "turns": "old\n"}
	after  = map[string]string{"changed": "new\n", "new/added": "new\n", "turns/deep/in": "new\n"}
)

func TestMove(t *testing.T) {
	s := newSetting(t)
	m, list := s.begin()
	if err := m.Apply(list); err != nil {
		t.Fatal(err)
	}
	if left := m.End(); left != nil {
		t.Errorf("left: %v", left)
	}
	s.want(after)
	if s.read("dir") != "-" || fsx.IsThere(filepath.Join(s.at.Work, "dir")) {
		t.Error("the empty directory stays")
	}
	m, list = s.begin()
	if err := m.Apply(list); err != nil {
		t.Fatal(err)
	}
	if touched, left := m.GoBack(); !touched || left != nil {
		t.Errorf("%v, left: %v", touched, left)
	}
	s.want(before)
	if fsx.IsThere(filepath.Join(s.at.Work, "new")) {
		t.Error("the new directory stays")
	}
}

// TestRecover: a move that ended anywhere is undone by the next process, and one that was whole is ended.
func TestRecover(t *testing.T) {
	for n := range len(paths) + 2 {
		s := newSetting(t)
		m, list := s.begin()
		want := before
		if n <= len(paths) {
			if err := m.Apply(List{Dirs: list.Dirs, NewDirs: list.NewDirs}); err != nil { // the list alone
				t.Fatal(err)
			}
			m.List = list
			s.writeList(m)
			for _, i := range []int{1, 3, 0, 2, 4}[:n] {
				if err := m.move(i); err != nil {
					t.Fatal(err)
				}
			}
		} else {
			if err := m.Apply(list); err != nil {
				t.Fatal(err)
			}
			want = after
		}
		m.close()
		if left, err := Recover(s.at); err != nil || left != nil {
			t.Errorf("after %d: %v, left %v", n, err, left)
		}
		s.want(want)
	}
}

// TestNoneIsTaken: each way in which a file can be another one than was expected ends a move, and the file stays.
func TestNoneIsTaken(t *testing.T) {
	for name, tt := range map[string]struct {
		path, want string
		do         func(path string) func()
	}{
		"by rename": {"changed", "mine\n", func(path string) func() {
			save(path, 0, "mine\n")
			return nil
		}},
		"deleted by rename": {"dir/deleted", "mine\n", func(path string) func() {
			save(path, 0, "mine\n")
			return nil
		}},
		"added": {"new/added", "mine\n", func(path string) func() {
			_ = os.Mkdir(filepath.Dir(path), 0o755)
			save(path, 0, "mine\n")
			return nil
		}},
		"in place, with its old time": {"changed", "own\n", func(path string) func() {
			info, _ := os.Stat(path)
			save(path, 1, "own\n")
			_ = os.Chtimes(path, info.ModTime(), info.ModTime())
			return nil
		}},
		"open for writing": {"changed", "old\nmine\n", func(path string) func() {
			f, _ := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			return func() {
				_, _ = f.WriteString("mine\n")
				_ = f.Close()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetting(t)
			m, list := s.begin()
			later := tt.do(filepath.Join(s.at.Work, tt.path))
			err := m.Apply(list)
			if taken, ok := errors.AsType[*TakenError](err); !ok || taken.Path != tt.path {
				t.Errorf("it ended with %v", err)
			}
			if _, left := m.GoBack(); left != nil {
				t.Errorf("left: %v", left)
			}
			if later != nil {
				later()
			}
			want := maps.Clone(before)
			want[tt.path] = tt.want
			s.want(want)
		})
	}
}

// TestKilledWhileItIsDeleted: the directory of Croft's own says at no moment of its deletion that a move that was ended is half done.
func TestKilledWhileItIsDeleted(t *testing.T) {
	s := newSetting(t)
	m, list := s.begin()
	if err := m.Apply(list); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, s.at.Own, unix.IN_DELETE); err != nil {
		t.Skip(err)
	}
	m.End()
	events := make([]byte, 4096)
	n, err := unix.Read(fd, events)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.TrimRight(string(events[unix.SizeofInotifyEvent:min(n, 2*unix.SizeofInotifyEvent)]), "\x00")
	if first != listFile {
		t.Errorf("%q goes first", first)
	}
}

// TestSavedAfterwards: what is saved between a move and its way back stays at its path, and the file from before is kept.
func TestSavedAfterwards(t *testing.T) {
	s := newSetting(t)
	m, list := s.begin()
	if err := m.Apply(list); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"changed", "new/added"} {
		save(filepath.Join(s.at.Work, path), 0, "mine\n")
	}
	if touched, left := m.GoBack(); !touched || !slices.Equal(left, []string{"changed"}) {
		t.Errorf("%v, left: %v", touched, left)
	}
	want := maps.Clone(before)
	want["changed"], want["new/added"] = "mine\n", "mine\n"
	s.want(want)
	if got := s.keptFiles(); !slices.Equal(got, []string{"old\n"}) {
		t.Errorf("kept: %q", got)
	}
}

// TestWrittenUntilTheEnd: what is written to a file that came out, where the kernel cannot tell that nobody will, is at
// its path in the end, also if another process ends the move.
func TestWrittenUntilTheEnd(t *testing.T) {
	for _, how := range []string{"ended", "recovered"} {
		s := newSetting(t)
		m, list := s.begin()
		if err := m.Apply(list); err != nil {
			t.Fatal(err)
		}
		clear(m.sealed)
		if _, ok := save(filepath.Join(m.Dir(), "changed"), 2, "mine\n"); !ok {
			t.Fatal("it is not there")
		}
		if how == "ended" {
			m.End()
		} else {
			m.close()
			if _, err := Recover(s.at); err != nil {
				t.Fatal(err)
			}
		}
		want := maps.Clone(after)
		want["changed"] = "old\nmine\n"
		s.want(want)
	}
}

// TestKilledBeforeALook: a process that dies between an exchange and its look at what came out loses no save.
func TestKilledBeforeALook(t *testing.T) {
	s := newSetting(t)
	m, list := s.begin()
	m.List = list
	if err := m.writeList(); err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{"changed", "dir/deleted"} {
		save(filepath.Join(s.at.Work, path), 0, "mine\n")
		if err := m.move(i); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
	m.close()
	if left, err := Recover(s.at); err != nil || left != nil {
		t.Errorf("%v, left %v", err, left)
	}
	want := maps.Clone(before)
	want["changed"], want["dir/deleted"] = "mine\n", "mine\n"
	s.want(want)
}

// TestSavesStay: files are saved, in each way, while they are moved, moved back, and while a move ends. What was saved last is at
// its path.
func TestSavesStay(t *testing.T) {
	long := 2 * time.Second
	if os.Getenv("CROFT_LONG") != "" {
		long = time.Minute
	}
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := newSetting(t)
	n := map[string]int{}
	for began := time.Now(); time.Since(began) < long && !t.Failed(); {
		m, list := s.begin()
		saved := map[string]string{}
		var saving sync.WaitGroup
		pause, start := rnd.IntN(2000), time.Now()
		which := rnd.Perm(len(paths))[:1+rnd.IntN(2)]
		how := rnd.IntN(4)
		saving.Go(func() {
			for time.Since(start) < time.Duration(pause)*time.Microsecond {
			}
			for _, i := range which {
				for k := range 3 {
					if line, ok := save(filepath.Join(s.at.Work, paths[i]), (how+i)%4, fmt.Sprintf("mine %d %d\n", i, k)); ok {
						saved[paths[i]] = line
					}
				}
			}
		})
		err := m.Apply(list)
		var left []string
		switch {
		case err != nil:
			n["refused"]++
			_, left = m.GoBack()
		case rnd.IntN(2) == 0:
			n["back"]++
			_, left = m.GoBack()
		default:
			n["moved"]++
			left = m.End()
		}
		saving.Wait()
		for path, line := range saved {
			if got := s.read(path); !strings.Contains(got, line) && !slices.ContainsFunc(s.keptFiles(), func(text string) bool { return strings.Contains(text, line) }) {
				t.Errorf("seed %d: %s was saved as %q in way %d, and is %q; %v, left %v, %v", seed, path, line, how, got, err, left, n)
			}
		}
		_ = os.RemoveAll(s.kept)
	}
	t.Logf("seed %d: %v", seed, n)
	if n["refused"] == 0 || n["moved"] == 0 {
		t.Error("all saves were as early, or as late")
	}
}

// save saves a file, and says whether it could.
func save(path string, how int, line string) (string, bool) {
	var err error
	flags := os.O_CREATE | os.O_WRONLY
	switch how {
	case 0:
		err = os.WriteFile(path+"~", []byte(line), 0o644)
		if err == nil {
			err = os.Rename(path+"~", path)
		}
		return line, err == nil
	case 1:
		flags |= os.O_TRUNC
	case 2:
		flags |= os.O_APPEND
	default:
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return line, false
	}
	_, err = f.WriteString(line)
	return line, errors.Join(err, f.Close()) == nil
}

// writeList writes the list as Apply does.
func (s *setting) writeList(m *Move) {
	s.t.Helper()
	if err := errors.Join(m.own.Remove(movedFile), m.writeList()); err != nil {
		s.t.Fatal(err)
	}
}
