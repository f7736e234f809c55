//go:build unix

package engine_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// nobody is the user that helpers run as where permissions matter: root may write
// everywhere.
const nobody = 65534

// unprivileged gives a repository, its home and everything beside it to an ordinary user.
// asUser makes a helper run as that user.
func unprivileged(t *testing.T, r *gittest.Repo) (asUser func(*exec.Cmd) *exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		return func(cmd *exec.Cmd) *exec.Cmd { return cmd }
	}
	r.Git("config", "--global", "safe.directory", "*") // the test itself reads it as root
	top := filepath.Dir(r.Home)
	for _, dir := range []string{top, filepath.Dir(top)} { // the test's own directories
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	give(t, top)
	program := filepath.Join(t.TempDir(), "helper")
	if err := os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755); err != nil {
		t.Fatal(err)
	}
	copyProgram(t, program)
	return func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Path, cmd.Args[0] = program, program
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return cmd
	}
}

func give(t *testing.T, top string) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copyProgram copies this test binary to a directory where other users may run it. A child
// process writes and closes the file, so that no other child can have it open for writing.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `cat >"$1" && chmod 755 "$1"`, "sh", to)
	cmd.Stdin = io.Reader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// readOnly removes the permission to write in a directory until the test ends.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
}

func creation(name, layout string) task {
	return task{Create: &croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: name, Layout: layout}}}}
}

func TestParentNotWritable(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	asUser := unprivileged(t, r)
	readOnly(t, filepath.Dir(r.Dir))

	out, err := run(t, asUser(helper(t, r, creation("a", "sibling"))))
	if err == nil || !strings.HasPrefix(out, string(croft.NotWritable)+" ") {
		t.Fatalf("sibling: %v, %q, want NOT_WRITABLE", err, out)
	}
	if got := r.Git("-c", "safe.directory=*", "for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("refs left behind: %s", got)
	}
	if out, err := run(t, asUser(helper(t, r, creation("a", "default")))); err != nil {
		t.Fatalf("default: %v, %s", err, out)
	}
	e := engineIn(t, r, 0)
	w := show(t, e, "a")
	if !strings.HasPrefix(w.Path, filepath.Join(r.Home, "data")+string(os.PathSeparator)) {
		t.Errorf("path %s, want one in the data directory", w.Path)
	}
	if len(w.Notes) != 1 || !strings.Contains(w.Notes[0], filepath.Dir(r.Dir)) {
		t.Errorf("notes %q do not say where it lies and why", w.Notes)
	}
	// A nested layout does not write to the parent.
	if out, err := run(t, asUser(helper(t, r, creation("b", "agents")))); err != nil {
		t.Errorf("agents: %v, %s", err, out)
	}
	// A workspace in another directory can be removed.
	if out, err := run(t, asUser(helper(t, r, task{Remove: &croft.RemoveRequest{Workspaces: []string{"a"}}}))); err != nil || exists(w.Path) {
		t.Errorf("remove: %v, %s", err, out)
	}
}

// TestRemovalFails: the directory cannot be moved. The workspace is kept, and no later call
// finishes the removal unasked.
func TestRemovalFails(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	asUser := unprivileged(t, r)
	if out, err := run(t, asUser(helper(t, r, creation("a", "default")))); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	base := filepath.Join(filepath.Dir(r.Dir), "app.croft")
	gittest.WriteFile(t, filepath.Join(base, ".trash", "keep"), "so that the place for the trash is there")
	if os.Getuid() == 0 {
		give(t, base)
	}
	readOnly(t, base)
	removal := task{Remove: &croft.RemoveRequest{Workspaces: []string{"a"}}}
	out, err := run(t, asUser(helper(t, r, removal)))
	if err == nil || !strings.HasPrefix(out, string(croft.CleanupFailed)+" ") {
		t.Fatalf("remove: %v, %q, want CLEANUP_FAILED", err, out)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, asUser(helper(t, r, creation("b", "default")))); err != nil {
		t.Fatalf("the next creation: %v, %s", err, out)
	}
	e := engineIn(t, r, 0)
	if w := show(t, e, "a"); w.State != croft.Ready || !exists(w.Path) || w.Branch != "croft/a" {
		t.Errorf("the kept workspace is now %+v", w)
	}
	if out, err := run(t, asUser(helper(t, r, removal))); err != nil {
		t.Errorf("remove, once it can: %v, %s", err, out)
	}
}

func TestStateDirectoryNotWritable(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	asUser := unprivileged(t, r)
	readOnly(t, r.Home)
	out, err := run(t, asUser(helper(t, r, creation("a", "default"))))
	if err == nil || !strings.HasPrefix(out, string(croft.ReadOnly)+" ") {
		t.Fatalf("%v, %q, want READ_ONLY", err, out)
	}
}
