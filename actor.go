package croft

import "context"

// Actor is who makes a call, where one Service is used for several: a daemon for its
// clients, an orchestrator for its agents.
type Actor struct {
	// Name is shown in the history and in events. Undo without an operation takes back
	// the last act of the same actor. Default: the Service's own.
	Name string `json:"name,omitempty"`
	// Workspace is the workspace whose agent calls. Its name is shown, and what only a
	// person may decide (AcceptTarget, Approve, AcceptGitConfig) is refused.
	Workspace ID `json:"workspace,omitempty"`
	// Dir is the directory that the call is about, as an absolute path where the Service
	// runs: requests that name no project mean the one that it lies in, and relative paths
	// are taken from it. Default: the Service's own.
	Dir string `json:"dir,omitempty"`
	// From is the directory that the caller stands in. If it lies in a workspace, that
	// workspace's agent calls, whatever Name and Workspace say. Default: Dir.
	From string `json:"from,omitempty"`
	// Author is whose name the commits have that the call makes, also later in a lane.
	// Default: whom git knows where the Service runs.
	Author *Author `json:"author,omitempty"`
}

// Author is the author of commits. Both fields are required.
type Author struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type actorKey struct{}

// WithActor returns a context whose calls are made by an actor. A Service in a workspace
// acts for that workspace's agent, whatever the context says. An actor that cannot be
// recorded fails the call with InvalidName, one in an unknown workspace with
// WorktreeNotFound.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorFrom returns the actor of a context, for those who implement Service: a client
// sends it with the call. Without one it is the zero value.
func ActorFrom(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
