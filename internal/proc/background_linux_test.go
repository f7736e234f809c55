package proc_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/proc"
)

// TestBackground runs itself: a process that lowered its priority cannot raise it again.
func TestBackground(t *testing.T) {
	if os.Getenv("CROFT_TEST_BACKGROUND") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBackground$", "-test.v")
		cmd.Env = append(os.Environ(), "CROFT_TEST_BACKGROUND=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestBackground") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	proc.LowerPriority()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) == 0 {
		t.Fatal(err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile("/proc/self/task/" + task.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if nice := strings.Fields(rest)[16]; nice != "19" {
			t.Errorf("thread %s has priority %s, want 19", task.Name(), nice)
		}
	}
}
