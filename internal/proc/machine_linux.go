package proc

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// IsBusy reports whether the machine has had more to do in the last minute than its cores can.
func IsBusy() bool {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	return err == nil && load > float64(runtime.NumCPU())
}

// Writer names the user of this process, the group, and the permissions that new files do not get.
func Writer() string {
	text, _ := os.ReadFile("/proc/self/status")
	mask := ""
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Umask:"); ok {
			mask = strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("%d:%d:%s", os.Geteuid(), os.Getegid(), mask)
}
