//go:build linux

package attack

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// requireRoot skips a test that needs two users.
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

// TestStrangerReadsNothing: another user of the machine reads every file that the state and
// data directories allow it to read. That must be none, whatever the umask is.
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

// TestStrangersState: another user with a state of its own works on a repository that is
// listed as safe and that it can only read, or write as well. It must see no workspaces of
// the first user's state, and change nothing of them.
func TestStrangersState(t *testing.T) {
	requireRoot(t)
	for _, may := range []string{"read", "write"} {
		t.Run(may, func(t *testing.T) {
			h := newHost(t, worktree)
			h.openTop()
			a, gone := h.agent("a1"), h.agent("b1")
			a.write("f1.txt", "work\n")
			h.mustCroft("snapshot", "a1")
			gone.write("f1.txt", "gone\n")
			h.mustCroft("remove", "--force", "b1")
			if may == "write" {
				if r := h.run(h.top, "chmod", "-R", "a+rwX", h.path("t")); r.code != 0 {
					t.Fatal(r)
				}
			}
			env, copied := h.strangersCroft()
			before := manifest(t, h.path("t"))
			for _, command := range []string{"list", "trash", "history", "doctor --fix", "gc", "remove --force a1", "restore b1", "clean --yes", "gc"} {
				r := h.as(stranger, env, h.dir, copied, strings.Fields(command)...)
				if r.hung {
					t.Errorf("croft %s of another user hangs", command)
				}
				if words := strings.Fields(command); slices.Contains([]string{"list", "trash", "history"}, words[0]) && strings.Contains(r.stdout, a.name) {
					t.Errorf("croft %s of another user shows the first one's: %v", command, r)
				}
			}
			if diff := differences(before, manifest(t, h.path("t"))); len(diff) > 0 {
				t.Errorf("another user's croft changed %v", diff)
			}
			r := h.as(stranger, env, h.dir, copied, "new", "z")
			if made := r.code == 0; made != (may == "write") {
				t.Errorf("croft new of another user: %v", r)
			}
			h.mustCroft("restore", "b1")
			if text := read(t, filepath.Join(a.dir, "f1.txt")) + read(t, filepath.Join(gone.dir, "f1.txt")); text != "work\ngone\n" {
				t.Errorf("the first user's work is %q", text)
			}
		})
	}
}

// TestStrangersStateDirectory: another user has made the directory that a user's CROFT_STATE_DIR
// names, as anyone can in /tmp, and lets everybody write there. Who owns it can exchange all that is
// in it: what is approved, and the configuration of Croft's git. It is refused.
func TestStrangersStateDirectory(t *testing.T) {
	requireRoot(t)
	h := newHost(t, worktree)
	h.openTop()
	env, copied := h.strangersCroft()
	made, link := h.path("made"), h.path("link")
	must(t, os.Mkdir(made, 0o777))
	must(t, os.Chmod(made, 0o777))
	must(t, os.Chown(made, stranger+1, stranger+1))
	must(t, os.Symlink(made, link))
	for _, dir := range []string{made, link} {
		for _, command := range []string{"list", "new z", "token new x", "serve"} {
			r := h.as(stranger, append(slices.Clone(env), "CROFT_STATE_DIR="+dir), h.dir, copied, strings.Fields(command)...)
			if r.code == 0 || r.hung || !strings.Contains(r.stdout, "another user's") {
				t.Errorf("croft %s: %v", command, r)
			}
		}
	}
	for _, name := range []string{"croft.db", "git", "tokens.json", "run/daemon.sock"} {
		if _, err := os.Lstat(filepath.Join(made, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// strangersCroft is a croft that another user can run, and its environment.
func (h *host) strangersCroft() (env []string, file string) {
	h.t.Helper()
	own := h.path("stranger")
	put(h.t, filepath.Join(own, ".gitconfig"), "[safe]\n\tdirectory = *\n[user]\n\tname = S\n\temail = s@example.com\n")
	file = filepath.Join(own, "croft")
	for _, args := range [][]string{{"cp", binary, file}, {"chmod", "755", file}, {"chown", "-R", "54321:54321", own}} {
		if r := h.run(h.top, args[0], args[1:]...); r.code != 0 {
			h.t.Fatal(r)
		}
	}
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + own, "CROFT_STATE_DIR=" + own + "/s", "CROFT_DATA_DIR=" + own + "/d",
		"CROFT_GC_AUTO=false", "GIT_CONFIG_NOSYSTEM=1",
	}, file
}
