//go:build linux

package attack

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const stranger = 54321

// as runs a program as another user.
func (h *host) as(uid uint32, env []string, dir, program string, args ...string) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), h.bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out head
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Setpgid: true}
	err := cmd.Run()
	r := result{stdout: out.String(), hung: ctx.Err() != nil, err: err}
	if cmd.ProcessState != nil {
		r.code = cmd.ProcessState.ExitCode()
	}
	return r
}

// openTop lets other users into the directories above the host's own.
func (h *host) openTop() {
	h.t.Helper()
	for at := h.top; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		must(h.t, os.Chmod(at, 0o755))
	}
}

// requireRoot leaves a test out that has to be two users.
func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
}

// TestStrangersRepository: another user of the machine owns a repository [R].
// Croft must refuse it as git does, and leave nothing in it, unless the person's
// own configuration names it safe.
func TestStrangersRepository(t *testing.T) {
	requireRoot(t)
	h := newHost(t, worktree)
	if r := h.run(h.top, "chown", "-R", "54321:54321", h.dir); r.code != 0 {
		t.Fatal(r)
	}
	before := manifest(t, h.dir)
	for _, command := range []string{"list", "new x", "config", "doctor", "doctor --fix", "gc", "history", "init", "session start s", "queue", "trash", "conflicts"} {
		r := h.croft(strings.Fields(command)...)
		if r.code == 0 && command != "config" && command != "gc" {
			t.Errorf("croft %s works in another user's repository: %v", command, r)
		}
		if diff := differences(before, manifest(t, h.dir)); len(diff) > 0 {
			t.Fatalf("croft %s wrote into another user's repository: %v", command, diff)
		}
	}
	h.git(h.top, "config", "--global", "safe.directory", h.dir)
	if r := h.croft("new", "x"); r.code != 0 {
		t.Errorf("croft new in a repository that safe.directory names: %v", r)
	}
}

// TestStrangerReadsNothing: another user of the machine reads whatever the state
// and data directories let it read. That must be nothing, whatever the umask is.
func TestStrangerReadsNothing(t *testing.T) {
	requireRoot(t)
	inModes(t, gitModes, func(t *testing.T, h *host) {
		h.openTop()
		a := h.agent("a1")
		a.write("f1.txt", "work\n")
		h.croft("snapshot", "a1")
		h.croft("session", "start", "s1")
		h.croft("merge", "--keep", "a1")
		h.croft("remove", "--force", "a1")
		for _, dir := range []string{h.path("state"), h.path("data")} {
			if _, err := os.Lstat(dir); err != nil {
				continue
			}
			r := h.as(stranger, h.env, "/", "sh", "-c", `find "$1" -mindepth 1 2>/dev/null; find "$1" -type f -readable 2>/dev/null; find "$1" -writable 2>/dev/null; true`, "sh", dir)
			if r.stdout != "" {
				t.Errorf("another user sees or writes in %s: %.600s", filepath.Base(dir), r.stdout)
			}
		}
	})
}

// TestStrangersState: another user with a state of its own looks at a repository
// that is named safe and that it can only read. It must get no workspaces of the
// first user's state, and change nothing.
func TestStrangersState(t *testing.T) {
	requireRoot(t)
	h := newHost(t, worktree)
	h.openTop()
	a := h.agent("a1")
	a.write("f1.txt", "work\n")
	own := h.path("stranger")
	put(t, filepath.Join(own, ".gitconfig"), "[safe]\n\tdirectory = *\n[user]\n\tname = S\n\temail = s@example.com\n")
	if r := h.run(h.top, "chown", "-R", "54321:54321", own); r.code != 0 {
		t.Fatal(r)
	}
	before, tree := manifest(t, h.dir), manifest(t, a.dir)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + own, "CROFT_STATE_DIR=" + own + "/s", "CROFT_DATA_DIR=" + own + "/d", "CROFT_GC_AUTO=false", "GIT_CONFIG_NOSYSTEM=1"}
	copied := filepath.Join(own, "croft")
	if r := h.run(h.top, "cp", binary, copied); r.code != 0 {
		t.Fatal(r)
	}
	must(t, os.Chmod(copied, 0o755))
	for _, command := range []string{"list", "trash", "gc", "doctor --fix", "remove --force a1", "clean --yes", "new z"} {
		r := h.as(stranger, env, h.dir, copied, strings.Fields(command)...)
		if r.hung {
			t.Errorf("croft %s of another user hangs", command)
		}
	}
	if diff := append(differences(before, manifest(t, h.dir)), differences(tree, manifest(t, a.dir))...); len(diff) > 0 {
		t.Errorf("another user's croft changed %v", diff)
	}
}
