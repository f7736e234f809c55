package view

import (
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
)

// silence is how long an agent is taken to be at work without news of it, unless a process
// holds a lease.
const silence = 10 * time.Minute

// setActivity shows what the agent of a workspace does: as it was reported, unless the agent has
// ended since, or there were no news for long. An agent that waits may wait for days.
func (v *view) setActivity(w *croft.Workspace, reported *croft.Activity) {
	a := *reported
	isAtWork := a.State == croft.AgentWorking || a.State == croft.AgentStarting
	switch {
	case w.Finished != nil && w.Finished.At.After(a.At):
		a = croft.Activity{State: croft.AgentEnded, Source: "finish", Since: w.Finished.At, At: w.Finished.At}
	case isAtWork && w.Lease == nil && v.now.Sub(a.At) > silence:
		a.State, a.Since = croft.AgentUnknown, a.At
	}
	w.Activity = &a
	if a.State == croft.AgentWaiting && a.WaitingFor != croft.NeedLimit && a.WaitingFor != croft.NeedResource {
		w.Question = &croft.Question{Text: a.Note, Since: a.Since}
	}
}

// endActivity shows an agent as ended whose process is gone, if Croft has not started it: nobody can answer it any more.
func endActivity(w *croft.Workspace) {
	a := w.Activity
	isRun := w.Run != nil && w.Run.State != croft.RunEnded
	if a == nil || isRun || a.State == croft.AgentEnded || a.Process.PID == 0 || owner.Life(a.Process) != proc.Dead {
		return
	}
	now := *a
	now.State, now.WaitingFor, now.Note = croft.AgentEnded, "", "its process is gone"
	w.Activity, w.Question = &now, nil
}
