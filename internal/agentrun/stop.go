package agentrun

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/run"
)

const (
	// grace is how long processes may take to end after they were asked to.
	grace = 2 * time.Second
	// stopGrace is the same where a person asked.
	stopGrace = 10 * time.Second
	// telling is how long a supervisor may take to record an end.
	telling = 5 * time.Second
)

// Stop ends the agent that runs in a workspace.
func (svc *Runs) Stop(ctx context.Context, s project.Location, rec journal.Record, req croft.StopRunRequest) (*croft.Run, error) {
	if rec.Run == nil {
		return nil, notFoundError(rec)
	}
	if rec.Run.State == croft.RunEnded {
		return rec.Run, nil
	}
	if owner.Life(rec.Run.Process) == proc.Unknown && rec.Run.Process.PID != 0 {
		return nil, &croft.Error{Code: croft.Unsupported, Message: fmt.Sprintf("its agent runs on %s or in another container: it can be stopped there", rec.Run.Process.Host)}
	}
	if !run.Lives(rec.Run) && owner.Life(rec.Run.Supervisor) == proc.Dead {
		return svc.settle(ctx, s.Project, rec) // it had ended before
	}
	last, err := svc.change(ctx, rec, "", func(now *croft.Run) {
		if _, hasEnded := run.StatusOf(now); now.StoppedAt.IsZero() && !hasEnded {
			now.StoppedAt = svc.Now()
		}
	})
	if err != nil {
		return nil, err
	}
	rec.Run = last
	left := run.EndAll(last, time.Duration(cmp.Or(req.Grace, croft.Duration(stopGrace))))
	if len(left) > 0 {
		return nil, &croft.Error{Code: croft.WorkspaceBusy, Message: fmt.Sprintf("%d of its processes did not end, although they were killed", len(left))}
	}
	run.Wake(last)
	if owner.Life(last.Supervisor) == proc.Alive { // it records the end, and finishes the work
		if ended, err := svc.awaitEnd(ctx, rec); err != nil || ended != nil {
			return ended, err
		}
	}
	return svc.settle(ctx, s.Project, rec)
}

// isFinished reports whether what was to be done with the work of the last run is done.
func isFinished(rec journal.Record) bool {
	return rec.Run.Finish == croft.FinishNever || rec.Run.How == croft.RunLost || rec.Workspace.State == croft.Trashed || !rec.Run.FinishedAt.IsZero()
}

// awaitEnd waits for a while until a supervisor has recorded the end of a run and finished its work;
// nil: it has not.
func (svc *Runs) awaitEnd(ctx context.Context, rec journal.Record) (*croft.Run, error) {
	for begun := time.Now(); time.Since(begun) < telling && owner.Life(rec.Run.Supervisor) == proc.Alive; {
		now, err := svc.Journal.Record(ctx, rec.Workspace.ID)
		if err != nil {
			return nil, err
		}
		if last := now.Run; last == nil || last.ID != rec.Run.ID || last.State == croft.RunEnded && isFinished(now) {
			return last, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if now, err := svc.Journal.Record(ctx, rec.Workspace.ID); err != nil || now.Run != nil && now.Run.State == croft.RunEnded {
		return now.Run, err
	}
	return nil, nil
}
