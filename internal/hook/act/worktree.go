package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/hook"
	"github.com/croft-sh/croft/internal/shellword"
)

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
	svc, theirs, err := h.openFor(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()
	ws, err := h.openNamed(ctx, svc, dir, want, theirs)
	if err != nil {
		return "", err
	}
	if want.IsSubagent {
		h.takeLease(ctx, svc, ws)
	}
	h.setUp(ctx, svc, ws)
	return filepath.EvalSymlinks(ws.Path)
}

// takeLease says that the workspace of a subagent is in use as long as the process of the session lives. Then upkeep
// removes it, if nothing of its work would be lost.
func (h Hook) takeLease(ctx context.Context, svc croft.Service, ws *croft.Workspace) {
	if h.Process == 0 {
		return
	}
	_, err := svc.TakeLease(ctx, croft.LeaseRequest{
		Repo: croft.ByPath(ws.Repo), Workspace: croft.ByID(ws.ID), Owner: croft.Owner{PID: h.Process}, Term: croft.TermProcess,
	})
	h.sayError(err)
}

// setUp has a process run the approved commands of a workspace that have not run. The agent waits for it as long as it can
// and the project wants; the process goes on. What fails is said, and leaves a workspace that can be used.
func (h Hook) setUp(ctx context.Context, svc croft.Service, ws *croft.Workspace) {
	if ws.Provision == nil || ws.Provision.State != croft.ProvisionPending {
		h.sayUnready(ws.Name, ws.Provision)
		return
	}
	task, err := json.Marshal(setUpTask{croft.ByPath(ws.Repo), croft.ByID(ws.ID)})
	if err != nil {
		h.sayError(err)
		return
	}
	ended, err := h.SetUp(string(task))
	if err != nil {
		h.sayError(err)
		return
	}
	if h.SettingsOf != nil && h.SettingsOf(ws.Repo).Wait == WaitFiles {
		h.sayGoesOn(ws.Name)
		return
	}
	timer := time.NewTimer(cmp.Or(h.setUpPatience, setUpTime))
	defer timer.Stop()
	select {
	case <-ended:
		now, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(ws.Repo), Ref: croft.ByID(ws.ID)})
		if err != nil {
			h.sayError(err)
			return
		}
		h.sayUnready(now.Name, now.Provision)
	case <-timer.C:
		h.sayGoesOn(ws.Name)
	case <-ctx.Done():
		h.sayGoesOn(ws.Name)
	}
}

// setUpTask names the workspace that another process sets up.
type setUpTask struct {
	Repo      croft.Ref `json:"repo"`
	Workspace croft.Ref `json:"workspace"`
}

func (h Hook) sayGoesOn(name string) {
	h.Say(fmt.Sprintf("%s is being set up in the background; croft show %s tells how far it is", name, shellword.Quote(name)))
}

