//go:build unix

package engine_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// hostChanges names one change of every kind, each in a directory of its own.
var hostChanges = []string{"added", "changed", "deleted", "emptied/deep", "mode", "link", "tofile", "todir", "grown"}

// changedHost returns a repository whose workspace w has a change of every kind, and whose
// user has further files in the checkout.
func changedHost(t *testing.T) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	for _, dir := range hostChanges {
		r.Write(dir+"/stays", "stays\n")
	}
	_ = os.Remove(filepath.Join(r.Dir, "emptied/deep/stays"))
	for _, name := range []string{"changed/f", "deleted/f", "emptied/deep/f", "mode/f", "tofile/d/f", "todir/d", "grown/f"} {
		r.Write(name, "old "+name+"\n")
	}
	if err := os.Symlink("stays", filepath.Join(r.Dir, "link/l")); err != nil {
		t.Fatal(err)
	}
	r.Commit("old")
	brief(t, r, func(e *engine.Engine) {
		w := create(t, e, croft.CreateRequest{Name: "w"})
		at := func(name string) string { return filepath.Join(w.Path, name) }
		for _, name := range []string{"deleted/f", "emptied/deep/f", "tofile/d/f", "tofile/d", "todir/d", "link/l"} {
			if err := os.Remove(at(name)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"added/new/f", "changed/f", "tofile/d", "todir/d/f"} {
			gittest.WriteFile(t, at(name), "new "+name+"\n")
		}
		gittest.WriteFile(t, at("grown/f"), strings.Repeat("grown\n", 200_000))
		if err := os.Chmod(at("mode/f"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("elsewhere", at("link/l")); err != nil {
			t.Fatal(err)
		}
	})
	r.Write("mine.txt", "the user's\n")
	r.Write("staged.txt", "the user's\n")
	r.Git("add", "staged.txt")
	return r
}

// bytesOf describes every file in a checkout, except for its git directory.
func bytesOf(t *testing.T, top string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			if d != nil && d.IsDir() && err == nil {
				return filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, path)
		m[rel] = info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			m[rel] += fmt.Sprintf(" %x %v", sha256.Sum256(b), info.ModTime().UnixNano())
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			m[rel] += " " + target
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hostState is everything that a failed merge must leave unchanged.
type hostState struct {
	Files             map[string]string
	Main, Index, User string
}

func hostStateOf(t *testing.T, r *gittest.Repo) hostState {
	t.Helper()
	return hostState{
		Files: bytesOf(t, r.Dir), Main: r.Git("rev-parse", "main"), Index: r.Git("ls-files", "--stage"),
		User: r.Git("--no-optional-locks", "status", "--porcelain"),
	}
}

// wantUnwritten merges w where a file cannot be written. It fails unless the checkout is
// unchanged and the merge has the code.
func wantUnwritten(t *testing.T, r *gittest.Repo, as func(*exec.Cmd) *exec.Cmd, code croft.Code) {
	t.Helper()
	before := hostStateOf(t, r)
	out, err := run(t, as(helper(t, r, task{Merge: []croft.MergeRequest{{Workspace: "w"}}})))
	if want := fmt.Sprintf("w pending %s", code); err != nil || !strings.Contains(out, want) {
		t.Errorf("the merge ended as %q, %v, want %q", out, err, want)
	}
	if diff := cmp.Diff(before, hostStateOf(t, r)); diff != "" {
		t.Errorf("the user's checkout is not as it was:\n%s", diff)
	}
	wantNoLocks(t, r)
}

// wantWritten merges w after the obstacle is gone.
func wantWritten(t *testing.T, r *gittest.Repo, as func(*exec.Cmd) *exec.Cmd) {
	t.Helper()
	out, err := run(t, as(helper(t, r, task{Merge: []croft.MergeRequest{{Workspace: "w"}}})))
	if err != nil || !strings.Contains(out, "w merged") {
		t.Errorf("the merge ended as %q, %v", out, err)
	}
	if got := r.Git("status", "--porcelain"); got != "A  staged.txt\n?? mine.txt" {
		t.Errorf("the checkout shows %q", got)
	}
}

func asRoot(cmd *exec.Cmd) *exec.Cmd { return cmd }

// TestHostWithoutPermission: any one directory of the user's checkout is not writable.
func TestHostWithoutPermission(t *testing.T) {
	for _, dir := range hostChanges {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			r := changedHost(t)
			as := unprivileged(t, r)
			sub := filepath.Join(r.Dir, filepath.FromSlash(dir))
			if err := os.Chmod(sub, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(sub, 0o755) })
			wantUnwritten(t, r, as, croft.NotWritable)
			if err := os.Chmod(sub, 0o755); err != nil {
				t.Fatal(err)
			}
			wantWritten(t, r, as)
		})
	}
}
