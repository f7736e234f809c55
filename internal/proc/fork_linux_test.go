package proc

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestForkHasNoProgram: a shell's subshell counts as a fork without a program of its own, and a
// program that the shell runs does not.
func TestForkHasNoProgram(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "(read x) <&3 & echo $!; cat <&3 & echo $!; wait")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	end, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[2] = "exec 3<&0; " + cmd.Args[2]
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = end.Close()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(stdout)
	var pids []string
	for len(pids) < 2 && lines.Scan() {
		pids = append(pids, lines.Text())
	}
	if len(pids) < 2 {
		t.Fatalf("the shell's children are %q", pids)
	}
	shell := "/proc/" + strconv.Itoa(cmd.Process.Pid)
	if !isUnstartedFork("/proc/"+pids[0], shell) {
		t.Error("a subshell is no fork of its shell")
	}
	for nameOf(atoi(t, pids[1])) != "cat" { // until cat runs
		if t.Context().Err() != nil {
			t.Fatal("cat did not begin")
		}
	}
	if isUnstartedFork("/proc/"+pids[1], shell) {
		t.Error("a program is taken for a fork")
	}
	if isUnstartedFork("/proc/"+pids[0], "/proc/self") || isUnstartedFork(shell, shell) {
		t.Error("somebody else's fork is taken for one's own")
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
