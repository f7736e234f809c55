// Package portblock finds blocks of TCP ports that nothing on this machine uses.
package portblock

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/croft-sh/croft"
)

// knownPorts are ports of well-known servers inside the usual range.
var knownPorts = []int{24678, 25565, 26257, 26379, 27015, 27017, 27018, 27019, 28015, 28017, 29092}

// NamesOf returns the names of ports.
func NamesOf(ports []croft.Port) (names []string) {
	for _, p := range ports {
		names = append(names, p.Name)
	}
	return names
}

// BeginFor returns a number that follows from a name, for Blocks.Begin.
func BeginFor(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:8])
}

// Blocks are the blocks that a range of ports is divided into.
type Blocks struct {
	Count       int      // required: the ports of a block
	Names       []string // of the first ports of a block
	First, Last int      // required: the range
	Begin       uint64   // the number of the block that is looked at first, if it is divided by the number of blocks
}

// Find returns the first block whose ports are all vacant, usable and none of knownPorts. The search begins at a block
// that follows from the workspace's name, so that a workspace of the same name gets the same ports again, if it can.
func (b Blocks) Find(isVacant, isUsable func(port int) bool) ([]croft.Port, error) {
	count := (b.Last - b.First + 1) / b.Count
	for i := range count {
		at := b.First + int((b.Begin+uint64(i))%uint64(count))*b.Count
		ports := make([]croft.Port, b.Count)
		for n := range ports {
			ports[n].Port = at + n
			if n < len(b.Names) {
				ports[n].Name = b.Names[n]
			}
		}
		if !slices.ContainsFunc(ports, func(p croft.Port) bool { return slices.Contains(knownPorts, p.Port) || !isVacant(p.Port) }) &&
			!slices.ContainsFunc(ports, func(p croft.Port) bool { return !isUsable(p.Port) }) {
			return ports, nil
		}
	}
	return nil, &croft.Error{
		Code: croft.LimitReached, Message: fmt.Sprintf("no %d ports in a row are free in ports.range, %d-%d", b.Count, b.First, b.Last),
		Hint: "croft remove workspaces that are not needed, or widen ports.range",
	}
}

// addresses are those that servers listen on. Each family is asked for by itself: "tcp" with 0.0.0.0 would
// listen on [::].
var addresses = []struct{ network, host string }{{"tcp4", "127.0.0.1"}, {"tcp6", "::1"}, {"tcp4", "0.0.0.0"}, {"tcp6", "::"}}

// IsUnused reports whether a process could listen at a port on each of addresses. A system without one of them, or one
// that lets this process listen nowhere, does not hinder it.
func IsUnused(port int) bool {
	// A process that this one starts has its sockets until it runs its own program: one that was closed
	// here would still be in the way of the next.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for _, a := range addresses {
		l, err := net.Listen(a.network, net.JoinHostPort(a.host, strconv.Itoa(port)))
		if err == nil {
			_ = l.Close()
			continue
		}
		if !isAbsent(err) {
			return false
		}
	}
	return true
}

// isAbsent reports whether an error says that there is no such address here, or no right to listen at all.
func isAbsent(err error) bool {
	for _, no := range []error{syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT, syscall.EPERM} {
		if errors.Is(err, no) {
			return true
		}
	}
	_, noAddress := errors.AsType[*net.AddrError](err)
	return noAddress
}
