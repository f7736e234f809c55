package removal

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
)

// pin is what the first call of a removal with a key found. A repeated call removes these
// workspaces, and none that got one of the names since.
type pin struct {
	Act        croft.ID   `json:"act"`
	Workspaces []croft.ID `json:"workspaces,omitempty"`
	Unknown    []string   `json:"unknown,omitempty"`
}

// begin returns the act of a removal and the workspaces that are left to remove. What an
// earlier call with the same key has removed is added to the result, also if it was
// restored since.
func (svc *Removals) begin(ctx context.Context, s project.Location, req croft.RemoveRequest, res *croft.RemoveResult) (project.Act, []journal.Record, error) {
	if !once.HasKey(ctx) {
		records, err := svc.recordsToRemove(ctx, s, req, res)
		return project.NewAct(), records, err
	}
	p, err := svc.pinRemoval(ctx, s, req)
	if err != nil {
		return project.Act{}, nil, err
	}
	res.Unknown = p.Unknown
	done, err := svc.RemovedBy(ctx, p.Act)
	if err != nil {
		return project.Act{}, nil, err
	}
	all, err := svc.Journal.RecordsOf(ctx, p.Workspaces)
	if err != nil {
		return project.Act{}, nil, err
	}
	var left []journal.Record
	for _, id := range p.Workspaces {
		at := slices.IndexFunc(all, func(rec journal.Record) bool { return rec.Workspace.ID == id })
		switch {
		case at < 0: // its record is deleted
		case done[id]:
			res.Removed = append(res.Removed, RemovedBefore(all[at]))
		case all[at].Workspace.State == croft.Trashed: // by another act
			res.Unknown = append(res.Unknown, all[at].Workspace.Name)
		default:
			left = append(left, all[at])
		}
	}
	return project.Act{ID: p.Act}, left, nil
}

// pinRemoval returns what the first call with the key found.
func (svc *Removals) pinRemoval(ctx context.Context, s project.Location, req croft.RemoveRequest) (pin, error) {
	return once.Pin(ctx, "removal", func() (pin, error) {
		var found croft.RemoveResult
		records, err := svc.recordsToRemove(ctx, s, req, &found)
		first := pin{Act: project.NewID(), Unknown: found.Unknown}
		for _, rec := range records {
			first.Workspaces = append(first.Workspaces, rec.Workspace.ID)
		}
		return first, err
	})
}

// RemovedBy returns the workspaces that an act has removed.
func (svc *Removals) RemovedBy(ctx context.Context, act croft.ID) (map[croft.ID]bool, error) {
	ops, err := svc.Journal.Act(ctx, act)
	done := map[croft.ID]bool{}
	for _, op := range ops {
		for _, id := range op.Workspaces {
			done[id] = done[id] || op.State == journal.OpDone || op.State == journal.OpReversed
		}
	}
	return done, err
}

// RemovedBefore describes a workspace that an earlier call removed.
func RemovedBefore(rec journal.Record) croft.Removed {
	out := croft.Removed{ID: rec.Workspace.ID, Name: rec.Workspace.Name}
	if rec.Trash == nil {
		return out
	}
	if rec.Trash.Dir != "" {
		out.Trash = rec.Workspace.ID
	}
	if rec.Trash.BranchGone {
		out.Branch = rec.Workspace.Branch
	}
	return out
}
