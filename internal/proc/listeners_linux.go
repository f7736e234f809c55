package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listeners lists the processes that listen at some TCP ports, by port, as far as they can be seen: those of
// other users cannot. The second result says whether this platform can tell.
func Listeners(ports []int) (map[int][]Listener, bool) {
	sockets := map[string]int{} // the inode of a socket to its port
	known := false
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		known = true
		addListening(sockets, string(text), ports)
	}
	found := map[int][]Listener{}
	if len(sockets) == 0 {
		return found, known
	}
	pids, err := processes()
	if err != nil {
		return nil, false
	}
	for _, name := range pids {
		for _, port := range heldPorts("/proc/"+name, sockets) {
			if pid, err := strconv.Atoi(name); err == nil {
				found[port] = append(found[port], Listener{PID: pid, Name: nameOf(pid)})
			}
		}
	}
	return found, known
}

// addListening adds the sockets of a table of the kernel that listen at one of some ports.
func addListening(sockets map[string]int, table string, ports []int) {
	const listening = "0A"
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != listening {
			continue
		}
		_, digits, ok := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(digits, 16, 16)
		if ok && err == nil && slices.Contains(ports, int(port)) {
			sockets["socket:["+f[9]+"]"] = int(port)
		}
	}
}

// heldPorts returns the ports of those of some sockets that a process has open.
func heldPorts(of string, sockets map[string]int) (ports []int) {
	dir, err := os.Open(of + "/fd")
	if err != nil {
		return nil // it has ended, or is another user's
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, fd := range names {
		to, err := os.Readlink(of + "/fd/" + fd)
		if port, ok := sockets[to]; err == nil && ok && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// IsAtWorkIn reports whether a process, or one above it, has its working directory in dir, or was started with a
// variable, such as CROFT_WORKSPACE=id. It also reports true if the process has ended.
func IsAtWorkIn(pid int, dir, variable string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		return true
	}
	for of := range ancestorsOf(pid) {
		name := "/proc/" + strconv.Itoa(of)
		if cwd, err := os.Readlink(name + "/cwd"); err == nil && isIn(cwd, real) {
			return true
		}
		if slices.Contains(readList(name+"/environ"), variable) {
			return true
		}
	}
	return false
}
