package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// findActor says who acts through the engine. Whoever stands in a workspace acts
// as that, whatever else is said: where one stands is told by the records, and
// the environment by whoever started the process. Everywhere else it is the user.
func (e *Engine) findActor(ctx context.Context) (string, error) {
	user := cmp.Or(e.opts.Actor, "user")
	dir, err := filepath.EvalSymlinks(cmp.Or(e.opts.From, e.dir))
	if err != nil {
		return user, nil // it is in nothing that there is
	}
	rec, err := e.journal.WorkspaceAt(ctx, dir)
	if errors.Is(err, journal.ErrNotFound) {
		return user, nil
	}
	if err != nil {
		return "", err
	}
	return actorIn(rec.Workspace), nil
}

// actorIn is what whoever acts in a workspace is called. A name may be used again
// by another workspace, which is another actor, so the ID is part of it.
func actorIn(w croft.Workspace) string {
	agent := cmp.Or(w.Agent, "agent")
	if agent == w.Name {
		agent = "agent"
	}
	return withID(agent+" in "+w.Name, w.ID)
}

// cutActor takes the ID off what an actor is called.
func cutActor(actor string) (shown string, workspace croft.ID) {
	rest, ok := strings.CutSuffix(actor, ">")
	at := strings.LastIndex(rest, " <")
	if !ok || at < 0 || !isID(rest[at+2:]) {
		return actor, ""
	}
	return rest[:at], croft.ID(rest[at+2:])
}

// sign says who submits a merge, as the history does.
func (e *Engine) sign(m *croft.Merge) { m.Actor, m.ActorWorkspace = cutActor(e.actor()) }

// actorOf is what whoever submitted a merge is called.
func actorOf(m croft.Merge) string {
	if m.ActorWorkspace == "" {
		return m.Actor
	}
	return withID(m.Actor, m.ActorWorkspace)
}

func withID(actor string, workspace croft.ID) string { return fmt.Sprintf("%s <%s>", actor, workspace) }

// note writes down an act that has no operation of its own, for the history. It
// has no inverse.
func (e *Engine) note(tx *journal.Tx, kind string, repo croft.ID, about ...journal.Record) error {
	op := journal.Operation{
		ID: newID(), Act: newID(), Kind: kind, Actor: e.actor(), Repo: repo, Input: []byte("{}"), Owner: self(), StartedAt: e.now(), EndedAt: e.now(),
	}
	for _, rec := range about {
		op.Workspaces, op.Names = append(op.Workspaces, rec.Workspace.ID), append(op.Names, rec.Workspace.Name)
	}
	return tx.Add(op)
}
