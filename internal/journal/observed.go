package journal

import (
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/activity"
)

// Observe records the head that somebody saw in a workspace, without an act, and tells of it
// and of the work there as workspace.changed. It is no new revision: what an agent commits and
// writes refuses no caller that has seen the record. A workspace that is gone is left alone.
func (t *Tx) Observe(seen croft.Workspace, actor string) error {
	rec, err := t.Record(seen.ID)
	if errors.Is(err, ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		return nil
	}
	if err != nil {
		return err
	}
	if rec.Seen.Head != seen.Head {
		rec.Seen.Head = seen.Head
		if _, err := t.exec(`UPDATE workspaces SET record = json_set(record, '$.seen', json(?)) WHERE id = ?`, asJSON{rec.Seen}, seen.ID); err != nil {
			return err
		}
	}
	w := rec.noun().Workspace
	w.Head, w.Work = seen.Head, seen.Work
	return t.Emit(croft.Event{
		Kind: croft.EventWorkspaceChanged, Actor: actor, ActorWorkspace: seen.ID,
		Subjects: croft.Subjects{Repo: rec.RepoID, Workspace: seen.ID, WorkspaceName: w.Name}, After: &croft.Nouns{Workspace: &w},
	})
}

// Report records what the agent of a workspace does, and tells of it. As workspace.reported it is not told
// of if only the time of the news is another. It is no new revision: what an agent says of itself refuses no caller that has
// seen the record.
func (t *Tx) Report(id croft.ID, now activity.Record, event croft.Event) error {
	rec, err := t.Record(id)
	if err != nil {
		return err
	}
	was := rec.Activity
	rec.Activity = &now
	if _, err := t.exec(`UPDATE workspaces SET record = json_set(record, '$.activity', json(?)) WHERE id = ?`, asJSON{now}, id); err != nil {
		return err
	}
	if event.Kind == croft.EventWorkspaceReported && was != nil && was.State == now.State && was.WaitingFor == now.WaitingFor && was.Note == now.Note {
		return nil
	}
	w := rec.noun().Workspace
	event.WorkspaceName, event.After = w.Name, &croft.Nouns{Workspace: &w}
	return t.Emit(event)
}

// SaveRun records the last run of a workspace's agent, and tells of it unless the event has no
// kind. It is no new revision: a run changes nothing that a caller has seen of the workspace.
func (t *Tx) SaveRun(id croft.ID, run croft.Run, event croft.Event) error {
	rec, err := t.Record(id)
	if err != nil {
		return err
	}
	rec.Run = &run
	if _, err := t.exec(`UPDATE workspaces SET record = json_set(record, '$.run', json(?)) WHERE id = ?`, asJSON{run}, id); err != nil || event.Kind == "" {
		return err
	}
	w := rec.noun().Workspace
	event.WorkspaceName, event.After = w.Name, &croft.Nouns{Workspace: &w}
	return t.Emit(event)
}
