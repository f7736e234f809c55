package keeper

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
)

// maxAsk is how many times the first wait the last one is, before a host that did not answer is asked again.
const maxAsk = 12

// followWork asks what became of open pull requests, and finishes the work of runs that nobody waits for any more.
func (k *Keeper) followWork(ctx context.Context) {
	asked := map[croft.ID]*retry{}
	for {
		sleep(ctx, k.o.Times.Follow)
		if ctx.Err() != nil {
			return
		}
		for ws, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Workspace], error) {
			return k.o.Service.Workspaces(ctx, croft.WorkspacesRequest{Repos: croft.ScopeAll, Page: page})
		}) {
			if err != nil {
				if ctx.Err() == nil {
					k.fail("workspaces", "", err)
				}
				break
			}
			k.settle(ctx, ws)
			k.askHost(ctx, ws, asked)
		}
	}
}

// settle finishes the work of a run that has ended, if that is still to be done.
func (k *Keeper) settle(ctx context.Context, ws croft.Workspace) {
	r := ws.Run
	if k.o.Settle == nil || r == nil || r.State != croft.RunEnded {
		return
	}
	if isDue := r.Finish != croft.FinishNever && r.How != croft.RunLost && r.FinishedAt.IsZero(); !isDue && !r.EndedAt.IsZero() {
		return
	}
	if err := k.o.Settle(ctx, ws); err != nil && ctx.Err() == nil {
		k.fail("run", ws.RepoID, err)
	}
}

// askHost asks what became of the pull request of a workspace, if it was open. A host that does not answer is
// asked ever less often.
func (k *Keeper) askHost(ctx context.Context, ws croft.Workspace, asked map[croft.ID]*retry) {
	if ws.PullRequest == nil || ws.PullRequest.State != croft.PullRequestIsOpen {
		delete(asked, ws.ID)
		return
	}
	if r := asked[ws.ID]; r != nil && time.Now().Before(r.at) {
		return
	}
	_, err := k.o.Service.RefreshPush(ctx, croft.RefreshPushRequest{Repo: croft.ByID(ws.RepoID), Workspace: croft.ByID(ws.ID)})
	if err == nil || ctx.Err() != nil {
		delete(asked, ws.ID)
		return
	}
	k.fail("pull request", ws.RepoID, err)
	if asked[ws.ID] == nil {
		asked[ws.ID] = &retry{wait: k.o.Times.Follow}
	}
	r := asked[ws.ID]
	r.wait = min(2*r.wait, maxAsk*k.o.Times.Follow)
	r.at = time.Now().Add(r.wait)
}
