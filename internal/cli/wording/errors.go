package wording

import (
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// OfError is an error as people read it: its sentence names the workspace, where it is and since when, instead of
// leaving that to the fields and details.
func OfError(e *croft.Error, now time.Time, shownPath func(string) string) *croft.Error {
	out := *e
	const inside, elsewhere, something = " at work inside", " is checked out elsewhere", "the workspace "
	made, err := time.Parse(time.RFC3339, e.Fields["made"])
	first, rest, _ := strings.Cut(e.Details, "\n") // below it may stand that no other was made, either
	switch path := e.Fields["path"]; {
	case e.Code == croft.WorktreeExists && path != "" && path == first && err == nil:
		out.Message, out.Details = e.Workspace+" exists already, made "+Age(now, made)+" ago: "+shownPath(path), rest
	case (e.Code == croft.BranchExists || e.Code == croft.BranchInUse) && strings.HasSuffix(e.Message, elsewhere) && e.Details != "" && !strings.Contains(e.Details, "\n"):
		out.Message, out.Details = strings.TrimSuffix(e.Message, elsewhere)+" is checked out in "+shownPath(e.Details), ""
	case e.Workspace == "":
	case e.Code == croft.WorkspaceBusy && strings.HasSuffix(e.Message, inside):
		out.Message = strings.TrimSuffix(e.Message, inside) + " at work in " + e.Workspace
	case strings.HasPrefix(e.Message, something):
		out.Message = e.Workspace + " " + strings.TrimPrefix(e.Message, something)
	}
	return &out
}
