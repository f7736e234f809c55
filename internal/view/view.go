// Package view shows workspaces: what the journal records of each, and what git and the
// disk say of it now.
//
// It owns nothing and changes nothing. A view is made from a few small files per
// workspace, on all cores, so that hundreds can be listed in the time of some git
// commands.
package view

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/condition"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/page"
	"github.com/croft-sh/croft/internal/parallel"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/radar"
)

// Views shows workspaces to callers.
type Views struct {
	*project.Projects
	Forecasts *radar.Forecasts // required, for the last forecast of each project
	Approvals Approvals        // required
	Queues    Queues           // required

	lists turn
	known standings
}

// view turns the records of a project into workspaces as callers see them: with what
// git and the disk say now.
type view struct {
	r         *project.Project
	refs      *refs.Reader // those of the moment
	moment    *git.Moment  // nil: the repository is gone
	leases    map[croft.ID][]croft.Lease
	merges    map[croft.ID]journal.Merge                   // the last merge of each workspace
	unsettled project.Unsettled                            // by running operations
	agreed    map[string]string                            // targets whose checks were not approved and do not stop merges now, with the reason
	queue     map[croft.ID]condition.Queue                 // the places of the merges that wait
	landed    func() (map[croft.ID][]journal.Merge, error) // see [journal.Journal.Landed]
	radar     *radar.Radar
	known     *standings
	stands    sync.Map // the standings of this view that are known, by workspace

	isListing bool // all live workspaces are in the list
	isShown   bool // the caller asks what the workspace is like, and no act on it is answered
	sessions  sessions
	here      proc.Identity
	now       time.Time
}

// fewWorkspaces are so many that reading the merges of each costs less than those of all.
const fewWorkspaces = 100

