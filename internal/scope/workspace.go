package scope

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/croft-sh/croft"
)

// Workspace returns a Service for the agent of one workspace. It acts as that workspace, and
// finds nothing but it, its merges, snapshots, reviews, leases, logs and events. It lacks the
// calls by which a person decides, those that reach over several workspaces, locks, which are
// persons', and sessions, which would tell who is who. Close does nothing.
//
// The text of a message that Croft wrote about the workspace may name another one that is in
// its way; fields that do are left empty.
func Workspace(svc croft.Service, id croft.ID) croft.Service {
	return &workspace{svc: svc, id: id, repo: new(atomic.Value)}
}

type workspace struct {
	denied
	svc  croft.Service
	id   croft.ID
	repo *atomic.Value // croft.ID of the project, once it is known
}

// own is the workspace of the Service, as it is at a call.
type own struct{ croft.Workspace }

// find returns the workspace, also one in the trash, and the context in which its agent calls.
func (w *workspace) find(ctx context.Context) (context.Context, own, error) {
	ctx = croft.WithActor(ctx, croft.Actor{Workspace: w.id})
	if repo, ok := w.repo.Load().(croft.ID); ok {
		ws, err := w.lookIn(ctx, repo)
		if err == nil || !isGone(err) {
			return ctx, own{ws}, err
		}
	}
	for repo, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Repo], error) {
		return w.svc.Repos(ctx, croft.ReposRequest{Page: page})
	}) {
		if err != nil {
			return ctx, own{}, err
		}
		if ws, err := w.lookIn(ctx, repo.ID); err == nil {
			w.repo.Store(repo.ID)
			return ctx, own{ws}, nil
		} else if ctx.Err() != nil {
			return ctx, own{}, err
		}
	}
	return ctx, own{}, notFound(croft.WorktreeNotFound, "find", "workspace", string(w.id))
}

func (w *workspace) lookIn(ctx context.Context, repo croft.ID) (croft.Workspace, error) {
	ws, err := w.svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByID(repo), Ref: croft.ByID(w.id), Scope: croft.ScopeAll})
	if err != nil {
		return croft.Workspace{}, err
	}
	return *ws, nil
}

