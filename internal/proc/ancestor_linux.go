package proc

import (
	"os"
	"strconv"
)

// Ancestor returns the arguments of the nearest process above this one of which is reports true, or nil.
func Ancestor(is func(args []string) bool) []string {
	const most = 100
	pid := os.Getppid()
	for range most {
		if pid <= 1 {
			break
		}
		dir := "/proc/" + strconv.Itoa(pid)
		if args := readList(dir + "/cmdline"); len(args) > 0 && is(args) {
			return args
		}
		fields := statFields(dir)
		if len(fields) < 2 {
			break
		}
		pid, _ = strconv.Atoi(fields[1])
	}
	return nil
}