// newView reads what is needed to view the workspaces of a project, or only some of them.
func (svc *Views) newView(ctx context.Context, r *project.Project, only ...croft.ID) (*view, error) {
	leases, err := svc.Journal.Leases(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var last []journal.Merge
	isFew := len(only) > 0 && len(only) <= fewWorkspaces
	if isFew {
		last, err = svc.Journal.LastMergesOf(ctx, only)
	} else {
		last, err = svc.Journal.LastMerges(ctx, r.ID)
	}
	if err != nil {
		return nil, err
	}
	unsettled, err := svc.UnsettledIn(ctx, r)
	if err != nil {
		return nil, err
	}
	v := &view{r: r, leases: leases, merges: map[croft.ID]journal.Merge{}, unsettled: unsettled, here: proc.Here(), now: svc.Now(), known: &svc.known}
	for _, m := range last {
		v.merges[m.Workspace] = m
	}
	if r.Git != nil {
		v.moment = r.Git.Moment()
		v.refs = v.moment.Refs
		v.agreed = svc.approvedSince(ctx, r, last)
	}
	v.sessions = svc.sessions(ctx)
	v.radar = svc.Forecasts.RadarOf(r)
	v.landed = sync.OnceValues(func() (map[croft.ID][]journal.Merge, error) {
		if isFew {
			return svc.Journal.LandedOf(ctx, only)
		}
		return svc.Journal.Landed(ctx, r.ID)
	})
	v.queue, err = svc.placesIn(ctx, r, last)
	return v, err
}

// viewOf returns a workspace as callers see it. It reads a few small files.
func (v *view) viewOf(ctx context.Context, rec journal.Record) croft.Workspace {
	w := rec.Workspace
	w.RepoID, w.Revision = rec.RepoID, rec.Generation
	w.Env = map[string]string{"CROFT_REPO": w.Repo, "CROFT_WORKSPACE": string(w.ID)}
	w.IsRoundOver = w.Round > 0 && v.sessions.isRoundOver(w.Session, w.Round)
	if w.State == croft.Trashed {
		if rec.Trash != nil {
			w.Head, w.RemovedAt = rec.Trash.Tip, rec.Trash.RemovedAt
			if len(project.OnlyTrashed([]journal.Record{rec})) > 0 {
				w.KeptUntil = rec.Trash.KeptUntil()
			}
		}
		return w
	}
	w.Lease = v.lease(w.ID)
	if rec.Activity != nil {
		v.setActivity(&w, &rec.Activity.Activity)
	}
	v.setRun(&w, rec.Run)
	endActivity(&w)
	if w.Mode == croft.ModeLegacy {
		return w
	}
	w.Env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(w.Path)
	maps.Copy(w.Env, rec.Env)
	w.Scratch = v.r.ScratchOf(w)
	if rec.Home != "" {
		w.Env["CROFT_HOME"] = rec.Home
	}
	tree := v.r.Trees.At(project.SpecOf(rec))
	stands := v.standingOf(rec, tree)
	w.IsLocked, w.LockReason = stands.isLocked, stands.lockReason
	if w.State == croft.Creating {
		if why, is := v.unsettled.Rewinding[w.ID]; is {
			w.Fault, w.FaultReason = croft.FaultRewinding, why
		}
		return w
	}
	if h := stands.health; h != checkout.Intact {
		w.State, w.Fault = croft.Broken, faults[h]
		if h == checkout.Foreign && fsx.Identity(rec.Identity).IsAt(w.Path) { // the workspace's directory, whose .git is lost or replaced
			w.Fault = croft.FaultUnregistered
		}
		w.Head, _ = v.refs.Ref("refs/heads/" + w.Branch)
		return w
	}
	if w.State == croft.Ready && rec.Boot != v.here.Boot {
		w.State = croft.Stopped
	}
	if branch, head, err := v.headIn(ctx, stands, tree); err == nil {
		w.Branch, w.Head = branch, head
	}
	w.MergeReason, w.MergeMessage = v.whyPending(w, tree)
	return w
}

// faults has the fault that callers see for each health of a checkout.
var faults = map[checkout.Health]croft.Fault{
	checkout.Missing: croft.FaultMissing, checkout.Unregistered: croft.FaultUnregistered, checkout.Foreign: croft.FaultTaken,
	checkout.Replaced: croft.FaultTaken,
}

// showMoved looks for the workspaces that are not at their paths, and shows each at its
// new path.
func (v *view) showMoved(ctx context.Context, records []journal.Record, list []croft.Workspace) {
	var away []journal.Record
	var of []int
	for i, w := range list {
		isAway := w.Fault == croft.FaultMissing || w.Fault == croft.FaultTaken
		if isAway && !v.unsettled.HalfRemoved[w.ID] {
			away, of = append(away, records[i]), append(of, i)
		}
	}
	for k, to := range v.r.FindMoved(ctx, away) {
		if to == "" {
			continue
		}
		rec := away[k]
		rec.Workspace.Path = to
		w := v.viewOf(ctx, rec)
		w.State, w.Fault, w.MovedFrom = croft.Broken, croft.FaultMoved, away[k].Workspace.Path
		list[of[k]] = w
	}
}

func (v *view) head(ctx context.Context, tree *git.Worktree) (branch, oid string, err error) {
	if v.r.Git.HasNativeRefs() {
		return tree.PrivateHead(v.refs)
	}
	return v.r.Git.HeadByGit(ctx, tree.Admin)
}

// lease returns the active lease of a workspace that expires last, or nil.
func (v *view) lease(id croft.ID) *croft.Lease {
	for _, l := range slices.Backward(v.leases[id]) {
		if project.IsActive(l, v.now) {
			l.Process = owner.Name(l.Owner)
			return &l
		}
	}
	return nil
}

// viewAll returns workspaces as callers see them, in parallel. It also looks for those
// that were moved. It returns those that there was no time to look at, or not enough.
func (v *view) viewAll(ctx context.Context, records []journal.Record, look croft.Duration) (list []croft.Workspace, unseen []croft.ID) {
	out := make([]croft.Workspace, len(records))
	parallel.Each(len(records), func(i int) { out[i] = v.viewOf(ctx, records[i]) })
	v.showMoved(ctx, records, out)
	var sights []sight
	if look > 0 {
		sights = v.lookAt(ctx, records, out, look)
	}
	v.setConditions(records, out, sights)
	for i, w := range out {
		if sights == nil && v.isDue(w) || sights != nil && sights[i].isUnseen() {
			unseen = append(unseen, w.ID)
		}
	}
	return out, unseen
}

// ViewsOf returns the workspaces with the given IDs, in their order, as callers of the
// Service see them.
func (svc *Views) ViewsOf(ctx context.Context, r *project.Project, ids []croft.ID) ([]croft.Workspace, error) {
	v, err := svc.newView(ctx, r, ids...)
	if err != nil {
		return nil, err
	}
	return svc.viewsIn(ctx, v, ids, 0)
}

// viewsIn returns workspaces as a view shows them.
func (svc *Views) viewsIn(ctx context.Context, v *view, ids []croft.ID, look croft.Duration) (list []croft.Workspace, err error) {
	records := make([]journal.Record, len(ids))
	for i, id := range ids {
		if records[i], err = svc.Journal.Record(ctx, id); err != nil {
			return nil, err
		}
	}
	list, _ = v.viewAll(ctx, records, look)
	return list, nil
}

// ViewOf returns the workspace with an ID as callers see it.
func (svc *Views) ViewOf(ctx context.Context, r *project.Project, id croft.ID) (*croft.Workspace, error) {
	list, err := svc.ViewsOf(ctx, r, []croft.ID{id})
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// ListWorkspaces lists the workspaces that match a filter, oldest first. It lists
// removed ones only if the filter names states, merge statuses or conditions of such. It
// also names those that there was no time to look at, whatever the filter says.
func (svc *Views) ListWorkspaces(ctx context.Context, s project.Location, f croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	r := s.Project
	if isPlainPage(f) && !svc.Forecasts.RadarOf(r).HasForecast() { // collisions are with workspaces of all pages
		// One that is gone by now, or cannot be read, is left out of the whole list.
		if out, err := svc.listPage(ctx, r, f.Page); err == nil || errors.Is(err, croft.InvalidRequest) {
			return out, err
		}
	}
	defer svc.lists.take(ctx)()
	records, err := svc.recordsFor(ctx, r.ID, f)
	if err != nil {
		return nil, err
	}
	v, err := svc.newView(ctx, r)
	if err != nil {
		return nil, err
	}
	v.isListing = true
	list, unseen := v.viewAll(ctx, records, f.Look)
	by := svc.callerOf(ctx)
	list = slices.DeleteFunc(list, func(w croft.Workspace) bool { return !matchesFilter(&w, f, by) })
	if f.Asks != "" { // whether an agent asks is known without a look at its files
		unseen = slices.DeleteFunc(unseen, func(id croft.ID) bool {
			return !slices.ContainsFunc(list, func(w croft.Workspace) bool { return w.ID == id })
		})
	}
	out, err := page.Cut(list, f.Page, page.Oldest, page.Workspace)
	if err == nil {
		out.Unseen = unseen
	}
	return out, err
}

// isPlainPage reports whether a request is for a page of all live workspaces, so that only
// those on it have to be read.
func isPlainPage(f croft.WorkspacesRequest) bool {
	p := f.Page
	f.Page, f.Repo, f.Repos = croft.Page{}, "", ""
	return p.Limit > 0 && reflect.DeepEqual(f, croft.WorkspacesRequest{})
}

// listPage lists a page of all live workspaces.
func (svc *Views) listPage(ctx context.Context, r *project.Project, p croft.Page) (*croft.List[croft.Workspace], error) {
	keys, err := svc.Journal.LiveKeys(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	out, err := page.Cut(keys, p, page.Oldest, page.Workspace)
	if err != nil {
		return nil, err
	}
	ids := make([]croft.ID, len(out.Items))
	for i, w := range out.Items {
		ids[i] = w.ID
	}
	v, err := svc.newView(ctx, r, ids...)
	if err != nil {
		return nil, err
	}
	v.isListing = true
	records := make([]journal.Record, len(out.Items))
	for i, w := range out.Items {
		if records[i], err = svc.Journal.Record(ctx, w.ID); err != nil {
			return nil, err
		}
	}
	out.Items, out.Unseen = v.viewAll(ctx, records, 0)
	return out, nil
}

// recordsFor returns the records of a project that a filter may match: those of removed
// workspaces only if it names states, merge statuses or conditions of such.
func (svc *Views) recordsFor(ctx context.Context, repo croft.ID, f croft.WorkspacesRequest) ([]journal.Record, error) {
	if len(f.States)+len(f.MergeStatuses) > 0 || slices.ContainsFunc(f.Conditions, isOfRemoved) {
		return svc.Journal.Records(ctx, repo)
	}
	return svc.Journal.Live(ctx, repo)
}

// callerOf returns the name of the actor of a call, and its workspace.
func (svc *Views) callerOf(ctx context.Context) (by croft.Actor) {
	by.Name, by.Workspace = svc.ActorOfCall(ctx)
	return by
}

func matchesFilter(w *croft.Workspace, f croft.WorkspacesRequest, by croft.Actor) bool {
	for _, want := range [][2]string{{f.Session, w.Session}, {f.Role, w.Role}, {f.Agent, w.Agent}, {f.Branch, w.Branch}, {f.Target, w.Target}} {
		if want[0] != "" && want[0] != want[1] {
			return false
		}
	}
	if !layout.HasMeta(w.Meta, f.Meta) {
		return false
	}
	if f.Asks == croft.AsksPerson && w.Question == nil {
		return false
	}
	if f.Maker == croft.MakerCaller && (w.Actor == "" || w.Actor != by.Name || w.ActorWorkspace != by.Workspace) {
		return false
	}
	if len(f.MergeStatuses) > 0 && !slices.Contains(f.MergeStatuses, w.MergeStatus) {
		return false
	}
	if len(f.Conditions) > 0 && !slices.Contains(f.Conditions, w.Status) {
		return false
	}
	return len(f.States) == 0 || slices.Contains(f.States, w.State)
}

// CountLive counts the live workspaces of a project.
func (svc *Views) CountLive(ctx context.Context, s project.Location, _ croft.CountRequest) (*croft.Count, error) {
	n, err := svc.Journal.CountLive(ctx, s.ID)
	return &croft.Count{Active: n}, err
}

// ShowWorkspace finds and shows one workspace; with ScopeAll also a removed one.
func (svc *Views) ShowWorkspace(ctx context.Context, s project.Location, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	rec, err := svc.Find(ctx, s, req.Ref)
	if errors.Is(err, croft.WorktreeNotFound) && req.Scope == croft.ScopeAll && req.Ref != "" {
		rec, err = svc.FindRemoved(ctx, s.Project, req.Ref, err)
	}
	if err != nil {
		return nil, err
	}
	v, err := svc.newView(ctx, s.Project, rec.Workspace.ID)
	if err != nil {
		return nil, err
	}
	v.isShown = true
	list, err := svc.viewsIn(ctx, v, []croft.ID{rec.Workspace.ID}, req.Look)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// ListWorktrees lists the worktrees that git has registered.
func (svc *Views) ListWorktrees(ctx context.Context, s project.Location, _ croft.WorktreesRequest) ([]croft.Worktree, error) {
	entries, err := s.Git.List(ctx)
	if err != nil {
		return nil, err
	}
	records, err := svc.Journal.Live(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	ours := map[string]croft.ID{}
	for _, rec := range records {
		if rec.Workspace.Mode != croft.ModeLegacy {
			ours[rec.Workspace.Path] = rec.Workspace.ID
		}
	}
	out := make([]croft.Worktree, len(entries))
	for i, t := range entries {
		out[i] = croft.Worktree{Path: t.Path, Branch: t.Branch, Head: t.Head, IsMain: i == 0, Workspace: ours[t.Path]}
		if t.Locked && !strings.HasPrefix(t.LockReason, project.OwnLock) {
			out[i].IsLocked, out[i].LockReason = true, t.LockReason
		}
	}
	return out, nil
}
