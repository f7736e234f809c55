package client_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
)

// TestAnotherUserListens: a client sends nothing to a socket at which another user listens.
func TestAnotherUserListens(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // the other user makes the socket
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	var asked atomic.Int32
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) })}
	l := listenAs(t, 65534, path)
	if l == nil {
		return
	}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	c, err := client.Open(t.Context(), client.Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Repos(t.Context(), croft.ReposRequest{}); !errors.Is(err, croft.AccessDenied) {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.About(t.Context()); !errors.Is(err, croft.AccessDenied) {
		t.Errorf("about: %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// listenAs listens at a socket as another user. The system remembers the user of the thread.
func listenAs(t *testing.T, uid uintptr, path string) net.Listener {
	t.Helper()
	made := make(chan net.Listener, 1)
	go func() {
		defer close(made)
		runtime.LockOSThread() // it is not unlocked: the thread ends with its user
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
			t.Error(errno)
			return
		}
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Error(err)
			return
		}
		made <- l
	}()
	return <-made
}
