package equip

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision/portblock"
)

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
	conf := r.Config.Ports
	b := portblock.Blocks{Count: conf.Count, Names: conf.Names}
	if b.First, b.Last, err = config.PortRange(conf.Range); err != nil {
		return nil, err
	}
	was := rec.Workspace.Ports
	if b.Begin = portblock.BeginFor(string(r.ID) + "/" + rec.Workspace.Name); len(was) > 0 {
		b.Count, b.Names = len(was), portblock.NamesOf(was)
		if at := was[0].Port - b.First; at >= 0 && was[0].Port <= b.Last {
			b.Begin = uint64(at/b.Count) + 1
		}
	}
	return b.Find(func(port int) bool {
		l, ok := leased[port]
		return !ok || !isOthers(l, rec) && l.Workspace != rec.Workspace.ID
	}, portblock.IsUnused)
}

// isOthers reports whether a port is neither a workspace's own nor one that an earlier workspace of its name has reserved.
func isOthers(l journal.PortLease, rec journal.Record) bool {
	isReservedForIt := l.Held == journal.PortReserved && l.Repo == rec.RepoID && l.Name == rec.Workspace.Name
	return l.Workspace != rec.Workspace.ID && !isReservedForIt
}
