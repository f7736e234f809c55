package proc

import (
	"os"
	"sync"
	"time"
)

// Identity tells a process apart from every other one that ever had its
// number, on this machine and elsewhere.
type Identity struct {
	Host  string // the machine
	Boot  string // its last start
	Space string // the process namespace
	PID   int
	Start string // when the process was started, as the kernel tells it
}

// Neighbour is a process that was seen. What cannot be read of it is empty.
type Neighbour struct {
	PID     int
	Started time.Time
	Dir     string // its working directory
	Args    []string
	Env     []string
}

// Life says what is known of a process.
type Life string

// What is known.
const (
	Alive   Life = "alive"
	Dead    Life = "dead"
	Unknown Life = "unknown" // it cannot be seen from here, so it counts as alive
)

// ended is the start of a process that has ended and was not waited for: a
// zombie does nothing any more.
const ended = "ended"

// Self identifies this process.
func Self() Identity {
	id := Here()
	id.PID = os.Getpid()
	id.Start = startOf(id.PID)
	return id
}

// Of identifies another process of this machine. It reports false for one that
// is not there, has ended, or cannot be seen.
func Of(pid int) (Identity, bool) {
	id := Here()
	id.PID = pid
	if pid <= 0 || !processExists(pid) {
		return id, false
	}
	id.Start = startOf(pid)
	return id, id.Start != ended
}

// Here identifies this machine and process namespace, without a process.
func Here() Identity { return here() }

// here is asked for often, and stays the same as long as the process lives.
var here = sync.OnceValue(func() Identity {
	return Identity{Host: hostID(), Boot: bootID(), Space: pidSpace()}
})

// LifeOf says whether a process is alive, as far as can be seen from here. On
// another machine or in another process namespace it is Unknown; before the
// last start of this machine it is Dead.
func LifeOf(id Identity) Life {
	here := Here()
	switch {
	case id.Host != here.Host || id.PID <= 0:
		return Unknown
	case id.Boot != "" && here.Boot != "" && id.Boot != here.Boot:
		return Dead
	case id.Space != here.Space:
		return Unknown
	}
	if !processExists(id.PID) {
		return Dead
	}
	switch start := startOf(id.PID); {
	case start == ended:
		return Dead
	case id.Start != "" && start != "" && start != id.Start:
		return Dead
	}
	return Alive
}

// NameOf is what the program of a process is called, if the process is alive and
// the platform can tell. A program chooses it itself.
func NameOf(id Identity) string {
	if LifeOf(id) != Alive {
		return ""
	}
	return nameOf(id.PID)
}

// Listener is a process that listens at a port.
type Listener struct {
	PID  int
	Name string // of its program, as the kernel has it
}

// Occupant is a process that is at work in a directory.
type Occupant struct {
	PID  int
	Name string // of its program, as the kernel has it
	File string // that it has open for writing; empty: its working directory is there
}

// Ending is how a process is brought to its end.
type Ending int

// How.
const (
	Ask      Ending = iota // it is asked to end, and may take its time
	Kill                   // it has no choice
	Stop                   // it does nothing any more, until it is killed
	Continue               // it goes on after a Stop
)
