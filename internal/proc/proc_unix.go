//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// setOwnGroup makes cmd start in a process group of its own.
func setOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// terminateGroup asks a process and its children to end. git removes its lock files
// then, which it cannot when it is killed.
func terminateGroup(p *os.Process) error {
	return syscall.Kill(-p.Pid, syscall.SIGTERM)
}

func killGroup(p *os.Process) error {
	return syscall.Kill(-p.Pid, syscall.SIGKILL)
}

// isGroupGone reports whether a process and its children are gone, even those
// that have ended and whose parent has not waited for them.
func isGroupGone(p *os.Process) bool {
	return errors.Is(syscall.Kill(-p.Pid, 0), syscall.ESRCH)
}

// Shell is how the platform's shell runs a line.
func Shell(line string) (path string, args []string) { return "sh", []string{"-c", line} }

// GroupShell is as Shell, for RunGroup: if its caller dies, the whole group is ended and not only the
// shell. The line runs in the background of another shell, which a signal finds waiting. At the end of the line that shell ends what
// the line has left in the group: its caller, which does the same, may die right then.
func GroupShell(line string) (path string, args []string) {
	const watch = `trap 'trap "" TERM; kill -TERM 0; sleep 2; kill -KILL 0' TERM; sh -c "$1" & wait $!; s=$?; trap "" TERM; kill -TERM 0; exit $s`
	return "sh", []string{"-c", watch, "sh", line}
}

// setDetached makes cmd start without the caller's terminal.
func setDetached(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// setNoTerminal makes cmd start in a session of its own, and so in a group of its own, without
// the caller's terminal.
func setNoTerminal(cmd *exec.Cmd) { cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid = false, true }

// lowerPriorityOf gives a process that has just been started less of the machine than others. That it cannot is no failure.
func lowerPriorityOf(pid int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, 19) }

func inheritableFiles(files []*os.File) []*os.File { return files }

func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// lookPath finds a program in the PATH of the environment that it will run in,
// which may be another than this process's. Only an environment without a PATH
// falls back on that.
func lookPath(name string, env []string) (string, error) {
	path, found := "", false
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path, found = v, true
		}
	}
	if !found {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(path) {
		// A relative directory means another one wherever a process starts.
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return name, &exec.Error{Name: name, Err: exec.ErrNotFound}
}
