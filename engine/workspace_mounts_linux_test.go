package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// container is a root directory that has the programs of this machine and the mounts of a
// workspace, and nothing else of the machine.
const container = `
set -e
root=$(mktemp -d "$WORK/root.XXXXXX")
mount -t tmpfs tmpfs "$root"
mkdir "$root/tmp" "$root/dev"
for f in null urandom; do
	touch "$root/dev/$f"
	mount --bind /dev/$f "$root/dev/$f"
done
for d in /bin /lib /lib64 /usr /etc; do
	if [ -L $d ]; then cp -P $d "$root$d"; elif [ -e $d ]; then mkdir "$root$d"; mount --rbind $d "$root$d"; fi
done
put() {
	if [ -d "$1" ]; then mkdir -p "$root$2"; else [ -e "$root$2" ] || { echo "no $2" >&2; exit 9; }; fi
	mount --bind "$1" "$root$2"
	[ "$3" = rw ] || mount -o remount,bind,ro "$root$2" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$root$2"
}
%s
cd "$root"
exec chroot "$root" /bin/sh -c 'set -e; cd "$0"; . /tmp/inside' %s
`

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// inContainer runs a shell script in a container that has the mounts.
func inContainer(t *testing.T, m croft.Mounts, script string) (string, error) {
	t.Helper()
	var puts strings.Builder
	for _, mount := range m.Mounts {
		how := "rw"
		if mount.IsReadOnly {
			how = "ro"
		}
		fmt.Fprintf(&puts, "put %s %s %s\n", quoted(mount.Source), quoted(mount.Target), how)
	}
	work := t.TempDir()
	gittest.WriteFile(t, filepath.Join(work, "inside"), script)
	puts.WriteString(`cp "$WORK/inside" "$root/tmp/inside"` + "\n")
	args := []string{"--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(args, "sh", "-c", fmt.Sprintf(container, puts.String(), quoted(m.Workdir)))...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "WORK=" + work, "HOME=/tmp", "GIT_AUTHOR_NAME=in", "GIT_AUTHOR_EMAIL=in@example.invalid",
		"GIT_COMMITTER_NAME=in", "GIT_COMMITTER_EMAIL=in@example.invalid",
	}
	for k, v := range m.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func needNamespaces(t *testing.T) {
	t.Helper()
	args := []string{"--mount", "--map-root-user", "true"}
	if os.Getuid() == 0 {
		args = []string{"--mount", "true"}
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", args...).CombinedOutput(); err != nil {
		t.Skipf("this machine lets nobody make a container: %v: %s", err, out)
	}
}

// TestMounts uses git in a container, where the workspace has another path, and runs git
// worktree prune outside.
func TestMounts(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
			other := create(t, e, croft.CreateRequest{Name: "b"})
			m, err := e.Mounts(t.Context(), croft.MountsRequest{Workspace: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if m.Workdir != "/workspace" || m.Mounts[0] != (croft.Mount{Source: w.Path, Target: "/workspace"}) {
				t.Errorf("%+v", m)
			}
			ageRegistrations(t, r)
			script := `
test "$(git rev-parse --show-toplevel)" = /workspace
test -z "$(git status --porcelain)"
echo inside >inside.txt
git add inside.txt
git commit -qm inside
git worktree prune -v
git status
git log --oneline -1
`
			if mode == croft.ModeWorktree { // an isolated workspace has a git directory of its own
				script += `
if git config user.name evil 2>/dev/null; then echo "config can be written"; fi
for f in hooks/pre-commit config HEAD worktrees/x; do
	if (echo x >"$(git rev-parse --git-common-dir)/$f") 2>/dev/null; then echo "$f can be written"; fi
done
`
			}
			out, err := inContainer(t, *m, script)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(out, "can be written") {
				t.Error(out)
			}
			ageRegistrations(t, r)
			r.Git("worktree", "prune", "--expire=now")
			for _, at := range []string{w.Path, other.Path} {
				if got := r.GitIn(at, "rev-parse", "--show-toplevel"); got != at {
					t.Errorf("%s is at %s", at, got)
				}
				if got := r.GitIn(at, "status", "--porcelain"); got != "" {
					t.Errorf("status of %s: %s", at, got)
				}
			}
			if got := show(t, e, "a"); got.State != croft.Ready || got.Head == w.Head {
				t.Errorf("%+v", got)
			}
			if mode == croft.ModeWorktree && !strings.Contains(r.Git("worktree", "list"), w.Path) {
				t.Error(r.Git("worktree", "list"))
			}
			sub, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
			if err == nil {
				sub, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: sub.ID})
			}
			if err != nil || sub.Status != croft.MergeMerged {
				t.Fatalf("%+v, %v", sub, err)
			}
			if got := r.Git("show", "main:inside.txt"); got != "inside" {
				t.Errorf("merged %q", got)
			}
			// The files that were written for the container are deleted with the workspace.
			if _, err := e.GC(t.Context(), croft.GCRequest{}); err != nil {
				t.Fatal(err)
			}
			for _, mount := range m.Mounts {
				if mount.IsFile && exists(mount.Source) {
					t.Errorf("%s is left", mount.Source)
				}
			}
		})
	}
}

