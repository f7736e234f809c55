package exchange

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
)

func (s *setting) apply() *Move {
	s.t.Helper()
	m, list := s.begin()
	if err := m.Apply(list); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// TestNoPlaceToKeep: a file that can neither go back nor be kept stays in Croft's own directory, and the next process keeps it.
func TestNoPlaceToKeep(t *testing.T) {
	s := newSetting(t)
	keep := s.at.Keep
	s.at.Keep = func(string, func(*fsx.Dir, string) error) error { return os.ErrPermission }
	m := s.apply()
	save(filepath.Join(s.at.Work, "changed"), 0, "mine\n")
	if _, left := m.GoBack(); !slices.Equal(left, []string{"changed"}) {
		t.Errorf("left: %v", left)
	}
	if b, err := os.ReadFile(filepath.Join(m.Dir(), "changed")); string(b) != "old\n" {
		t.Errorf("in Croft's own directory is %q, %v", b, err)
	}
	s.at.Keep = keep
	if _, err := Recover(s.at); err != nil {
		t.Error(err)
	}
	want := maps.Clone(before)
	want["changed"] = "mine\n"
	s.want(want)
	if got := s.keptFiles(); !slices.Equal(got, []string{"old\n"}) {
		t.Errorf("kept: %q", got)
	}
}

// TestDamagedList: all files of a move whose list cannot be read are kept.
func TestDamagedList(t *testing.T) {
	s := newSetting(t)
	m := s.apply()
	m.close()
	if err := os.WriteFile(filepath.Join(s.at.Own, listFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(s.at); err == nil {
		t.Error("the list could be read")
	}
	s.want(after)
	kept := 0
	for _, text := range s.keptFiles() {
		if text == "old\n" {
			kept++
		}
	}
	if kept != 3 {
		t.Errorf("%d files are kept", kept)
	}
	if _, err := Recover(s.at); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestChangedAfterwards: each way in which the directory is another one when a move goes back.
func TestChangedAfterwards(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(path func(string) string) (later func())
		want map[string]string
		left []string
	}{
		"deleted": {do: func(path func(string) string) func() {
			_ = os.Remove(path("changed"))
			return nil
		}},
		"open for writing": {
			do: func(path func(string) string) func() {
				f, _ := os.OpenFile(path("changed"), os.O_WRONLY|os.O_APPEND, 0)
				return func() {
					_, _ = f.WriteString("mine\n")
					_ = f.Close()
				}
			},
			want: map[string]string{"changed": "new\nmine\n"}, left: []string{"changed"},
		},
		"in place, with its time": {
			do: func(path func(string) string) func() {
				for _, file := range []string{"changed", "new/added"} {
					info, _ := os.Stat(path(file))
					save(path(file), 1, "own\n")
					_ = os.Chtimes(path(file), info.ModTime(), info.ModTime())
				}
				return nil
			},
			want: map[string]string{"changed": "own\n", "new/added": "own\n"}, left: []string{"changed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetting(t)
			m := s.apply()
			later := tt.do(func(file string) string { return filepath.Join(s.at.Work, file) })
			if touched, left := m.GoBack(); !touched || !slices.Equal(left, tt.left) {
				t.Errorf("%v, left: %v", touched, left)
			}
			if later != nil {
				later()
			}
			want := maps.Clone(before)
			maps.Copy(want, tt.want)
			s.want(want)
		})
	}
}

// TestSavedWhileItIsTakenOut: what is saved at the path of an added file while that is looked at stays, and what came out is kept.
func TestSavedWhileItIsTakenOut(t *testing.T) {
	s := newSetting(t)
	m := s.apply()
	added := filepath.Join(s.at.Work, "new/added")
	info, err := os.Stat(added)
	if err != nil {
		t.Fatal(err)
	}
	save(added, 1, "own\n")
	if err := os.Chtimes(added, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	sum := s.at.Sum
	m.at.Sum = func(in *fsx.Dir, name string, e fsx.Entry) (string, error) {
		if name == "added" {
			save(added, 0, "mine\n")
		}
		return sum(in, name, e)
	}
	if _, left := m.GoBack(); !slices.Equal(left, []string{"new/added"}) {
		t.Errorf("left: %v", left)
	}
	if got := s.keptFiles(); s.read("new/added") != "mine\n" || !slices.Equal(got, []string{"own\n"}) {
		t.Errorf("%q, kept: %q", s.read("new/added"), got)
	}
}

// TestOpenAtTheEnd: a file that came out, and that a process has open for writing, is at its path in the end.
func TestOpenAtTheEnd(t *testing.T) {
	s := newSetting(t)
	m := s.apply()
	clear(m.sealed)
	f, err := os.OpenFile(filepath.Join(m.Dir(), "changed"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.End()
	if _, err := f.WriteString("mine\n"); err != nil {
		t.Error(err)
	}
	_ = f.Close()
	want := maps.Clone(after)
	want["changed"] = "old\nmine\n"
	s.want(want)
}

// TestDirectoriesAreMadeAgain: files go back below directories that a move, or somebody afterwards, has removed.
func TestDirectoriesAreMadeAgain(t *testing.T) {
	s := newSetting(t)
	m, list := s.begin()
	list.Files, list.NewDirs = nil, nil
	list.Dirs = map[string]os.FileMode{"a": os.ModeDir | 0o755, "a/b": os.ModeDir | 0o755, "a/b/c": os.ModeDir | 0o700}
	for _, file := range []string{"a/b/c/deleted", "a/b/c/changed"} {
		s.write(file, "old\n")
		dir, err := fsx.OpenDir(filepath.Dir(filepath.Join(s.at.Work, file)))
		if err != nil {
			t.Fatal(err)
		}
		f := File{Path: file}
		f.Was, _ = dir.Stat(filepath.Base(file))
		f.WasSum, _ = s.at.Sum(dir, filepath.Base(file), f.Was)
		_ = dir.Close()
		if filepath.Base(file) == "changed" {
			at := filepath.Join(m.Dir(), file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("new\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
			if f.New, err = m.Written(file); err != nil {
				t.Fatal(err)
			}
		}
		list.Files = append(list.Files, f)
	}
	if err := m.Apply(list); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.at.Work, "a")); err != nil {
		t.Fatal(err)
	}
	if touched, left := m.GoBack(); !touched || left != nil {
		t.Errorf("%v, left: %v", touched, left)
	}
	for _, file := range []string{"a/b/c/deleted", "a/b/c/changed"} {
		if got := s.read(file); got != "old\n" {
			t.Errorf("%s is %q", file, got)
		}
	}
	if info, err := os.Stat(filepath.Join(s.at.Work, "a/b/c")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestNothingWasMoved: a move of a file that somebody has added meanwhile has touched nothing.
func TestNothingWasMoved(t *testing.T) {
	s := newSetting(t)
	m, list := s.begin()
	list.Files = list.Files[2:3]
	s.write("new/added", "mine\n")
	if err := m.Apply(list); err == nil {
		t.Error("it was moved")
	}
	if touched, left := m.GoBack(); touched || left != nil {
		t.Errorf("%v, left: %v", touched, left)
	}
}

// TestLinkAbove: a directory that somebody made a link meanwhile ends a move like a file that was written.
func TestLinkAbove(t *testing.T) {
	s := newSetting(t)
	m, list := s.begin()
	dir := filepath.Join(s.at.Work, "dir")
	if err := errors.Join(os.Rename(dir, dir+"2"), os.Symlink("dir2", dir)); err != nil {
		t.Fatal(err)
	}
	err := m.Apply(list)
	if taken, ok := errors.AsType[*TakenError](err); !ok || taken.Path != "dir/deleted" {
		t.Errorf("it ended with %v", err)
	}
	if _, left := m.GoBack(); left != nil || s.read("dir2/deleted") != "old\n" {
		t.Errorf("left: %v", left)
	}
}
