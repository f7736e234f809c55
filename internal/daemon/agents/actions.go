package agents

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
)

// spawn gives an agent a worktree, or the project itself if that is not a git repository.
func spawn(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error) {
	var body struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		ProjectPath string `json:"projectPath"`
	}
	if err := api.ReadBody(r, &body); err != nil {
		return 0, nil, err
	}
	if body.ProjectPath == "" {
		return 0, nil, &croft.Error{Code: croft.InvalidRequest, Op: "create", Message: "projectPath says which project the agent works on"}
	}
	req := croft.CreateRequest{
		Key: r.Header.Get(api.HeaderKey), Repo: body.ProjectPath, Name: workspaceName(body.Name), Agent: body.ID, Layout: "agents",
	}
	if req.Name != body.Name {
		req.Meta = map[string]string{metaName: body.Name}
	}
	ws, err := svc.Create(ctx, req)
	if err != nil {
		return 0, nil, err
	}
	a := agentOf(*ws, 0)
	return http.StatusCreated, a, nil
}

// metaName is the entry of Workspace.Meta that has the name of an agent, if it is not that of the
// workspace.
const metaName = "agent-name"

// workspaceName returns a name for the workspace of an agent. The application's names are for
// people and are in no path; of those that have something else than letters, digits and . _ / -
// the workspace gets what is left, or an invented name.
func workspaceName(name string) string {
	isFit := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._/-", r) }
	if !utf8.ValidString(name) || !strings.ContainsFunc(name, func(r rune) bool { return !isFit(r) }) {
		return name
	}
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !isFit(r) || r == '/' }), "-")
	if len(name) > maxWorkspaceName {
		name = strings.ToValidUTF8(name[:maxWorkspaceName], "")
	}
	return strings.Trim(name, "._-")
}

// maxWorkspaceName is how many bytes of a name are used.
const maxWorkspaceName = 60

// merge merges the work of an agent into its target, after a failed merge or a killed agent.
// A conflict leaves the work pending, and is an answer, not a failure of the call.
func merge(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error) {
	ws, err := find(ctx, svc, r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	m, err := svc.SubmitMerge(ctx, croft.MergeRequest{Key: r.Header.Get(api.HeaderKey), Repo: byID(ws.RepoID), Workspace: croft.ByID(ws.ID)})
	if err == nil {
		m, err = svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
	}
	return result(ctx, svc, ws, m, err)
}

// discard deletes the worktree and the branch of an agent. Both can be restored.
func discard(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error) {
	ws, err := find(ctx, svc, r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	done, err := svc.Discard(ctx, croft.DiscardRequest{Key: r.Header.Get(api.HeaderKey), Repo: byID(ws.RepoID), Workspaces: []croft.Ref{croft.ByID(ws.ID)}})
	if err != nil {
		return result(ctx, svc, ws, nil, err)
	}
	var m *croft.Merge
	if len(done.Merges) == 1 {
		m = &done.Merges[0]
	}
	return result(ctx, svc, ws, m, nil)
}

// revert takes the merge of an agent back, and says how many were merged after it.
func revert(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error) {
	ws, err := find(ctx, svc, r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	m, err := croft.Revert(ctx, svc, croft.RevertRequest{Key: r.Header.Get(api.HeaderKey), Repo: byID(ws.RepoID), Ref: croft.ByID(ws.ID)})
	return result(ctx, svc, ws, m, err)
}

func byID(id croft.ID) croft.Ref {
	if id == "" {
		return ""
	}
	return croft.ByID(id)
}

// result answers for an action: with 409 if the work stays pending, because the user has to
// resolve or to discard it.
func result(ctx context.Context, svc croft.Service, ws croft.Workspace, m *croft.Merge, err error) (int, any, error) {
	out := Result{Success: err == nil}
	switch {
	case errors.Is(err, croft.Canceled), errors.Is(err, croft.Closed):
		return 0, nil, err
	case err != nil:
		e := croft.AsError("merge", err)
		out.Error, out.Code = e.Message, string(e.Code)
	case m != nil:
		out.MergedAfter = m.Later
		if m.Reason != "" {
			out.Success, out.Error, out.Code = false, m.Message, string(m.Reason)
		} else if m.Status == croft.MergeMerged {
			out.MergeCommitSha = text(m.Commit)
		}
	}
	var gone error
	if out.Agent, gone = shown(ctx, svc, ws.RepoID, ws.ID); gone != nil {
		return 0, nil, gone
	}
	if err != nil {
		return croft.AsError("merge", err).Code.HTTPStatus(), out, nil
	}
	if !out.Success {
		return http.StatusConflict, out, nil
	}
	return http.StatusOK, out, nil
}

// Project is a project that agents work on.
type Project struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	ProjectPath string `json:"projectPath"`
}

func projects(ctx context.Context, svc croft.Service, _ *http.Request) (int, any, error) {
	out := []Project{}
	for repo, err := range croft.All(croft.Page{Limit: 1000}, func(page croft.Page) (*croft.List[croft.Repo], error) {
		return svc.Repos(ctx, croft.ReposRequest{Page: page})
	}) {
		if err != nil {
			return 0, nil, err
		}
		out = append(out, Project{ID: string(repo.ID), Name: repo.Name, ProjectPath: repo.Path})
	}
	return http.StatusOK, out, nil
}

// trash discards the pending work of all agents of a project, before the application trashes
// the project itself. Each agent is answered for.
func trash(ctx context.Context, svc croft.Service, r *http.Request) (int, any, error) {
	repo := croft.ByID(croft.ID(r.PathValue("id")))
	done, err := svc.Discard(ctx, croft.DiscardRequest{Key: r.Header.Get(api.HeaderKey), Repo: repo, All: croft.ScopeAll})
	if err != nil {
		return 0, nil, err
	}
	results := []Result{}
	for _, m := range done.Merges {
		_, one, err := result(ctx, svc, croft.Workspace{ID: m.Workspace, RepoID: m.RepoID}, &m, nil)
		if err != nil {
			return 0, nil, err
		}
		results = append(results, one.(Result))
	}
	return http.StatusOK, results, nil
}
