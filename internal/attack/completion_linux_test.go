package attack

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestCompletionRunsNothing: [C] names of branches and of workspaces have words in them that a shell would run. A person presses Tab where
// they are offered, and once more: bash puts what two have in common into the line as it is, and completions evaluate the line.
func TestCompletionRunsNothing(t *testing.T) {
	h := newHost(t, worktree)
	h.agent("fix")
	for _, n := range []string{"1", "2"} {
		h.git(h.dir, "update-ref", "refs/heads/release$(echo>pwn-branch)"+n, "HEAD")
		h.mustCroft("new", "wip`echo>pwn-name`"+n)
	}
	h.git(h.dir, "update-ref", "refs/heads/stable(echo>pwn-fish)", "HEAD")
	link(t, binary, h.path("bin", "croft"))
	h.set("PATH", h.path("bin")+":"+os.Getenv("PATH"))
	const ready = "READY> "
	for shell, start := range map[string]struct {
		init, file string
		args       []string
	}{
		"bash": {"PS1='READY''> '\neval \"$(croft shell-init bash)\"\n", "bashrc", []string{"--noprofile", "--rcfile", h.path("home", "bashrc"), "-i"}},
		"zsh":  {"PS1='READY''> '\nautoload -Uz compinit; compinit -u\neval \"$(croft shell-init zsh)\"\n", ".zshrc", []string{"-d", "-i"}},
		"fish": {"function fish_prompt; echo -n 'READY''> '; end\ncroft shell-init fish | source\n", ".config/fish/config.fish", []string{"-i"}},
	} {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("there is none")
			}
			put(t, h.path("home", start.file), start.init)
			const killLine = "\x15"
			out := h.typeInto(program, start.args, ready,
				"croft merge fix --into r\t\t"+killLine, "croft merge fix --into s\t \t"+killLine, "croft show w\t\t"+killLine,
				"croft diff fix release$(echo>pwn-typed) --into m\t"+killLine, "croft diff fix (echo>pwn-typed) --into m\t"+killLine, // nothing runs before Enter
				"croft show fi\t && echo >completed\n", "exit\n")
			made, err := filepath.Glob(filepath.Join(h.dir, "pwn*"))
			must(t, err)
			for _, file := range made {
				t.Errorf("Tab in %s runs the attacker's words: %s\n%q", shell, filepath.Base(file), out)
				must(t, os.Remove(file))
			}
			if err := os.Remove(filepath.Join(h.dir, "completed")); err != nil {
				t.Errorf("%s completes nothing: %v\n%q", shell, err, out)
			}
		})
	}
}

// typeInto starts a program on a terminal, types texts when it has shown that it is ready, and returns what the terminal received until the
// program has ended.
func (h *host) typeInto(program string, args []string, ready string, texts ...string) []byte {
	h.t.Helper()
	control, terminal := openTerminal(h.t)
	defer control.Close()
	ctx, cancel := context.WithTimeout(context.Background(), h.bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = h.dir, append(slices.Clip(h.env), "TERM=dumb", "XDG_CONFIG_HOME="+h.path("home", ".config"), "HISTFILE=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(h.t, cmd.Start())
	must(h.t, terminal.Close())
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1<<16)
		isReady := false
		for {
			n, err := control.Read(buffer)
			out.Write(buffer[:n])
			if !isReady && bytes.Contains(out.Bytes(), []byte(ready)) {
				isReady = true
				_, _ = control.WriteString(strings.Join(texts, ""))
			}
			if err != nil {
				return
			}
		}
	}()
	_ = cmd.Wait()
	<-done
	if ctx.Err() != nil {
		h.t.Errorf("%s does not end: %q", program, out.Bytes())
	}
	return out.Bytes()
}
