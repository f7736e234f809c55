//go:build linux

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/buildtest"
	"github.com/croft-sh/croft/internal/daemon/process"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/socket"
)

// binary is the program under test, in a directory that other users can enter.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildtest.Main(m, buildtest.Options{}, func(program string) { binary = program }))
}

// host is a user with a state directory.
type host struct {
	t     *testing.T
	place process.Place
	env   []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	home := t.TempDir()
	state := filepath.Join(home, "state")
	env := append(gittest.Environ(home), "CROFT_STATE_DIR="+state)
	return &host{t, process.Place{StateDir: state, Environ: env}, env}
}

// running is a daemon as a child of the test.
type running struct {
	cmd  *exec.Cmd
	out  *strings.Builder
	done chan struct{}
	mu   sync.Mutex
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// run starts a command and ends it with the test.
func (h *host) run(cmd *exec.Cmd) *running {
	h.t.Helper()
	r := &running{cmd: cmd, out: &strings.Builder{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = r, r
	if cmd.Env == nil {
		cmd.Env = h.env
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(r.done) }()
	h.t.Cleanup(func() { _ = cmd.Process.Kill(); <-r.done })
	return r
}

// serve starts a daemon and waits until it answers.
func (h *host) serve(args ...string) *running {
	h.t.Helper()
	r := h.run(exec.Command(binary, append([]string{"serve"}, args...)...))
	h.await(r)
	return r
}

func (h *host) await(r *running) process.Status {
	h.t.Helper()
	status, err := h.place.Await(h.t.Context(), 20*time.Second, func() bool { return false })
	if err != nil {
		h.t.Fatalf("%v\n%s", err, r.text())
	}
	return *status
}

// end waits until a daemon has ended, and returns its exit status.
func (h *host) end(r *running) int {
	h.t.Helper()
	select {
	case <-r.done:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(20 * time.Second):
		h.t.Fatalf("the daemon does not end:\n%s", r.text())
		return -1
	}
}

func TestKilledDaemonIsReplaced(t *testing.T) {
	h := newHost(t)
	for range 3 {
		r := h.serve()
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-r.done
		if _, err := h.place.Status(t.Context()); !errors.Is(err, croft.DaemonUnreachable) {
			t.Errorf("after kill -9: %v", err)
		}
	}
	r := h.serve()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := h.end(r); code != 0 {
		t.Errorf("exit status %d\n%s", code, r.text())
	}
	if _, err := os.Lstat(filepath.Join(h.place.StateDir, "run", "daemon.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestLockOfTheKilled: a daemon that is started while its predecessor, which was killed, has not
// quite ended waits for that instead of being refused.
func TestLockOfTheKilled(t *testing.T) {
	h := newHost(t)
	run := socket.RunDir(h.place.StateDir)
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := flock.Try(filepath.Join(run, "daemon.lock"))
	if err != nil {
		t.Fatal(err)
	}
	r := h.run(exec.Command(binary, "serve"))
	time.Sleep(500 * time.Millisecond)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	h.await(r)
}

// TestOpenState: a state directory that others could enter is closed to them.
func TestOpenState(t *testing.T) {
	h := newHost(t)
	h.end(h.run(exec.Command(binary, "repos")))
	if err := os.Chmod(h.place.StateDir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.serve()
	if info, err := os.Stat(h.place.StateDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestOneOfMany(t *testing.T) {
	h := newHost(t)
	all := make([]*running, 8)
	for i := range all {
		all[i] = h.run(exec.Command(binary, "serve", "--json"))
	}
	status := h.await(all[0])
	serving := 0
	for _, r := range all {
		if r.cmd.Process.Pid == status.PID {
			serving++
			continue
		}
		if code := h.end(r); code != croft.ExitConflict || !strings.Contains(r.text(), "DAEMON_RUNNING") {
			t.Errorf("exit status %d\n%s", code, r.text())
		}
	}
	if serving != 1 {
		t.Errorf("%d of the test's processes serve", serving)
	}
	if _, err := h.place.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStopAndSignals: a daemon that is stopped over its socket ends as by a signal.
func TestStopAndSignals(t *testing.T) {
	h := newHost(t)
	r := h.serve("--tcp=127.0.0.1:0")
	before, err := h.place.Stop(t.Context())
	if err != nil || before.PID != r.cmd.Process.Pid {
		t.Errorf("%+v, %v", before, err)
	}
	if code := h.end(r); code != 0 {
		t.Errorf("exit status %d\n%s", code, r.text())
	}
	if _, err := h.place.Stop(t.Context()); !errors.Is(err, croft.DaemonUnreachable) {
		t.Errorf("stopped again: %v", err)
	}
}

// TestSecondSignal: one signal waits for a request that lasts, a second one does not.
func TestSecondSignal(t *testing.T) {
	h := newHost(t)
	r := h.serve()
	conn, err := net.Dial("unix", socket.Path(h.env, h.place.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The handler waits for the rest of the body.
	fmt.Fprint(conn, "POST /v1/workspaces HTTP/1.1\r\nHost: croft\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	time.Sleep(500 * time.Millisecond) // the request is there
	for i, want := range []bool{false, true} {
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-r.done:
			if !want {
				t.Fatalf("the first signal did not wait:\n%s", r.text())
			}
		case <-time.After(time.Second + time.Duration(i)*10*time.Second):
			if want {
				t.Fatal("the second signal waits")
			}
		}
	}
}

// TestWaitsEndWithTheDaemon: a daemon that stops does not wait for calls that only wait, and
// their callers go on at the next one.
func TestWaitsEndWithTheDaemon(t *testing.T) {
	h := newHost(t)
	repo := gittest.New(t)
	mayEnd := filepath.Join(t.TempDir(), "end")
	repo.Write("croft.toml", fmt.Sprintf("[merge]\nchecks = [\"until test -e %s; do sleep 0.1; done\"]\n", mayEnd))
	repo.Commit("a check that lasts")
	r := h.serve()
	c, err := client.Open(t.Context(), client.Options{Socket: socket.Path(h.env, h.place.StateDir), Dir: repo.Dir, Patience: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	checks, err := c.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Approve(t.Context(), croft.ApproveRequest{Hash: checks.Hash}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), croft.CreateRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(filepath.Dir(repo.Dir), "app.croft", "a", "a.txt"), "a\n")
	m, err := c.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	waited, driven := make(chan error, 1), make(chan error, 1)
	go func() {
		done, err := c.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		if err == nil && done.Status != croft.MergeMerged {
			err = fmt.Errorf("%+v", done)
		}
		waited <- err
	}()
	driving, stopDriving := context.WithCancel(t.Context())
	go func() {
		_, err := c.DriveLanes(driving, croft.DriveRequest{Until: croft.UntilStopped})
		driven <- err
	}()
	time.Sleep(1500 * time.Millisecond) // both wait, longer than a call that fails at once
	begun := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := h.end(r); code != 0 || time.Since(begun) > 5*time.Second {
		t.Errorf("exit status %d after %v\n%s", code, time.Since(begun), r.text())
	}
	select {
	case err := <-waited:
		t.Fatalf("a call that waits ended with the daemon: %v", err)
	case err := <-driven:
		t.Fatalf("a call that waits ended with the daemon: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	h.serve()
	gittest.WriteFile(t, mayEnd, "")
	select {
	case err := <-waited:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the merge is not waited for at the next daemon")
	}
	stopDriving()
	<-driven
}

// TestOtherUser: another user finds no daemon, and stops none.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	h := newHost(t)
	r := h.serve()
	for _, arg := range []string{"--stop", "--status"} {
		cmd := exec.Command(binary, "serve", arg)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		other := h.run(cmd)
		if code := h.end(other); code == 0 {
			t.Errorf("%s: %s", arg, other.text())
		}
	}
	if status := h.await(r); status.PID != r.cmd.Process.Pid {
		t.Errorf("%+v", status)
	}
}

// TestStateOfAnotherUser: nothing is written to a state directory that is refused.
func TestStateOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	state, err := os.MkdirTemp(filepath.Dir(binary), "state-") //nolint:usetesting // other users cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chown(state, 65533, 65533), os.Chmod(state, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve"}, {"serve", "--detach"}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "CROFT_STATE_DIR=" + state}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the state directory is another user's") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
			t.Errorf("%v left %v in the directory, %v", args, left, err)
		}
	}
}

// activated starts a daemon with a socket as systemd does.
func (h *host) activated(f *os.File) *running {
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, binary)
	cmd.Env = append(h.env, "LISTEN_FDS=1", "LISTEN_FDNAMES=croft.socket")
	cmd.ExtraFiles = []*os.File{f}
	return h.run(cmd)
}

// TestActivation: a daemon with an inherited socket leaves it alone, and calls that come while
// none runs are answered by the next one.
func TestActivation(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.place.StateDir, "run", "daemon.sock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	made, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	call := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		fmt.Fprint(conn, "GET /readyz HTTP/1.1\r\nHost: croft\r\nConnection: close\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != "ready\n" {
			return fmt.Errorf("%q, %w", body, err)
		}
		return nil
	}
	const calls = 300
	errs := make(chan error, calls)
	go func() {
		for range calls {
			errs <- call()
			time.Sleep(5 * time.Millisecond)
		}
		close(errs)
	}()
	// The daemon is stopped and started again under these calls.
	for range 4 {
		r := h.activated(f)
		time.Sleep(200 * time.Millisecond)
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := h.end(r); code != 0 {
			t.Errorf("exit status %d\n%s", code, r.text())
		}
		time.Sleep(50 * time.Millisecond)
	}
	r := h.activated(f)
	failed := 0
	for err := range errs {
		if err != nil {
			failed++
			t.Errorf("a call failed: %v", err)
		}
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, made) || now.Mode() != made.Mode() {
		t.Errorf("the socket was touched: %v, %v", now, err)
	}
	if _, err := h.place.Stop(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, r.text())
	}
	t.Logf("%d calls over 4 restarts, %d failed", calls, failed)
}

// TestQueueIsDriven: a merge that was submitted is merged although nobody waits for it, also one
// from before the daemon began.
func TestQueueIsDriven(t *testing.T) {
	h := newHost(t)
	repo := gittest.New(t)
	svc, err := engine.Open(t.Context(), repo.Dir, &engine.Options{Environ: append(repo.Env, "CROFT_STATE_DIR="+h.place.StateDir)})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	submit := func(name string) croft.ID {
		t.Helper()
		ws, err := svc.Create(t.Context(), croft.CreateRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(ws.Path, name), []byte("work\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name})
		if err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	merged := func(id croft.ID) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			m, err := svc.Merge(t.Context(), croft.GetRequest{Ref: croft.ByID(id)})
			if err != nil {
				t.Fatal(err)
			}
			if m.Status == croft.MergeMerged {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("not merged: %+v", m)
			}
		}
	}
	first := submit("before")
	h.serve()
	merged(first)
	merged(submit("after"))
}

// TestUninstalled: a daemon whose state was taken away ends, and leaves nothing there.
func TestUninstalled(t *testing.T) {
	h := newHost(t)
	repo := gittest.New(t)
	token := h.run(exec.Command(binary, "token", "new", "x"))
	if code := h.end(token); code != 0 {
		t.Fatal(token.text())
	}
	r := h.serve()
	cmd := exec.Command(binary, "uninstall", "--all", "--yes")
	cmd.Dir = repo.Dir
	if gone := h.run(cmd); h.end(gone) != 0 {
		t.Fatal(gone.text())
	}
	if code := h.end(r); code != 0 {
		t.Errorf("exit status %d\n%s", code, r.text())
	}
	if names, err := os.ReadDir(h.place.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestDetached(t *testing.T) {
	h := newHost(t)
	cmd := h.run(exec.Command(binary, "serve", "--detach", "--tcp=127.0.0.1:0"))
	if code := h.end(cmd); code != 0 {
		t.Fatalf("exit status %d\n%s", code, cmd.text())
	}
	status := h.await(cmd)
	defer func() {
		if _, err := h.place.Stop(t.Context()); err != nil {
			t.Error(err)
			_ = syscall.Kill(status.PID, syscall.SIGKILL)
		}
	}()
	if len(status.TCP) != 1 || !strings.HasPrefix(status.TCP[0], "127.0.0.1:") {
		t.Errorf("%+v", status)
	}
	res, err := http.Get("http://" + status.TCP[0] + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", res.Status)
	}
	again := h.run(exec.Command(binary, "serve", "--detach"))
	if code := h.end(again); code != croft.ExitConflict {
		t.Errorf("exit status %d\n%s", code, again.text())
	}
}
