// Package agentrun keeps the runs of agents that Croft started: their processes, their ends,
// what they printed, and what changed outside of their workspaces meanwhile.
//
// It starts no agent. A supervisor does (package supervise), which is a process of its own and
// may be killed: a run is found again by its process, by the processes that the supervisor has
// seen below it, and by a variable in their environment.
package agentrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/run"
	"github.com/croft-sh/croft/internal/shellword"
)

// Leases takes and ends leases.
type Leases interface {
	TakeRequested(ctx context.Context, req croft.LeaseRequest) (*croft.Lease, error)
	RenewLease(ctx context.Context, req croft.RenewRequest) (*croft.Lease, error)
	ReleaseLease(ctx context.Context, req croft.ReleaseRequest) (*croft.Released, error)
}

// Runs keeps the runs of agents.
type Runs struct {
	*project.Projects
	Leases Leases // required
}

// Dir returns the directory of the runs of a project's workspaces, by the IDs of these.
func Dir(r *project.Project) string { return filepath.Join(r.Dir, "runs") }

// Delete deletes what is kept of the runs of a workspace.
func Delete(r *project.Project, id string) error { return os.RemoveAll(filepath.Join(Dir(r), id)) }

// beforeFile has the project as it was when the run began.
const beforeFile = "before"

// Begin records that an agent is about to be started.
func (svc *Runs) Begin(ctx context.Context, s project.Location, rec journal.Record, req croft.BeginRunRequest) (*croft.Run, error) {
	if len(req.Command) == 0 || req.Command[0] == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the run has no command"}
	}
	if rec.Workspace.State != croft.Ready {
		return nil, project.NotReadyError(croft.WorkspaceBroken, rec)
	}
	if err := svc.guardExclusive(ctx, rec); err != nil {
		return nil, err
	}
	if now := rec.Run; now != nil && now.State != croft.RunEnded {
		if run.Lives(now) {
			return nil, busyError(rec)
		}
		if _, err := svc.settle(ctx, s.Project, rec); err != nil {
			return nil, err
		}
	}
	begun := croft.Run{
		ID: project.NewID(), Workspace: rec.Workspace.ID, Command: shortened(req.Command), State: croft.RunStarting,
		Supervisor: req.Supervisor, Finish: req.Finish, Policy: req.Policy, StartedAt: svc.Now(),
	}
	if id, isThere := proc.Of(req.Supervisor.PID); req.Supervisor.Host == "" && isThere {
		begun.Supervisor = owner.Of(id)
	}
	if begun.Supervisor.Host == "" {
		begun.Supervisor = owner.Self()
	}
	of := filepath.Join(Dir(s.Project), string(rec.Workspace.ID))
	begun.Dir = filepath.Join(of, string(begun.ID))
	if err := os.MkdirAll(begun.Dir, 0o700); err != nil {
		return nil, err
	}
	deleteOldest(of, string(begun.ID))
	if err := svc.rememberBefore(ctx, s.Project, rec, begun); err != nil {
		return nil, err
	}
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		if now.Run != nil && now.Run.State != croft.RunEnded && (rec.Run == nil || now.Run.ID != rec.Run.ID) {
			return busyError(now) // another one began meanwhile
		}
		return tx.SaveRun(rec.Workspace.ID, begun, croft.Event{})
	})
	return &begun, err
}

// guardExclusive refuses a workspace that another process holds for itself alone.
func (svc *Runs) guardExclusive(ctx context.Context, rec journal.Record) error {
	leases, err := svc.Journal.Leases(ctx, rec.RepoID)
	if err != nil {
		return err
	}
	for _, l := range leases[rec.Workspace.ID] {
		if l.Mode == croft.LeaseExclusive && project.IsActive(l, svc.Now()) {
			return project.LeasedError(rec, l)
		}
	}
	return nil
}

func busyError(rec journal.Record) error {
	name := shellword.Quote(rec.Workspace.Name)
	return &croft.Error{
		Code: croft.WorkspaceBusy, Workspace: rec.Workspace.Name, Message: run.Program(rec.Run) + " runs in it",
		Details: "its output: croft logs --agent " + name, Hint: "croft stop " + name,
	}
}

// maxCommand is how many bytes of a command are recorded.
const maxCommand = 4 << 10

// shortened returns a command with its arguments cut where it is long.
func shortened(command []string) []string {
	left, short := maxCommand, []string{}
	for _, word := range command {
		word = strings.ToValidUTF8(word, "\uFFFD")
		if len(word) > left {
			return append(short, cut(word, left))
		}
		short, left = append(short, word), left-len(word)
	}
	return short
}

// cut returns a text of at most so many bytes, and says if that is not all.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// kept is how many runs of a workspace keep their output.
const kept = 5

// deleteOldest deletes the output of runs but the last ones.
func deleteOldest(dir, except string) {
	entries, _ := os.ReadDir(dir)
	age := func(e os.DirEntry) time.Time {
		info, err := e.Info()
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return age(b).Compare(age(a)) })
	for i, e := range entries {
		if i >= kept && e.Name() != except {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// settle ends a run whose first process and whose supervisor are gone: it ends the processes that
// are left of it, and records its status, if that was written down.
func (svc *Runs) settle(ctx context.Context, r *project.Project, rec journal.Record) (*croft.Run, error) {
	last := rec.Run
	run.EndAll(last, grace)
	end := croft.RecordRunRequest{Run: last.ID}
	end.End, end.Status = run.LastOf(last)
	return svc.end(ctx, r, rec, end)
}

// Read returns a part of what the last agent of a workspace printed, also of one that was removed, as long as that is
// kept.
func (svc *Runs) Read(ctx context.Context, s project.Location, req croft.RunLogRequest) (*croft.RunLog, error) {
	rec, err := svc.FindOnce(ctx, s, req.Workspace)
	if req.Workspace != "" && errors.Is(err, croft.WorktreeNotFound) {
		rec, err = svc.FindRemoved(ctx, s.Project, req.Workspace, err)
	}
	if err != nil {
		return nil, err
	}
	return readOutput(rec, req)
}

func readOutput(rec journal.Record, req croft.RunLogRequest) (*croft.RunLog, error) {
	if req.Limit < 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "an output has no part of less than nothing"}
	}
	if rec.Run == nil {
		return nil, notFoundError(rec)
	}
	const most = 1 << 20
	limit := most
	if req.Limit > 0 {
		limit = min(limit, req.Limit)
	}
	p, err := run.ReadOutput(rec.Run.Dir, req.Offset, limit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &croft.Error{Code: croft.RunNotFound, Message: "what " + run.Program(rec.Run) + " printed is not kept any more"}
	}
	if err != nil {
		return nil, err
	}
	return &croft.RunLog{Run: *rec.Run, Data: p.Data, Offset: p.Offset, Next: p.Offset + int64(len(p.Data)), Size: p.Size}, nil
}

func notFoundError(rec journal.Record) error {
	hint := fmt.Sprintf("croft run %s -- COMMAND", shellword.Quote(rec.Workspace.Name))
	if rec.Workspace.State == croft.Trashed {
		hint = "croft show " + shellword.Quote(rec.Workspace.Name)
	}
	return &croft.Error{Code: croft.RunNotFound, Message: "Croft has started no agent in it", Hint: hint}
}
