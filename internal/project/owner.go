package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// Now returns the time, in UTC.
func (p *Projects) Now() time.Time { return p.Clock().UTC() }

// Actor returns the name of the user or agent that acts through the service.
func (p *Projects) Actor() string { return p.Who }

// Self returns this process as an owner of leases and operations.
func Self() croft.Owner {
	return OwnerOf(proc.Self())
}

// OwnerOf returns a process as an owner of leases and operations.
func OwnerOf(id proc.Identity) croft.Owner {
	return croft.Owner{Host: id.Host, Boot: id.Boot, Space: id.Space, PID: id.PID, Start: id.Start}
}

func identityOf(o croft.Owner) proc.Identity {
	return proc.Identity{Host: o.Host, Boot: o.Boot, Space: o.Space, PID: o.PID, Start: o.Start}
}

// Liveness says whether the process of an owner is alive, dead, or cannot be seen.
func Liveness(o croft.Owner) proc.Life { return proc.LifeOf(identityOf(o)) }

// OwnerName returns the name of an owner's program, or the empty string if it is not
// known.
func OwnerName(o croft.Owner) string { return proc.NameOf(identityOf(o)) }

// ProcessName returns the name of a process in messages: its program, if that is known.
func ProcessName(program string, pid int) string {
	if program == "" {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (%d)", program, pid)
}

// LeasedError returns the WorkspaceBusy error that names the holder of a lease. It does not
// check whether the lease is active.
func LeasedError(l croft.Lease) error {
	e := &croft.Error{Code: croft.WorkspaceBusy, Message: ProcessName(OwnerName(l.Owner), l.Owner.PID)}
	if l.Owner.Host != proc.Here().Host && l.Owner.Host != "" {
		e.Message += " on " + l.Owner.Host
	}
	what := " holds a lease"
	if l.Mode == croft.LeaseExclusive {
		what = " holds an exclusive lease"
	}
	if l.Term == croft.TermProcess {
		e.Message += what + " as long as it lives"
		e.Hint = "croft hold --release " + string(l.ID)
		return e
	}
	e.Message += what + " until " + l.ExpiresAt.Format(time.RFC3339)
	e.Hint = "end the process, or wait until the lease has expired"
	return e
}

// Parallel returns how many of n checkouts are written at once, and the number of
// workers for each. If configured is not positive, it goes by the number of cores.
func Parallel(n, configured int) (checkouts, workers int) {
	cores := configured
	if cores <= 0 {
		cores = runtime.NumCPU()
	}
	if n > 1 {
		return min(n, cores), 1
	}
	return 1, cores
}

// FindActor returns the name of the user or agent that acts through the engine. In a
// workspace that is the workspace's agent: the records say which directory is a
// workspace, while the process that started Croft chose name. Elsewhere it is name, by
// default "user".
func (p *Projects) FindActor(ctx context.Context, name string) (string, error) {
	user := cmp.Or(name, "user")
	dir, err := filepath.EvalSymlinks(cmp.Or(p.From, p.Dir))
	if err != nil {
		return user, nil // the directory does not exist, so it is in no workspace
	}
	rec, err := p.Journal.WorkspaceAt(ctx, dir)
	if errors.Is(err, journal.ErrNotFound) {
		return user, nil
	}
	if err != nil {
		return "", err
	}
	return actorIn(rec.Workspace), nil
}

// actorIn returns the name of the actor in a workspace. The name contains the
// workspace's ID, because another workspace may have the same name later.
func actorIn(w croft.Workspace) string {
	agent := cmp.Or(w.Agent, "agent")
	if agent == w.Name {
		agent = "agent"
	}
	return withID(agent+" in "+w.Name, w.ID)
}

// CutActor splits the name of an actor into the name to show and the ID of its
// workspace, which is empty for a user.
func CutActor(actor string) (shown string, workspace croft.ID) {
	rest, ok := strings.CutSuffix(actor, ">")
	at := strings.LastIndex(rest, " <")
	if !ok || at < 0 || !IsID(rest[at+2:]) {
		return actor, ""
	}
	return rest[:at], croft.ID(rest[at+2:])
}

// ActorOfCall returns the name of the actor to show, and its workspace.
func (p *Projects) ActorOfCall(context.Context) (shown string, workspace croft.ID) {
	return CutActor(p.Actor())
}

// SetActor sets in a merge the actor that submits it.
func (p *Projects) SetActor(m *croft.Merge) { m.Actor, m.ActorWorkspace = CutActor(p.Actor()) }

// ActorOf returns the full name of the actor that submitted a merge.
func ActorOf(m croft.Merge) string {
	if m.ActorWorkspace == "" {
		return m.Actor
	}
	return withID(m.Actor, m.ActorWorkspace)
}

func withID(actor string, workspace croft.ID) string { return fmt.Sprintf("%s <%s>", actor, workspace) }

// Note adds an ended operation to the journal for an act that needs none, so that the
// history shows it. It cannot be undone.
func (p *Projects) Note(tx *journal.Tx, kind string, repo croft.ID, about ...journal.Record) error {
	op := journal.Operation{
		ID: NewID(), Act: NewID(), Kind: kind, Actor: p.Actor(), Repo: repo, Input: []byte("{}"), Owner: Self(), StartedAt: p.Now(), EndedAt: p.Now(),
	}
	for _, rec := range about {
		op.Workspaces, op.Names = append(op.Workspaces, rec.Workspace.ID), append(op.Names, rec.Workspace.Name)
	}
	return tx.Add(op)
}