// isGone reports whether something is not there, whatever it is.
func isGone(err error) bool {
	for _, code := range []croft.Code{
		croft.WorktreeNotFound, croft.MergeNotFound, croft.SnapshotNotFound, croft.ReviewNotFound, croft.OperationNotFound,
		croft.NotARepo, croft.InvalidName, croft.InvalidRequest,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// notFound is the one answer for what is another's and for what does not exist.
func notFound(code croft.Code, op, noun, ref string) *croft.Error {
	return &croft.Error{Code: code, Op: op, Message: fmt.Sprintf("there is no %s %q", noun, ref), Fields: map[string]string{"ref": ref}}
}

// target finds the workspace for a request that names one, and refuses a request that names
// another.
func (w *workspace) target(ctx context.Context, op string, repo, ref croft.Ref) (context.Context, own, error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return ctx, me, err
	}
	if !me.isIn(repo) || !me.isNamed(ref) {
		return ctx, me, notFound(croft.WorktreeNotFound, op, "workspace", ref)
	}
	return ctx, me, nil
}

// inRepo finds the workspace for a request that names only a project.
func (w *workspace) inRepo(ctx context.Context, op string, repo croft.Ref) (context.Context, own, error) {
	ctx, me, err := w.find(ctx)
	if err == nil && !me.isIn(repo) {
		err = notFound(croft.NotARepo, op, "project", repo)
	}
	return ctx, me, err
}

// isIn reports whether a Ref names the project of the workspace. A path must be that of the
// project, or lie in the workspace.
func (o own) isIn(repo croft.Ref) bool {
	kind, text := croft.CutRef(repo)
	return repo == "" || kind.Is(croft.RefID) && text == string(o.RepoID) ||
		kind.Is(croft.RefPath) && (filepath.Clean(text) == filepath.Clean(o.Repo) || o.hasPath(text))
}

// isNamed reports whether a Ref names the workspace. Once it was removed, its name may be
// another's.
func (o own) isNamed(ref croft.Ref) bool {
	if ref == "" {
		return true
	}
	kind, text := croft.CutRef(ref)
	return kind.Is(croft.RefID) && text == string(o.ID) ||
		o.State != croft.Trashed && (kind.Is(croft.RefName) && text == o.Name || kind.Is(croft.RefPath) && o.hasPath(text))
}

// hasPath reports whether a path lies in the workspace, as far as its letters say.
func (o own) hasPath(path string) bool {
	if o.Path == "" || !filepath.IsAbs(path) || o.State == croft.Trashed {
		return false
	}
	rel, err := filepath.Rel(o.Path, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// isTarget reports whether a request names the target of the workspace, or none.
func (o own) isTarget(target string) bool {
	return target == "" || target == o.Target
}

func (o own) repo() croft.Ref { return croft.ByID(o.RepoID) }
func (o own) ref() croft.Ref  { return croft.ByID(o.ID) }

// trim takes the names of other workspaces out of a workspace, and in a session the names
// that its agent must not know: its own, and the label under which the others see it.
func trim(ws *croft.Workspace) *croft.Workspace {
	if ws == nil {
		return nil
	}
	out := *ws
	out.Collides, out.Forecast, out.Actor, out.ActorWorkspace = nil, "", "", ""
	switch out.Status {
	case croft.ConditionConflict: // says whose merge brought the other side
		out.Why = "with " + out.Target
	case croft.ConditionStuck: // says what is in the way, which may be another's
		out.Why = ""
	}
	if out.MergeReason == croft.BranchInUse {
		if out.Why == out.MergeMessage {
			out.Why = inUse
		}
		out.MergeMessage = inUse
	}
	if out.Next != nil && out.Why != ws.Why {
		next := *out.Next
		next.What, out.Next = out.Why, &next
	}
	if out.Label != "" {
		out.Agent, out.Label, out.Meta = "", "", nil
	}
	return &out
}

// trimmed returns the answer of a call without the names of other workspaces.
func trimmed(ws *croft.Workspace, err error) (*croft.Workspace, error) { return trim(ws), err }

func (w *workspace) Repo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	ctx, me, err := w.inRepo(ctx, "repo", req.Repo)
	if err != nil {
		return nil, err
	}
	return w.svc.Repo(ctx, croft.RepoRequest{Repo: me.repo()})
}

func (w *workspace) CheckRepo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	ctx, me, err := w.inRepo(ctx, "check", req.Repo)
	if err != nil {
		return nil, err
	}
	return w.svc.CheckRepo(ctx, croft.RepoRequest{Repo: me.repo()})
}

// Repos lists the project of the workspace.
func (w *workspace) Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error) {
	list := &croft.List[croft.Repo]{Items: []croft.Repo{}}
	if req.After != "" {
		return list, nil
	}
	repo, err := w.Repo(ctx, croft.RepoRequest{})
	if err != nil {
		return nil, err
	}
	list.Items = append(list.Items, *repo)
	return list, nil
}

// Workspaces lists the workspace, if it is one of those that are asked for.
func (w *workspace) Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	if req.Repos != croft.ScopeAll && !me.isIn(req.Repo) {
		return nil, notFound(croft.NotARepo, "list", "project", req.Repo)
	}
	if me.Label != "" && (req.Agent != "" || len(req.Meta) > 0) { // would tell the agent who it is
		return &croft.List[croft.Workspace]{Items: []croft.Workspace{}}, nil
	}
	req.Repo, req.Repos = me.repo(), croft.ScopeNamed
	list, err := collect(req.Page, func(p croft.Page) (*croft.List[croft.Workspace], error) {
		req.Page = p
		return w.svc.Workspaces(ctx, req)
	}, func(ws *croft.Workspace) bool {
		*ws = *trim(ws)
		return ws.ID == w.id
	})
	if err != nil {
		return nil, err
	}
	list.Unseen = onlyID(list.Unseen, w.id)
	return list, nil
}

