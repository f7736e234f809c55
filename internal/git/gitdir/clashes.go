package gitdir

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// StashRef is the ref that names the newest stash.
const StashRef = "refs/stash"

// AvoidClashes returns a name for each ref that can exist beside all others. A ref keeps
// its name, or gets the same with a number if the name is also a directory of other refs,
// or the other way round. A branch a/b that was renamed to a is such a ref.
func AvoidClashes(refs, others map[string]string) map[string]string {
	names, dirs := map[string]bool{}, map[string]bool{}
	add := func(name string) {
		names[name] = true
		for dir := path.Dir(name); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	isTaken := func(name string) bool {
		if dirs[name] || strings.Count(name, "/") < 2 && name != StashRef {
			return true
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if names[dir] {
				return true
			}
		}
		return false
	}
	for name := range others {
		add(name)
	}
	fitting := map[string]string{}
	var left []string
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if isTaken(name) {
			left = append(left, name)
			continue
		}
		add(name)
		fitting[name] = name
	}
	for _, name := range left {
		kind, rest := "restored", strings.TrimPrefix(name, "refs/")
		if before, after, ok := strings.Cut(rest, "/"); ok {
			kind, rest = before, after
		}
		rest = strings.ReplaceAll(rest, "/", "-")
		free := name
		for n := 1; isTaken(free) || names[free]; n++ {
			free = fmt.Sprintf("refs/%s/%s.%d", kind, rest, n)
		}
		add(free)
		fitting[name] = free
	}
	return fitting
}
