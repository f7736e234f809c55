package project

import (
	"encoding/json"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// WorkspaceEvent tells what happened to a workspace.
func (p *Projects) WorkspaceEvent(kind string, rec journal.Record) croft.Event {
	w := rec.Workspace
	data, _ := json.Marshal(struct {
		Name   string `json:"name"`
		Branch string `json:"branch,omitempty"`
		Path   string `json:"path"`
	}{w.Name, w.Branch, w.Path})
	return croft.Event{Time: p.Now(), Kind: kind, Repo: rec.RepoID, Workspace: w.ID, Data: data}
}

// MergeEvent tells what became of a merge.
func (p *Projects) MergeEvent(kind string, m journal.Merge) croft.Event {
	data, _ := json.Marshal(m.Merge)
	return croft.Event{Time: p.Now(), Kind: kind, Repo: m.RepoID, Workspace: m.WorkspaceID, Data: data}
}
