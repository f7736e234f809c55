package equip

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// knownPorts are ports of well-known servers inside the usual range.
var knownPorts = []int{24678, 25565, 26257, 26379, 27015, 27017, 27018, 27019, 28015, 28017, 29092}

// leasePorts gives each of the new workspaces a block of ports that no other workspace of this machine has, in one
// transaction. The leases are in the records, so they end with them.
func (svc *Equipment) leasePorts(ctx context.Context, r *project.Project, records []*journal.Record) error {
	if r.Config.Ports.Count == 0 {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, rec := range records {
			ports, err := svc.freePorts(tx, r, *rec)
			if err != nil {
				return err
			}
			rec.Workspace.Ports = ports
			if err := tx.SaveRecord(rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// freePorts returns a block for a workspace that no other one has or has reserved, and that is not the one which it has.
func (svc *Equipment) freePorts(tx *journal.Tx, r *project.Project, rec journal.Record) ([]croft.Port, error) {
	leased, err := tx.LeasedPorts(svc.Now())
	if err != nil {
		return nil, err
	}
	b := blocks{Ports: r.Config.Ports}
	if b.first, b.last, err = config.PortRange(b.Range); err != nil {
		return nil, err
	}
	was := rec.Workspace.Ports
	if b.begin = hashOf(string(r.ID) + "/" + rec.Workspace.Name); len(was) > 0 {
		b.Count, b.Names = len(was), namesOf(was)
		if at := was[0].Port - b.first; at >= 0 && was[0].Port <= b.last {
			b.begin = uint64(at/b.Count) + 1
		}
	}
	return b.find(func(port int) bool {
		l, ok := leased[port]
		return !ok || !isOthers(l, rec) && l.Workspace != rec.Workspace.ID
	}, isUnused)
}

// isOthers reports whether a port is neither a workspace's own nor one that an earlier workspace of its name has reserved.
func isOthers(l journal.PortLease, rec journal.Record) bool {
	isReservedForIt := l.Held == journal.PortReserved && l.Repo == rec.RepoID && l.Name == rec.Workspace.Name
	return l.Workspace != rec.Workspace.ID && !isReservedForIt
}

func namesOf(ports []croft.Port) (names []string) {
	for _, p := range ports {
		names = append(names, p.Name)
	}
	return names
}

func hashOf(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:8])
}

// blocks are the blocks that ports.range is divided into.
type blocks struct {
	config.Ports
	first, last int
	begin       uint64 // the number of the block that is looked at first, if it is divided by the number of blocks
}

// find returns the first block whose ports are all vacant, usable and none of knownPorts. The search begins at a block
// that follows from the workspace's name, so that a workspace of the same name gets the same ports again, if it can.
func (b blocks) find(isVacant, isUsable func(port int) bool) ([]croft.Port, error) {
	count := (b.last - b.first + 1) / b.Count
	for i := range count {
		at := b.first + int((b.begin+uint64(i))%uint64(count))*b.Count
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
		Code: croft.LimitReached, Message: fmt.Sprintf("no %d ports in a row are free in ports.range, %s", b.Count, b.Range),
		Hint: "croft remove workspaces that are not needed, or widen ports.range",
	}
}

// addresses are those that servers listen on. Each family is asked for by itself: "tcp" with 0.0.0.0 would
// listen on [::].
var addresses = []struct{ network, host string }{{"tcp4", "127.0.0.1"}, {"tcp6", "::1"}, {"tcp4", "0.0.0.0"}, {"tcp6", "::"}}

// isUnused reports whether a process could listen at a port on each of addresses. A system without one of them, or one
// that lets this process listen nowhere, does not hinder it.
func isUnused(port int) bool {
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
