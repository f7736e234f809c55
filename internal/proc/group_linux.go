package proc

import "syscall"

// dieWithParent ends a child when the caller dies. The kernel ties this to the
// thread that started it; Go's threads live as long as the process, because
// nothing here locks a goroutine to one.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
