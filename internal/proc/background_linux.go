package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	lowest = 19 // of the priorities of CPU time

	ioprioWhoProcess = 1
	ioprioClassIdle  = 3 << 13 // the disk when nobody else wants it
)

// LowerPriority gives this process, and what it starts from now on, less of the
// machine than others. That it cannot is no failure. The kernel keeps both
// priorities for each thread; a new one has those of the thread that made it.
func LowerPriority() {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		_ = unix.Setpriority(unix.PRIO_PROCESS, tid, lowest)
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(tid), ioprioClassIdle)
	}
}
