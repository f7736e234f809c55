//go:build unix

package proc

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGroupShellEndsItsGroup: the shell itself ends what a line leaves in its group, and its status is that of the line.
func TestGroupShellEndsItsGroup(t *testing.T) {
	t.Parallel()
	path, args := GroupShell("sleep 600 >/dev/null & echo $!; exit 3")
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Errorf("the status of the line is lost: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("a process that the line left in its group goes on")
		}
	}
}
