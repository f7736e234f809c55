package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
)

// The tools of an orchestrator, which sees the workspaces of one project.

func list(ctx context.Context, c *call, in listIn) (*listOut, error) {
	req := croft.WorkspacesRequest{Repo: c.repo(), Session: in.Session, Asks: croft.Asks(in.Asks), Look: lookTime, Page: croft.Page{Limit: in.Limit, After: in.After}}
	if in.State != "" {
		req.Conditions = []croft.Condition{croft.Condition(in.State)}
	}
	if req.Limit == 0 {
		req.Limit = 50
	}
	for {
		all, err := c.Workspaces(ctx, req)
		if err != nil {
			return nil, err
		}
		out := &listOut{Next: all.Next, Cursor: string(all.Cursor)}
		for _, ws := range all.Items {
			b := briefOf(ws)
			if in.Agent == "" || in.Agent == b.Agent || in.Agent == ws.Agent {
				out.Workspaces = append(out.Workspaces, b)
			}
		}
		if fits(out) || req.Limit == 1 {
			return out, nil
		}
		req.Limit /= 2
	}
}

func create(ctx context.Context, c *call, in createIn) (*createOut, error) {
	if in.Provision == "background" {
		return nil, &croft.Error{
			Code: croft.Unsupported, Op: "create", Message: "this version sets workspaces up while its caller waits, or not at all", Details: "Nothing was made.", Hint: "provision is wait or none", Fields: map[string]string{"field": "provision"},
		}
	}
	req := croft.CreateAllRequest{Key: in.Key, Repo: c.repo()}
	for _, name := range in.Names {
		req.Workspaces = append(req.Workspaces, croft.CreateRequest{Name: name, Base: in.Base, Target: in.Target, Role: in.Role, Mode: croft.Mode(in.Mode)})
	}
	made, err := c.CreateAll(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &createOut{}
	for _, ws := range made.Workspaces {
		if ws.Provision != nil && ws.Provision.State == croft.ProvisionPending && in.Provision != "none" {
			req := croft.ProvisionRequest{Repo: c.repo(), Workspace: croft.ByID(ws.ID), Mode: croft.ProvisionSteps}
			if _, err := c.Provision(ctx, req); err != nil && ctx.Err() != nil {
				return nil, err // any other failure is in its state: it is made in any case
			}
			if now, err := c.Workspace(ctx, croft.WorkspaceRequest{Repo: c.repo(), Ref: croft.ByID(ws.ID)}); err == nil {
				ws = *now
			}
		}
		out.Workspaces = append(out.Workspaces, briefOf(ws))
	}
	return out, nil
}

// isForeign reports whether a reference names a workspace of another project. One that names
// none is left to the call, which may have been made before with the same key.
func (c *call) isForeign(ctx context.Context, ref croft.Ref) bool {
	ws, err := c.Workspace(ctx, croft.WorkspaceRequest{Repo: c.repo(), Ref: ref, Scope: croft.ScopeAll})
	return err == nil && ws.RepoID != c.scope.Repo
}

func merge(ctx context.Context, c *call, in mergeIn) (*mergeOut, error) {
	if in.Workspace == "" || c.isForeign(ctx, in.Workspace) {
		return nil, notFound(in.Workspace)
	}
	m, err := c.SubmitMerge(ctx, croft.MergeRequest{Key: in.Key, Repo: c.repo(), Workspace: in.Workspace, Head: in.Head})
	if err != nil {
		return nil, err
	}
	if m.State == croft.MergeDone {
		return mergeAnswer(m), nil
	}
	c.await(m)
	if in.Wait > 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(in.Wait)*time.Second)
		defer cancel()
		ended, err := c.WaitMerge(short, croft.WaitRequest{Merge: m.ID})
		switch {
		case err == nil:
			m = ended
		case short.Err() == nil || ctx.Err() != nil:
			return nil, err
		default: // it goes on
			if now, err := c.Merge(ctx, croft.GetRequest{Repo: c.repo(), Ref: croft.ByID(m.ID)}); err == nil {
				m = now
			}
		}
	}
	return mergeAnswer(m), nil
}

// mergeAnswer describes a merge, with the end of the log of a check that failed.
func mergeAnswer(m *croft.Merge) *mergeOut {
	out := &mergeOut{ID: string(m.ID), Status: mergeWord(m), Commit: m.Commit}
	for _, path := range m.Conflicts[:min(len(m.Conflicts), maxNames)] {
		out.Files = append(out.Files, cut(path.Path, maxText/4))
	}
	if m.Message != "" {
		out.Log = cut(m.Message, maxText)
	}
	if m.Reason != croft.CheckFailed {
		return out
	}
	for _, check := range m.Checks {
		if !check.Passed {
			out.Log += "\n" + tail(check.Tail, maxLog)
			break
		}
	}
	return out
}

// mergeWord says in one word how a merge goes. One without anything to merge has arrived.
func mergeWord(m *croft.Merge) string {
	switch {
	case m.State != croft.MergeDone && m.IsHeld:
		return "held"
	case m.State == croft.MergeChecking:
		return "checking"
	case m.State != croft.MergeDone:
		return "queued"
	case m.Status == croft.MergeMerged || m.Status == "":
		return "merged"
	case m.Reason == croft.Conflict:
		return "conflict"
	case m.Reason == croft.CheckFailed:
		return "check_failed"
	}
	return "pending"
}

