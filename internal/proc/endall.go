package proc

import "time"

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
		for _, id := range list {
			switch {
			case time.Since(begun) > grace:
				Signal(id, Kill)
			case !asked[id]:
				asked[id] = true
				Signal(id, Ask)
			}
		}
	}
}
