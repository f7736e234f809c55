// Package agents serves the routes and shapes of the web application that gave every agent
// a worktree before Croft did (specification 004): agents with a worktree, a branch and a
// merge status, three actions, and the events of its WebSocket. It is a view of
// croft.Service; everything that it does can be done under /v1, too.
package agents

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

// Agent is an agent with its worktree. Null stands for a project that is not a git
// repository, or for what is not known yet.
type Agent struct {
	ID             string    `json:"id"`
	Name           string    `json:"name"`
	ProjectID      string    `json:"projectId"`
	ProjectPath    string    `json:"projectPath"`
	WorktreePath   *string   `json:"worktreePath"`
	BranchName     *string   `json:"branchName"`
	MergeStatus    *string   `json:"mergeStatus"` // pending, merged, discarded, reverted; null before the work was submitted
	MergeCommitSha *string   `json:"mergeCommitSha"`
	MergedAfter    int       `json:"mergedAfter"` // how many agents were merged after this one: a revert only undoes its own changes
	Error          string    `json:"error,omitempty"`
	CreatedAt      time.Time `json:"createdAt"`
}

// Result is the answer to an action.
type Result struct {
	Success        bool    `json:"success"`
	MergeCommitSha *string `json:"mergeCommitSha,omitempty"`
	Error          string  `json:"error,omitempty"`
	Code           string  `json:"code,omitempty"`
	MergedAfter    int     `json:"mergedAfter"`
	Agent          *Agent  `json:"agent"`
}

// Options say what the routes call.
type Options struct {
	// ServiceFor returns the Service for what a caller may do.
	ServiceFor func(caller.Caller) (croft.Service, error)
	// ActorFor returns who acts by a request.
	ActorFor func(*http.Request) (croft.Actor, error)
	// Stopping ends what only waits when it is closed: the daemon stops.
	Stopping <-chan struct{}
}

// New returns the handler of everything below /api, but for the WebSocket.
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/agents", o.handle(list))
	mux.HandleFunc("POST /api/agents", o.handle(spawn))
	mux.HandleFunc("GET /api/agents/{id}", o.handle(get))
	mux.HandleFunc("POST /api/agents/{id}/merge", o.handle(merge))
	mux.HandleFunc("POST /api/agents/{id}/discard", o.handle(discard))
	mux.HandleFunc("POST /api/agents/{id}/revert", o.handle(revert))
	mux.HandleFunc("GET /api/projects", o.handle(projects))
	mux.HandleFunc("POST /api/projects/{id}/trash", o.handle(trash))
	mux.HandleFunc(EventsPath, func(w http.ResponseWriter, r *http.Request) { // another handler has its GET
		o.refuseMethod(w, r, []string{http.MethodGet})
	})
	mux.HandleFunc(everyPath, func(w http.ResponseWriter, r *http.Request) {
		o.refuseMethod(w, r, api.Allowed(mux, everyPath, r))
	})
	return mux
}

// EventsPath is where the WebSocket is.
const EventsPath = "/api/events"

// everyPath is the pattern of the handler that gets what no route takes.
const everyPath = "/api/"

// refuseMethod answers a request that no route takes.
func (o Options) refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	if _, err := o.ServiceFor(caller.From(r.Context())); err != nil {
		api.WriteError(w, "agents", err)
		return
	}
	api.RefuseMethod(w, r, allowed)
}

// action does one thing for a caller, and returns the status and the body of the answer.
type action func(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error)

func (o Options) handle(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		svc, err := o.ServiceFor(caller.From(r.Context()))
		if err != nil {
			api.WriteError(w, "agents", err)
			return
		}
		actor, err := o.ActorFor(r)
		if err != nil {
			api.WriteError(w, "agents", err)
			return
		}
		status, body, err := do(croft.WithActor(r.Context(), actor), waiting{svc, o.Stopping}, r)
		if err != nil {
			api.WriteError(w, "agents", err)
			return
		}
		api.WriteAnswer(w, status, body)
	}
}

// everyState are the states of the workspaces that are agents: those in the trash stay
// agents, with what became of their work.
var everyState = []croft.State{croft.Creating, croft.Ready, croft.Stopped, croft.Trashed, croft.Broken}

