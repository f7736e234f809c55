//go:build unix

package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/snapshot"
)

// TestPinWithoutCommit: the branch of a worktree has no commit yet, and the worktree names
// none by its log or ORIG_HEAD. What is staged there is kept nevertheless.
func TestPinWithoutCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	b.git("checkout", "--quiet", "--orphan", "new")
	b.git("rm", "-r", "--force", "--quiet", "--cached", ".")
	for _, name := range []string{"logs", "ORIG_HEAD"} {
		must(t, os.RemoveAll(filepath.Join(b.tree.Admin, name)))
	}
	if got, err := snapshot.Pin(t.Context(), b.tree); err != nil || got != "" {
		t.Errorf("nothing is staged: %q, %v", got, err)
	}
	b.file("staged", "staged\n")
	b.git("add", "staged")
	blob := b.git("rev-parse", ":staged")
	got, err := snapshot.Pin(t.Context(), b.tree)
	if err != nil || got == "" {
		t.Fatalf("Pin = %q, %v", got, err)
	}
	if all := b.Git("rev-list", "--objects", got); !strings.Contains(all, blob) {
		t.Errorf("the commit does not keep what is staged, %s:\n%s", blob, all)
	}
}
