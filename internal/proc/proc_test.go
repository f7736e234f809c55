//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sh is a command that runs a shell script.
func sh(script string) Command {
	return Command{Path: "sh", Args: []string{"-c", script}, Env: os.Environ()}
}

// waitFor waits until a condition holds, and fails the test if it never does.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s took too long", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// pidIn waits for a process id in a file. Scripts write it under another name
// and rename it.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	var pid int
	waitFor(t, filepath.Base(file), func() bool {
		b, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	return pid
}

func isDead(pid int) bool {
	id := Here()
	id.PID = pid
	return LifeOf(id) == Dead
}

func TestRun(t *testing.T) {
	c := sh("cat; echo out; echo err >&2; exit 3")
	c.Stdin = strings.NewReader("in\n")
	res, err := Run(t.Context(), c)
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || exit.Code != 3 || string(exit.Stderr) != "err\n" || !strings.HasSuffix(exit.Error(), "exited with 3") {
		t.Errorf("error %v", err)
	}
	if string(res.Stdout) != "in\nout\n" || string(res.Stderr) != "err\n" {
		t.Errorf("result %q", res)
	}

	var out bytes.Buffer
	c = sh("echo out; pwd")
	c.Stdout, c.Dir = &out, "/"
	if res, err := Run(t.Context(), c); err != nil || out.String() != "out\n/\n" || len(res.Stdout) > 0 {
		t.Errorf("to a writer: %q, %q, %v", out.String(), res.Stdout, err)
	}
	_, err = Run(t.Context(), sh("kill -9 $$"))
	if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != -1 || !strings.HasSuffix(exit.Error(), "was killed") {
		t.Errorf("killed: %v", err)
	}
}

func TestNoEnvironmentMeansNone(t *testing.T) {
	t.Setenv("CROFT_TEST_VARIABLE", "here")
	show := func(env []string) string {
		res, err := Run(t.Context(), Command{Path: "/bin/sh", Args: []string{"-c", `echo "$CROFT_TEST_VARIABLE"`}, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(res.Stdout))
	}
	if got := show(nil); got != "" {
		t.Errorf("Run: the process got %q", got)
	}
	if got := show(Environ()); got != "here" {
		t.Errorf("Environ: the process got %q", got)
	}
	test := Command{Path: "/bin/sh", Args: []string{"-c", `test -z "$CROFT_TEST_VARIABLE"`}}
	if code, err := Interactive(t.Context(), test); code != 0 || err != nil {
		t.Errorf("Interactive: the process got a variable: %d, %v", code, err)
	}
}

func TestProgramIsLookedUpInItsOwnPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/tool": 0o755, "b/tool": 0o755, "a/text": 0o644, "b/text": 0o755} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho "+name+"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=" + filepath.Join(dir, "none") + ":" + filepath.Join(dir, "a") + ":" + filepath.Join(dir, "b")
	for name, want := range map[string]string{"tool": "a/tool\n", "text": "b/text\n"} {
		res, err := Run(t.Context(), Command{Path: name, Env: []string{"PATH=/nonexistent", path}})
		if err != nil || string(res.Stdout) != want {
			t.Errorf("%s: %q, %v, want %q", name, res.Stdout, err, want)
		}
	}
	t.Chdir(filepath.Join(dir, "a"))
	for name, env := range map[string][]string{
		"sh": {path}, "none": {path}, "tool": {"PATH=:."},
	} {
		if _, err := Run(t.Context(), Command{Path: name, Env: env}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s in %q: %v, want ErrNotFound", name, env, err)
		}
	}
	if _, err := Run(t.Context(), Command{Path: "sh", Args: []string{"-c", "true"}}); err != nil {
		t.Errorf("without a PATH: %v", err)
	}
	if p, err := LookPath("sh"); err != nil || !filepath.IsAbs(p) {
		t.Errorf("LookPath: %q, %v", p, err)
	}
}

func TestEndedContextEndsTheGroup(t *testing.T) {
	for name, script := range map[string]string{
		"waits":           "sleep 1000 & echo $! > pid.new; mv pid.new pid; wait",
		"ignores signals": "trap '' TERM; sleep 1000 & echo $! > pid.new; mv pid.new pid; wait; wait",
		"child ignores":   "(trap '' TERM; sleep 1000; sleep 1000) & echo $! > pid.new; mv pid.new pid; wait",
		"and has no pipe": "(trap '' TERM; sleep 1000; sleep 1000) >/dev/null 2>&1 & echo $! > pid.new; mv pid.new pid; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sh("echo $$ > self.new; mv self.new self; " + script)
			c.Dir = t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := Run(ctx, c)
				done <- err
			}()
			self, child := pidIn(t, filepath.Join(c.Dir, "self")), pidIn(t, filepath.Join(c.Dir, "pid"))
			if group, err := syscall.Getpgid(child); err != nil || group != self {
				t.Errorf("the child is in group %d, %v, not in its parent's own, %d", group, err, self)
			}
			if own, _ := syscall.Getpgid(0); own == self {
				t.Error("the process is in the caller's group")
			}
			begun := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want context.Canceled", err)
			}
			waitFor(t, "the end of both", func() bool { return isDead(self) && isDead(child) })
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestContextsCauseIsTheError(t *testing.T) {
	cause := errors.New("the cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := Run(ctx, sh("sleep 1000")); !errors.Is(err, cause) {
		t.Errorf("%v, want the cause", err)
	}
}

// TestLeftoverChildIsKilled: a process that has ended leaves a child that keeps its output
// open. The caller does not wait for that child for ever, and the child is killed.
func TestLeftoverChildIsKilled(t *testing.T) {
	t.Parallel()
	c := sh("sleep 1000 & echo $! > pid.new; mv pid.new pid")
	c.Dir = t.TempDir()
	begun := time.Now()
	cmd := newGroupCmd(t.Context(), c)
	if cmd.WaitDelay != pipeDelay {
		t.Errorf("it would wait for %v", cmd.WaitDelay)
	}
	cmd.WaitDelay = 5 * time.Second
	if _, err := run(t.Context(), c, cmd); err == nil {
		t.Error("no error, although the output may not be whole")
	}
	if took := time.Since(begun); took > cmd.WaitDelay+2*time.Second {
		t.Errorf("it took %v", took)
	}
	child := pidIn(t, filepath.Join(c.Dir, "pid"))
	waitFor(t, "the end of the child", func() bool { return isDead(child) })
}

// TestPipesStayOpenForAWhile: on a busy machine a process that is just being started keeps
// the pipes of another one open for some seconds. That is no failure.
func TestPipesStayOpenForAWhile(t *testing.T) {
	t.Parallel()
	res, err := Run(t.Context(), sh("sleep 3 & echo said"))
	if err != nil || string(res.Stdout) != "said\n" {
		t.Errorf("%q, %v", res.Stdout, err)
	}
}

func TestStart(t *testing.T) {
	p, err := Start(t.Context(), sh(`while read line; do echo "got $line"; done; echo bye >&2; exit 4`))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"a", "b"} {
		if _, err := p.Stdin.Write([]byte(word + "\n")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		if n, err := p.Stdout.Read(buf); err != nil || string(buf[:n]) != "got "+word+"\n" {
			t.Errorf("%q, %v", buf[:n], err)
		}
	}
	if err := p.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	err = p.Wait()
	if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != 4 || string(exit.Stderr) != "bye\n" {
		t.Errorf("Wait: %v", err)
	}
	if _, err := Start(t.Context(), Command{Path: "/nonexistent/program"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v, want os.ErrNotExist", err)
	}
}

func TestKillEndsTheGroup(t *testing.T) {
	c := sh("sleep 1000 & echo $! > pid.new; mv pid.new pid; wait")
	c.Dir = t.TempDir()
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	child := pidIn(t, filepath.Join(c.Dir, "pid"))
	p.Kill()
	if exit, ok := errors.AsType[*ExitError](p.Wait()); !ok || exit.Code != -1 {
		t.Errorf("Wait after Kill: %v", exit)
	}
	waitFor(t, "the end of the child", func() bool { return isDead(child) })
}

func TestLongLivedProcessKeepsTheEndOfItsErrors(t *testing.T) {
	p, err := Start(t.Context(), sh(`i=0; while [ $i -lt 3000 ]; do echo "line $i of many that nobody reads ................" >&2; i=$((i+1)); done; exit 1`))
	if err != nil {
		t.Fatal(err)
	}
	exit, ok := errors.AsType[*ExitError](p.Wait())
	if !ok || len(exit.Stderr) > maxTail || !bytes.Contains(exit.Stderr, []byte("line 2999 ")) {
		t.Errorf("kept %d bytes of %v", len(exit.Stderr), ok)
	}
}

func TestInteractiveReturnsTheStatus(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": -1} {
		if got, err := Interactive(t.Context(), sh(script)); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", script, got, err, want)
		}
	}
	if _, err := Interactive(t.Context(), Command{Path: "/nonexistent"}); err == nil {
		t.Error("no program: no error")
	}
}

func TestDetachedProcessHasASessionOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	c := sh("echo $$ > pid.new; mv pid.new pid; sleep 1000")
	c.Dir = dir
	if err := Detach(c); err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, filepath.Join(dir, "pid"))
	defer func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }()
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("it is in group %d, %v, want its own, %d", group, err, pid)
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Not even a zombie of it stays.
	waitFor(t, "the end of it", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	if err := Detach(Command{Path: "/nonexistent"}); err == nil {
		t.Error("no program: no error")
	}
}

// TestRunGroup: both outputs are in their order, and no process of the group is left,
// however the process ended.
func TestRunGroup(t *testing.T) {
	var out bytes.Buffer
	c := sh("echo one; echo two >&2; echo three; exit 5")
	c.Stdout = &out
	err := RunGroup(t.Context(), c)
	if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != 5 || out.String() != "one\ntwo\nthree\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	for name, script := range map[string]string{
		"keeps the output":   "sleep 1000 & echo $! > pid.new; mv pid.new pid",
		"has none of it":     "sleep 1000 > /dev/null 2>&1 & echo $! > pid.new; mv pid.new pid",
		"ignores signals":    "(trap '' TERM; echo x; sleep 1000; sleep 1000) & echo $! > pid.new; mv pid.new pid",
		"is a grandchild":    "sh -c 'sleep 1000 & echo $! > pid.new; mv pid.new pid'",
		"outlives a failure": "sleep 1000 & echo $! > pid.new; mv pid.new pid; false",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sh(script)
			c.Dir, c.Stdout = t.TempDir(), new(bytes.Buffer)
			begun := time.Now()
			err := RunGroup(t.Context(), c)
			if exit, failed := errors.AsType[*ExitError](err); (err != nil) != strings.HasSuffix(script, "false") || failed && exit.Code != 1 {
				t.Errorf("%v", err)
			}
			if child := pidIn(t, filepath.Join(c.Dir, "pid")); !isDead(child) {
				t.Error("the child is still there")
			}
			if took := time.Since(begun); took > killDelay {
				t.Errorf("it took %v", took)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := RunGroup(ctx, sh("true")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
