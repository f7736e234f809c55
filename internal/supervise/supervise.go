// Package supervise runs an agent in a workspace and tells a Service of it: its process, that it goes
// on, and its end. It knows a Service only.
//
// The agent runs below a shim, which is a process of this program, too. The shim writes down what the
// agent exited with and ends what that has left. If the supervisor was killed meanwhile, it also
// reads on what the agent prints, and starts another one at the end, which does what is left to do.
// Both are parents of all processes of the agent that lose theirs, so that none is left at the end,
// wherever it went and whichever of the two was killed.
package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/run"
)

// Service is what a supervisor calls.
type Service interface {
	RecordRun(ctx context.Context, req croft.RecordRunRequest) (*croft.Run, error)
	Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error)
}

// Agent is an agent that is to be run. All fields but the last two are required.
type Agent struct {
	Service Service
	Repo    croft.Ref
	Run     croft.Run // as it was begun
	Dir     string    // where it works
	Command []string
	Environ []string
	IO      proc.SessionIO
	// Shim is how this program is started to call RunShim, and Resume to look after the run if
	// nobody does at its end: the program and its arguments.
	Shim, Resume []string
	Own          []string // the environment of these

	// Release ends what the command had others do, after its own end; nil: nothing. If it cannot, the output says so.
	Release func(ctx context.Context) error
	// Interval is how often the run is recorded to go on. Default: a second.
	Interval time.Duration
}

// End is how an agent ended, and what became of its work.
type End struct {
	Run   croft.Run
	Merge *croft.Merge // nil: nothing was finished
	// Unfinished is why the work was not finished although it should have been.
	Unfinished error
	// HasOpenLine: the last line that the agent printed has no end.
	HasOpenLine bool
}

// graceful is how long processes that an agent has left may take to end.
const graceful = 2 * time.Second

// Supervise runs the agent until it has ended and nothing is left of it. If the context ends, the
// agent is asked to end, and killed after a while.
func (a Agent) Supervise(ctx context.Context) (*End, error) {
	proc.AdoptOrphans()
	output, err := run.CreateOutput(a.Run.Dir)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	a.IO.Log = output
	session, err := a.startShim()
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		_, recorded := a.record(ctx, croft.RecordRunRequest{End: croft.RunFailed, Status: 127})
		_, isOver := a.record(ctx, croft.RecordRunRequest{Work: croft.WorkFinished}) // it has done nothing
		return nil, errors.Join(err, recorded, isOver)
	}
	w := watch{Agent: a, processes: proc.Descendants{Except: session.PID}}
	if id, isThere := proc.Of(session.PID); isThere {
		w.process = owner.Of(id)
	}
	w.session = session
	status := w.wait(ctx)
	if a.Release != nil {
		if err := a.Release(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintf(output, "\ncroft: %v\n", err)
		}
	}
	if written, known := run.StatusOf(&a.Run); known {
		status = written // the shim may have ended otherwise, after the agent
	}
	how := run.EndOf(&a.Run, status)
	if ctx.Err() != nil { // it was asked to end, whatever it says of that
		how, status = croft.RunKilled, proc.StatusOfCause(ctx, status)
	}
	if how == croft.RunKilled {
		session.ResetTerminal()
	}
	end, err := a.end(context.WithoutCancel(ctx), output, how, status)
	if end != nil {
		end.HasOpenLine = session.HasOpenLine()
	}
	return end, err
}

// stopLook is how often it is looked whether an agent on a terminal has stopped itself: its user waits for the shell then.
const stopLook = 200 * time.Millisecond

// watch is an agent that runs.
type watch struct {
	Agent
	session   *proc.Session // of the shim
	process   croft.Owner
	processes proc.Descendants
	written   []proc.Identity
	isKnown   bool // its process is recorded
	isOver    bool // the Service has the run as ended, by somebody else
}

// wait waits for the end of the shim, ends what is left if that was killed, and returns the status.
func (w *watch) wait(ctx context.Context) int {
	ended := make(chan int, 1)
	go func() {
		status, err := w.session.Wait()
		if err != nil {
			status = 255
		}
		ended <- status
	}()
	beat := time.NewTicker(cmp.Or(w.Interval, time.Second))
	defer beat.Stop()
	stop, isEnding := ctx.Done(), false // a context may have no end
	var kill, stopped <-chan time.Time
	if w.session.Suspends() != nil {
		looks := time.NewTicker(stopLook)
		defer looks.Stop()
		stopped = looks.C
	}
	w.beat(ctx)
	for {
		select {
		case status := <-ended:
			proc.EndAll(w.processes.Strays, graceful)
			w.session.Close()
			return status
		case <-stop:
			stop, isEnding, kill = nil, true, time.After(graceful)
			w.signal(proc.Ask)
		case <-kill:
			w.signal(proc.Kill)
			kill = time.After(graceful)
		case <-w.session.Suspends():
			w.session.Suspend()
		case <-stopped: // an agent that reads ctrl-z as a key stops itself
			if !isEnding && w.session.IsSuspended() {
				w.session.Suspend()
			}
		case <-beat.C:
			if isEnding {
				continue
			}
			if w.beat(ctx); w.isOver {
				stop, isEnding, kill = nil, true, time.After(graceful)
				w.signal(proc.Ask)
			}
		}
	}
}

