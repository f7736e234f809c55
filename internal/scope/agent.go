package scope

import (
	"context"

	"github.com/croft-sh/croft"
)

// Agent returns the Service of Workspace for an agent on the user's own machine. It differs in
// one call: Conflicts also tells with whom the workspace will collide, and in which paths. In a
// round that is the label of the other one.
func Agent(svc croft.Service, id croft.ID) croft.Service {
	return &agent{workspace: Workspace(svc, id).(*workspace)}
}

type agent struct{ *workspace }

// anonymous is the name of a workspace in a round that has no label.
const anonymous = "another workspace"

// Conflicts forecasts the collisions of the workspace, with its target and with others.
func (a *agent) Conflicts(ctx context.Context, req croft.ConflictsRequest) (*croft.Forecast, error) {
	ctx, me, err := a.inRepo(ctx, "conflicts", req.Repo)
	if err != nil {
		return nil, err
	}
	all, err := a.svc.Conflicts(ctx, croft.ConflictsRequest{Repo: me.repo()})
	if err != nil {
		return nil, err
	}
	out := &croft.Forecast{Pairs: []croft.Collision{}, Order: []string{}}
	for _, pair := range all.Pairs {
		switch a.id {
		case pair.AID:
		case pair.BID:
			pair.A, pair.AID, pair.B, pair.BID = pair.B, pair.BID, pair.A, pair.AID
		default:
			continue
		}
		if !pair.IsTarget {
			pair.B, pair.BID = a.nameOf(ctx, me, pair), ""
		}
		out.Pairs = append(out.Pairs, pair)
	}
	for _, k := range all.Skipped {
		if k.ID == a.id {
			out.Skipped = append(out.Skipped, k)
		}
	}
	return out, nil
}

// nameOf returns the name under which the agent may know the other workspace of a pair.
func (a *agent) nameOf(ctx context.Context, me own, pair croft.Collision) string {
	ws, err := a.svc.Workspace(ctx, croft.WorkspaceRequest{Repo: me.repo(), Ref: croft.ByID(pair.BID)})
	switch {
	case err != nil:
		return anonymous
	case ws.Label != "":
		return ws.Label
	case me.Label != "":
		return anonymous
	}
	return pair.B
}
