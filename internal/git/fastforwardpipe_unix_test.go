//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAdvanceMeetsAPipe: what is neither a file, a link nor a directory stays where a commit changes, adds or deletes a file, and the
// refusal says what it is.
func TestAdvanceMeetsAPipe(t *testing.T) {
	for _, path := range []string{"changed", "dir/new", "gone"} {
		both(t, path, func(t *testing.T, r *gittest.Repo) {
			r.Write("changed", "old\n")
			r.Write("gone", "old\n")
			old := r.Commit("second")
			now := next(r, map[string]string{"changed": "new\n", "dir/new": "new\n"}, "gone")
			full := filepath.Join(r.Dir, path)
			_ = os.Remove(full)
			_ = os.Mkdir(filepath.Dir(full), 0o755)
			if err := unix.Mkfifo(full, 0o600); err != nil {
				t.Skip(err)
			}
			err := advance(t, open(t, r), old, now)
			dirty, ok := errors.AsType[*HostDirtyError](err)
			if !ok || len(dirty.Files) > 0 || dirty.Cause != "a named pipe of yours would be overwritten: "+path {
				t.Errorf("%v", err)
			}
			if info, err := os.Lstat(full); err != nil || info.Mode().Type() != os.ModeNamedPipe {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}