// signal asks the processes of the agent to end, or kills them. The shim ends after the others, and is
// killed only if there are none.
func (w *watch) signal(how proc.Ending) {
	list := w.processes.Strays()
	for _, id := range list {
		proc.Signal(id, how)
	}
	if len(list) == 0 && how == proc.Kill {
		w.session.Kill()
	}
}

// beat writes down the processes of the agent, and tells the Service that it goes on. What fails is
// tried again with the next one.
func (w *watch) beat(ctx context.Context) {
	w.session.Continue()
	if list := w.processes.Strays(); !reflect.DeepEqual(list, w.written) {
		if text, err := json.Marshal(list); err == nil && writeWhole(filepath.Join(w.Run.Dir, run.ProcessesFile), text) == nil {
			w.written = list
		}
	}
	req := croft.RecordRunRequest{}
	if !w.isKnown {
		req.Process, req.Supervisor = w.process, owner.Self()
	}
	now, err := w.record(ctx, req)
	if err == nil {
		w.isKnown, w.isOver = true, now.State == croft.RunEnded
	} else if errors.Is(err, croft.RunNotFound) {
		w.isOver = true // another run has followed
	}
}

// writeWhole writes a file that is either the old one or the new one.
func writeWhole(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new-") // of a name that nobody knows before
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (a Agent) record(ctx context.Context, req croft.RecordRunRequest) (*croft.Run, error) {
	req.Repo, req.Workspace, req.Run = a.Repo, croft.ByID(a.Run.Workspace), a.Run.ID
	return a.Service.RecordRun(ctx, req)
}

// recordTime is how long the end of a run is tried to be recorded.
const recordTime = 20 * time.Second

// end records the end of the run, and finishes the work.
func (a Agent) end(ctx context.Context, output io.Writer, how croft.RunEnd, status int) (*End, error) {
	var ended *croft.Run
	var err error
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if ended, err = a.record(ctx, croft.RecordRunRequest{End: how, Status: status}); err == nil || time.Since(begun) > recordTime {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	out, err := Finish(ctx, a.Service, a.Repo, *ended)
	if err != nil {
		fmt.Fprintf(output, "\ncroft: the work was not finished: %v\n", err)
		out.Unfinished = err
	}
	return out, nil
}

// Finish finishes the work of a run that has ended, by its status, and records that. It can be
// repeated.
func Finish(ctx context.Context, svc Service, repo croft.Ref, ended croft.Run) (*End, error) {
	out := &End{Run: ended}
	if !isDue(ended) {
		return out, nil
	}
	outcome, _ := ended.How.Outcome()
	ws := croft.ByID(ended.Workspace)
	var err error
	for begun := time.Now(); ; time.Sleep(time.Second) {
		out.Merge, err = svc.Finish(ctx, croft.FinishRequest{Key: run.Key(ended.ID), Repo: repo, Workspace: ws, Outcome: outcome, Policy: ended.Policy})
		if err == nil || !croft.AsError("finish", err).Code.Retryable() || time.Since(begun) > finishTime {
			break
		}
	}
	work := croft.RecordRunRequest{Repo: repo, Workspace: ws, Run: ended.ID, Work: croft.WorkFinished}
	if err != nil {
		work.Work, work.Why = croft.WorkFailed, croft.AsError("finish", err).Message
	}
	// If the workspace went with its merge, there is nothing to record any more.
	if now, rerr := svc.RecordRun(ctx, work); rerr == nil {
		out.Run = *now
	}
	return out, err
}

// finishTime is how long it is tried again to finish work, if what hinders that may pass.
const finishTime = 5 * time.Second

// isDue reports whether the work of a run that has ended is still to be finished.
func isDue(r croft.Run) bool {
	return r.Finish != croft.FinishNever && r.How != croft.RunLost && r.FinishedAt.IsZero()
}

const (
	// settleTime is how long a run may take to be over.
	settleTime = 30 * time.Second
	// heldTime is how long a supervisor may be seen to be stopped by somebody before it counts as gone.
	heldTime = 3 * time.Second
)

// Settle does what the supervisor of a run would have done at its end, if that is gone. One that somebody has stopped is let go on;
// if it stays stopped, it counts as gone.
func Settle(ctx context.Context, svc Service, repo croft.Ref, r croft.Run) (*End, error) {
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		now, err := svc.RecordRun(ctx, croft.RecordRunRequest{Repo: repo, Workspace: croft.ByID(r.Workspace), Run: r.ID})
		if err != nil {
			return nil, err
		}
		isGone := owner.Life(now.Supervisor) == proc.Dead
		switch {
		case isGone && now.State == croft.RunEnded:
			return Finish(ctx, svc, repo, *now)
		case time.Since(begun) > settleTime, !isGone && (run.Lives(now) || !run.Wake(now)):
			return &End{Run: *now}, nil // it is the supervisor's
		case !isGone && time.Since(begun) > heldTime:
			return takeOver(ctx, svc, repo, *now)
		}
	}
}

// takeOver ends a run in the place of its supervisor. If that goes on later, it finds all done.
func takeOver(ctx context.Context, svc Service, repo croft.Ref, r croft.Run) (*End, error) {
	if r.State != croft.RunEnded {
		run.EndAll(&r, graceful)
		end := croft.RecordRunRequest{Repo: repo, Workspace: croft.ByID(r.Workspace), Run: r.ID}
		end.End, end.Status = run.LastOf(&r)
		now, err := svc.RecordRun(ctx, end)
		if err != nil {
			return nil, err
		}
		r = *now
	}
	return Finish(ctx, svc, repo, r)
}
