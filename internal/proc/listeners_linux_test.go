package proc_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/proc"
)

// TestListeners: a process that listens is found by its port, on either family; one that does not is not.
// It runs alone: a process that another test is just starting has this one's sockets until its program begins.
func TestListeners(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s is not looked at: %v", at, err)
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		its := client.LocalAddr().(*net.TCPAddr).Port
		found, ok := proc.Listeners([]int{port, its})
		if !ok || len(found[port]) != 1 || found[port][0].PID != os.Getpid() || found[port][0].Name == "" {
			t.Errorf("%s: %+v, %v", at, found, ok)
		}
		if len(found[its]) != 0 {
			t.Errorf("a connection counts as a server: %+v", found[its])
		}
		_, _ = client.Close(), l.Close()
		if found, _ := proc.Listeners([]int{port}); len(found) != 0 {
			t.Errorf("%s: %+v after its end", at, found)
		}
	}
}

// TestIsAtWorkIn: a process is a directory's by its own working directory, one above it, or a variable.
func TestIsAtWorkIn(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	if !proc.IsAtWorkIn(pid, here, "X=1") || !proc.IsAtWorkIn(pid, filepath.Dir(here), "X=1") {
		t.Error("its own working directory does not count")
	}
	if env := os.Environ(); len(env) > 0 && !proc.IsAtWorkIn(pid, t.TempDir(), env[0]) {
		t.Error("its variable does not count")
	}
	if proc.IsAtWorkIn(pid, t.TempDir(), "CROFT_NO_SUCH=1") || proc.IsAtWorkIn(pid, here+"x", "CROFT_NO_SUCH=1") {
		t.Error("it is at work in a directory where it is not")
	}
}