// ageRegistrations makes registrations so old that git rewrites the paths of their
// worktrees.
func ageRegistrations(t *testing.T, r *gittest.Repo) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(r.Dir, ".git", "worktrees", "*", "gitdir"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no registrations: %v", err)
	}
	for _, file := range list {
		old := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMountsHandOutNothingElse: an agent replaces the directories that a container gets by
// links.
func TestMountsHandOutNothingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"logs", "refs", "objects", "worktrees"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			create(t, e, croft.CreateRequest{Name: "a"})
			secret := t.TempDir()
			at := filepath.Join(r.Dir, ".git", name)
			if err := os.Rename(at, filepath.Join(secret, name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(secret, name), at); err != nil {
				t.Fatal(err)
			}
			if m, err := e.Mounts(t.Context(), croft.MountsRequest{Workspace: "a"}); err == nil {
				t.Errorf("%+v", m)
			}
		})
	}
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	for _, workdir := range []string{"/", "relative", "/a/../b"} {
		if _, err := e.Mounts(t.Context(), croft.MountsRequest{Workspace: "a", Workdir: workdir}); croft.AsError("", err).Code != croft.InvalidRequest {
			t.Errorf("%s: %v", workdir, err)
		}
	}
}

// TestSandboxMounts: what a sandbox gets to write for commits is the workspace's own, and no link.
func TestSandboxMounts(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a", Branch: "croft/a/work"})
	req := croft.MountsRequest{Workspace: "a", Place: croft.InSandbox}
	m, err := e.Mounts(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	common := filepath.Join(r.Dir, ".git")
	for _, mount := range m.Mounts {
		rel, err := filepath.Rel(common, mount.Source)
		if err != nil || !filepath.IsLocal(rel) || rel == "." || mount.Target != mount.Source {
			t.Errorf("%+v", mount)
		}
		for _, never := range []string{"refs", "refs/heads", "refs/heads/croft", "logs", "hooks", "worktrees", "config"} {
			if rel == filepath.FromSlash(never) {
				t.Errorf("%+v", mount)
			}
		}
	}
	for _, name := range []string{"refs/heads/croft/a", "logs/refs/heads/croft/a", "objects"} {
		at, aside := filepath.Join(common, filepath.FromSlash(name)), filepath.Join(t.TempDir(), "aside")
		if err := os.Rename(at, aside); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(aside, at); err != nil {
			t.Fatal(err)
		}
		if m, err := e.Mounts(t.Context(), req); err == nil && slices.ContainsFunc(m.Mounts, func(m croft.Mount) bool { return m.Source == at }) {
			t.Errorf("%s is a link: %+v", name, m)
		}
		if err := errors.Join(os.Remove(at), os.Rename(aside, at)); err != nil {
			t.Fatal(err)
		}
	}
}