// closeWorkspaces removes workspaces. Those with unmerged work are kept unless the outcome says that the
// work is not wanted.
func closeWorkspaces(ctx context.Context, c *call, in closeIn) (*closeOut, error) {
	out := &closeOut{}
	var refs []croft.Ref
	for _, ref := range in.Workspaces {
		why, err := c.whyKept(ctx, ref, in.Outcome)
		if err != nil {
			return nil, err
		}
		if why != nil {
			out.Kept = append(out.Kept, keptLine(ref, why))
			continue
		}
		refs = append(refs, ref)
	}
	if len(refs) == 0 {
		return out, nil
	}
	if in.Outcome == "discard" {
		return c.discard(ctx, in.Key, refs, out)
	}
	res, err := c.Remove(ctx, croft.RemoveRequest{Key: in.Key, Repo: c.repo(), Workspaces: refs})
	if err != nil {
		return nil, err
	}
	for _, r := range res.Removed {
		out.Removed = append(out.Removed, r.Name)
	}
	for _, k := range res.Kept {
		out.Kept = append(out.Kept, keptLine(k.Name, k.Reason))
	}
	for _, ref := range res.Unknown {
		out.Kept = append(out.Kept, keptLine(ref, croft.AsError("", notFound(ref))))
	}
	return out, nil
}

func (c *call) discard(ctx context.Context, key string, refs []croft.Ref, out *closeOut) (*closeOut, error) {
	res, err := c.Discard(ctx, croft.DiscardRequest{Key: key, Repo: c.repo(), Workspaces: refs})
	if err != nil {
		return nil, err
	}
	for _, m := range res.Merges {
		if m.Kept != nil {
			out.Kept = append(out.Kept, keptLine(m.WorkspaceName, m.Kept))
			continue
		}
		out.Removed = append(out.Removed, m.WorkspaceName)
	}
	return out, nil
}

// whyKept says why a workspace is not closed: it is another project's, or it has commits that
// its target lacks. Remove itself keeps what is not committed, locked or in use.
func (c *call) whyKept(ctx context.Context, ref croft.Ref, outcome string) (*croft.Error, error) {
	if ref == "" {
		return croft.AsError("", notFound(ref)), nil
	}
	ws, err := c.Workspace(ctx, croft.WorkspaceRequest{Repo: c.repo(), Ref: ref, Look: lookTime})
	switch {
	case errors.Is(err, croft.WorktreeNotFound):
		return nil, nil // perhaps the key of the call was used before
	case err != nil:
		return nil, err
	case ws.RepoID != c.scope.Repo:
		return croft.AsError("", notFound(ref)), nil
	case outcome == "discard" || ws.Status == croft.ConditionMerged || ws.Status == croft.ConditionEmpty:
		return nil, nil
	}
	work, err := c.Status(ctx, croft.StatusRequest{Workspace: ws.ID})
	if err == nil && work.Ahead > 0 {
		return &croft.Error{
			Code: croft.NotMerged, Op: "remove", Workspace: ws.Name, Message: fmt.Sprintf("the workspace has %d commits that %s lacks", work.Ahead, ws.Target), Hint: "merge it, or close it with the outcome discard",
		}, nil
	}
	return nil, nil
}

// keptLine describes a workspace that was not removed.
func keptLine(name string, why *croft.Error) object {
	line := object{"workspace": cut(name, maxText/4)}
	if why != nil {
		line["code"], line["message"], line["hint"] = why.Code, cut(why.Message, maxText/2), cut(why.Hint, maxText/4)
	}
	return line
}

// maxEvents is how many events one answer has at most.
const maxEvents = 100

func wait(ctx context.Context, c *call, in waitIn) (*waitOut, error) {
	req := croft.EventsRequest{After: croft.Cursor(in.Cursor), Repo: c.scope.Repo, Kinds: in.Kinds}
	if in.Workspace != "" {
		ws, err := c.find(ctx, 0)
		if err != nil {
			return nil, err
		}
		req.Workspace = ws.ID
	}
	if req.After == "" {
		now, err := c.Workspaces(ctx, croft.WorkspacesRequest{Repo: c.repo(), Page: croft.Page{Limit: 1}})
		if err != nil {
			return nil, err
		}
		req.After = now.Cursor
	}
	out := &waitOut{Cursor: string(req.After)}
	if err := gather(ctx, c, req, out); err != nil || len(out.Events) > 0 || in.Seconds == 0 {
		return out, err
	}
	short, cancel := context.WithTimeout(ctx, time.Duration(in.Seconds)*time.Second)
	defer cancel()
	req.Follow = croft.FollowNew
	for e, err := range c.Events(short, req) {
		if short.Err() != nil && ctx.Err() == nil {
			break
		}
		if err != nil {
			return nil, err
		}
		addEvent(out, e)
		req.After, req.Follow = e.Cursor, croft.FollowNone
		break
	}
	if len(out.Events) == 0 {
		return out, ctx.Err()
	}
	return out, gather(ctx, c, req, out) // those that came with it
}

// gather adds the events there are.
func gather(ctx context.Context, c *call, req croft.EventsRequest, out *waitOut) error {
	for e, err := range c.Events(ctx, req) {
		if err != nil {
			return err
		}
		if addEvent(out, e); len(out.Events) == maxEvents {
			break
		}
	}
	return nil
}

// addEvent adds an event in short.
func addEvent(out *waitOut, e croft.Event) {
	line := object{"kind": e.Kind, "time": e.Time}
	for name, text := range map[string]string{"workspace": e.WorkspaceName, "workspaceId": string(e.Workspace), "merge": string(e.Merge), "target": e.Target, "actor": e.Actor} {
		if text != "" {
			line[name] = cut(text, maxText/16)
		}
	}
	if e.After != nil && e.After.Merge != nil {
		line["status"] = mergeWord(e.After.Merge)
	}
	out.Events, out.Cursor = append(out.Events, line), string(e.Cursor)
}
