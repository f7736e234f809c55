package push

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/forge"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// Refresh asks the host what became of the pull request of a workspace, and records it.
func (svc *Pushes) Refresh(ctx context.Context, s project.Location, rec journal.Record, _ croft.RefreshPushRequest) (*croft.Pushed, error) {
	if err := svc.refuseAgent(ctx, s.Project); err != nil {
		return nil, err
	}
	w := rec.Workspace
	out := &croft.Pushed{RepoID: s.ID, Workspace: w.ID, WorkspaceName: w.Name, Push: w.Push, PullRequest: w.PullRequest}
	if w.Push == nil {
		out.Remarks = []string{"it was never pushed; " + openHint(w)}
		return out, nil
	}
	to, err := svc.destinationOf(s.Project, rec, w.Push.Remote)
	if err != nil {
		return nil, err
	}
	to.branch = w.Push.Branch
	host, ok := forge.HostOf(to.URL)
	if !ok {
		out.Remarks = []string{fmt.Sprintf("it was pushed to %s, which is at an address without pull requests", to.Name)}
		return out, nil
	}
	tool, ok := svc.toolOf(ctx, s.Project, host)
	if !ok {
		out.Compare = host.CompareURL(w.Target, to.branch)
		out.Remarks = []string{"nobody was asked: " + missingTool(host)}
		return out, nil
	}
	list, err := tool.Pulls(ctx, to.branch)
	if err != nil {
		return nil, svc.toolError(err)
	}
	pull, ok := choose(list, w)
	if !ok {
		out.Remarks = []string{"it was pushed, and has no pull request; " + openHint(w)}
		return out, nil
	}
	if err := svc.recordPull(ctx, s.Project, &rec, to, pull); err != nil {
		return nil, err
	}
	out.PullRequest = rec.Workspace.PullRequest
	return out, nil
}

// openHint is the command by which a workspace gets a pull request.
func openHint(w croft.Workspace) string {
	return "croft push --pr " + shellword.Quote(w.Name) + " opens one"
}

// choose returns the pull request of a workspace among those of its branch: the open one, the
// recorded one, or the newest that is about what was pushed.
func choose(list []forge.Pull, w croft.Workspace) (forge.Pull, bool) {
	for _, is := range []func(forge.Pull) bool{
		func(p forge.Pull) bool { return p.State == forge.Open },
		func(p forge.Pull) bool { return w.PullRequest != nil && p.Number == w.PullRequest.Number },
		func(p forge.Pull) bool { return p.Head == w.Push.Commit },
	} {
		for _, p := range list {
			if is(p) {
				return p, true
			}
		}
	}
	return forge.Pull{}, false
}

// recordPull records a pull request as its host told of it, and tells of its state if that
// is another than before.
func (svc *Pushes) recordPull(ctx context.Context, r *project.Project, rec *journal.Record, to destination, p forge.Pull) error {
	if err := checkPull(p); err != nil {
		return err
	}
	_, present, err := r.Trees.At(project.SpecOf(*rec)).Head(ctx)
	if err != nil {
		return err
	}
	now := croft.PullRequest{
		Number: p.Number, URL: p.URL, State: croft.PullRequestState(p.State), Base: p.Base, Head: p.Head, MergeCommit: p.MergeCommit, At: svc.Now(),
	}
	if p.State == forge.Merged {
		if present != p.Head {
			now.State = croft.PullRequestAdvanced
		}
		if now.Proof, err = svc.prove(ctx, r, to, p); err != nil {
			return err
		}
	}
	return svc.savePush(ctx, rec, func(rec *journal.Record) string {
		was := rec.Workspace.PullRequest
		rec.Workspace.PullRequest = &now
		switch {
		case was != nil && was.Number == now.Number && was.State == now.State && was.Head == now.Head && was.Proof == now.Proof && was.Base == now.Base:
			rec.Workspace.PullRequest = was // no news, so no new revision
			return ""
		case was != nil && was.Number == now.Number && was.State == now.State:
			return croft.EventWorkspaceChanged
		}
		return map[croft.PullRequestState]string{
			croft.PullRequestIsOpen: croft.EventPullRequestOpened, croft.PullRequestMerged: croft.EventPullRequestMerged,
			croft.PullRequestClosed: croft.EventPullRequestClosed, croft.PullRequestAdvanced: croft.EventPullRequestAdvanced,
		}[now.State]
	})
}

