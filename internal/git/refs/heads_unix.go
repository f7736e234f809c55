//go:build unix

package refs

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

// keepsTimes reports whether stat data tell that a file in a directory has not changed.
func keepsTimes(in *fsx.Listing) bool { return in.KeepsTimes() }

// rereadHead is readHead that reads nothing if the file has the stat data of a known one. now is not after the call.
func rereadHead(in *fsx.Listing, name string, known map[string]head, now time.Time) head {
	var st unix.Stat_t
	path := name + "/HEAD"
	if was, ok := known[name]; ok && in.Lstat(path, &st) == nil && index.StatOf(&st).IsSame(was.at) {
		return was
	}
	data, err := in.ReadSmallStat(path, &st)
	h := head{at: index.StatOf(&st)}
	h.on, h.isOn = branchIn(data, err)
	h.isSettled = err == nil && h.at.IsSince(now)
	return h
}
