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
		leased, err := tx.LeasedPorts()
		if err != nil {
			return err
		}
		for _, rec := range records {
			ports, err := freeBlock(r.Config.Ports, string(r.ID)+"/"+rec.Workspace.Name, leased, isUnused)
			if err != nil {
				return err
			}
			for _, p := range ports {
				leased[p.Port] = rec.Workspace.ID
			}
			rec.Workspace.Ports = ports
			if err := tx.SaveRecord(rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// freeBlock returns the first block of ports that is not leased, has no port of knownPorts and can be used. It begins to look at a block that
// follows from the name, so that a workspace of the same name gets the same ports again, if it can.
func freeBlock(conf config.Ports, name string, leased map[int]croft.ID, isFree func(int) bool) ([]croft.Port, error) {
	first, last, err := config.PortRange(conf.Range)
	if err != nil {
		return nil, err
	}
	blocks := (last - first + 1) / conf.Count
	sum := sha256.Sum256([]byte(name))
	begin := int(binary.BigEndian.Uint64(sum[:8]) % uint64(max(blocks, 1)))
	for i := range blocks {
		at := first + (begin+i)%blocks*conf.Count
		ports := make([]croft.Port, conf.Count)
		for n := range ports {
			ports[n].Port = at + n
			if n < len(conf.Names) {
				ports[n].Name = conf.Names[n]
			}
		}
		if !slices.ContainsFunc(ports, func(p croft.Port) bool {
			return leased[p.Port] != "" || slices.Contains(knownPorts, p.Port) || !isFree(p.Port)
		}) {
			return ports, nil
		}
	}
	return nil, &croft.Error{
		Code: croft.LimitReached, Message: fmt.Sprintf("no %d ports in a row are free in ports.range, %s", conf.Count, conf.Range),
		Hint: "croft remove workspaces that are not needed, or widen ports.range",
	}
}

// isUnused reports whether no process listens at a port, on any of the addresses that servers listen on. A system
// without one of the addresses does not hinder it.
func isUnused(port int) bool {
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "::"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) {
			return false
		}
		if err == nil {
			_ = l.Close()
		}
	}
	return true
}
