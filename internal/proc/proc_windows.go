package proc

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// setOwnGroup makes cmd start in a process group of its own.
func setOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup: there is no signal that a program without a console gets.
func terminateGroup(p *os.Process) error { return p.Kill() }

func killGroup(p *os.Process) error { return p.Kill() }

// isGroupGone: there is no way to ask.
func isGroupGone(*os.Process) bool { return true }

// Shell is how the platform's shell runs a line.
func Shell(line string) (path string, args []string) {
	return "cmd.exe", []string{"/d", "/s", "/c", line}
}

// GroupShell is as Shell.
func GroupShell(line string) (path string, args []string) { return Shell(line) }

// setNoTerminal does nothing: programs ask in windows of their own.
func setNoTerminal(*exec.Cmd) {}

// setDetached makes cmd start without the caller's terminal.
func setDetached(cmd *exec.Cmd) {
	const detachedProcess = 0x00000008
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
}

// lowerPriorityOf does nothing: such a process calls LowerPriority.
func lowerPriorityOf(int) {}

// inheritableFiles: os/exec cannot hand extra files to a child on Windows.
func inheritableFiles([]*os.File) []*os.File { return nil }

func processExists(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	var code uint32
	const stillActive = 259
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

// LowerPriority gives this process less of the machine than others. That it cannot
// is no failure.
func LowerPriority() {
	_ = windows.SetPriorityClass(windows.CurrentProcess(), windows.PROCESS_MODE_BACKGROUND_BEGIN)
}
