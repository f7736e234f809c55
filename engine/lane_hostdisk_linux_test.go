package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// writePoints builds the library that makes one of git's system calls fail, out of those
// that change files.
func writePoints(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	lib := filepath.Join(t.TempDir(), "writepoints.so")
	source := filepath.Join("..", "internal", "battery", "testdata", "writepoints.c")
	if out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-O2", "-o", lib, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

// hostCall is a system call by which git changes a file of the user's checkout.
type hostCall struct{ call, path string }

// mergeFailingAt merges w while one call always fails with EIO. It returns the output, and
// all calls that git made.
func mergeFailingAt(t *testing.T, r *gittest.Repo, lib string, at hostCall) (out string, calls []hostCall) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "calls")
	if err := os.WriteFile(log+".count", make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, helper(t, r, task{Merge: []croft.MergeRequest{{Workspace: "w"}}},
		// The library writes its log from within git, which the fence would prevent.
		"CROFT_GIT_FENCE=off", "LD_PRELOAD="+lib, "WRITEPOINTS_COUNT="+log+".count", "WRITEPOINTS_LOG="+log,
		"WRITEPOINTS_HOW=place", "WRITEPOINTS_CALL="+at.call, "WRITEPOINTS_PATH="+at.path))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(read(t, log)) {
		var nr, pid int
		var c hostCall
		if _, err := fmt.Sscan(line, &nr, &pid, &c.call, &c.path); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		// Git works at the top of the checkout.
		c.path = strings.TrimPrefix(c.path, r.Dir+"/")
		if !filepath.IsAbs(c.path) && c.path != ".git" && !strings.HasPrefix(c.path, ".git/") && !slices.Contains(calls, c) {
			calls = append(calls, c)
		}
	}
	return out, calls
}

// writtenByGit has git write the files of a checkout where they lie, because it has attributes of its own.
func writtenByGit(t *testing.T, r *gittest.Repo) *gittest.Repo {
	t.Helper()
	r.Write(".git/info/exclude", ".gitattributes\n")
	r.Write(".gitattributes", "other -text\n")
	return r
}

// TestHostDiskErrors: any one call by which git changes a file of the user's checkout fails
// with EIO. Every byte of the checkout is as before, and the merge is pending with that
// reason. There are two exceptions: Croft itself deletes a file that git could not delete,
// and an empty directory that stays is no error.
func TestHostDiskErrors(t *testing.T) {
	t.Run("by git", func(t *testing.T) {
		hostDiskErrors(t, func(t *testing.T) *gittest.Repo { return writtenByGit(t, changedHost(t)) }, 2*len(hostChanges))
	})
	t.Run("exchanged", func(t *testing.T) { hostDiskErrors(t, changedHost, len(hostChanges)) })
}

// hostDiskErrors is TestHostDiskErrors for a checkout for which git makes so many calls, or more.
func hostDiskErrors(t *testing.T, changedHost func(t *testing.T) *gittest.Repo, least int) {
	t.Parallel()
	lib := writePoints(t)
	out, calls := mergeFailingAt(t, changedHost(t), lib, hostCall{"none", ""})
	if !strings.Contains(out, "w merged") || len(calls) < least {
		t.Fatalf("%q, and the calls %v", out, calls)
	}
	for _, at := range calls {
		t.Run(at.call+" "+strings.ReplaceAll(at.path, "/", "|"), func(t *testing.T) {
			t.Parallel()
			r := changedHost(t)
			before := hostStateOf(t, r)
			out, _ := mergeFailingAt(t, r, lib, at)
			if (at.call == "unlink" || at.call == "rmdir") && strings.Contains(out, "w merged") {
				if got := r.Git("status", "--porcelain"); got != "A  staged.txt\n?? mine.txt" {
					t.Errorf("the checkout shows %q", got)
				}
				return
			}
			if !strings.Contains(out, "w pending "+string(croft.DiskError)) {
				t.Errorf("the merge ended as %q", out)
			}
			if diff := cmp.Diff(before, hostStateOf(t, r)); diff != "" {
				t.Errorf("the user's checkout is not as it was:\n%s", diff)
			}
			wantNoLocks(t, r)
			wantWritten(t, r, asRoot)
		})
	}
}
