//go:build unix

package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// said are the commands that croft hands to the person who reads it.
var said = regexp.MustCompile(`(?m)^(?:\s*(?:hint|next|then): |next +)(.+)$`)

// paste runs what croft printed as a person pastes it, in every shell that there is. No program but the shell's
// own is found, so that nothing happens but what a shell does with the words.
func (h *host) paste(when string, r result) {
	h.t.Helper()
	hints := said.FindAllStringSubmatch(r.stdout+"\n"+r.stderr, -1)
	if len(hints) == 0 {
		h.t.Errorf("%s: no hint, so nothing is attacked: %v", when, r)
	}
	for _, hint := range hints {
		for _, shell := range []string{"sh", "dash", "bash", "zsh", "fish"} {
			program, err := exec.LookPath(shell)
			if err != nil {
				continue
			}
			h.runWith("", []string{"PATH=" + h.path("nothing")}, h.path("can"), program, "-c", hint[1])
			if names := h.sang(); len(names) > 0 {
				h.t.Errorf("%s: pasted into %s, the hint runs the attacker's words: %s", when, shell, hint[1])
			}
		}
	}
}

// TestPastedHints: an agent chooses names of branches, of files, of submodules and of workspaces, and a person pastes the command
// that croft prints. In no shell may a word of it run.
func TestPastedHints(t *testing.T) {
	const evil = "$(echo>pwn)"
	t.Run("a ref beside the branch of a removed workspace", func(t *testing.T) {
		h := newHost(t, worktree)
		h.agent("ok")
		h.mustCroft("remove", "ok")
		_ = h.run(h.dir, "git", "update-ref", "-d", "refs/heads/croft/ok")
		h.git(h.dir, "update-ref", "refs/heads/croft/ok/"+evil, "HEAD")
		h.paste("restore", h.croft("restore", "ok"))
		h.paste("new", h.croft("new", "ok"))
	})
	t.Run("the target made a symbolic ref", func(t *testing.T) {
		h := newHost(t, worktree)
		for _, name := range []string{"s1", "s2"} {
			a := h.agent(name)
			a.write(name, "x\n")
			a.commit(name)
		}
		h.mustCroft("merge", "s1")
		h.git(h.dir, "update-ref", "refs/heads/x;echo>pwn;#", h.main())
		put(t, filepath.Join(h.dir, ".git", "refs", "heads", "main"), "ref: refs/heads/x;echo>pwn;#\n")
		h.paste("merge", h.croft("merge", "s2"))
	})
	t.Run("the path of a submodule", func(t *testing.T) {
		h := newHost(t, worktree)
		sub := h.path("sub")
		must(t, os.MkdirAll(sub, 0o755))
		h.git(sub, "init", "--quiet")
		h.git(sub, "commit", "--quiet", "--allow-empty", "--message", "s")
		a := h.agent("sm")
		a.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "n", sub, evil+" #")
		h.git(filepath.Join(a.dir, evil+" #"), "commit", "--quiet", "--allow-empty", "--message", "local")
		a.commit("sub")
		h.paste("merge", h.croft("merge", "sm"))
	})
	t.Run("paths in conflict", func(t *testing.T) {
		h := newHost(t, worktree)
		names := []string{evil, `\'; echo>pwn; #`, `it's;echo>pwn`, "*"}
		for _, name := range names {
			put(t, filepath.Join(h.dir, name), "a\n")
		}
		h.commit("odd names")
		a := h.agent("fix")
		for _, name := range names {
			a.write(name, "b\n")
			put(t, filepath.Join(h.dir, name), "c\n")
		}
		a.commit("b")
		h.commit("c")
		h.croft("merge", "--resolve", "fix")
		for _, name := range names {
			a.write(name, "resolved\n")
		}
		r := h.croft("merge", "fix")
		h.paste("merge", r)
		if !strings.Contains(r.stderr, "--literal-pathspecs add") {
			t.Errorf("a file called * is added with all others: %v", r)
		}
	})
	t.Run("a workspace's own name", func(t *testing.T) {
		h := newHost(t, worktree)
		name := "z" + evil
		a := h.agent(name)
		h.mustCroft("lock", name, "--reason", "x")
		h.paste("remove, locked", h.croft("remove", name))
		h.mustCroft("unlock", name)
		h.paste("logs", h.croft("logs", name))
		h.paste("new", h.croft("new", name))
		a.write("f1.txt", "1\n")
		a.commit("1")
		put(t, filepath.Join(h.dir, "f1.txt"), "2\n")
		h.commit("2")
		h.paste("merge, in conflict", h.croft("merge", name))
		h.paste("show", h.croft("show", name))
		a.write("new", "x\n")
		h.paste("remove, with work", h.croft("remove", name))
		h.paste("queue accept, inside", h.croftIn(a.dir, "queue", "accept", "x"+evil))
		a.git("checkout", "--quiet", "--detach")
		h.paste("save", h.croft("save", name))
		h.mustCroft("remove", "--force", name)
		h.paste("merge, removed", h.croft("merge", name))
	})
}
