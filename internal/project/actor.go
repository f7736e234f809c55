package project

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
)

// caller is the key of the full name of the actor of a call, in its context.
type caller struct{}

// Actor returns the full name of the user or agent that makes a call: that of the
// context, or the service's own.
func (p *Projects) Actor(ctx context.Context) string {
	name, _ := ctx.Value(caller{}).(string)
	return cmp.Or(name, p.Who)
}

// AsService returns the context of work that a call starts for others too, such as a driver
// of a lane: its actor is the service's own.
func AsService(ctx context.Context) context.Context {
	return croft.WithActor(context.WithValue(ctx, caller{}, ""), croft.Actor{})
}

// EnterActor returns the context of a call with the full name of its actor. It refuses
// names that a history cannot show and that could be read as those of others.
func (p *Projects) EnterActor(ctx context.Context) (context.Context, error) {
	a := croft.ActorFrom(ctx)
	if a == (croft.Actor{}) {
		return ctx, nil
	}
	if err := actor.Check(a); err != nil {
		return ctx, err
	}
	if _, inside := actor.Cut(p.Who); inside != "" {
		return ctx, nil // the agent of a workspace stays that, whatever it says
	}
	if in, err := p.agentIn(ctx, cmp.Or(a.From, a.Dir)); err != nil || in != "" {
		return context.WithValue(ctx, caller{}, in), err
	}
	name := a.Name
	if name == "" && a.Author != nil {
		name = a.Author.Name
	}
	if a.Workspace != "" {
		rec, err := p.Journal.Record(ctx, a.Workspace)
		if errors.Is(err, journal.ErrNotFound) {
			return ctx, WorkspaceNotFoundError("", string(a.Workspace))
		}
		if err != nil {
			return ctx, err
		}
		name = actor.In(rec.Workspace)
	}
	return context.WithValue(ctx, caller{}, name), nil
}

// Identity returns whose name the commits of a call have.
func (p *Projects) Identity(ctx context.Context, r *Project) (gitcmd.Identity, error) {
	return r.Git.IdentityAs(ctx, actor.Author(croft.ActorFrom(ctx).Author))
}

// FindActor returns the name of the user or agent that acts through the engine. In a
// workspace that is the workspace's agent: the records say which directory is a
// workspace, while the process that started Croft chose name. Elsewhere it is name, by
// default "user".
//
// startedIn are the workspaces whose agents have started the caller, the nearest first: it may have gone elsewhere, or have moved them.
func (p *Projects) FindActor(ctx context.Context, name string, startedIn []croft.ID) (string, error) {
	for _, id := range startedIn {
		rec, err := p.Journal.Record(ctx, id)
		if err == nil && rec.Workspace.Mode != croft.ModeLegacy {
			return actor.In(rec.Workspace), nil
		}
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return "", err
		}
	}
	agent, err := p.agentIn(ctx, cmp.Or(p.From, p.Dir))
	return cmp.Or(agent, name, "user"), err
}

// agentIn returns the full name of the agent of the workspace that a directory lies in, or
// the empty string if it lies in none.
func (p *Projects) agentIn(ctx context.Context, dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", nil // the directory does not exist, so it is in no workspace
	}
	rec, err := p.Journal.WorkspaceAt(ctx, real)
	if errors.Is(err, journal.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return actor.In(rec.Workspace), nil
}

// dirOf returns the directory that the caller stands in.
func (p *Projects) dirOf(ctx context.Context) string { return cmp.Or(croft.ActorFrom(ctx).Dir, p.Dir) }

// ActorOfCall returns the name of the actor to show, and its workspace.
func (p *Projects) ActorOfCall(ctx context.Context) (shown string, workspace croft.ID) {
	return actor.Cut(p.Actor(ctx))
}

// SetActor sets in a merge the actor that submits it, and whose name its commit gets.
func (p *Projects) SetActor(ctx context.Context, m *journal.Merge) {
	m.Actor, m.ActorWorkspace = p.ActorOfCall(ctx)
	m.Author = croft.ActorFrom(ctx).Author
}

// Note adds an ended operation to the journal for an act that needs none, so that the
// history shows it. It cannot be undone.
func (p *Projects) Note(tx *journal.Tx, kind string, repo croft.ID, about ...journal.Record) error {
	op := journal.Operation{
		ID: NewID(), Act: NewID(), Kind: kind, Actor: p.Actor(tx.Context()), Repo: repo, Input: []byte("{}"), Owner: owner.Self(), StartedAt: p.Now(), EndedAt: p.Now(),
	}
	for _, rec := range about {
		op.Workspaces, op.Names = append(op.Workspaces, rec.Workspace.ID), append(op.Names, rec.Workspace.Name)
	}
	return tx.Add(op)
}
