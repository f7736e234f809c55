package agentrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/run"
)

// Record records the process of a run, that it goes on, or its end.
func (svc *Runs) Record(ctx context.Context, s project.Location, rec journal.Record, req croft.RecordRunRequest) (*croft.Run, error) {
	if rec.Run == nil || rec.Run.ID != req.Run {
		return nil, &croft.Error{Code: croft.RunNotFound, Message: fmt.Sprintf("the last run of the workspace is not %q", req.Run)}
	}
	if rec.Run.State == croft.RunEnded {
		return svc.finished(ctx, rec, req)
	}
	switch {
	case req.End != "":
		return svc.end(ctx, s.Project, rec, req)
	case req.Process.PID != 0:
		return svc.started(ctx, rec, req)
	}
	if !run.Lives(rec.Run) && owner.Life(rec.Run.Supervisor) == proc.Dead {
		return svc.settle(ctx, s.Project, rec)
	}
	return svc.goesOn(ctx, s.Project, rec, req)
}

// maxWhy is how much of a reason is recorded.
const maxWhy = 500

// finished records of a run that has ended that its work was finished, or why not.
func (svc *Runs) finished(ctx context.Context, rec journal.Record, req croft.RecordRunRequest) (*croft.Run, error) {
	last := *rec.Run
	if req.Work == croft.WorkAsItIs || !last.FinishedAt.IsZero() {
		return &last, nil
	}
	last.FinishedAt = svc.Now()
	if req.Work == croft.WorkFailed {
		last.Unfinished = cut(cmp.Or(req.Why, "nobody said why"), maxWhy)
	}
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil || now.Run == nil || now.Run.ID != last.ID {
			return err
		}
		return tx.SaveRun(rec.Workspace.ID, last, croft.Event{})
	})
	return &last, err
}

// started records the process of a run, which takes a lease.
func (svc *Runs) started(ctx context.Context, rec journal.Record, req croft.RecordRunRequest) (*croft.Run, error) {
	process := req.Process
	if process.Host == "" {
		id, isThere := proc.Of(process.PID)
		if !isThere {
			id = proc.Here() // it has ended already: its end is told next
			id.PID = process.PID
			id.Start = "0"
		}
		process = owner.Of(id)
	}
	lease := rec.Run.Lease
	if lease == "" && owner.Life(process) == proc.Alive {
		l, err := svc.Leases.TakeRequested(ctx, croft.LeaseRequest{Workspace: croft.ByID(rec.Workspace.ID), Owner: process, Term: croft.TermProcess})
		if err != nil && !errors.Is(err, croft.InvalidRequest) { // it may have ended meanwhile
			return nil, err
		}
		if err == nil {
			lease = l.ID
		}
	}
	return svc.change(ctx, rec, croft.EventRunStarted, func(run *croft.Run) {
		run.State, run.Process, run.Lease = croft.RunRunning, process, lease
		svc.setSupervisor(run, req)
	})
}

func (svc *Runs) setSupervisor(run *croft.Run, req croft.RecordRunRequest) {
	o := req.Supervisor
	if o.PID == 0 {
		return
	}
	if id, isThere := proc.Of(o.PID); o.Host == "" && isThere {
		o = owner.Of(id)
	}
	run.Supervisor = o
}

// goesOn renews the lease of a run, and looks around.
func (svc *Runs) goesOn(ctx context.Context, r *project.Project, rec journal.Record, req croft.RecordRunRequest) (*croft.Run, error) {
	if rec.Run.Lease != "" {
		l, err := svc.Journal.Leases(ctx, rec.RepoID)
		if err != nil {
			return nil, err
		}
		for _, l := range l[rec.Workspace.ID] {
			if l.ID == rec.Run.Lease && l.ExpiresAt.Sub(svc.Now()) < time.Duration(l.TTL)*2/3 {
				_, err = svc.Leases.RenewLease(ctx, croft.RenewRequest{Lease: l.ID})
			}
		}
		if err != nil && !errors.Is(err, croft.LeaseLost) {
			return nil, err
		}
	}
	if req.Supervisor.PID != 0 {
		run, err := svc.change(ctx, rec, "", func(run *croft.Run) { svc.setSupervisor(run, req) })
		if err != nil {
			return nil, err
		}
		rec.Run = run
	}
	return svc.lookAround(ctx, r, rec, inTime)
}

// end ends a run. Of one that is lost nobody else ends what is left.
func (svc *Runs) end(ctx context.Context, r *project.Project, rec journal.Record, req croft.RecordRunRequest) (*croft.Run, error) {
	if req.End == croft.RunLost {
		run.EndAll(rec.Run, grace)
	}
	run, err := svc.lookAround(ctx, r, rec, atOnce)
	if err != nil {
		return nil, err
	}
	if run.Lease != "" {
		if _, err := svc.Leases.ReleaseLease(ctx, croft.ReleaseRequest{Lease: run.Lease}); err != nil {
			return nil, err
		}
	}
	rec.Run = run
	return svc.change(ctx, rec, croft.EventRunEnded, func(run *croft.Run) {
		run.State, run.How, run.Status, run.EndedAt = croft.RunEnded, req.End, req.Status, svc.Now()
		if !run.StoppedAt.IsZero() {
			run.How = croft.RunKilled
		}
	})
}

// change changes what is recorded of a run. One that has ended, or that another has followed, is
// left as it is.
func (svc *Runs) change(ctx context.Context, rec journal.Record, kind string, change func(*croft.Run)) (*croft.Run, error) {
	var run croft.Run
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		if now.Run == nil || now.Run.ID != rec.Run.ID || now.Run.State == croft.RunEnded {
			run = *rec.Run
			if now.Run != nil && now.Run.ID == rec.Run.ID {
				run = *now.Run
			}
			return nil
		}
		run = *now.Run
		change(&run)
		event := croft.Event{}
		if kind != "" {
			event = svc.WorkspaceEvent(kind, rec)
		}
		return tx.SaveRun(rec.Workspace.ID, run, event)
	})
	return &run, err
}
