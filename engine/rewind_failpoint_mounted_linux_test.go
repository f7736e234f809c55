//go:build failpoints

package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestRecoveredRewindOfMountPoint: a rewind died, and the workspace is a mount point for
// the next command, which therefore cannot put its files back. The workspace's status says
// so, and a later command for which it is no mount point makes it ready.
func TestRecoveredRewindOfMountPoint(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "f"), "one\n")
	snap := snapshotOf(t, e, "a")
	gittest.WriteFile(t, filepath.Join(w.Path, "f"), "two\n")
	killed(t, helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "CROFT_FAILPOINT=kill=snapshot.rewind"))
	job := helper(t, r, creation("b", "default"))
	args := []string{"--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	args = append(args, "sh", "-c", `mount --bind "$0" "$0" && exec "$@"`, w.Path)
	mounted := exec.CommandContext(t.Context(), "unshare", append(args, job.Args...)...)
	mounted.Env, mounted.Dir = job.Env, job.Dir
	if out, err := run(t, mounted); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := show(t, engineIn(t, r, 0), "a"); got.Fault != croft.FaultRewinding || !strings.Contains(got.FaultReason, "is itself a mount point") {
		t.Errorf("%s, %s, %q", got.State, got.Fault, got.FaultReason)
	}
	create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "c"})
	if got := show(t, e, "a"); got.State != croft.Ready || got.Fault != "" {
		t.Errorf("%s, %s, %q", got.State, got.Fault, got.FaultReason)
	}
}
