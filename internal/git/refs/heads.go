package refs

import (
	"sync"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

// head is the branch that HEAD of a git directory is on.
type head struct {
	on   string
	isOn bool // false: it is detached, or cannot be read

	at        index.FileStat // of the file, before it was read
	isSettled bool           // whatever changes the file gives it other stat data
	isKnown   bool           // it was not read again
}

// headMemory remembers what HEAD of git directories was. One merge looks at all of them three times, and there may be
// thousands: to stat a file takes a fifth of the time in which it is opened and read. No act believes the memory: each
// look stats each file.
type headMemory struct {
	mu       sync.Mutex
	byParent map[string]map[string]head // by the directory of the git directories, and their names; the inner maps do not change
}

// in returns what is known of the git directories in a directory.
func (m *headMemory) in(parent string) map[string]head {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byParent[parent]
}

// note remembers the git directories in a directory, and forgets all others that were there.
func (m *headMemory) note(parent string, names []string, heads []head) {
	known := 0
	for _, h := range heads {
		if h.isKnown {
			known++
		}
	}
	if known == len(m.in(parent)) && known == len(heads) {
		return // as it was
	}
	all := make(map[string]head, len(names))
	for i, h := range heads {
		if h.isSettled {
			h.isKnown = true
			all[names[i]] = h
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byParent == nil {
		m.byParent = map[string]map[string]head{}
	}
	m.byParent[parent] = all
}

// readHead reads HEAD of a git directory.
func readHead(in *fsx.Listing, name string) head {
	var h head
	h.on, h.isOn = branchIn(in.ReadSmall(name + "/HEAD"))
	return h
}
