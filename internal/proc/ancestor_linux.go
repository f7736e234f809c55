package proc

import (
	"os"
	"strconv"
)

// Ancestor is a process above this one.
type Ancestor struct {
	PID  int
	Args []string // as the process shows them: it may have written anything there
}

// Dir returns the working directory of the process; empty: it cannot be told.
func (a Ancestor) Dir() string {
	dir, _ := os.Readlink("/proc/" + strconv.Itoa(a.PID) + "/cwd")
	return dir
}

// Ancestors returns the processes above this one, the nearest first. In a PID namespace with a /proc of its own they end at its first
// process.
func Ancestors() []Ancestor {
	for {
		if list, isWhole := ancestors(); isWhole {
			return list
		}
	}
}

// ancestors looks once. It reports false if a process ended meanwhile: another one is the parent of its children by now. That comes to
// an end: whoever adopts them is further up.
func ancestors() (list []Ancestor, isWhole bool) {
	// Not os.Getppid: in a PID namespace without a /proc of its own that is another number.
	for at := "self"; ; {
		fields := statFields("/proc/" + at)
		if len(fields) < 2 {
			return list, at == "self"
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil || parent <= 1 {
			return list, true
		}
		at = fields[1]
		list = append(list, Ancestor{parent, readList("/proc/" + at + "/cmdline")})
	}
}