// list lists the agents of all projects, or of one.
func list(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error) {
	agents := []Agent{}
	later, err := laterMerges(ctx, svc, "")
	if err != nil {
		return 0, nil, err
	}
	project := r.URL.Query().Get("projectPath")
	for ws, err := range workspaces(ctx, svc) {
		if err != nil {
			return 0, nil, err
		}
		if project == "" || ws.Repo == project || string(ws.RepoID) == project {
			agents = append(agents, agentOf(ws, later[ws.ID]))
		}
	}
	return http.StatusOK, agents, nil
}

// workspaces yields every workspace.
func workspaces(ctx context.Context, svc croft.Service) iter.Seq2[croft.Workspace, error] {
	return croft.All(croft.Page{Limit: 1000}, func(page croft.Page) (*croft.List[croft.Workspace], error) {
		return svc.Workspaces(ctx, croft.WorkspacesRequest{Repos: croft.ScopeAll, States: everyState, Page: page})
	})
}

// agentOf returns a workspace as an agent. later is how many merges came after its own.
func agentOf(ws croft.Workspace, later int) Agent {
	a := Agent{
		ID: cmp.Or(ws.Agent, string(ws.ID)), Name: cmp.Or(ws.Meta[metaName], ws.Name), ProjectID: string(ws.RepoID), ProjectPath: ws.Repo,
		MergeStatus: text(string(ws.MergeStatus)), MergeCommitSha: text(ws.MergeCommit), Error: ws.MergeMessage, CreatedAt: ws.CreatedAt,
	}
	if ws.Mode != croft.ModeLegacy {
		a.WorktreePath, a.BranchName = text(ws.Path), text(ws.Branch)
	}
	if ws.MergeStatus == croft.MergeMerged {
		a.MergedAfter = later
	}
	return a
}

// text returns nil for an empty text, which JSON has as null.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// laterMerges counts, for each workspace of one project or of all, the merges into its target that came after its
// own and are still there.
func laterMerges(ctx context.Context, svc croft.Service, repo croft.ID) (map[croft.ID]int, error) {
	later, merged := map[croft.ID]int{}, map[string]int{}
	req := croft.MergesRequest{Repo: byID(repo), Scope: croft.ScopeAll}
	if repo == "" {
		req.Repos = croft.ScopeAll
	}
	var all []croft.Merge
	for m, err := range croft.All(croft.Page{Limit: 1000}, func(page croft.Page) (*croft.List[croft.Merge], error) {
		req.Page = page
		return svc.Merges(ctx, req)
	}) {
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b croft.Merge) int { return b.EndedAt.Compare(a.EndedAt) })
	for _, m := range all {
		if m.Status != croft.MergeMerged || m.Kind == croft.KindRevert {
			continue
		}
		target := string(m.RepoID) + "/" + m.Target
		if _, isThere := later[m.Workspace]; !isThere {
			later[m.Workspace] = merged[target]
		}
		merged[target]++
	}
	return later, nil
}

// find returns the workspace of an agent: by the ID of the application, or by Croft's.
func find(ctx context.Context, svc croft.Service, id string) (croft.Workspace, error) {
	var found croft.Workspace
	for ws, err := range workspaces(ctx, svc) {
		if err != nil {
			return ws, err
		}
		if string(ws.ID) == id {
			return ws, nil
		}
		if ws.Agent == id && (found.ID == "" || ws.CreatedAt.After(found.CreatedAt)) {
			found = ws
		}
	}
	if found.ID == "" {
		return found, &croft.Error{Code: croft.WorktreeNotFound, Op: "agent", Message: "there is no such agent"}
	}
	return found, nil
}

// shown returns an agent as it is now.
func shown(ctx context.Context, svc croft.Service, repo, id croft.ID) (*Agent, error) {
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: byID(repo), Ref: croft.ByID(id), Scope: croft.ScopeAll})
	if err != nil {
		return nil, err
	}
	var later map[croft.ID]int
	if ws.MergeStatus == croft.MergeMerged {
		if later, err = laterMerges(ctx, svc, repo); err != nil {
			return nil, err
		}
	}
	a := agentOf(*ws, later[ws.ID])
	return &a, nil
}

func get(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error) {
	ws, err := find(ctx, svc, r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	a, err := shown(ctx, svc, ws.RepoID, ws.ID)
	return http.StatusOK, a, err
}
