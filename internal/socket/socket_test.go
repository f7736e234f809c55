//go:build linux || darwin

package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestMain lets the test binary be the process of another user, and one that a service manager
// starts.
func TestMain(m *testing.M) {
	if path := os.Getenv("SOCKET_DIAL"); path != "" {
		conn, err := net.Dial("unix", path)
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, err = conn.Read(make([]byte, 1))
		}
		fmt.Print(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// shortDir is a temporary directory whose path fits into the address of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "croft-sock-") //nolint:usetesting // t.TempDir() is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// greet accepts connections and writes a byte to each.
func greet(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("x"))
		_ = conn.Close()
	}
}

func TestPath(t *testing.T) {
	private, open := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Chmod(private, 0o700), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(private, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, runtime, state, want string
	}{
		{"usual", private, "/home/ada/.local/state/croft", private + "/croft/daemon.sock"},
		{"no runtime directory", "", "/home/ada/.local/state/croft", "/home/ada/.local/state/croft/run/daemon.sock"},
		{"relative", "run", "/s", "/s/run/daemon.sock"},
		{"others may enter it", open, "/s", "/s/run/daemon.sock"},
		{"a link", link, "/s", "/s/run/daemon.sock"},
		{"not there", private + "/none", "/s", "/s/run/daemon.sock"},
	} {
		got := Path([]string{"HOME=/home/ada", "XDG_RUNTIME_DIR=" + c.runtime}, c.state)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	env := []string{"HOME=/home/ada", "XDG_RUNTIME_DIR=" + private}
	a, b := Path(env, "/a"), Path(env, "/b")
	if a == b || a != Path(env, "/a/") || filepath.Base(a) == "daemon.sock" {
		t.Errorf("states share a socket: %s, %s", a, b)
	}
}

func TestListenIsPrivate(t *testing.T) {
	path := filepath.Join(shortDir(t), "run", "daemon.sock")
	old := syscall.Umask(0)
	l, err := Listen(t.Context(), path, nil)
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	go greet(l)
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := Listen(t.Context(), path, nil); !errors.Is(err, croft.DaemonRunning) {
		t.Errorf("a second one: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(shortDir(t), "daemon.sock")
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = left.Close()
	l, err := Listen(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), path, nil); !errors.Is(err, croft.FileIrregular) {
		t.Errorf("a file of the user's: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("a file of the user's is gone: %v", err)
	}
}

// TestClosedListenerLeavesAnothers: a socket that was put in the place is not removed.
func TestClosedListenerLeavesAnothers(t *testing.T) {
	path := filepath.Join(shortDir(t), "daemon.sock")
	l, err := Listen(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("another's file was removed: %v", err)
	}
}

func TestLongPath(t *testing.T) {
	path := filepath.Join(shortDir(t), strings.Repeat("d", 100), strings.Repeat("e", 100), "daemon.sock")
	l, err := Listen(t.Context(), path, nil)
	if runtime.GOOS != "linux" {
		if !errors.Is(err, croft.Unsupported) {
			t.Errorf("%v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	go greet(l)
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v", info, err)
	}
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_ = l.Close()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

// TestOtherUser: another user is kept out by the directory, and by the check of the peer if
// somebody opened the directory.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := shortDir(t)
	path := filepath.Join(dir, "run", "daemon.sock")
	refused := make(chan error, 1)
	l, err := Listen(t.Context(), path, func(err error) { refused <- err })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go greet(l)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	program := filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(program, self, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	dial := func() string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, program)
		cmd.Dir, cmd.Env = "/", []string{"SOCKET_DIAL=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := dial(); !strings.Contains(out, "permission denied") {
		t.Errorf("the directory lets others in: %s", out)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	if out := dial(); out != "EOF" && !strings.Contains(out, "reset") {
		t.Errorf("another user was greeted: %s", out)
	}
	select {
	case err := <-refused:
		if !errors.Is(err, croft.AccessDenied) || !strings.Contains(err.Error(), strconv.Itoa(65534)) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody was told")
	}
}

func TestConnectFindsTheRecordedSocket(t *testing.T) {
	state := shortDir(t)
	if _, err := Connect(t.Context(), nil, state); !errors.Is(err, croft.DaemonUnreachable) {
		t.Errorf("%v", err)
	}
	elsewhere := filepath.Join(shortDir(t), "s", "x.sock")
	l, err := Listen(t.Context(), elsewhere, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.MkdirAll(RunDir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteRecord(state, Record{PID: 1, Socket: elsewhere}); err != nil {
		t.Fatal(err)
	}
	conn, err := Connect(t.Context(), nil, state)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	RemoveRecord(state)
	if _, err := Connect(t.Context(), nil, state); !errors.Is(err, croft.DaemonUnreachable) {
		t.Errorf("%v", err)
	}
}

func TestListenTCPOnlyHere(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.2:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "localhost.evil.com:0"} {
		l, err := ListenTCP(addr)
		if err == nil {
			_ = l.Close()
		}
		if !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := ListenTCP(addr)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("%s: %v", addr, l.Addr())
		}
		_ = l.Close()
	}
}

func TestNothingInherited(t *testing.T) {
	for _, env := range [][]string{nil, {"LISTEN_FDS=1"}, {"LISTEN_PID=1", "LISTEN_FDS=1"}} {
		in, err := FromManager(env, os.Getpid(), nil)
		if err != nil || len(in.Unix)+len(in.TCP) > 0 {
			t.Errorf("%v: %v, %v", env, in, err)
		}
	}
	pid := "LISTEN_PID=" + strconv.Itoa(os.Getpid())
	for _, env := range [][]string{{pid}, {pid, "LISTEN_FDS=x"}, {pid, "LISTEN_FDS=-1"}, {pid, "LISTEN_FDS=1000"}} {
		if _, err := FromManager(env, os.Getpid(), nil); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%v: %v", env, err)
		}
	}
}
