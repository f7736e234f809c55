//go:build !linux

package proc

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