// SetUpNow sets a workspace up for a hook that may have ended meanwhile.
func (h Hook) SetUpNow(ctx context.Context, task string) {
	var t setUpTask
	if err := json.Unmarshal([]byte(task), &t); err != nil {
		return
	}
	_, dir := croft.CutRef(t.Repo)
	svc, err := h.Open(ctx, dir, nil)
	if err != nil {
		h.sayError(err)
		return
	}
	_, err = svc.Provision(ctx, croft.ProvisionRequest{Repo: t.Repo, Workspace: t.Workspace, Mode: croft.ProvisionSteps})
	h.sayError(errors.Join(err, svc.Close()))
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
func (h Hook) openNamed(ctx context.Context, svc croft.Service, dir string, want hook.Creation, t theirs) (*croft.Workspace, error) {
	name := want.Name
	for i := 2; i <= maxSuffix; i++ {
		ws, err := h.openOrCreate(ctx, svc, dir, name, want, t)
		if !errors.Is(err, errTaken) {
			return ws, err
		}
		taken := name
		name = fmt.Sprintf("%s-%d", want.Name, i)
		h.Say(fmt.Sprintf("the name %q is taken by something else; trying %q", taken, name))
	}
	return nil, &croft.Error{Code: croft.WorktreeExists, Op: "hook", Message: fmt.Sprintf("the name %q and %d more like it are taken", want.Name, maxSuffix-2), Hint: "croft list --foreign"}
}

// The times of waiting for another process that makes the same workspace.
const (
	makingPause = 25 * time.Millisecond
	makingTime  = 5 * time.Minute
)

// openOrCreate opens the workspace of a name, waits for one that another process makes, or makes
// it. It fails with errTaken if something else has the name.
func (h Hook) openOrCreate(ctx context.Context, svc croft.Service, dir, name string, want hook.Creation, t theirs) (*croft.Workspace, error) {
	for end := time.Now().Add(makingTime); time.Now().Before(end); {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(dir), Ref: croft.ByName(name)})
		switch {
		case err == nil && (ws.State == croft.Ready || ws.State == croft.Stopped):
			return ws, nil
		case err == nil && ws.State != croft.Creating:
			return nil, errTaken
		case err == nil: // a process makes it, or has died: Create takes back what that left
			if err := pause(ctx, makingPause); err != nil {
				return nil, err
			}
		case !errors.Is(err, croft.WorktreeNotFound):
			return nil, err
		}
		req := request(dir, name, want)
		t.begin(&req)
		if here, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(dir), Ref: croft.ByPath(dir)}); err == nil && here.Mode == croft.ModeIsolated {
			req.Mode = croft.ModeIsolated // what is kept from an agent is kept from those that it starts
		}
		ws, err = h.create(ctx, svc, req)
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

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func request(dir, name string, want hook.Creation) croft.CreateRequest {
	req := croft.CreateRequest{Repo: croft.ByPath(dir), Name: name, Agent: string(hook.Claude)}
	if want.IsSubagent {
		req.Role = croft.RoleSubagent
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
	svc, err := h.Open(ctx, path, nil)
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
	why, err := h.removeLeft(ctx, svc, ws, gone)
	if err != nil || why == "" {
		return err
	}
	h.Say(fmt.Sprintf("%s is kept: %s", ws.Name, why))
	_, err = svc.ReportAgent(ctx, h.farewell(ws, gone, croft.SessionLeaves))
	return err
}

// The times of waiting for processes that are about to leave a workspace, such as other hooks.
const (
	leavingPause = 100 * time.Millisecond
	leavingTime  = 3 * time.Second
)

// removeLeft removes a workspace that its session has left, if that is harmless, or returns why it is kept. That the
// session was at work in it, and its lease, are no reasons.
func (h Hook) removeLeft(ctx context.Context, svc croft.Service, ws *croft.Workspace, gone hook.Removal) (why string, err error) {
	if _, err := svc.ReportAgent(ctx, h.farewell(ws, gone, "")); err != nil {
		return "", err
	}
	if l := ws.Lease; l != nil && l.Owner.PID == h.Process && l.Term == croft.TermProcess && ws.Role == croft.RoleSubagent {
		if _, err := svc.Release(ctx, croft.ReleaseRequest{Lease: l.ID}); err != nil {
			return "", err
		}
	}
	for end := time.Now().Add(leavingTime); ; {
		if ws, err = svc.Workspace(ctx, croft.WorkspaceRequest{Repo: croft.ByPath(ws.Repo), Ref: croft.ByID(ws.ID), Look: croft.NoLimit}); err != nil {
			return "", err
		}
		var isBusy bool
		if ws.Status == croft.ConditionWorking {
			why, isBusy = "somebody is at work in it: "+ws.Why, true
		} else {
			why, isBusy, err = removeHarmless(ctx, svc, ws)
		}
		if err != nil || !isBusy || time.Now().After(end) {
			return why, err
		}
		if err := pause(ctx, leavingPause); err != nil {
			return why, err
		}
	}
}

// farewell is the report that a session does not need a workspace any more.
func (h Hook) farewell(ws *croft.Workspace, gone hook.Removal, turn croft.SessionTurn) croft.ReportRequest {
	return croft.ReportRequest{
		Repo: croft.ByPath(ws.Repo), Workspace: croft.ByID(ws.ID), State: croft.AgentEnded, Source: string(h.Agent), AgentSession: gone.Session, Turn: turn,
	}
}

// removeHarmless removes a workspace that has no work which its target lacks, or returns why it
// is kept, and whether that is because of a process in it. Work that comes meanwhile is seen by its stamp.
func removeHarmless(ctx context.Context, svc croft.Service, ws *croft.Workspace) (why string, isBusy bool, err error) {
	repo := croft.ByPath(ws.Repo)
	st, err := svc.Status(ctx, croft.StatusRequest{Workspace: ws.ID})
	switch {
	case err != nil:
		return "", false, err
	case st.Stamp == "":
		return "its files cannot be looked at", false, nil
	case st.Dirty():
		return "it has uncommitted work", false, nil
	case st.Head != ws.Head:
		return "it has just got a commit", false, nil
	case ws.Status != croft.ConditionMerged && st.Head != ws.Base: // its target may be gone, and nothing ahead of it
		return "it has commits that its target does not have", false, nil
	}
	agreed := &croft.Agreed{Workspaces: []croft.ID{ws.ID}, Stamps: map[croft.ID]string{ws.ID: st.Stamp}}
	res, err := svc.Remove(ctx, croft.RemoveRequest{Repo: repo, Workspaces: []croft.Ref{croft.ByID(ws.ID)}, Agreed: agreed})
	if err != nil {
		return "", false, err
	}
	for _, k := range res.Kept {
		if k.ID == ws.ID && k.Reason != nil {
			return k.Reason.Message, k.Reason.Code == croft.WorkspaceBusy, nil
		}
	}
	return "", false, nil
}
