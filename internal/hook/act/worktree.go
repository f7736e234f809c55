package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/hook"
	"github.com/croft-sh/croft/internal/shellword"
)

// RoleSubagent is the role of workspaces for agents that another agent started.
const RoleSubagent = "subagent"

// maxSuffix is how many names are tried for a worktree whose own name something else has.
const maxSuffix = 100

// errTaken says that a name is that of something else than a workspace that can be used.
var errTaken = errors.New("the name is taken")

// Create makes the workspace that Claude Code asks for, or opens the one that has its name, and
// returns the real path of its directory.
func (h Hook) Create(ctx context.Context) (path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	reading, stop := context.WithTimeout(ctx, 5*inputTime)
	defer stop()
	value, err := hook.Read(reading, h.Stdin)
	if err != nil {
		return "", err
	}
	want, err := hook.DecodeCreation(value)
	if err != nil {
		return "", err
	}
	for _, remark := range want.Remarks {
		h.Say(remark)
	}
	dir := h.dirOf(cmp.Or(want.Dir, h.Project))
	svc, err := h.Open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()
	ws, err := h.openNamed(ctx, svc, dir, want)
	if err != nil {
		return "", err
	}
	h.setUp(ctx, svc, ws)
	return filepath.EvalSymlinks(ws.Path)
}

// setUp runs the approved commands of a workspace that have not run, as long as the agent waits. What fails, or has no
// time, is said, and leaves a workspace that can be used and set up later.
func (h Hook) setUp(ctx context.Context, svc croft.Service, ws *croft.Workspace) {
	if ws.Provision == nil || ws.Provision.State != croft.ProvisionPending {
		h.sayUnready(ws.Name, ws.Provision)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.setUpPatience, setUpTime))
	defer cancel()
	got, err := svc.Provision(ctx, croft.ProvisionRequest{Workspace: croft.ByID(ws.ID), Mode: croft.ProvisionSteps})
	switch {
	case err == nil:
		h.sayUnready(ws.Name, got)
	case ctx.Err() != nil:
		h.Say(fmt.Sprintf("%s is not set up yet: there was no time for all of its commands; croft provision %s runs the others", ws.Name, shellword.Quote(ws.Name)))
	default:
		h.sayError(err)
	}
}

// sayUnready says why a workspace is not set up, if it is not.
func (h Hook) sayUnready(name string, p *croft.Provision) {
	if p == nil || p.State == croft.ProvisionReady || p.State == "" {
		return
	}
	command := "croft provision " + shellword.Quote(name)
	if p.State == croft.ProvisionUnapproved {
		command = "croft config trust --setup " + shellword.Quote(name)
	}
	h.Say(fmt.Sprintf("%s is not set up: %s; %s", name, p.Why, command))
}

// openNamed opens a workspace of the wanted name, or of one with a suffix if something else has
// that.
func (h Hook) openNamed(ctx context.Context, svc croft.Service, dir string, want hook.Creation) (*croft.Workspace, error) {
	name := want.Name
	for i := 2; i <= maxSuffix; i++ {
		ws, err := openOrCreate(ctx, svc, dir, name, want)
		if !errors.Is(err, errTaken) {
			return ws, err
		}
		taken := name
		name = fmt.Sprintf("%s-%d", want.Name, i)
		h.Say(fmt.Sprintf("the name %q is taken by something else; trying %q", taken, name))
	}
	return nil, &croft.Error{Code: croft.WorktreeExists, Op: "hook", Message: fmt.Sprintf("the name %q and %d more like it are taken", want.Name, maxSuffix-2), Hint: "croft list --all"}
}

// The times of waiting for another process that makes the same workspace.
const (
	makingPause = 25 * time.Millisecond
	makingTime  = 5 * time.Minute
)

