package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Running lists the processes whose name begins with a prefix. The second
// result says whether this platform can tell.
func Running(prefix string) ([]Neighbour, bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	up, err := uptime()
	if err != nil {
		return nil, false
	}
	booted := time.Now().Add(-up)
	var list []Neighbour
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if name, err := os.ReadFile("/proc/" + e.Name() + "/comm"); err != nil || !strings.HasPrefix(string(name), prefix) {
			continue
		}
		start := startOf(pid)
		ticks, err := strconv.ParseInt(start, 10, 64)
		if start == ended || start == "" || err != nil {
			continue
		}
		p := Neighbour{PID: pid, Started: booted.Add(time.Duration(ticks) * time.Second / ticksPerSecond)}
		if p.Dir, err = os.Readlink("/proc/" + e.Name() + "/cwd"); errors.Is(err, os.ErrNotExist) {
			continue // it is ending, and has closed its files
		}
		p.Args = readList("/proc/" + e.Name() + "/cmdline")
		p.Env = readList("/proc/" + e.Name() + "/environ")
		list = append(list, p)
	}
	return list, true
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
	if err != nil {
		return nil
	}
	var list []string
	for part := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
		list = append(list, string(part))
	}
	return list
}

// Open says which of some files any process that can be seen has open.
func Open(files []string) map[string]bool {
	open := map[string]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		dir := "/proc/" + e.Name() + "/fd/"
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

// SeesAll reports whether every process of the machine can be seen from here,
// as is not so in a container.
func SeesAll() bool {
	space, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && space == initialSpace
}
