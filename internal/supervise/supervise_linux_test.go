package supervise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/run"
	"github.com/croft-sh/croft/internal/supervise"
)

// service records what a supervisor tells.
type service struct {
	mu       sync.Mutex
	now      croft.Run
	told     []croft.RecordRunRequest
	finished []croft.FinishRequest
	failures int     // calls that still fail
	refusals []error // of Finish, one after the other
}

func (s *service) RecordRun(_ context.Context, req croft.RecordRunRequest) (*croft.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures > 0 {
		s.failures--
		return nil, errors.New("busy")
	}
	s.told = append(s.told, req)
	if req.End != "" {
		s.now.How, s.now.Status = req.End, req.Status
	}
	now := s.now
	return &now, nil
}

func (s *service) Finish(_ context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	s.finished = append(s.finished, req)
	if len(s.refusals) > 0 {
		err := s.refusals[0]
		s.refusals = s.refusals[1:]
		return nil, err
	}
	return &croft.Merge{}, nil
}

// TestMain is a shim, and a supervisor, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "shim" {
		os.Exit(supervise.RunShim(os.Environ()))
	}
	if len(os.Args) == 3 && os.Args[1] == "ghost" {
		beGhost(os.Args[2])
	}
	if len(os.Args) == 4 && os.Args[1] == "here" {
		superviseHere(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 4 && os.Args[1] == "supervise" {
		svc := &service{now: croft.Run{ID: "run0000000000000", Workspace: "ws00000000000000", Dir: os.Args[2]}}
		_, err := begun(svc, filepath.Dir(os.Args[2]), os.Args[3]).Supervise(context.Background())
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// beGhost ends the first thread of this process, so that it looks as if it had ended, and goes on.
func beGhost(file string) {
	go func() {
		runtime.LockOSThread()
		time.Sleep(100 * time.Millisecond)
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			os.Exit(1)
		}
		time.Sleep(5 * time.Minute)
	}()
	runtime.LockOSThread()
	if syscall.Gettid() != os.Getpid() {
		os.Exit(1)
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

// TestGhost: a process whose first thread has ended is ended with the agent, too.
func TestGhost(t *testing.T) {
	svc := &service{}
	file := filepath.Join(t.TempDir(), "pid")
	script := strings.NewReplacer("SELF", os.Args[0], "FILE", file).Replace(`setsid SELF ghost FILE & until test -s FILE; do sleep 0.02; done`)
	begun := time.Now()
	if _, err := agent(t, svc, script).Supervise(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	pid, _ := strconv.Atoi(string(text))
	if _, err := os.Stat(filepath.Join("/proc", string(text), "task")); err == nil || pid == 0 {
		t.Errorf("process %d is left", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil || time.Since(begun) > 30*time.Second {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
}

// TestStatusInTheWay: an agent that puts something in the way of its status is ended, and its status is known.
func TestStatusInTheWay(t *testing.T) {
	svc := &service{}
	a := agent(t, svc, "")
	a.Command[2] = "mkfifo " + filepath.Join(a.Run.Dir, "status.new") + " " + filepath.Join(a.Run.Dir, "processes.new") + "; sleep 0.3; exit 6"
	end, err := a.Supervise(t.Context())
	if err != nil || end.Run.Status != 6 {
		t.Errorf("%+v, %v", end, err)
	}
}

func agent(t *testing.T, svc *service, script string) supervise.Agent {
	t.Helper()
	svc.now = croft.Run{ID: "run0000000000000", Workspace: "ws00000000000000", Dir: filepath.Join(t.TempDir(), "run")}
	return begun(svc, t.TempDir(), script)
}

// begun is an agent whose run has begun.
func begun(svc *service, dir, script string) supervise.Agent {
	return supervise.Agent{
		Service: svc, Run: svc.now, Dir: dir, Command: []string{"sh", "-c", script}, Environ: []string{"PATH=" + os.Getenv("PATH")},
		Own: os.Environ(), Shim: []string{os.Args[0], "shim"}, Resume: []string{"/bin/sh", "-c", "echo >" + filepath.Join(filepath.Dir(svc.now.Dir), "resumed")}, Interval: 50 * time.Millisecond,
	}
}

// TestEnds: the status of an agent is recorded, written down, and decides how the work is finished.
func TestEnds(t *testing.T) {
	for script, want := range map[string]struct {
		status  int
		outcome croft.Outcome
	}{
		"exit 0":                         {0, croft.Succeeded},
		"exit 3":                         {3, croft.Failed},
		"kill -9 $$":                     {137, croft.Killed},
		"trap '' TERM; exit 5":           {5, croft.Failed},
		"kill -TERM $PPID; sleep 0.1":    {0, croft.Succeeded}, // the shim above it goes on
		"exec /nonexistent/program 2>&1": {127, croft.Failed},
	} {
		t.Run(script, func(t *testing.T) {
			svc := &service{failures: 2}
			end, err := agent(t, svc, script).Supervise(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if end.Run.Status != want.status || len(svc.finished) != 1 || svc.finished[0].Outcome != want.outcome || svc.finished[0].Key == "" {
				t.Errorf("%+v, finished %+v", end.Run, svc.finished)
			}
			if status, known := run.StatusOf(&svc.now); !known || status != want.status {
				t.Errorf("written down: %d, %v", status, known)
			}
			last, work := svc.told[len(svc.told)-2], svc.told[len(svc.told)-1]
			if work.Work != croft.WorkFinished || last.End == "" || last.Run != svc.now.ID || last.Workspace != croft.ByID(svc.now.Workspace) {
				t.Errorf("told last: %+v, %+v", last, work)
			}
		})
	}
}

// TestUnfinished: what may pass is tried again, and what does not is recorded with its reason.
func TestUnfinished(t *testing.T) {
	busy, broken := &croft.Error{Code: croft.WorkspaceBusy, Message: "busy"}, &croft.Error{Code: croft.WorkspaceBroken, Message: "its HEAD is gone"}
	for _, c := range []struct {
		refusals []error
		want     croft.RecordRunRequest
	}{
		{[]error{busy}, croft.RecordRunRequest{Work: croft.WorkFinished}},
		{[]error{busy, broken}, croft.RecordRunRequest{Work: croft.WorkFailed, Why: "its HEAD is gone"}},
	} {
		svc := &service{refusals: c.refusals}
		end, err := agent(t, svc, "exit 0").Supervise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := svc.told[len(svc.told)-1]
		if last.Work != c.want.Work || last.Why != c.want.Why || len(svc.finished) != 2 || (end.Unfinished != nil) != (c.want.Why != "") {
			t.Errorf("told %+v, finished %d times, %v", last, len(svc.finished), end.Unfinished)
		}
	}
}

// TestNothingIsLeft: processes that left the agent's group, its session and its environment are ended
// with it.
func TestNothingIsLeft(t *testing.T) {
	svc := &service{}
	pids := filepath.Join(t.TempDir(), "pids")
	script := `sleep 300 & echo $! >>PIDS
		setsid sh -c 'echo $$ >>PIDS; trap "" TERM; while true; do sleep 0.1; done' &
		(cd /; env -i setsid sh -c 'echo $$ >>PIDS; exec sleep 302') &
		sh -c 'sleep 303 & echo $! >>PIDS'
		while test $(wc -l <PIDS) -lt 4; do sleep 0.02; done`
	if _, err := agent(t, svc, strings.ReplaceAll(script, "PIDS", pids)).Supervise(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pids)
	if err != nil || len(strings.Fields(string(text))) != 4 {
		t.Fatalf("%q, %v", text, err)
	}
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if _, isThere := proc.Of(pid); isThere || err != nil {
			t.Errorf("process %s is left, %v", field, err)
		}
	}
}

// TestSupervisorKilled: an agent whose supervisor was killed works on. What it prints is kept, what it
// leaves is ended, although it hid from everything but its parents, its status is written down, and
// somebody is started who looks after the run.
func TestSupervisorKilled(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	script := strings.ReplaceAll(`echo before; sleep 0.3; echo $$ >TOP/began
		until test -e TOP/killed; do sleep 0.02; done
		(cd /; env -i setsid sh -c 'echo $$ >TOP/hidden; trap "" TERM; while true; do sleep 0.1; done' >/dev/null 2>&1 &)
		until test -s TOP/hidden; do sleep 0.02; done
		i=0; while test $i -lt 20000; do echo after $i; i=$((i+1)); done; exit 7`, "TOP", top)
	supervisor := exec.Command(os.Args[0], "supervise", at("run"), script)
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the agent", func() bool { _, err := os.Stat(at("began")); return err == nil })
	if err := supervisor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = supervisor.Wait()
	if err := os.WriteFile(at("killed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "who resumes", func() bool { _, err := os.Stat(at("resumed")); return err == nil })
	if status, known := run.StatusOf(&croft.Run{Dir: at("run")}); status != 7 || !known {
		t.Errorf("status %d, %v", status, known)
	}
	text, err := os.ReadFile(at("hidden"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if _, isThere := proc.Of(pid); isThere || err != nil || pid == 0 {
		t.Errorf("process %d is left, %v", pid, err)
	}
	var kept []byte
	for {
		p, err := run.ReadOutput(at("run"), int64(len(kept)), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, p.Data...); len(p.Data) == 0 {
			break
		}
	}
	if n := strings.Count(string(kept), "after"); n != 20000 || !strings.HasPrefix(string(kept), "before\nafter 0\n") {
		t.Errorf("%d lines are kept: %.100q", n, kept)
	}
}

// TestShimKilled: an agent that kills what is above it is ended, with all that it hid.
func TestShimKilled(t *testing.T) {
	svc := &service{}
	a := agent(t, svc, "")
	file := filepath.Join(t.TempDir(), "pid")
	a.Command[2] = strings.ReplaceAll(`(cd /; env -i setsid sh -c 'echo $$ >FILE; while true; do sleep 0.1; done' &)
		until test -s FILE; do sleep 0.02; done; kill -9 $PPID; sleep 300`, "FILE", file)
	end, err := a.Supervise(t.Context())
	if err != nil || end.Run.How != croft.RunKilled {
		t.Errorf("%+v, %v", end, err)
	}
	text, err := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if _, isThere := proc.Of(pid); isThere || err != nil || pid == 0 {
		t.Errorf("process %d is left, %v", pid, err)
	}
}

// TestForkLoop: processes that replace themselves faster than one can look are ended.
func TestForkLoop(t *testing.T) {
	svc := &service{}
	marker := filepath.Join(t.TempDir(), "marker")
	script := `cat >FILE.sh <<'END'
trap '' TERM
i=0; while test $i -lt 3; do i=$((i+1)); (sh $0 &) ; sleep 0.01; exit; done
END
for i in 1 2 3 4; do setsid sh FILE.sh & done; sleep 0.5; exit 0`
	ended := make(chan error, 1)
	go func() {
		_, err := agent(t, svc, strings.ReplaceAll(script, "FILE", marker)).Supervise(t.Context())
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("it goes on")
	}
	if out, _ := exec.Command("pgrep", "-f", marker+".sh").Output(); len(out) > 0 {
		t.Errorf("processes are left: %s", out)
		_ = exec.Command("pkill", "-9", "-f", marker+".sh").Run()
	}
}

// await waits for something.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// TestStops: an agent that does not end when it is asked to is killed, and its status is recorded.
func TestStops(t *testing.T) {
	svc := &service{}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	begun := time.Now()
	end, err := agent(t, svc, "trap '' TERM; echo begun; while true; do sleep 0.1; done").Supervise(ctx)
	if err != nil || end.Run.Status != 137 || time.Since(begun) > 10*time.Second {
		t.Errorf("%+v, %v after %s", end, err, time.Since(begun))
	}
}

// TestStopIsNoSuccess: an agent that was asked to end has not succeeded, although it ended with 0.
func TestStopIsNoSuccess(t *testing.T) {
	svc := &service{}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	end, err := agent(t, svc, "trap 'exit 0' TERM; while true; do sleep 0.05; done").Supervise(ctx)
	if err != nil || end.Run.How != croft.RunKilled || len(svc.finished) != 1 || svc.finished[0].Outcome != croft.Killed {
		t.Errorf("%+v, finished %+v, %v", end, svc.finished, err)
	}
}

// TestRunIsOver: an agent whose run somebody else has recorded as ended is ended.
func TestRunIsOver(t *testing.T) {
	svc := &service{}
	a := agent(t, svc, "while true; do sleep 0.05; done")
	time.AfterFunc(300*time.Millisecond, func() {
		svc.mu.Lock()
		defer svc.mu.Unlock()
		svc.now.State = croft.RunEnded
	})
	ended := make(chan error, 1)
	go func() { _, err := a.Supervise(t.Context()); ended <- err }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}

// TestOutput: what an agent prints goes to where the caller wants it, and is kept.
func TestOutput(t *testing.T) {
	svc := &service{}
	a := agent(t, svc, "echo out; echo err >&2; cat")
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := w.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	var out, errOut bytes.Buffer
	a.IO = proc.SessionIO{Stdin: in, Stdout: &out, Stderr: &errOut}
	if _, err := a.Supervise(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.String() != "out\ntyped\n" || errOut.String() != "err\n" {
		t.Errorf("%q, %q", out.String(), errOut.String())
	}
	p, err := run.ReadOutput(svc.now.Dir, 0, 1000)
	if err != nil || len(p.Data) != len("out\nerr\ntyped\n") || !strings.Contains(string(p.Data), "typed") {
		t.Errorf("kept: %q, %v", p.Data, err)
	}
	if len(svc.told) < 2 || svc.told[0].Process.PID == 0 || svc.told[0].Supervisor.PID != os.Getpid() {
		t.Errorf("told: %+v", svc.told)
	}
}