func (w *workspace) Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	ctx, me, err := w.target(ctx, "show", req.Repo, req.Ref)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Ref = me.repo(), me.ref()
	return trimmed(w.svc.Workspace(ctx, req))
}

// Push is passed on: the engine refuses agents, unless the user's configuration allows it.
func (w *workspace) Push(ctx context.Context, req croft.PushRequest) (*croft.Pushed, error) {
	ctx, me, err := w.target(ctx, "push", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return w.svc.Push(ctx, req)
}

func (w *workspace) RefreshPush(ctx context.Context, req croft.RefreshPushRequest) (*croft.Pushed, error) {
	ctx, me, err := w.target(ctx, "push", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return w.svc.RefreshPush(ctx, req)
}

func (w *workspace) RunLog(ctx context.Context, req croft.RunLogRequest) (*croft.RunLog, error) {
	ctx, me, err := w.target(ctx, "logs", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return w.svc.RunLog(ctx, req)
}

func (w *workspace) ReportAgent(ctx context.Context, req croft.ReportRequest) (*croft.Activity, error) {
	ctx, me, err := w.target(ctx, "report", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return w.svc.ReportAgent(ctx, req)
}

func (w *workspace) PlanProvision(ctx context.Context, req croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
	ctx, me, err := w.target(ctx, "provision", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return w.svc.PlanProvision(ctx, req)
}

func (w *workspace) Provision(ctx context.Context, req croft.ProvisionRequest) (*croft.Provision, error) {
	ctx, me, err := w.target(ctx, "provision", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return w.svc.Provision(ctx, req)
}

func (w *workspace) UpdateWorkspace(ctx context.Context, req croft.UpdateRequest) (*croft.Workspace, error) {
	ctx, me, err := w.target(ctx, "update", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return trimmed(w.svc.UpdateWorkspace(ctx, req))
}

func (w *workspace) Status(ctx context.Context, req croft.StatusRequest) (*croft.Status, error) {
	ctx, me, err := w.target(ctx, "status", "", croft.ByID(req.Workspace))
	if err != nil {
		return nil, err
	}
	return w.svc.Status(ctx, croft.StatusRequest{Workspace: me.ID})
}

// Remove removes the workspace. Others are unknown, as those that do not exist. A forced
// removal overrides the lock of a person and is refused.
func (w *workspace) Remove(ctx context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	if req.All != croft.ScopeNamed || req.Mode != croft.RemoveSafe || req.Agreed != nil {
		return w.denied.Remove(ctx, req)
	}
	ctx, me, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	var unknown []string
	isIn, isNamed := me.isIn(req.Repo), false
	for _, ref := range req.Workspaces {
		if isIn && ref != "" && me.isNamed(ref) {
			isNamed = true
		} else {
			unknown = append(unknown, ref)
		}
	}
	res := &croft.RemoveResult{Removed: []croft.Removed{}}
	if isNamed || len(req.Workspaces) == 0 {
		req.Repo, req.Workspaces = me.repo(), nil
		req.Key = w.ownKey(req.Key)
		if isNamed {
			req.Workspaces = []croft.Ref{me.ref()}
		}
		if res, err = w.svc.Remove(ctx, req); err != nil {
			return nil, err
		}
	}
	res.Unknown = append(res.Unknown, unknown...)
	return res, nil
}

// Role describes the workspace's own role.
func (w *workspace) Role(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	ctx, req, err := w.roleRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	return w.svc.Role(ctx, req)
}

func (w *workspace) CopyRole(ctx context.Context, req croft.RoleRequest) (*croft.Role, error) {
	ctx, req, err := w.roleRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	return w.svc.CopyRole(ctx, req)
}

func (w *workspace) roleRequest(ctx context.Context, req croft.RoleRequest) (context.Context, croft.RoleRequest, error) {
	ctx, me, err := w.target(ctx, "role", req.Repo, req.Workspace)
	if err != nil {
		return ctx, req, err
	}
	if me.Role == "" || req.Role != "" && req.Role != me.Role {
		return ctx, req, notFound(croft.RoleNotFound, "role", "role", req.Role)
	}
	req.Repo, req.Workspace, req.Role = me.repo(), me.ref(), me.Role
	req.Key = w.ownKey(req.Key)
	return ctx, req, nil
}

func (w *workspace) Mounts(ctx context.Context, req croft.MountsRequest) (*croft.Mounts, error) {
	ctx, me, err := w.target(ctx, "mounts", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	return w.svc.Mounts(ctx, req)
}

func (w *workspace) Prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	ctx, me, err := w.target(ctx, "prompt", req.Repo, req.Ref)
	if err != nil {
		return nil, err
	}
	req.Repo, req.Ref = me.repo(), me.ref()
	return w.svc.Prompt(ctx, req)
}

// ArchiveScratch is refused in a session: its answer has the label under which the others see
// the agent.
func (w *workspace) ArchiveScratch(ctx context.Context, req croft.ArchiveRequest) (*croft.Archive, error) {
	ctx, me, err := w.target(ctx, "archive", req.Repo, req.Workspace)
	if err != nil {
		return nil, err
	}
	if req.Label != "" || me.Label != "" {
		return w.denied.ArchiveScratch(ctx, req)
	}
	req.Repo, req.Workspace = me.repo(), me.ref()
	req.Key = w.ownKey(req.Key)
	return w.svc.ArchiveScratch(ctx, req)
}

// Conflicts tells whether the workspace collides with its target.
func (w *workspace) Conflicts(ctx context.Context, req croft.ConflictsRequest) (*croft.Forecast, error) {
	ctx, me, err := w.inRepo(ctx, "conflicts", req.Repo)
	if err != nil {
		return nil, err
	}
	all, err := w.svc.Conflicts(ctx, croft.ConflictsRequest{Repo: me.repo()})
	if err != nil {
		return nil, err
	}
	out := &croft.Forecast{Pairs: []croft.Collision{}, Order: []string{}}
	for _, pair := range all.Pairs {
		if pair.AID == w.id && pair.IsTarget {
			out.Pairs = append(out.Pairs, pair)
		}
	}
	for _, name := range all.Order {
		if name == me.Name {
			out.Order = append(out.Order, name)
		}
	}
	for _, k := range all.Skipped {
		if k.ID == w.id {
			out.Skipped = append(out.Skipped, k)
		}
	}
	return out, nil
}

// Lanes tells of the target of the workspace.
func (w *workspace) Lanes(ctx context.Context, req croft.LanesRequest) (*croft.List[croft.Lane], error) {
	ctx, me, err := w.inRepo(ctx, "queue", req.Repo)
	if err != nil {
		return nil, err
	}
	if me.Target == "" || !me.isTarget(req.Target) {
		return &croft.List[croft.Lane]{Items: []croft.Lane{}}, nil
	}
	req.Repo, req.Target = me.repo(), me.Target
	return w.svc.Lanes(ctx, req)
}

// Checks shows what the target of the workspace asks for.
func (w *workspace) Checks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	ctx, me, err := w.inRepo(ctx, "checks", req.Repo)
	if err != nil {
		return nil, err
	}
	if me.Target == "" || !me.isTarget(req.Target) {
		return nil, notFound(croft.TargetNotFound, "checks", "target", req.Target)
	}
	return w.svc.Checks(ctx, croft.ChecksRequest{Repo: me.repo(), Target: me.Target})
}
