package proc

import (
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// TestEndAllLetsGo: a process that is found once and is not one of those to be ended after all, because it left them, is
// neither killed nor left stopped.
func TestEndAllLetsGo(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	id, isThere := Of(cmd.Process.Pid)
	if !isThere {
		t.Fatal("it is not there")
	}
	looks := 0
	if left := EndAll(func() []Identity {
		if looks++; looks == 1 {
			return []Identity{id}
		}
		return nil
	}, 0); len(left) > 0 || looks < 2 {
		t.Fatalf("%d are left after %d looks", len(left), looks)
	}
	state := ""
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if fields := statFields("/proc/" + strconv.Itoa(id.PID)); len(fields) > 0 {
			state = fields[0]
		}
		if state == "S" {
			return
		}
	}
	t.Errorf("its state is %q", state)
}

// TestStopped: all that are found are stopped before any is killed, also those that are found meanwhile.
func TestStopped(t *testing.T) {
	var ids []Identity
	for range 3 {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		id, isThere := Of(cmd.Process.Pid)
		if !isThere {
			t.Fatal("it is not there")
		}
		ids = append(ids, id)
	}
	found := 1
	list := stopped(ids[:1], func() []Identity { found = min(found+1, 3); return ids[:found] })
	if len(list) != 3 {
		t.Fatalf("%d are to be killed", len(list))
	}
	for _, id := range ids {
		state := ""
		for deadline := time.Now().Add(5 * time.Second); state != "T" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if fields := statFields("/proc/" + strconv.Itoa(id.PID)); len(fields) > 0 {
				state = fields[0]
			}
		}
		if state != "T" {
			t.Errorf("the state of %d is %q", id.PID, state)
		}
	}
}
