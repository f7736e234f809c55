package supervise_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/run"
)

// TestStatusOfAgent: an agent ended with the status that it exited with, whatever becomes of the process above it when that ends
// what is left.
func TestStatusOfAgent(t *testing.T) {
	for script, want := range map[string]croft.Outcome{"exit 0": croft.Succeeded, "exit 3": croft.Failed} {
		svc := &service{}
		a := agent(t, svc, "")
		ready := filepath.Join(t.TempDir(), "ready")
		a.Command[2] = strings.ReplaceAll(`SHIM=$PPID; (setsid sh -c "trap 'kill -9 $SHIM' TERM; echo >READY; while true; do sleep 0.02; done" &)
			until test -e READY; do sleep 0.02; done; `, "READY", ready) + script
		end, err := a.Supervise(t.Context())
		if err != nil || len(svc.finished) != 1 || svc.finished[0].Outcome != want {
			t.Errorf("%s: %+v, finished %+v, %v", script, end, svc.finished, err)
		}
	}
}

// TestCannotBeStarted: an agent whose program cannot be run has the status that shells have for that; one whose run cannot be
// begun has ended all the same, and nothing is left to be finished.
func TestCannotBeStarted(t *testing.T) {
	for program, want := range map[string]int{"/nonexistent/program": 127, t.TempDir(): 126} {
		svc := &service{}
		a := agent(t, svc, "")
		a.Command = []string{program}
		end, err := a.Supervise(t.Context())
		if err != nil || end.Run.Status != want || end.Run.How != croft.RunFailed {
			t.Errorf("%s: %+v, %v", program, end, err)
		}
	}
	svc := &service{}
	a := agent(t, svc, "exit 0")
	a.Shim = []string{"/nonexistent/program"}
	_, err := a.Supervise(t.Context())
	if err == nil || len(svc.told) != 2 || svc.told[0].End != croft.RunFailed || svc.told[0].Status != 127 || svc.told[1].Work != croft.WorkFinished || len(svc.finished) != 0 {
		t.Errorf("told %+v, finished %+v, %v", svc.told, svc.finished, err)
	}
	if _, known := run.StatusOf(&svc.now); known {
		t.Error("there is a status")
	}
}