// openOrCreate opens the workspace of a name, waits for one that another process makes, or makes
// it. It fails with errTaken if something else has the name.
func openOrCreate(ctx context.Context, svc croft.Service, dir, name string, want hook.Creation) (*croft.Workspace, error) {
	for end := time.Now().Add(makingTime); time.Now().Before(end); {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(dir), Ref: croft.ByName(name)})
		switch {
		case err == nil && (ws.State == croft.Ready || ws.State == croft.Stopped):
			return ws, nil
		case err == nil && ws.State != croft.Creating:
			return nil, errTaken
		case err == nil: // a process makes it, or has died: Create takes back what that left
			if err := pause(ctx); err != nil {
				return nil, err
			}
		case !errors.Is(err, croft.WorktreeNotFound):
			return nil, err
		}
		req := request(dir, name, want)
		if here, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(dir), Ref: croft.ByPath(dir)}); err == nil && here.Mode == croft.ModeIsolated {
			req.Mode = croft.ModeIsolated // what is kept from an agent is kept from those that it starts
		}
		if ws, err = svc.Create(ctx, req); errors.Is(err, croft.RoleNotFound) {
			req.RoleFiles = croft.RoleFilesSkip // nobody has written files for subagents
			ws, err = svc.Create(ctx, req)
		}
		if !errors.Is(err, croft.WorktreeExists) && !errors.Is(err, croft.BranchExists) {
			return ws, err
		}
		if _, again := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(dir), Ref: croft.ByName(name)}); errors.Is(again, croft.WorktreeNotFound) {
			return nil, errTaken
		} else if again != nil {
			return nil, again
		}
	}
	return nil, &croft.Error{Code: croft.WorktreeExists, Op: "hook", Workspace: name, Message: "another process has been making this workspace for minutes", Hint: "croft doctor --fix"}
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(makingPause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func request(dir, name string, want hook.Creation) croft.CreateRequest {
	req := croft.CreateRequest{Repo: croft.ByPath(dir), Name: name, Agent: string(hook.Claude)}
	if want.IsSubagent {
		req.Role = RoleSubagent
	}
	return req
}

// Remove moves the workspace to the trash that Claude Code does not need any more, if its work is
// in its target, or there is none. Otherwise the workspace stays, and workspace.left tells of it.
// It never fails, and touches nothing but the workspace whose directory is exactly the path.
func (h Hook) Remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	reading, stop := context.WithTimeout(ctx, 5*inputTime)
	defer stop()
	value, err := hook.Read(reading, h.Stdin)
	if err == nil {
		var gone hook.Removal
		if gone, err = hook.DecodeRemoval(value); err == nil {
			err = h.remove(ctx, gone)
		}
	}
	h.sayError(err)
}

func (h Hook) remove(ctx context.Context, gone hook.Removal) (err error) {
	path, err := filepath.EvalSymlinks(gone.Path)
	if err != nil {
		return nil // nothing is there
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return err
	}
	svc, err := h.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(path), Ref: croft.ByPath(path), Look: croft.NoLimit})
	if err != nil {
		return err
	}
	if own, err := filepath.EvalSymlinks(ws.Path); err != nil || own != path {
		return err // the path is inside of it
	}
	why, err := removeHarmless(ctx, svc, ws)
	if err != nil || why == "" {
		return err
	}
	h.Say(fmt.Sprintf("%s is kept: %s", ws.Name, why))
	_, err = svc.ReportAgent(ctx, croft.ReportRequest{
		Repo: croft.ByPath(ws.Repo), Workspace: croft.ByID(ws.ID), State: croft.AgentEnded, Source: string(h.Agent), AgentSession: gone.Session, Turn: croft.SessionLeaves,
	})
	return err
}

// removeHarmless removes a workspace that has no work which its target lacks, or returns why it
// is kept. Work that comes meanwhile is seen by its stamp.
func removeHarmless(ctx context.Context, svc croft.Service, ws *croft.Workspace) (why string, err error) {
	repo := croft.ByPath(ws.Repo)
	st, err := svc.Status(ctx, croft.StatusRequest{Workspace: ws.ID})
	switch {
	case err != nil:
		return "", err
	case st.Stamp == "":
		return "its files cannot be looked at", nil
	case st.Dirty():
		return "it has uncommitted work", nil
	case st.Head != ws.Head:
		return "it has just got a commit", nil
	case ws.Status != croft.ConditionMerged && st.Head != ws.Base: // its target may be gone, and nothing ahead of it
		return "it has commits that its target does not have", nil
	}
	agreed := &croft.Agreed{Workspaces: []croft.ID{ws.ID}, Stamps: map[croft.ID]string{ws.ID: st.Stamp}}
	res, err := svc.Remove(ctx, croft.RemoveRequest{Repo: repo, Workspaces: []croft.Ref{croft.ByID(ws.ID)}, Agreed: agreed})
	if err != nil {
		return "", err
	}
	for _, k := range res.Kept {
		if k.ID == ws.ID && k.Reason != nil {
			return k.Reason.Message, nil
		}
	}
	return "", nil
}
