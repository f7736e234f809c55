package proc

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent ends a child when the caller dies, with a signal on which git
// removes its lock files. The kernel ties this to the thread that started it.
// Go's threads live as long as the process, but for those of confined. So
// nothing else runs on the thread until the returned function is called, when
// the child has ended.
func dieWithParent(cmd *exec.Cmd) (ended func()) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
