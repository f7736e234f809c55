package exchange

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
)

func TestNamesOfKept(t *testing.T) {
	for n, want := range map[int]string{1: "a", 5: "a, b, c, d, e", 6: "a, b, c, d, e and 1 more"} {
		if got := (Kept{Files: strings.Split("abcdef", "")[:n]}).Names(); got != want {
			t.Errorf("of %d: %q, want %q", n, got, want)
		}
	}
}

// TestNoticesOfKept: files that were saved are named; of a move whose list is damaged nobody knows which those are.
func TestNoticesOfKept(t *testing.T) {
	saved := "files of app that were saved while a merge moved it along have no place there, and lie in kept: a, 2"
	whole := "what a merge that was killed had moved of app cannot be put back, because the list of it is damaged: all files, old and new ones, lie in " + filepath.Join("kept", "1")
	for _, c := range []struct {
		kept Kept
		want []string
	}{
		{Kept{Dir: "kept", Files: []string{"a", "2"}}, []string{saved}},
		{Kept{Dir: "kept", Whole: "1"}, []string{whole}},
		{Kept{Dir: "kept", Files: []string{"a", "2"}, Whole: "1"}, []string{saved, whole}},
	} {
		if got := c.kept.Notices("app"); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.kept, got)
		}
	}
}

// TestKeeper: what is kept of one move lies in one directory, at the paths that it had, as long as these are free.
func TestKeeper(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var kept []Kept
	k := Keeper{Under: filepath.Join(top, "kept"), Kept: &kept}
	for i, file := range []string{"dir/a", "dir/a", "b", "", "dir/a/below"} {
		if err := k.Keep(file, func(*fsx.Dir, string) error { return os.ErrPermission }); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%q cannot be moved: %v", file, err)
		}
		if err := k.Keep(file, func(in *fsx.Dir, name string) error { return in.WriteFile(name, []byte(fmt.Sprint(i)), 0o600) }); err != nil {
			t.Errorf("%q: %v", file, err)
		}
	}
	want := []string{"dir/a", "2", "b", "4", "5"}
	if len(kept) != 1 || !slices.Equal(kept[0].Files, []string{"dir/a", "2", "b", "5"}) || kept[0].Whole != "4" {
		t.Fatalf("%+v", kept)
	}
	for i, file := range want {
		if b, err := os.ReadFile(filepath.Join(kept[0].Dir, file)); string(b) != fmt.Sprint(i) {
			t.Errorf("%s is %q, %v", file, b, err)
		}
	}
	list := ListKept(k.Under)
	if len(list) != 1 || list[0].Dir != kept[0].Dir || len(list[0].Files) != len(want) {
		t.Errorf("listed: %+v", list)
	}
}

// TestKeeperOfNumbers: a file that has a number for its path, and one that gets a number, do not meet; in either order.
func TestKeeperOfNumbers(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ files, want []string }{
		{[]string{"2", "2/below"}, []string{"2", "3"}},
		{[]string{"3", "a", "a/below", "4"}, []string{"3", "a", "4", "5"}},
		{[]string{"a", "a/below", "2", "2/below"}, []string{"a", "2", "3", "4"}},
	} {
		var kept []Kept
		k := Keeper{Under: filepath.Join(top, fmt.Sprint(i)), Kept: &kept}
		for _, file := range c.files {
			err := k.Keep(file, func(in *fsx.Dir, name string) error {
				if in.Has(name) {
					t.Errorf("%q: another one is at %q", file, name)
				}
				return in.WriteFile(name, nil, 0o600)
			})
			if err != nil {
				t.Error(err)
			}
		}
		if len(kept) != 1 || !slices.Equal(kept[0].Files, c.want) {
			t.Errorf("%q: %+v, want %q", c.files, kept, c.want)
		}
	}
}

// TestListOfMany: of each directory so many files are listed, and a directory without any is not.
func TestListOfMany(t *testing.T) {
	under := t.TempDir()
	for i := range mostKept + 1 {
		if err := os.MkdirAll(filepath.Join(under, "many", "dir"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(under, "many", "dir", fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(under, "empty", "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if list := ListKept(under); len(list) != 1 || filepath.Base(list[0].Dir) != "many" || len(list[0].Files) != mostKept {
		t.Errorf("listed: %+v", list)
	}
}
