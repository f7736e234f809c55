package proc

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends a child when the caller dies, with a signal on which git
// removes its lock files. The kernel ties this to the thread that started it.
// Go's threads live as long as the process, but for those of confined, which
// live until the child has ended.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM }
