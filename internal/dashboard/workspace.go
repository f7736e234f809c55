package dashboard

import (
	"net/url"
	"slices"
	"time"

	"github.com/croft-sh/croft"
)

const (
	// oneLook is how long the page of one workspace may look at it.
	oneLook = croft.Duration(5 * time.Second)
	// mergesSearched is how many merges are looked through for the newest of a workspace.
	mergesSearched = 2000
	searchPage     = 200
)

// workspaceView is what the pages of one workspace have in common: its head, what it waits
// for, what can be done, and the tabs.
type workspaceView struct {
	WS      *croft.Workspace
	Merge   *croft.Merge // the newest of its work; nil: none
	Undoing *croft.Merge // takes that one back, and is on its way; nil: none
	State   state
	Repo    string
	Path    string // of its first page
	Tabs    []tab
	Buttons []button
	Menu    []button
	Note    *note
	Later   *int // how many merges came after its own; nil: no merge of it can be taken back
	// HasFigures: the commits and lines of its work are known.
	HasFigures bool
	Body       any // of the tab
}

type tab struct {
	Name, Path string
	Count      int
	IsCurrent  bool
}

// button is a form with one button, or a link.
type button struct {
	Label, Icon, Path string
	IsLink            bool
	IsMain            bool
	IsDanger          bool
}

// note is the callout above the tabs.
type note struct {
	Tone, Icon, Title string
	Text              string // of Croft's
	Quote             string // of the agent's
	Command           string
	Lead              string
	IsSpinning        bool
	Took, Usual       int // seconds of the check that runs
	ID                string
}

// workspaceOf finds the workspace that the path names, live or removed.
func (d *dashboard) workspaceOf(r *request) (*croft.Workspace, error) {
	return d.svc.Workspace(r.Context(), croft.WorkspaceRequest{
		Repo: r.ref(), Ref: croft.ByID(croft.ID(r.PathValue("ws"))), Scope: croft.ScopeAll, Look: oneLook,
	})
}

// viewOf makes the head of a page of a workspace.
func (d *dashboard) viewOf(r *request, current string) (*workspaceView, error) {
	ws, err := d.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	v := &workspaceView{WS: ws, State: stateOf(ws), Repo: r.Repo.Name, Path: workspacePath(r.Repo.ID, ws.ID, "")}
	if v.Merge, v.Undoing, err = d.newestMerge(r, ws); err != nil {
		return nil, err
	}
	if ws.Status == croft.ConditionMerged && v.Merge != nil {
		if plan, err := d.planRevert(r, ws); err == nil {
			v.Later = &plan.Later
		}
	}
	checks := 0
	if v.Merge != nil {
		checks = len(v.Merge.Checks)
	}
	ahead, changed := 0, 0
	// A target that is being merged into the workspace is in its files and not in its commits: the figures of both would
	// say different things.
	if v.HasFigures = ws.Work.Has(croft.AspectCommits) && ws.Status != croft.ConditionResolving; v.HasFigures {
		ahead, changed = ws.Work.Ahead, ws.Work.Changed
	}
	for _, t := range []tab{{Name: "Changes", Count: changed}, {"Commits", "commits", ahead, false}, {"Activity", "activity", 0, false}, {"Checks", "checks", checks, false}, {"Snapshots", "snapshots", 0, false}} {
		t.IsCurrent = t.Path == current
		t.Path = workspacePath(r.Repo.ID, ws.ID, t.Path)
		v.Tabs = append(v.Tabs, t)
	}
	v.Note = v.describe()
	v.addButtons(r)
	return v, nil
}

// pageOf is a tab of a workspace as a page, with a live head.
func (v *workspaceView) pageOf(template, title string) *page {
	id, merge := v.WS.ID, croft.ID("")
	if v.Merge != nil {
		merge = v.Merge.ID
	}
	return &page{
		Template: template, Title: title + v.WS.Name, Data: v,
		Live: []region{{Template: "ws-head", Data: v}, {Template: "ws-tabs", Data: v}},
		Watch: func(e *croft.Event) bool {
			return e.Workspace == id || e.Merge != "" && e.Merge == merge || e.Kind == croft.EventMergeMerged || e.Kind == croft.EventMergeReverted
		},
	}
}

// newestMerge finds the newest merge of a workspace's work, and the undo of it that is on its way. Either
// may be nil.
func (d *dashboard) newestMerge(r *request, ws *croft.Workspace) (newest, undoing *croft.Merge, err error) {
	if ws.MergeStatus == "" && ws.MergeReason == "" && groupOf(ws) != groupQueue && ws.Status != croft.ConditionHeld {
		return nil, undoing, nil
	}
	at := croft.Page{Limit: searchPage}
	for range mergesSearched / searchPage {
		list, err := d.svc.Merges(r.Context(), croft.MergesRequest{Repo: r.ref(), Scope: croft.ScopeAll, Page: at})
		if err != nil {
			return nil, nil, err
		}
		for i := range list.Items {
			m := &list.Items[i]
			if m.Workspace == ws.ID && m.Kind == croft.KindRevert && m.State != croft.MergeDone {
				undoing = m
			}
			isTakenBack := m.Status == croft.MergeDiscarded && ws.State != croft.Trashed // the workspace was restored
			if m.Workspace == ws.ID && m.Kind != croft.KindRevert && !isTakenBack {
				return m, undoing, nil
			}
		}
		if at.After = list.Next; at.After == "" {
			break
		}
	}
	return nil, undoing, nil
}

// isGone reports whether the workspace was removed.
func (v *workspaceView) isGone() bool { return v.WS.State == croft.Trashed }

// isWaiting reports whether its merge is in the queue.
func (v *workspaceView) isWaiting() bool { return v.Merge != nil && v.Merge.State != croft.MergeDone }

// addButtons says what can be done: the step that the Service names first, as the main
// one, then what else makes sense in the state.
func (v *workspaceView) addButtons(r *request) {
	if !r.mayAct() {
		return
	}
	ws := v.WS
	action := croft.Action("")
	if ws.Next != nil {
		action = ws.Next.Action
	}
	merge := button{Label: "Merge into " + ws.Target, Icon: "ready", Path: v.Path + "/merge" + v.seen()}
	if ws.Work.Has(croft.AspectFiles) && ws.Work.Uncommitted > 0 {
		merge.Label = "Commit and merge into " + ws.Target
	}
	resolve := button{Label: "Resolve in its workspace", Icon: "branch", Path: v.Path + "/resolve"}
	switch {
	case v.isGone():
		v.addGone()
		return
	case v.isWaiting():
		if v.Merge.IsHeld {
			v.Buttons = append(v.Buttons, button{Label: "Release", Icon: "arrow", Path: v.Path + "/release", IsMain: true})
		} else if v.Merge.State == croft.MergeQueued {
			v.Buttons = append(v.Buttons, button{Label: "Hold", Icon: "held", Path: v.Path + "/hold"})
		}
		v.Buttons = append(v.Buttons, button{Label: "Cancel the merge", Icon: "x", Path: v.Path + "/cancel"})
	case action == croft.ActionMerge:
		merge.IsMain = true
		v.Buttons = append(v.Buttons, merge)
	case action == croft.ActionResolve:
		resolve.IsMain = true
		v.Buttons = append(v.Buttons, resolve)
	case action == croft.ActionLogs:
		merge.IsMain, merge.Label, merge.Icon = true, "Check again", "rounds"
		v.Buttons = append(v.Buttons, merge)
	case action == croft.ActionUnlock:
		v.Buttons = append(v.Buttons, button{Label: "Unlock", Icon: "lock", Path: v.Path + "/unlock", IsMain: true})
	case action == croft.ActionApprove:
		v.Buttons = append(v.Buttons, button{Label: "Look at the checks…", Icon: "shield", Path: repoPath(r.Repo.ID, "settings") + "#trust", IsLink: true})
	case action == croft.ActionAccept:
		v.Buttons = append(v.Buttons, button{Label: "Look at the target…", Icon: "shield", Path: repoPath(r.Repo.ID, "settings") + "#targets", IsLink: true})
	case action == croft.ActionRemove:
		v.Buttons = append(v.Buttons, button{Label: "Move to the trash", Icon: "trash", Path: v.Path + "/remove"})
	case ws.Status == croft.ConditionResolving: // the files are resolved in its directory, and a merge would be refused
	case ws.Target != "" && ws.Work != nil && ws.Work.Ahead+ws.Work.Uncommitted > 0:
		v.Buttons = append(v.Buttons, merge)
	}
	v.addUndo()
	v.addMenu()
}

// addMenu adds what can be done to any live workspace.
func (v *workspaceView) addMenu() {
	if v.WS.Mode != croft.ModeLegacy {
		v.Menu = append(v.Menu, button{Label: "Review by file and hunk", Icon: "eye", Path: v.Path + "/review"})
	}
	v.Menu = append(v.Menu, button{Label: "Save a snapshot", Icon: "camera", Path: v.Path + "/snapshot"})
	if v.WS.Target != "" && !v.isWaiting() && v.WS.Status != croft.ConditionResolving {
		v.Menu = append(v.Menu, button{Label: "Bring " + v.WS.Target + " into it", Icon: "branch", Path: v.Path + "/resolve"})
	}
	if v.WS.IsLocked {
		v.Menu = append(v.Menu, button{Label: "Unlock", Icon: "lock", Path: v.Path + "/unlock"})
	} else {
		v.Menu = append(v.Menu, button{Label: "Lock against removal", Icon: "lock", Path: v.Path + "/lock"})
	}
	v.Menu = append(v.Menu, button{Label: "Discard…", Icon: "trash", Path: v.Path + "/discard", IsLink: true, IsDanger: true})
}

// addGone adds what can be done to a workspace that was removed.
func (v *workspaceView) addGone() {
	v.addUndo()
	if !v.WS.KeptUntil.IsZero() {
		v.Buttons = append(v.Buttons, button{Label: "Restore workspace", Icon: "rounds", Path: v.Path + "/restore"})
	}
}

// addUndo adds the way to take its merge back or, while that is on its way, to its queue.
func (v *workspaceView) addUndo() {
	switch {
	case v.Undoing != nil:
		v.Buttons = append(v.Buttons, button{Label: "Look at the queue", Icon: "lane", Path: queuePath(v.WS.RepoID, v.Undoing.Target), IsLink: true})
	case v.Later != nil:
		v.Buttons = append(v.Buttons, button{Label: "Undo merge…", Icon: "undo", Path: v.Path + "/revert", IsLink: true, IsDanger: true})
	}
}

// seen names the commit that the page shows, so that another one is not merged. A workspace with
// uncommitted work is at no commit.
func (v *workspaceView) seen() string {
	if v.WS.Head == "" || !v.WS.Work.Has(croft.AspectFiles) || v.WS.Work.Uncommitted > 0 {
		return ""
	}
	return "?head=" + url.QueryEscape(v.WS.Head)
}

// waits are the conditions in which something goes on by itself.
var waits = []croft.Condition{croft.ConditionQueued, croft.ConditionMerging, croft.ConditionChecking, croft.ConditionMaking}

// describe says in a callout what the workspace waits for, in the words of the Service.
func (v *workspaceView) describe() *note {
	ws := v.WS
	n := &note{Tone: v.State.Tone, Icon: v.State.Icon, IsSpinning: v.State.Spin, ID: "note"}
	if q := ws.Question; q != nil {
		n.Title, n.Quote, n.ID = "The agent asks you", q.Text, "answer"
		n.Text = "It waits in its own terminal. Answer there: the dashboard does not type for you."
		n.Lead, n.Command = "It works in", ws.Path
		return n
	}
	if ws.Next == nil && ws.Why == "" && v.Later == nil && !slices.Contains(waits, ws.Status) {
		return nil
	}
	n.Title = noteTitles[ws.Status]
	if n.Title == "" {
		n.Title = v.State.Word
	}
	if ws.Status == croft.ConditionPending && ws.Finished == nil {
		n.Title = "Its work was submitted"
	}
	n.Quote = ws.Why
	// The merge says more, as long as it is still the reason.
	if m := v.Merge; m != nil && m.Message != "" && m.Reason != "" && m.State == croft.MergeDone && m.Status == croft.MergePending && mergeState(m) == stateOf(ws) {
		n.Quote = m.Message
	}
	v.explain(n)
	if ws.Next != nil && ws.Next.Command != "" {
		n.Lead, n.Command = "In a terminal:", ws.Next.Command
	}
	return n
}

// noteTitles state the fact.
var noteTitles = map[croft.Condition]string{
	croft.ConditionConflict:    "The target and this work changed the same places",
	croft.ConditionCheckFailed: "The merged result does not pass the checks",
	croft.ConditionTargetFails: "The target fails its checks by itself",
	croft.ConditionUnapproved:  "The checks of the target wait for your approval",
	croft.ConditionBlocked:     "Changes in your checkout are in the way",
	croft.ConditionPending:     "The agent has finished",
	croft.ConditionAhead:       "It has commits that its target lacks",
	croft.ConditionCollides:    "It collides with its target",
	croft.ConditionResolving:   "Its conflicts are being resolved",
	croft.ConditionHeld:        "Its merge is held",
	croft.ConditionQueued:      "Its merge waits in the queue",
	croft.ConditionMerging:     "It is being merged",
	croft.ConditionChecking:    "Its checks run",
	croft.ConditionDirty:       "It has uncommitted changes",
	croft.ConditionMissing:     "Its directory is not found",
	croft.ConditionBroken:      "It is not as Croft left it",
	croft.ConditionOrphan:      "Its agent is gone",
	croft.ConditionMerged:      "It is in its target",
	croft.ConditionReverted:    "Its merge was taken back",
	croft.ConditionDiscarded:   "Its work was not wanted",
	croft.ConditionStuck:       "Its merge does not go on",
}

// explain adds what was not touched, and what comes next.
func (v *workspaceView) explain(n *note) {
	ws := v.WS
	if m := v.Undoing; m != nil {
		n.Title, n.Tone, n.Icon = "Its merge is being taken back from "+m.Target, "t-run", "undo"
		n.Text = "The undo is " + mergeState(m).Word + ". " + m.Target + " moves only if all checks pass."
		return
	}
	switch ws.Status {
	case croft.ConditionConflict, croft.ConditionCollides:
		n.Text = ws.Target + " was not touched. Resolving puts " + ws.Target + " into this workspace, with markers in the files, where you or the agent can finish it and submit again."
	case croft.ConditionResolving:
		if ws.Work != nil && ws.Work.Unmerged > 0 {
			n.Text = "Files with conflicts have markers. Take them out, and git add each file; then the work can be merged."
		}
	case croft.ConditionCheckFailed:
		n.Text = ws.Target + " was not touched; the work is as the agent left it."
	case croft.ConditionDirty, croft.ConditionOrphan, croft.ConditionFailed, croft.ConditionKilled:
		if ws.Target != "" && ws.Work.Has(croft.AspectFiles) && ws.Work.Uncommitted > 0 {
			n.Text = "Merging commits " + countText(ws.Work.Uncommitted, "file") + " first, as the page shows them, but for what is held back. The result is checked before " + ws.Target + " moves."
		}
	case croft.ConditionPending, croft.ConditionAhead:
		n.Text = "Merging checks the result first. Afterwards the workspace goes to the trash, from where it can be restored."
	case croft.ConditionChecking:
		if v.Merge != nil && v.Merge.Check != "" {
			n.Quote = v.Merge.Check
		}
		n.Text = ws.Target + " moves only if all checks pass."
	case croft.ConditionMerged:
		if m := v.Merge; m != nil && m.Commit != "" {
			n.Title = "In " + m.Target + " as " + shortCommit(m.Commit)
		}
		if v.Later != nil && *v.Later > 0 {
			n.Text = numberText(*v.Later) + " merged after this."
		}
	}
}
