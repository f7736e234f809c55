//go:build unix

package gitcmd

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestIsListed(t *testing.T) {
	dir := realPath(t.TempDir())
	link := filepath.Join(dir, "link")
	top := filepath.Join(dir, "a", "app")
	if err := errors.Join(os.MkdirAll(top, 0o755), os.Symlink(filepath.Join(dir, "a"), link)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{nil, false},
		{[]string{top}, true},
		{[]string{top + "/"}, true},
		{[]string{link + "/app"}, true},
		{[]string{"~/app"}, true},
		{[]string{filepath.Dir(top)}, false},
		{[]string{top + "/.git"}, false},
		{[]string{top + "x"}, false},
		{[]string{"app"}, false},
		{[]string{"."}, false},
		{[]string{"*"}, true},
		{[]string{"/*"}, true},
		{[]string{dir + "/*"}, true},
		{[]string{top + "/*"}, false},
		{[]string{dir + "/a/ap/*"}, false},
		{[]string{"*", ""}, false},
		{[]string{"*", "", top}, true},
		{[]string{top, "/elsewhere"}, true},
	} {
		if got := isListed(c.values, filepath.Join(dir, "a"), top); got != c.want {
			t.Errorf("%q: %v", c.values, got)
		}
	}
}
