package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
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

// startOf is field 22 of /proc/PID/stat, counted after the command's name,
// which is in brackets and may itself hold spaces and brackets.
func startOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	i := bytes.LastIndexByte(b, ')')
	fields := strings.Fields(string(b[i+1:]))
	if len(fields) < 20 {
		return ""
	}
	if fields[0] == "Z" {
		return ended
	}
	return fields[19]
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
