package proc

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// besideOf returns those of some processes that are in one pipeline with process pid, as the shell started it, and what
// those have started: grep in "croft list | grep x". A sibling of pid is in its pipeline if a pipe connects them that
// their parent does not hold: what a program connects to itself is no pipeline, and its other children have nothing to
// do with this one. pid may be deeper in the pipeline, so the same is asked of the processes above it that are in its
// process group.
func besideOf(pid int, of []int) map[int]bool {
	beside := map[int]bool{}
	group := ""
	for at, seen := pid, map[int]bool{}; at > 1 && !seen[at]; {
		seen[at] = true
		fields := statFields("/proc/" + strconv.Itoa(at))
		if len(fields) < 3 || group != "" && fields[2] != group {
			break
		}
		group = fields[2]
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			break
		}
		addConnected(at, parent, of, beside)
		at = parent
	}
	for _, p := range of {
		for above := range ancestorsOf(p) {
			if beside[above] {
				beside[p] = true
				break
			}
		}
	}
	return beside
}

// addConnected adds the siblings of a process that pipes connect to it, also by way of each other.
func addConnected(pid, parent int, of []int, connected map[int]bool) {
	held, ok := pipesOf(parent)
	if !ok {
		return // another user's: nothing is known of its pipes
	}
	links, _ := pipesOf(pid, "0", "1", "2")
	maps.DeleteFunc(links, func(pipe string, _ bool) bool { return held[pipe] })
	for isMore := len(links) > 0; isMore; {
		isMore = false
		for _, p := range of {
			if connected[p] || p == pid || !isChildOf(p, parent) {
				continue
			}
			ends, _ := pipesOf(p, "0", "1", "2")
			if !slices.ContainsFunc(slices.Collect(maps.Keys(ends)), func(pipe string) bool { return links[pipe] }) {
				continue
			}
			connected[p], isMore = true, true
			for pipe := range ends {
				links[pipe] = links[pipe] || !held[pipe]
			}
		}
	}
}

func isChildOf(pid, parent int) bool {
	fields := statFields("/proc/" + strconv.Itoa(pid))
	return len(fields) > 1 && fields[1] == strconv.Itoa(parent)
}

// pipesOf returns the pipes that a process has open, all or those with the given numbers, and whether that can be told.
func pipesOf(pid int, numbers ...string) (pipes map[string]bool, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	if len(numbers) == 0 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, false
		}
		for _, e := range entries {
			numbers = append(numbers, e.Name())
		}
	}
	pipes = map[string]bool{}
	for _, n := range numbers {
		if to, err := os.Readlink(dir + "/" + n); err == nil && strings.HasPrefix(to, "pipe:") {
			pipes[to] = true
		}
	}
	return pipes, true
}
