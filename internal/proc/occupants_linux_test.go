package proc

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriters: a process that has its working directory elsewhere and a file in the
// directory open for writing counts as an occupant; one that only reads, or whose file was
// deleted, does not.
func TestWriters(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a")
	for _, name := range []string{"a/deep", "ab"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := func(open string) int {
		t.Helper()
		c := exec.Command("bash", "-c", open+"; echo; read x")
		c.Dir = dir
		stdin, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = stdin.Close()
			_ = c.Wait()
		})
		return c.Process.Pid
	}
	start("exec 3>a/gone; rm a/gone")
	start("exec 3>ab/file")
	start("touch a/read; exec 3<a/read")
	want := map[int]string{
		start("exec 3>a/deep/new"): filepath.Join(in, "deep/new"),
		start("exec 3>>a/read"):    filepath.Join(in, "read"),
		start("exec 3<>a/both"):    filepath.Join(in, "both"),
	}
	found, ok := Occupants(in)
	if !ok || len(found) != len(want) {
		t.Errorf("%+v, %v, want %v", found, ok, want)
	}
	for _, o := range found {
		if want[o.PID] != o.File || o.Name != "bash" {
			t.Errorf("%+v, want %v", o, want)
		}
	}
}

func BenchmarkOccupants(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		Occupants(dir)
	}
}

// TestOccupantsOf: processes are found by their directory or a file that they write, for
// several directories at once; the process that asks is not.
func TestOccupantsOf(t *testing.T) {
	root := t.TempDir()
	inside, writes, empty := filepath.Join(root, "inside"), filepath.Join(root, "writes"), filepath.Join(root, "empty")
	for _, dir := range []string{inside, writes, empty} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := func(dir, script string) {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = dir
		out, err := cmd.StdoutPipe()
		in, inErr := cmd.StdinPipe()
		if err = errors.Join(err, inErr, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	start(inside, "echo ready; read x")
	start(root, "exec 3>"+writes+"/file; echo ready; read x")
	t.Chdir(empty)
	found, known := OccupantsOf([]string{inside, writes, empty, filepath.Join(root, "none")})
	if !known || len(found) != 2 || len(found[inside]) != 1 || len(found[writes]) != 1 || found[writes][0].File != filepath.Join(writes, "file") {
		t.Errorf("found %+v, %v", found, known)
	}
}

// TestOccupantsOfPipeline: what stands in one pipeline with the process that asks is no occupant, also behind another one
// or in a subshell; other processes of the same shell are, and of the same program.
func TestOccupantsOfPipeline(t *testing.T) {
	const asks = "CROFT_TEST_ASKS"
	if dir := os.Getenv(asks); dir != "" {
		found, _ := OccupantsOf([]string{dir})
		names := ""
		for _, o := range found[dir] {
			names += o.Name + "\n"
		}
		if err := os.WriteFile(filepath.Join(dir, "found"), []byte(names), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	self := os.Args[0] + " -test.run=^TestOccupantsOfPipeline$"
	const agent = `sleep 60 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; `
	for _, c := range []struct{ script, want string }{
		{self + " | cat >/dev/null", ""},
		{self + " | cat | (cat >/dev/null; :)", ""},
		{"{ " + self + "; :; } | cat >/dev/null", ""},
		{"set -m; " + self + " | cat >/dev/null", ""},
		{agent + self + " | cat >/dev/null; kill $!", "sleep\n"},
		{agent + self + "; kill $!", "sleep\n"}, // both write to a pipe of this test
		{"set -m; " + agent + self + " | cat >/dev/null; kill $!", "sleep\n"},
	} {
		dir := t.TempDir()
		sh := exec.Command("bash", "-c", c.script)
		sh.Dir, sh.Env = dir, append(os.Environ(), asks+"="+dir)
		if said, err := sh.Output(); err != nil {
			t.Errorf("%s: %v, %s", c.script, err, said)
		}
		said, err := os.ReadFile(filepath.Join(dir, "found"))
		if err != nil || string(said) != c.want {
			t.Errorf("%s: found %q, %v, want %q", c.script, said, err, c.want)
		}
	}
}

// TestThreads: a process one of whose threads has a working directory of its own in a directory counts as an occupant of that.
func TestThreads(t *testing.T) {
	dir := t.TempDir()
	ready, end := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		ready <- errors.Join(unix.Unshare(unix.CLONE_FS), unix.Chdir(dir))
		<-end
	}()
	defer close(end)
	if err := <-ready; err != nil {
		t.Skip(err)
	}
	found, known := Occupants(dir)
	if !known || len(found) != 1 || found[0].PID != os.Getpid() {
		t.Errorf("found %+v, %v", found, known)
	}
}

// TestFirstThreadEnded: so does a process whose first thread has ended.
func TestFirstThreadEnded(t *testing.T) {
	const script = `import ctypes, sys, threading, time
threading.Thread(target=lambda: (time.sleep(0.2), print("ready", flush=True), sys.stdin.read())).start()
ctypes.CDLL(None).syscall(60, 0)`
	if runtime.GOARCH != "amd64" {
		t.Skip("the number of a call")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(python, "-c", script)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	in, inErr := cmd.StdinPipe()
	if err = errors.Join(err, inErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	found, known := Occupants(dir)
	several, _ := OccupantsOf([]string{dir})
	if !known || len(found) != 1 || len(several[dir]) != 1 || found[0].PID != cmd.Process.Pid {
		t.Errorf("found %+v and %+v, %v", found, several, known)
	}
}
