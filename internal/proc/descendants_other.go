//go:build !linux

package proc

import "time"

// AdoptOrphans does nothing on this platform.
func AdoptOrphans() {}

// Descendants looks at the descendants of this process, which this platform cannot show.
type Descendants struct{ Except int }

// Strays returns the process that leads the session, as long as its group has processes: others cannot
// be found on this platform.
func (d *Descendants) Strays() []Identity {
	if d.Except == 0 || !hasGroup(d.Except) {
		return nil
	}
	id := Here()
	id.PID = d.Except
	return []Identity{id}
}

// Left returns the process that led a session, if it lives: others cannot be found on this platform.
func Left(leader Identity, _ []Identity, _ string) []Identity {
	if leader.PID > 0 && LifeOf(leader) == Alive {
		return []Identity{leader}
	}
	return nil
}

// EndAll ends the groups that processes lead which find returns: it asks them to end, and kills
// them after a while. It returns those that are left.
func EndAll(find func() []Identity, grace time.Duration) []Identity {
	const pause, most = 10 * time.Millisecond, 5 * time.Second
	asked := map[int]bool{}
	for begun := time.Now(); ; time.Sleep(pause) {
		list := find()
		if len(list) == 0 || time.Since(begun) > grace+most {
			return list
		}
		for _, id := range list {
			switch {
			case time.Since(begun) > grace:
				Signal(id, Kill)
			case !asked[id.PID]:
				asked[id.PID] = true
				Signal(id, Ask)
			}
		}
	}
}
