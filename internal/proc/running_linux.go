package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Running lists the processes whose name begins with a prefix. The second
// result says whether this platform can tell.
func Running(prefix string) ([]Neighbour, bool) {
	pids, err := processes()
	up, upErr := uptime()
	if err != nil || upErr != nil {
		return nil, false
	}
	booted := time.Now().Add(-up)
	var list []Neighbour
	for _, name := range pids {
		pid, err := strconv.Atoi(name)
		if err != nil || !strings.HasPrefix(nameOf(pid), prefix) {
			continue
		}
		start := startOf(pid)
		ticks, err := strconv.ParseInt(start, 10, 64)
		if start == ended || start == "" || err != nil {
			continue
		}
		p := Neighbour{PID: pid, Started: booted.Add(time.Duration(ticks) * time.Second / ticksPerSecond)}
		if p.Dir, err = os.Readlink("/proc/" + name + "/cwd"); errors.Is(err, os.ErrNotExist) {
			continue // it is ending, and has closed its files
		}
		p.Args = readList("/proc/" + name + "/cmdline")
		p.Env = readList("/proc/" + name + "/environ")
		list = append(list, p)
	}
	return list, true
}

// Began is when this process was started, to a hundredth of a second.
func Began() time.Time {
	up, err := uptime()
	ticks, startErr := strconv.ParseInt(startOf(os.Getpid()), 10, 64)
	if err != nil || startErr != nil {
		return time.Now()
	}
	return time.Now().Add(time.Duration(ticks)*time.Second/ticksPerSecond - up)
}

// HasRunning reports whether one of the processes whose name begins with a prefix was
// started with arguments that match. The second result says whether this platform can
// tell. It asks for no more than it has to: there may be thousands of processes.
func HasRunning(prefix string, match func(args []string) bool) (found, known bool) {
	pids, err := processes()
	if err != nil {
		return false, false
	}
	var name [16]byte // as much as the kernel keeps
	for _, pid := range pids {
		n := readStart("/proc/"+pid+"/comm", name[:])
		if n < len(prefix) || string(name[:len(prefix)]) != prefix {
			continue
		}
		// A zombie has none.
		if args := readList("/proc/" + pid + "/cmdline"); len(args) > 0 && match(args) {
			return true, true
		}
	}
	return false, true
}

// readStart reads the beginning of a file, in as few calls as it takes, and
// returns how much there is.
func readStart(file string, buf []byte) int {
	fd, err := syscall.Open(file, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil {
		return 0
	}
	return n
}

// ticksPerSecond is what the kernel counts the start of processes in; it is
// the same on every platform that Go runs on.
const ticksPerSecond = 100

func uptime() (time.Duration, error) {
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, err
	}
	text, _, _ := strings.Cut(string(b), " ")
	return time.ParseDuration(text + "s")
}

func readList(file string) []string {
	b, err := os.ReadFile(file)
	if err != nil || len(b) == 0 {
		return nil
	}
	var list []string
	for part := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
		list = append(list, string(part))
	}
	return list
}

// FindOpen returns which of some files any process that can be seen has open.
func FindOpen(files []string) map[string]bool {
	open := map[string]bool{}
	pids, _ := processes()
	for _, pid := range pids {
		dir := "/proc/" + pid + "/fd/"
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		fds, _ := f.Readdirnames(-1)
		_ = f.Close()
		for _, fd := range fds {
			if to, err := os.Readlink(dir + fd); err == nil && slices.Contains(files, to) {
				open[to] = true
			}
		}
	}
	return open
}

// initialSpace is the number of the process namespace of the machine itself.
const initialSpace = "pid:[4026531836]"

// CanSeeAll reports whether every process of the machine can be seen from here, as is
// not so in a container.
func CanSeeAll() bool { return pidSpace() == initialSpace }
