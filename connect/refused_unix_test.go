//go:build unix

package connect_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/croft-sh/croft/connect"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestOpenRefused: where the socket is refused, Croft goes on without the daemon and says
// so, once.
func TestOpenRefused(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	repo := gittest.New(t)
	path := serve(t, repo.Env, nil)
	if err := os.Chmod(filepath.Dir(path), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Dir(path), 0o700) }()
	svc := open(t, repo.Dir, connect.Options{Environ: repo.Env})
	told := svc.(interface{ Notices() []string })
	if list := told.Notices(); isDaemon(svc) || len(list) != 1 || !strings.Contains(list[0], "the daemon is not used") || len(told.Notices()) != 0 {
		t.Errorf("%q", list)
	}
}

// asNobody runs a test again as a user whom the system may refuse something.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "croft") //nolint:usetesting // another user enters it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(dir, "again")
	if err := os.WriteFile(again, binary, 0o755); err != nil { //nolint:gosec // the other user runs it
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), again, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
}
