//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// askGroup asks a process and its children to end. git removes its lock files
// then, which it cannot when it is killed.
func askGroup(p *os.Process) error {
	return syscall.Kill(-p.Pid, syscall.SIGTERM)
}

func killGroup(p *os.Process) error {
	return syscall.Kill(-p.Pid, syscall.SIGKILL)
}

// groupGone reports whether a process and its children are gone, even those
// that are dead and whose end nobody has taken note of.
func groupGone(p *os.Process) bool {
	return errors.Is(syscall.Kill(-p.Pid, 0), syscall.ESRCH)
}

// Shell is how the platform's shell runs a line.
func Shell(line string) (path string, args []string) { return "sh", []string{"-c", line} }

func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func inheritable(files []*os.File) []*os.File { return files }
