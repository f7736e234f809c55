//go:build unix

package fsx

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// setTime sets the time at which an open file was last written: to the nanosecond on Linux,
// to the microsecond elsewhere.
func setTime(f *os.File, when time.Time) error {
	if runtime.GOOS == "linux" {
		ts := unix.NsecToTimespec(when.UnixNano())
		if unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), []unix.Timespec{ts, ts}, 0) == nil {
			return nil
		}
	}
	tv := unix.NsecToTimeval(when.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{tv, tv})
}
