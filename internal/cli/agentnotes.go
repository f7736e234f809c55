package cli

import (
	"context"
	"path/filepath"

	"github.com/croft-sh/croft"
)

// noteAgents says of workspaces whose work is about to go somewhere that an agent still works there, or that its agent has not
// succeeded. Where nobody named them, the caller is inside, and may be that agent.
func (a *app) noteAgents(ctx context.Context, svc finder, refs ...string) {
	for _, ref := range refs {
		if ref == "" || a.quiet {
			continue
		}
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: ref})
		if err != nil {
			continue // who acts on it says that
		}
		name := shellWord(ws.Name)
		switch r := ws.Run; {
		case r != nil && r.State != croft.RunEnded && len(r.Command) > 0:
			a.note("%s: %s still runs in it: what it does from now on is not part of this; croft stop %s ends it", ws.Name, filepath.Base(r.Command[0]), name)
		case ws.Activity != nil && (ws.Activity.State == croft.AgentWorking || ws.Activity.State == croft.AgentWaiting):
			a.note("%s: its agent says that it is %s: what it does from now on is not part of this", ws.Name, ws.Activity.State)
		default:
			if how := unsuccessful(*ws); how != "" {
				a.note("%s: %s", ws.Name, how)
			}
		}
	}
}

// unsuccessful says how an agent ended that has not succeeded, if the workspace is as it left it.
func unsuccessful(ws croft.Workspace) string {
	end, r := ws.Finished, ws.Run
	if end == nil || end.Head != ws.Head {
		if ws.Status == croft.ConditionOrphan {
			return ws.Why
		}
		return ""
	}
	if r != nil && r.State == croft.RunEnded && !end.At.Before(r.StartedAt) && end.Outcome != croft.Succeeded {
		if how := r.Ending(); how != "" {
			return "its agent " + how
		}
	}
	switch end.Outcome {
	case croft.Failed:
		return "its agent failed"
	case croft.Killed:
		return "its agent was killed"
	}
	return ""
}
