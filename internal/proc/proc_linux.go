package proc

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func hostID() string {
	if b, err := os.ReadFile("/etc/machine-id"); err == nil && len(bytes.TrimSpace(b)) > 0 {
		return string(bytes.TrimSpace(b))
	}
	name, _ := os.Hostname()
	return name
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b))
}

func pidSpace() string {
	s, _ := os.Readlink("/proc/self/ns/pid")
	return s
}

// startOf returns when a process was started: field 22 of /proc/PID/stat. It returns ended
// for a zombie, and "" for a process that cannot be read.
func startOf(pid int) string {
	fields := statFields("/proc/" + strconv.Itoa(pid))
	switch {
	case len(fields) < 20:
		return ""
	case isZombie(fields):
		return ended
	}
	return fields[19]
}

// IsStopped reports whether a process is alive and does nothing, because somebody has stopped it or debugs it.
func IsStopped(id Identity) bool {
	if LifeOf(id) != Alive {
		return false
	}
	fields := statFields("/proc/" + strconv.Itoa(id.PID))
	return len(fields) > 0 && (fields[0] == "T" || fields[0] == "t")
}

// isZombie reports whether a process has ended, by the fields of its stat. One whose first thread has
// ended looks the same while its others run: it has more than one.
func isZombie(fields []string) bool {
	const threads = 17
	return fields[0] == "Z" && (fields[threads] == "1" || fields[threads] == "0")
}

// statFields are the fields of a process's stat after the command's name, which is in
// brackets and may itself hold spaces and brackets: state, parent, group, session,
// terminal, its group, flags …
func statFields(of string) []string {
	b, _ := os.ReadFile(of + "/stat")
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// processes lists the numbers of the processes that can be seen. It asks for no more
// than it has to: there may be thousands.
func processes() ([]string, error) {
	f, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '1' || name[0] > '9' }), err
}

// BootTime is when this machine was started; zero if it cannot be told.
func BootTime() time.Time {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}
	}
	for line := range strings.Lines(string(b)) {
		if sec, ok := strings.CutPrefix(line, "btime "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(sec), 10, 64); err == nil {
				return time.Unix(n, 0)
			}
		}
	}
	return time.Time{}
}

// dieWithParent ends a child when the caller dies, with a signal on which git
// removes its lock files. The kernel ties this to the thread that started it.
// Go's threads live as long as the process, but for those of runConfined. So
// nothing else runs on the thread until the returned function is called, when
// the child has ended.
func dieWithParent(cmd *exec.Cmd) (ended func()) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

const (
	lowest = 19 // of the priorities of CPU time

	ioprioWhoProcess = 1
	ioprioClassIdle  = 3 << 13 // the disk when no other process wants it
)

// LowerPriority gives this process, and what it starts from now on, less of the
// machine than others. That it cannot is no failure. The kernel keeps both
// priorities for each thread; a new one has those of the thread that made it. Between sessions it divides by those of the sessions
// instead, where it is set up like that.
func LowerPriority() {
	if id, err := unix.Getsid(0); err == nil && id == os.Getpid() {
		_ = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(lowest)), 0)
	}
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
