//go:build failpoints

package engine_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// withSteps makes a project whose steps are approved, with a workspace in which they did not run.
func withSteps(t *testing.T, tables string) (*gittest.Repo, task) {
	t.Helper()
	r := gittest.New(t)
	r.Write("croft.toml", tables)
	r.Write(".gitignore", "made*\n")
	r.Commit("settings")
	e := engineIn(t, r, 0)
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{Of: croft.OfSetup})
	if err == nil {
		_, err = e.Approve(t.Context(), croft.ApproveRequest{Hash: plan.Hash, Of: croft.OfSetup})
	}
	if err == nil {
		_, err = e.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "a"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	req, err := json.Marshal(croft.ProvisionRequest{Workspace: "a", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return r, task{Call: "Provision", Request: req}
}

// TestKilledWhileSettingUp kills a process at every point of a set-up. The next call goes on where it
// was: no step that had succeeded runs twice, and the one that was interrupted runs again.
func TestKilledWhileSettingUp(t *testing.T) {
	t.Parallel()
	const tables = "[[provision.step]]\nname = \"first\"\nrun = \"echo x >>made-first\"\n" +
		"[[provision.step]]\nname = \"second\"\nrun = \"cat made-first >made-second\"\n[[provision.probe]]\nrun = \"test -s made-second\"\n"
	setting := func(t *testing.T) (*gittest.Repo, task) { return withSteps(t, tables) }
	everyPoint(t, 1, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		for range 2 {
			got, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a", Key: "k"})
			if err != nil || got.State != croft.ProvisionReady {
				t.Fatalf("with its key: %+v, %v", got, err)
			}
		}
		w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if first := read(t, filepath.Join(w.Path, "made-first")); first != "x\n" && first != "x\nx\n" {
			t.Errorf("the first step ran more than once again: %q", first)
		}
		if !exists(filepath.Join(w.Path, "made-second")) {
			t.Error("the second step did not run")
		}
	})
}

// TestKilledWithItsStep: what a step has started does not outlive Croft, and the step runs again.
func TestKilledWithItsStep(t *testing.T) {
	t.Parallel()
	r, job := withSteps(t, "[[provision.step]]\nname = \"slow\"\nrun = \"if test -e made-pid; then exit 0; fi; sleep 300 & echo $! >made-new; mv made-new made-pid; wait; true\"\n")
	cmd := helper(t, r, job)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = bufio.NewReader(stderr).WriteTo(t.Output()) }()
	e := engineIn(t, r, 0)
	w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.Path, "made-pid")
	for begun := time.Now(); !exists(file) && time.Since(begun) < 30*time.Second; {
		time.Sleep(5 * time.Millisecond)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"}); croft.AsError("provision", err).Code != croft.WorkspaceBusy {
		t.Errorf("while another process sets it up: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for begun := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("what the step had started outlives Croft")
		}
	}
	if got, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"}); err != nil || got.State != croft.ProvisionReady {
		t.Errorf("%+v, %v", got, err)
	}
}
