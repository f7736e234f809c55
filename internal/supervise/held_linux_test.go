package supervise_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/supervise"
)

// ofSupervisor is a Service with a run whose agent exited with 0, and whose supervisor is a process.
func ofSupervisor(t *testing.T, pid int) *service {
	t.Helper()
	id, isThere := proc.Of(pid)
	if !isThere {
		t.Fatal("no process")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "status"), []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := owner.Self()
	gone.Start = "1"
	return &service{now: croft.Run{ID: "run0000000000000", Workspace: "ws00000000000000", State: croft.RunRunning, Dir: dir, Process: gone, Supervisor: owner.Of(id)}}
}

// TestSettleWakes: a supervisor that somebody has stopped goes on, and the end stays its own.
func TestSettleWakes(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	svc := ofSupervisor(t, cmd.Process.Pid)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	id, _ := proc.Of(cmd.Process.Pid)
	await(t, "the stop", func() bool { return proc.IsStopped(id) })
	if _, err := supervise.Settle(t.Context(), svc, "", svc.now); err != nil {
		t.Fatal(err)
	}
	if proc.IsStopped(id) || len(svc.finished) != 0 {
		t.Errorf("stopped: %v, finished: %+v", proc.IsStopped(id), svc.finished)
	}
}

// TestSettleTakesOver: the end of a run whose supervisor stays stopped, although it was let go on, is recorded and its work finished.
func TestSettleTakesOver(t *testing.T) {
	runtime.LockOSThread() // that traces
	defer runtime.UnlockOSThread()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true} // it stops when it begins, and nobody lets it go on
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	svc := ofSupervisor(t, cmd.Process.Pid)
	id, _ := proc.Of(cmd.Process.Pid)
	await(t, "the stop", func() bool { return proc.IsStopped(id) })
	begun := time.Now()
	end, err := supervise.Settle(t.Context(), svc, "", svc.now)
	if err != nil || end.Run.How != croft.RunDone || len(svc.finished) != 1 || svc.finished[0].Outcome != croft.Succeeded || time.Since(begun) > 20*time.Second {
		t.Errorf("%+v, %v, finished %+v after %s", end, err, svc.finished, time.Since(begun))
	}
}
