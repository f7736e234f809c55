package engine

import (
	"cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
)

// kept says why a workspace was not removed.
func kept(rec journal.Record, err error) croft.Kept {
	why := croft.AsError("remove", explain.Error("remove", rec.Workspace.Name, err))
	if why.Code == croft.NotWritable {
		why.Code, why.Message = croft.CleanupFailed, "the workspace could not be removed: "+why.Message
		why.Hint = cmp.Or(why.Hint, "give yourself the right to write there, then croft remove "+rec.Workspace.Name)
	}
	return croft.Kept{ID: rec.Workspace.ID, Name: rec.Workspace.Name, Reason: why}
}
