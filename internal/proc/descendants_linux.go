package proc

import (
	"maps"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of its descendants whose own parents end, so that
// they stay its descendants. That it cannot is no failure.
func AdoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// seen is a process in a look at all of them.
type seen struct {
	pid, parent, session int
	start                string
	isEnded              bool
}

// look returns all processes that can be seen, by their numbers.
func look() map[int]seen {
	names, _ := processes()
	all := make(map[int]seen, len(names))
	for _, name := range names {
		fields := statFields("/proc/" + name)
		pid, err := strconv.Atoi(name)
		if err != nil || len(fields) < 20 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		session, _ := strconv.Atoi(fields[3])
		all[pid] = seen{pid, parent, session, fields[19], isZombie(fields)}
	}
	return all
}

// below returns the descendants of processes.
func below(all map[int]seen, of ...int) []seen {
	children := map[int][]seen{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var list []seen
	for todo := of; len(todo) > 0; {
		for _, p := range children[todo[0]] {
			list, todo = append(list, p), append(todo, p.pid)
		}
		todo = todo[1:]
	}
	return list
}

// Strays returns the descendants of this process that belong to other sessions: those of
// the sessions that it started, and what left them. Processes that it runs in its own session
// are not among them. Descendants that have ended and that nobody else will wait for are
// waited for, if they were so in the call before.
func (d *Descendants) Strays() []Identity {
	all := look()
	self := os.Getpid()
	own := all[self].session
	zombies := map[int]string{}
	var list []Identity
	for _, p := range below(all, self) {
		switch {
		case p.session == own && !d.IsLeader, p.pid == d.Except:
		case p.isEnded && p.parent == self:
			if d.zombies[p.pid] == p.start {
				var status unix.WaitStatus
				_, _ = unix.Wait4(p.pid, &status, unix.WNOHANG, nil)
				continue
			}
			zombies[p.pid] = p.start
		case !p.isEnded:
			list = append(list, p.identity())
		}
	}
	d.zombies = zombies
	slices.SortFunc(list, func(a, b Identity) int { return a.PID - b.PID })
	return list
}

func (p seen) identity() Identity {
	id := Here()
	id.PID, id.Start = p.pid, p.start
	return id
}

// Descendants looks at the descendants of this process. Except is one that the caller waits for
// itself, and that is left out.
type Descendants struct {
	Except int
	// IsLeader: this process leads a session for others, and runs none in it for itself: those are meant, too.
	IsLeader bool

	zombies map[int]string // those that were seen to have ended, with their start
}

// Left returns the processes that are left of a session whose starter may be dead: known ones, those
// below these and below the leader, those in its session, and those with a variable in their
// environment. The leader itself, whose zero is not known, is not among them.
func Left(leader Identity, known []Identity, variable string) []Identity {
	all := look()
	is := map[int]bool{}
	for _, id := range append(slices.Clone(known), leader) {
		if p, ok := all[id.PID]; ok && p.start == id.Start && id.Boot == Here().Boot && id.Space == Here().Space {
			is[id.PID] = true
		}
	}
	for pid := range maps.Clone(is) {
		for _, p := range below(all, pid) {
			is[p.pid] = true
		}
	}
	// The number of a leader that has ended may be another session's by now.
	hasSession := is[leader.PID]
	began, _ := strconv.ParseInt(leader.Start, 10, 64)
	for pid, p := range all {
		start, err := strconv.ParseInt(p.start, 10, 64)
		if err != nil || start < began || leader.PID != 0 && (leader.Boot != Here().Boot || leader.Space != Here().Space) {
			continue // from before it
		}
		if hasSession && p.session == leader.PID || slices.Contains(readList("/proc/"+strconv.Itoa(pid)+"/environ"), variable) {
			is[pid] = true
		}
	}
	var list []Identity
	for pid := range is {
		if p := all[pid]; !p.isEnded && pid != os.Getpid() && (!hasSession || pid != leader.PID) {
			list = append(list, p.identity())
		}
	}
	return list
}

// Signal asks a process to end, stops it, lets it go on, or kills it.
func Signal(id Identity, how Ending) {
	switch how {
	case Kill:
		_ = unix.Kill(id.PID, unix.SIGKILL)
	case Stop:
		_ = unix.Kill(id.PID, unix.SIGSTOP)
	case Continue:
		_ = unix.Kill(id.PID, unix.SIGCONT)
	case Ask:
		_ = unix.Kill(id.PID, unix.SIGTERM)
		_ = unix.Kill(id.PID, unix.SIGCONT) // one that was stopped would not hear of it
	}
}
