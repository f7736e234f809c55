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

// Now is the time, in UTC.
func (p *Projects) Now() time.Time { return p.Clock().UTC() }

// Actor is who acts through the service.
func (p *Projects) Actor() string { return p.Who }

// Self is this process, as leases and operations name their owner.
func Self() croft.Owner {
	return OwnerOf(proc.Self())
}

// OwnerOf is a process, as leases and operations name their owner.
func OwnerOf(id proc.Identity) croft.Owner {
	return croft.Owner{Host: id.Host, Boot: id.Boot, Space: id.Space, PID: id.PID, Start: id.Start}
}

func identityOf(o croft.Owner) proc.Identity {
	return proc.Identity{Host: o.Host, Boot: o.Boot, Space: o.Space, PID: o.PID, Start: o.Start}
}

// Liveness says whether the process of an owner is alive, dead, or cannot be seen.
func Liveness(o croft.Owner) proc.Life { return proc.LifeOf(identityOf(o)) }

// OwnerName is what the program of an owner is called, where that can be seen.
func OwnerName(o croft.Owner) string { return proc.NameOf(identityOf(o)) }

// Parallel is how many checkouts are written at once, and with how many
// workers each.
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

// FindActor returns who acts through the engine. In a workspace that is its agent,
// whatever name was given: the records say which directory is a workspace, while the
// process that started Croft chose the name. Everywhere else it is the user.
func (p *Projects) FindActor(ctx context.Context, name string) (string, error) {
	user := cmp.Or(name, "user")
	dir, err := filepath.EvalSymlinks(cmp.Or(p.From, p.Dir))
	if err != nil {
		return user, nil // it is in nothing that there is
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

// actorIn is what the actor in a workspace is called. Another workspace may have the same
// name later, and is another actor, so the ID is part of it.
func actorIn(w croft.Workspace) string {
	agent := cmp.Or(w.Agent, "agent")
	if agent == w.Name {
		agent = "agent"
	}
	return withID(agent+" in "+w.Name, w.ID)
}

// CutActor takes the ID off what an actor is called.
func CutActor(actor string) (shown string, workspace croft.ID) {
	rest, ok := strings.CutSuffix(actor, ">")
	at := strings.LastIndex(rest, " <")
	if !ok || at < 0 || !IsID(rest[at+2:]) {
		return actor, ""
	}
	return rest[:at], croft.ID(rest[at+2:])
}

// Sign says who submits a merge, as the history does.
func (p *Projects) Sign(m *croft.Merge) { m.Actor, m.ActorWorkspace = CutActor(p.Actor()) }

// ActorOf is what the actor that submitted a merge is called.
func ActorOf(m croft.Merge) string {
	if m.ActorWorkspace == "" {
		return m.Actor
	}
	return withID(m.Actor, m.ActorWorkspace)
}

func withID(actor string, workspace croft.ID) string { return fmt.Sprintf("%s <%s>", actor, workspace) }

// Note writes down an act that has no operation of its own, for the history. It
// has no inverse.
func (p *Projects) Note(tx *journal.Tx, kind string, repo croft.ID, about ...journal.Record) error {
	op := journal.Operation{
		ID: NewID(), Act: NewID(), Kind: kind, Actor: p.Actor(), Repo: repo, Input: []byte("{}"), Owner: Self(), StartedAt: p.Now(), EndedAt: p.Now(),
	}
	for _, rec := range about {
		op.Workspaces, op.Names = append(op.Workspaces, rec.Workspace.ID), append(op.Names, rec.Workspace.Name)
	}
	return tx.Add(op)
}
