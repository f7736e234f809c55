package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/scope"
)

// Kind says what a server may do.
type Kind string

// The kinds of servers.
const (
	KindAgent        Kind = "agent"        // one workspace
	KindSession      Kind = "session"      // the workspaces of one session of an agent's host, each named in its call
	KindOrchestrator Kind = "orchestrator" // all workspaces of a project
	KindReadOnly     Kind = "read-only"    // likewise, without changes
)

// Scope is what a server may see and do.
type Scope struct {
	Kind      Kind
	Workspace croft.ID // with KindAgent
	Repo      croft.ID // otherwise
	Session   string   // with KindSession: the session of the host; empty: it has none
}

// SessionMeta is the entry of a workspace's meta with the session of the agent that it was
// made for. A server for a session accepts workspaces with its own session there.
const SessionMeta = "agent.session"

// Start is what a host says when it starts a server.
type Start struct {
	Kind      Kind      // empty: by the rest
	Dir       croft.Ref // the directory that it is started in
	Workspace croft.Ref // that the caller named; empty: none
	ID        croft.ID  // of the workspace that the environment names; empty: none
	Session   string    // of the agent's host, as the environment names it
}

// Decide decides the scope of a server, once: by what the host says, then by the workspace
// of the environment, then by the directory.
func Decide(ctx context.Context, svc croft.Service, s Start) (Scope, error) {
	if s.Kind == "" && s.Workspace == "" && s.ID != "" {
		return Scope{Kind: KindAgent, Workspace: s.ID}, nil
	}
	if s.Kind == "" || s.Kind == KindAgent {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: s.Dir, Ref: s.Workspace})
		if err == nil {
			return Scope{Kind: KindAgent, Workspace: ws.ID}, nil
		}
		if s.Workspace != "" || !errors.Is(err, croft.WorktreeNotFound) {
			return Scope{}, err
		}
	}
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: s.Dir})
	if err != nil {
		return Scope{}, err
	}
	kind := s.Kind
	if kind == "" {
		kind = KindSession
	}
	return Scope{Kind: kind, Repo: repo.ID, Session: s.Session}, nil
}

// narrow returns the Service of a call, and the workspace that it is about if the scope has
// one. A call of a session names its workspace.
func (s Scope) narrow(ctx context.Context, svc croft.Service, named croft.Ref) (croft.Service, error) {
	switch s.Kind {
	case KindAgent:
		return scope.Agent(svc, s.Workspace), nil
	case KindReadOnly:
		return scope.ReadOnly(svc), nil
	case KindOrchestrator:
		return svc, nil
	}
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByID(s.Repo), Ref: named})
	if err != nil && !slices.ContainsFunc([]croft.Code{croft.WorktreeNotFound, croft.InvalidName, croft.InvalidRequest, croft.NotARepo}, func(c croft.Code) bool { return errors.Is(err, c) }) {
		return nil, err
	}
	if err != nil || named == "" || s.Session == "" || ws.RepoID != s.Repo || ws.Meta[SessionMeta] != s.Session {
		return nil, notFound(named)
	}
	return scope.Agent(svc, ws.ID), nil
}

// notFound is the one answer for a workspace outside of the scope and for one that does not exist.
func notFound(ref croft.Ref) error {
	return &croft.Error{Code: croft.WorktreeNotFound, Op: "show", Message: fmt.Sprintf("there is no workspace %q", ref), Fields: map[string]string{"ref": ref}}
}
