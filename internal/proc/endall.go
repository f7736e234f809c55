package proc

import (
	"slices"
	"time"
)

// EndAll ends processes that find returns, until it returns none: it asks them to end, and kills them
// after a while. It returns those that are left.
func EndAll(find func() []Identity, grace time.Duration) []Identity {
	const pause, most = 10 * time.Millisecond, 5 * time.Second
	asked := map[Identity]bool{}
	for begun := time.Now(); ; time.Sleep(pause) {
		list := find()
		if len(list) == 0 || time.Since(begun) > grace+most {
			return list
		}
		if time.Since(begun) > grace {
			for _, id := range stopped(list, find) {
				Signal(id, Kill)
			}
			continue
		}
		for _, id := range list {
			if !asked[id] {
				asked[id] = true
				Signal(id, Ask)
			}
		}
	}
}

// stopped stops processes, and those that find returns then, until all are stopped, so that none can
// start another one while they are killed. One that is not found any more is not the caller's, and goes on.
func stopped(list []Identity, find func() []Identity) []Identity {
	const most = 200
	is := map[Identity]bool{}
	for range most {
		hasNew := false
		for _, id := range list {
			if !is[id] {
				is[id], hasNew = true, true
				Signal(id, Stop)
			}
		}
		if !hasNew {
			break
		}
		list = find()
	}
	for id := range is {
		if !slices.Contains(list, id) {
			Signal(id, Continue)
		}
	}
	return list
}