// checkPull refuses an answer of a host that is no pull request.
func checkPull(p forge.Pull) error {
	isWeb := strings.HasPrefix(p.URL, "https://") || strings.HasPrefix(p.URL, "http://")
	isText := func(s string) bool {
		return len(s) < 1000 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	}
	if p.Number <= 0 || !isWeb || !isText(p.URL) || !isText(p.Base) || p.Head != "" && !object.IsOID(p.Head) || p.MergeCommit != "" && !object.IsOID(p.MergeCommit) {
		return &croft.Error{Code: croft.HostRefused, Message: "the tool's answer is not a pull request", Details: fmt.Sprintf("%.300q", fmt.Sprint(p))}
	}
	return nil
}

// prove finds out by content whether the base of a merged pull request has the commit that was
// merged: it fetches the base from the remote, and compares. The answer of the host alone
// proves nothing, because workspaces are removed after it.
func (svc *Pushes) prove(ctx context.Context, r *project.Project, to destination, p forge.Pull) (string, error) {
	if _, err := r.Git.ReadCommit(ctx, p.Head); p.Head == "" || err != nil {
		return "", ctx.Err() // commits that nobody here has
	}
	base := "refs/heads/" + p.Base
	there, err := to.Refs(ctx, base)
	if err != nil || there[base] == "" {
		return "", svc.remoteError(to, err)
	}
	if err := to.Fetch(ctx, base); err != nil {
		return "", svc.remoteError(to, err)
	}
	against := []string{there[base]}
	if p.MergeCommit != "" {
		if in, err := r.Git.IsAncestor(ctx, p.MergeCommit, there[base]); err == nil && in {
			against = []string{p.MergeCommit, there[base]} // later commits of the base may change the same lines
		}
	}
	for _, commit := range against {
		how, err := r.Git.Integrated(ctx, p.Head, commit)
		if err != nil || how != mergetree.NotIntegrated {
			return string(how), err
		}
	}
	return "", nil
}

// FetchPullRequest fetches the commits of a pull request, and asks its host where it goes to.
func (svc *Pushes) FetchPullRequest(ctx context.Context, s project.Location, req croft.FetchPullRequestRequest) (*croft.PullRequestHead, error) {
	if err := svc.refuseAgent(ctx, s.Project); err != nil {
		return nil, err
	}
	if req.Number <= 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the number of a pull request is 1 or more", Fields: map[string]string{"field": "number"}}
	}
	from, err := svc.remote(s.Project, req.Remote)
	if err != nil {
		return nil, err
	}
	to := destination{Remote: from}
	host, isHosted := forge.HostOf(from.URL)
	names := host.PullRefs(req.Number)
	there, err := from.Refs(ctx, names...)
	if err != nil {
		return nil, svc.remoteError(to, err)
	}
	ref := names[0]
	if there[ref] == "" {
		ref = names[1]
	}
	if there[ref] == "" {
		return nil, &croft.Error{
			Code: croft.PullRequestNotFound, Message: fmt.Sprintf("%s shows no pull request %d", from.Name, req.Number), Details: from.URL + "\nNothing was changed.",
		}
	}
	if err := from.Fetch(ctx, ref); err != nil {
		return nil, svc.remoteError(to, err)
	}
	if _, err := s.Git.ReadCommit(ctx, there[ref]); err != nil {
		return nil, err
	}
	out := &croft.PullRequestHead{Number: req.Number, Commit: there[ref]}
	tool, ok := svc.toolOf(ctx, s.Project, host)
	if !isHosted || !ok {
		return out, nil
	}
	p, err := tool.Pull(ctx, req.Number)
	if err == nil {
		err = checkPull(p)
	}
	if err != nil {
		return nil, svc.toolError(err)
	}
	out.Base, out.Title, out.URL = p.Base, titleText(p.Title), p.URL
	return out, nil
}
