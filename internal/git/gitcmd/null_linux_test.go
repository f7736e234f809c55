package gitcmd

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitdir"
)

// TestNullDeviceBlocksNothing: the null device in the place of a file that git reads hinders no call, as it lies there in
// Claude Code's sandbox; another device does.
func TestNullDeviceBlocksNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name   string
		minor  int
		blocks bool
	}{{".gitmodules", 3, false}, {".gitattributes", 5, true}} { // null and zero
		path := filepath.Join(dir, c.name)
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|c.minor); err != nil {
			if errors.Is(err, os.ErrPermission) {
				t.Skip("only root makes devices")
			}
			t.Fatal(err)
		}
		target := Target{Repo: NewRepository(&Git{}, gitdir.Place{CommonDir: filepath.Join(dir, "no")}, dir), Work: dir}
		if err := target.refuseBlocking(Call{}); (err != nil) != c.blocks {
			t.Errorf("with %s: %v", c.name, err)
		}
		if found := target.findBlocking(t.Context(), Call{}); (found != nil) != c.blocks {
			t.Errorf("with %s a search finds %v", c.name, found)
		}
	}
}
