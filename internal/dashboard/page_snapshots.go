package dashboard

import (
	"slices"

	"github.com/croft-sh/croft"
)

// snapshotsData has the snapshots of a workspace, the last first.
type snapshotsData struct {
	Items []croft.Snapshot
}

func (d *dashboard) snapshotsPage(r *request) (*page, error) {
	v, err := d.viewOf(r, "snapshots")
	if err != nil {
		return nil, err
	}
	all, err := allOf(func(p croft.Page) (*croft.List[croft.Snapshot], error) {
		return d.svc.Snapshots(r.Context(), croft.SnapshotsRequest{Repo: r.ref(), Page: p})
	})
	if err != nil {
		return nil, err
	}
	data := &snapshotsData{}
	for _, s := range slices.Backward(all) {
		if s.Workspace == v.WS.ID {
			data.Items = append(data.Items, s)
		}
	}
	v.Body = data
	p := v.pageOf("snapshots", "Snapshots of ")
	p.Live = append(p.Live, region{Template: "snapshots", Data: v})
	return p, nil
}
