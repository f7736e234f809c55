package index_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestSettleIsAboutTheStagedFiles: what is not the file that the index has the stat data of is told, the index believes nothing
// about it afterwards, and the others are settled all the same.
func TestSettleIsAboutTheStagedFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		harm func(dir string) error
		file string // that differs
		real string // where it lies, if anywhere
	}{
		"nothing":                  {harm: func(string) error { return nil }},
		"a file that is gone":      {func(dir string) error { return os.Remove(filepath.Join(dir, "sub/a")) }, "sub/a", ""},
		"a directory that is gone": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "sub")) }, "sub/a", ""},
		"a file in its place": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "sub")), os.WriteFile(filepath.Join(dir, "sub"), nil, 0o600))
		}, "sub/a", ""},
		"a link in its place": {func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "sub2")), os.Symlink("sub2", filepath.Join(dir, "sub")))
		}, "sub/a", "sub2/a"},
		"another file like it":   {func(dir string) error { return copyOver(filepath.Join(dir, "sub/a")) }, "sub/a", "sub/a"},
		"one that is executable": {func(dir string) error { return os.Chmod(filepath.Join(dir, "sub/a"), 0o755) }, "sub/a", "sub/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write("sub/a", "a\r\n")
			r.Write("z", "z\n")
			r.Commit("files")
			if err := tt.harm(r.Dir); err != nil {
				t.Fatal(err)
			}
			format := object.Format("sha1")
			data, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			x, err := index.ParseFlat(data, format.NewHash())
			if err != nil {
				t.Fatal(err)
			}
			top, err := fsx.OpenDir(r.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer top.Close()
			before, _ := os.Lstat(filepath.Join(r.Dir, tt.real))
			stats, err := x.Settle(int(top.File().Fd()), format)
			if (err != nil) != (tt.file != "") || err != nil && !errors.Is(err, index.ErrDiffers) {
				t.Fatalf("Settle = %v", err)
			}
			if data, err = index.Restat(data, format, stats); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(r.Dir, ".git", "index"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			for i := range x.Len() {
				now, err := index.Lstat(filepath.Join(r.Dir, x.Path(i)))
				if isSame := err == nil && stats[i].IsSame(now); isSame == (x.Path(i) == tt.file) {
					t.Errorf("%s is settled: %v, %v", x.Path(i), isSame, err)
				}
			}
			if tt.real == "" {
				return
			}
			if after, err := os.Lstat(filepath.Join(r.Dir, tt.real)); err != nil || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("%s has another time: %v", tt.real, err)
			}
		})
	}
}

// copyOver puts a file with the same content and time in the place of another one.
func copyOver(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	return errors.Join(err, os.WriteFile(file+"~", text, info.Mode()), os.Chtimes(file+"~", info.ModTime(), info.ModTime()), os.Rename(file+"~", file))
}
