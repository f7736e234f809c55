//go:build unix

package engine_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// manifest describes everything below a directory: kinds, modes, owners, sizes, times and
// contents.
func manifest(t *testing.T, top string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&b, "%s %v %d %d %d %d", path, info.Mode(), st.Uid, st.Ino, info.Size(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantSame(t *testing.T, what, before, after string) {
	t.Helper()
	if before == after {
		return
	}
	was := map[string]bool{}
	for line := range strings.Lines(before) {
		was[line] = true
	}
	for line := range strings.Lines(after) {
		if !was[line] {
			t.Errorf("%s: new or changed: %.300s", what, line)
		}
		delete(was, line)
	}
	for line := range was {
		t.Errorf("%s: gone or changed: %.300s", what, line)
	}
}

// calls has one call of every kind that takes a repository, for a repository of another
// user.
func calls(e *engine.Engine, t *testing.T) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"new": func() error {
			_, err := e.CreateAll(ctx, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "a"}}})
			return err
		},
		"clean":  func() error { _, err := e.Clean(ctx, croft.CleanRequest{}); return err },
		"gc":     func() error { _, err := e.GC(ctx, croft.GCRequest{}); return err },
		"fix":    func() error { _, err := e.Doctor(ctx, croft.DoctorRequest{Fix: croft.FixAll}); return err },
		"list":   func() error { _, err := e.Workspaces(ctx, croft.WorkspacesRequest{}); return err },
		"doctor": func() error { _, err := e.Doctor(ctx, croft.DoctorRequest{}); return err },
		"repo":   func() error { _, err := e.Repo(ctx, croft.RepoRequest{}); return err },
		"check":  func() error { _, err := e.CheckRepo(ctx, croft.RepoRequest{}); return err },
	}
}

// TestRepositoryOfAnotherUser: Croft refuses a repository of another user, with git's own
// hint, and neither reads nor writes there until the user lists it in safe.directory.
func TestRepositoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a repository to somebody else")
	}
	r := gittest.New(t)
	r.Write("croft.toml", "[nonsense\n") // reading it would be another error
	r.Commit("nonsense")
	give(t, r.Dir)
	before := manifest(t, filepath.Dir(r.Dir))
	e := engineIn(t, r, 0)
	for name, call := range calls(e, t) {
		err := call()
		wantCode(t, err, croft.NotARepo)
		if known := croft.AsError(name, err); known.Hint != "git config --global --add safe.directory "+r.Dir {
			t.Errorf("%s: hint %q", name, known.Hint)
		}
	}
	wantSame(t, "a repository of another user", before, manifest(t, filepath.Dir(r.Dir)))

	r.GitIn(r.Home, "config", "--global", "safe.directory", r.Dir)
	r.Write("croft.toml", "")
	if w := create(t, e, croft.CreateRequest{Name: "a"}); w.State != croft.Ready {
		t.Errorf("listed in safe.directory: %+v", w)
	}
}

// TestReadingWritesNothing: calls that only read leave a repository which Croft does not
// know as it was, contents and times, and need no permission to write there.
func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	for _, protected := range []bool{false, true} {
		r := gittest.New(t)
		r.Git("branch", "other")
		r.Write("src/main.txt", "changed\n")
		r.Write("untracked.txt", "new\n")
		asUser := unprivileged(t, r)
		if protected {
			protect(t, r.Dir)
		}
		before := manifest(t, filepath.Dir(r.Dir))
		out, err := run(t, asUser(helper(t, r, task{Read: true})))
		if err != nil {
			t.Errorf("protected %v: %v: %s", protected, err, out)
		}
		if got := strings.Count(out, "read "); got < 18 {
			t.Errorf("protected %v: %d calls: %s", protected, got, out)
		}
		wantSame(t, fmt.Sprintf("protected %v", protected), before, manifest(t, filepath.Dir(r.Dir)))
	}
}

// protect removes the permission to write from everything below a directory, until the test
// ends.
func protect(t *testing.T, top string) {
	t.Helper()
	set := func(bits fs.FileMode) error {
		return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeSymlink != 0 {
				return err
			}
			return os.Chmod(path, bits)
		})
	}
	if err := set(0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set(0o755) })
}
