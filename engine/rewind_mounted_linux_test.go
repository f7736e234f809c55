package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestRewindOfMountPoint: a workspace, or a directory in it, is a mount point. The error
// names the mount point and how to go on, and does not mention links.
func TestRewindOfMountPoint(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	for name, tt := range map[string]struct{ dir, says string }{
		"Workspace": {"", "the workspace is itself a mount point"},
		"Directory": {"sub", "a directory of the workspace is a mount point"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			file := filepath.Join(w.Path, "sub", "f")
			gittest.WriteFile(t, file, "one\n")
			snap := snapshotOf(t, e, "a")
			gittest.WriteFile(t, file, "two\n")
			job := helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}})
			at := filepath.Join(w.Path, tt.dir)
			args := []string{"--mount"}
			if os.Getuid() != 0 {
				args = append(args, "--map-root-user")
			}
			args = append(args, "sh", "-c", `mount --bind "$0" "$0" && exec "$@"`, at)
			mounted := exec.CommandContext(t.Context(), "unshare", append(args, job.Args...)...)
			mounted.Env, mounted.Dir = job.Env, job.Dir
			out, err := run(t, mounted)
			if err == nil || !strings.HasPrefix(out, string(croft.NotWritable)+" ") || !strings.Contains(out, tt.says) || strings.Contains(out, "a link") {
				t.Errorf("%v, %q", err, out)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != "two\n" {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}

// TestRewindKeepsTheGroup: a workspace's directory hands its group and its access rules to
// new files. Files that a rewind makes have them, too.
func TestRewindKeepsTheGroup(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs another group")
	}
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "file"), "one\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "dir", "file"), "one\n")
	snap := snapshotOf(t, e, "a")
	for _, name := range []string{"file", "dir"} {
		if err := os.RemoveAll(filepath.Join(w.Path, name)); err != nil {
			t.Fatal(err)
		}
	}
	const group = 4321
	if err := os.Chown(w.Path, -1, group); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.Path, 0o755|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	const given, inherited = "system.posix_acl_default", "system.posix_acl_access"
	// The owner, the user 4321, the group, the mask, and others.
	rules := []byte("\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xe1\x10\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x04\x00\xff\xff\xff\xff")
	hasRules := syscall.Setxattr(w.Path, given, rules, 0) == nil // not every file system has them
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "dir", "dir/file"} {
		info, err := os.Lstat(filepath.Join(w.Path, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Gid; got != group {
			t.Errorf("%s has the group %d", name, got)
		}
		if _, err := syscall.Getxattr(filepath.Join(w.Path, name), inherited, make([]byte, 100)); hasRules && err != nil {
			t.Errorf("%s has no rules of its directory: %v", name, err)
		}
		if info.IsDir() && info.Mode()&os.ModeSetgid == 0 {
			t.Errorf("%s is %s", name, info.Mode())
		}
	}
}
