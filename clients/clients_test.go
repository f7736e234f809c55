//go:build unix

package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/buildtest"
)

// limit is how long the tests of one client may take.
const limit = 5 * time.Minute

// skip skips a test that lacks a program, unless CROFT_CLIENTS says that all tests have to run.
func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CROFT_CLIENTS") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// built is the directory of the binary. TestMain sets it before any test runs.
var built string

// binary builds croft once, for all tests that are not skipped.
var binary = sync.OnceValues(func() (string, error) { return buildtest.Croft(built, buildtest.Options{}) })

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "croft-clients-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	return m.Run()
}

// run runs the tests of a client. All that they start is ended with them.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CROFT_BIN="+path, "TMPDIR="+shortDir(t), "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	if _, isThere := os.LookupEnv("CROFT_CLIENTS"); isThere || testing.Verbose() {
		t.Logf("%s", out)
	}
}

// shortDir returns a directory with a short path: those of sockets are limited.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c") //nolint:usetesting // the path of t.TempDir is longer
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestPython runs the tests of the Python client and of its example.
func TestPython(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		skip(t, "there is no python3")
	}
	if exec.CommandContext(t.Context(), python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() != nil {
		skip(t, "python3 is older than 3.11")
	}
	run(t, "python", python, "-W", "error", "-m", "unittest", "-v")
}

// TestTypeScript compiles the TypeScript client, and runs its tests and those of its example.
// CROFT_TYPESCRIPT names another directory with the client and with the packages that npm ci
// has put there.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short")
	}
	dir := "typescript"
	if other := os.Getenv("CROFT_TYPESCRIPT"); other != "" {
		dir = other
	}
	node, err := exec.LookPath("node")
	if err != nil {
		skip(t, "there is no node")
	}
	compiler := filepath.Join("node_modules", "typescript", "bin", "tsc")
	if _, err := os.Stat(filepath.Join(dir, compiler)); err != nil {
		skip(t, "there is no compiler: run npm ci in clients/typescript")
	}
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, node, compiler, "--outDir", out)
	tests, err := filepath.Glob(filepath.Join(out, "test", "*.test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	run(t, dir, node, append([]string{"--test"}, tests...)...)
}
