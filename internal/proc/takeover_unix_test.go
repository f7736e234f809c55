//go:build unix

package proc

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestHungUpAtOnce: the end of a terminal reaches the process that a session is for, also if it comes before that is known.
func TestHungUpAtOnce(t *testing.T) {
	// A shell ignores what is ignored where it begins, as below nohup.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for _, order := range []string{"before", "after"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "exit 77" HUP; echo ready; while :; do sleep 0.05; done`)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		var taken Taken
		if order == "after" {
			taken.setGroup(cmd.Process.Pid)
		}
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGHUP
		close(signals)
		taken.drop(signals)
		if order == "before" {
			taken.setGroup(cmd.Process.Pid)
		}
		if !taken.isTold.Load() {
			t.Errorf("%s: it was not told", order)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 77 {
			t.Errorf("%s: it ended with %d", order, cmd.ProcessState.ExitCode())
		}
		late.Stop()
	}
}

// TestOrphanedByItsTerminal: one whose terminal has ended knows that its caller is gone, although the kernel closes the caller's other
// files later.
func TestOrphanedByItsTerminal(t *testing.T) {
	for range 20 {
		life, caller, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer life.Close()
		taken := Taken{orphaned: make(chan struct{}), life: life}
		go taken.followCaller()
		if taken.IsOrphaned() {
			t.Fatal("its caller is there")
		}
		taken.isHungUp.Store(true)
		go func() { _ = caller.Close() }()
		if !taken.IsOrphaned() {
			t.Fatal("its caller is gone")
		}
	}
}
