//go:build linux

// Package sandboxtest runs commands in sandboxes like those of agents, by bubblewrap: everything
// can be read, and little but the workspace can be written. Croft has to answer in there.
package sandboxtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/proc"
)

// Kind is the sandbox of one agent.
type Kind string

// The sandboxes. Both have no network.
const (
	// Codex has the policy of Codex with writing in the workspace allowed: the workspace can be
	// written, but not its .git, nor the git directory that a .git file names. No socket can be
	// connected.
	Codex Kind = "codex"
	// Claude has the policy of Claude Code for shell commands: the workspace can be written and
	// the repository too, except its hooks and its configuration. There are no Unix sockets.
	Claude Kind = "claude"
)

// Kinds are the sandboxes that are made here, like those of agents.
func Kinds() []Kind { return []Kind{Codex, Claude} }

// Sandbox runs commands in a directory that can be written.
type Sandbox struct {
	Kind Kind
	Dir  string // the workspace
	Temp string // a directory for temporary files, which can be written too
	Env  []string
	// Hidden are directories that are empty inside.
	Hidden []string
	// Programs is the directory of the agents' own programs, for their own sandboxes.
	Programs string
}

// Require skips a test where the system permits no sandboxes, or where bubblewrap is missing;
// CI installs it, so there that is a failure.
func Require(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if slices.ContainsFunc(proc.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "CROFT_CI=") }) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-user", "--unshare-pid", "--unshare-net", "--proc", "/proc", "true").CombinedOutput(); err != nil {
		t.Skipf("this system permits no sandboxes: %v\n%s", err, out)
	}
}

// memory is a directory below /dev, which the sandboxes have anew.
const memory = "/dev/shm/"

// Command returns a command that runs in the sandbox.
func (s Sandbox) Command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if slices.Contains(RealKinds(), s.Kind) {
		return s.realCommand(ctx, t, args)
	}
	flags := []string{"--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"}
	if strings.HasPrefix(s.Dir, memory) {
		flags = append(flags, "--ro-bind", memory, memory) // tests lie in memory
	}
	flags = append(flags, "--bind", s.Temp, s.Temp, "--bind", s.Dir, s.Dir)
	gitDir, common := gitDirs(s.Dir)
	switch s.Kind {
	case Codex:
		for _, path := range []string{gitDir, filepath.Join(s.Dir, ".git")} {
			flags = append(flags, "--ro-bind", path, path)
		}
		flags = append(flags, "--unshare-user", "--unshare-ipc", "--cap-drop", "ALL")
	case Claude:
		flags = append(flags, "--bind", common, common)
		for _, path := range []string{filepath.Join(common, "hooks"), filepath.Join(common, "config")} {
			if _, err := os.Lstat(path); err == nil {
				flags = append(flags, "--ro-bind", path, path)
			}
		}
	}
	for _, dir := range s.Hidden {
		if flags = append(flags, "--perms", "0500", "--tmpfs", dir); s.Kind == Codex { // Claude Code's can be written, to no effect
			flags = append(flags, "--remount-ro", dir)
		}
	}
	filter, err := writeFilter(t, s.Kind)
	if err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "--unshare-pid", "--unshare-net", "--proc", "/proc", "--chdir", s.Dir, "--setenv", "TMPDIR", s.Temp, "--seccomp", "3", "--")
	cmd := exec.CommandContext(ctx, "bwrap", slices.Concat(flags, args)...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = "/", s.Env, []*os.File{filter}
	return cmd
}

// gitDirs returns the git directory of a checkout, and that of its repository.
func gitDirs(dir string) (gitDir, common string) {
	own := filepath.Join(dir, ".git")
	text, err := os.ReadFile(own)
	if err != nil {
		return own, own
	}
	gitDir = strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir: "))
	return gitDir, filepath.Dir(filepath.Dir(gitDir))
}

// The numbers of system calls on x86-64, and those of a filter: see seccomp(2) and bpf(2).
const (
	callSocket     = 41
	callSocketPair = 53
	familyUnix     = 1

	load    = 0x20
	jumpIf  = 0x15
	answer  = 0x06
	allowed = 0x7fff0000
	refused = 0x00050000 | 1 // EPERM
)

// codexRefuses are connect, accept, accept4, bind, listen, getpeername, getsockname, shutdown,
// sendto, sendmmsg, recvmmsg, setsockopt, getsockopt, ptrace, process_vm_readv and _writev, and
// io_uring.
var codexRefuses = []uint32{42, 43, 288, 49, 50, 52, 51, 48, 44, 307, 299, 54, 55, 101, 310, 311, 425, 426, 427}

// writeFilter writes the filter of system calls of a sandbox to a file, for bubblewrap.
func writeFilter(t *testing.T, kind Kind) (*os.File, error) {
	var program bytes.Buffer
	add := func(code uint16, then, otherwise uint8, value uint32) {
		_ = binary.Write(&program, binary.NativeEndian, struct {
			Code            uint16
			Then, Otherwise uint8
			Value           uint32
		}{code, then, otherwise, value}) // a buffer takes everything
	}
	add(load, 0, 0, 0) // the number of the call
	switch kind {
	case Codex:
		for _, call := range codexRefuses {
			add(jumpIf, 0, 1, call)
			add(answer, 0, 0, refused)
		}
		for _, call := range []uint32{callSocket, callSocketPair} { // only Unix sockets
			add(jumpIf, 0, 4, call)
			add(load, 0, 0, 16) // its first argument
			add(jumpIf, 1, 0, familyUnix)
			add(answer, 0, 0, refused)
			add(answer, 0, 0, allowed)
		}
	case Claude:
		add(jumpIf, 0, 3, callSocket)
		add(load, 0, 0, 16)
		add(jumpIf, 0, 1, familyUnix)
		add(answer, 0, 0, refused)
	default:
		return nil, fmt.Errorf("there is no sandbox %q", kind)
	}
	add(answer, 0, 0, allowed)
	path := filepath.Join(t.TempDir(), "filter")
	if err := os.WriteFile(path, program.Bytes(), 0o600); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err == nil {
		t.Cleanup(func() { _ = f.Close() })
	}
	return f, err
}
