// Package owner is processes as the owners of leases and operations.
package owner

import (
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/proc"
)

// Self returns this process as an owner.
func Self() croft.Owner { return Of(proc.Self()) }

// Of returns a process as an owner.
func Of(id proc.Identity) croft.Owner {
	return croft.Owner{Host: id.Host, Boot: id.Boot, Space: id.Space, PID: id.PID, Start: id.Start}
}

func identityOf(o croft.Owner) proc.Identity {
	return proc.Identity{Host: o.Host, Boot: o.Boot, Space: o.Space, PID: o.PID, Start: o.Start}
}

// Life says whether the process of an owner is alive, dead, or cannot be seen.
func Life(o croft.Owner) proc.Life { return proc.LifeOf(identityOf(o)) }

// Name returns the name of an owner's program, or the empty string if it is not known.
func Name(o croft.Owner) string { return proc.NameOf(identityOf(o)) }

// ProcessName returns the name of a process in messages: its program, if that is known.
func ProcessName(program string, pid int) string {
	if program == "" {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (%d)", program, pid)
}
