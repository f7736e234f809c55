package proc

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLeft: what is left of a session are its leader and what is below and beside it, and what has the variable. If the
// number of the leader is another's by now, nothing of that other session is.
func TestLeft(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 300 & echo $!; exec sleep 301")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "CROFT_RUN=of-this-test"}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_, _ = cmd.Process.Wait()
	}()
	leader, isThere := Of(cmd.Process.Pid)
	if !isThere {
		t.Fatal("it is not there")
	}
	count := func(leader Identity, variable string) int {
		return len(slices.DeleteFunc(Left(leader, nil, variable), func(id Identity) bool {
			p := look()[id.PID]
			return p.session != cmd.Process.Pid
		}))
	}
	for begun := time.Now(); count(leader, "none=") < 1 && time.Since(begun) < 10*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	if n := count(leader, "none="); n != 1 { // without the leader
		t.Errorf("%d processes of the session", n)
	}
	if n := count(Identity{}, "CROFT_RUN=of-this-test"); n != 2 {
		t.Errorf("%d processes by the variable alone", n)
	}
	reused := leader
	reused.Start = "1"
	if n := count(reused, "none="); n != 0 {
		t.Errorf("%d processes of a session that has the number now", n)
	}
	if n := count(Identity{}, "CROFT_RUN=of-this"); n != 0 {
		t.Errorf("%d processes by another variable", n)
	}
}
