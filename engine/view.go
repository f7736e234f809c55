package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

func specOf(rec journal.Record) checkout.Spec {
	w := rec.Workspace
	s := checkout.Spec{
		ID: string(w.ID), Path: w.Path, Branch: w.Branch, Base: w.Base, Kind: kindOf(w.Mode), Identity: fsx.Identity(rec.Identity),
	}
	if rec.Trash != nil {
		s.StowedIn = fsx.Identity(rec.Trash.Identity)
	}
	return s
}

// view turns records into what callers see: the record and what the disk says
// now.
type view struct {
	r      *repo
	refs   *git.RefReader
	leases map[croft.ID][]croft.Lease
	turned map[croft.ID]journal.Merge // the merges of those that stay pending
	rewind map[croft.ID]string        // those whose files are being put back, and what hinders that
	agreed map[string]string          // of targets whose checks were not approved and hinder nothing now: why

	isRoundOver func(session string, number int) bool
	here        proc.Identity
	now         time.Time
}

func (e *Engine) newView(ctx context.Context, r *repo) (*view, error) {
	leases, err := e.journal.Leases(ctx, r.id)
	if err != nil {
		return nil, err
	}
	turned, err := e.journal.Turned(ctx, r.id)
	if err != nil {
		return nil, err
	}
	rewinds, err := e.rewinds(ctx, r)
	if err != nil {
		return nil, err
	}
	v := &view{r: r, leases: leases, turned: map[croft.ID]journal.Merge{}, rewind: rewinds, here: proc.Here(), now: e.now()}
	for _, m := range turned {
		v.turned[m.WorkspaceID] = m
	}
	if r.git != nil {
		v.refs = r.git.Snapshot()
		v.agreed = e.approvedSince(ctx, r, turned)
	}
	v.isRoundOver = e.roundsOver(ctx)
	return v, nil
}

// of looks one workspace up, by reading a few small files.
func (v *view) of(ctx context.Context, rec journal.Record) croft.Workspace {
	w := rec.Workspace
	w.Env = map[string]string{"CROFT_REPO": w.Repo, "CROFT_WORKSPACE": string(w.ID)}
	w.IsRoundOver = w.Round > 0 && v.isRoundOver(w.Session, w.Round)
	if w.State == croft.Trashed {
		if rec.Trash != nil {
			w.Head, w.RemovedAt = rec.Trash.Tip, rec.Trash.RemovedAt
			if len(onlyTrashed([]journal.Record{rec})) > 0 {
				w.KeptUntil = rec.Trash.ExpiresAt
			}
		}
		return w
	}
	w.Lease = v.lease(w.ID)
	if w.Mode == croft.ModeLegacy {
		return w
	}
	w.Env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(w.Path)
	w.Scratch = v.r.scratchOf(w)
	if rec.Home != "" {
		w.Env["CROFT_HOME"] = rec.Home
	}
	tree := v.r.trees.At(specOf(rec))
	if reason, locked, err := tree.LockReason(); err == nil && locked && !strings.HasPrefix(reason, "croft:") {
		w.IsLocked, w.LockReason = true, reason
	}
	if w.State == croft.Creating {
		if why, is := v.rewind[w.ID]; is {
			w.Fault, w.FaultReason = croft.FaultRewinding, why
		}
		return w
	}
	if h := v.r.trees.Health(specOf(rec)); h != checkout.Intact {
		w.State, w.Fault = croft.Broken, faults[h]
		if h == checkout.Foreign && fsx.Identity(rec.Identity).IsAt(w.Path) { // it is the directory, and has lost its way to git
			w.Fault = croft.FaultUnregistered
		}
		w.Head, _ = v.refs.Ref("refs/heads/" + w.Branch)
		return w
	}
	if w.State == croft.Ready && rec.Boot != v.here.Boot {
		w.State = croft.Stopped
	}
	if branch, head, err := v.head(ctx, tree); err == nil {
		w.Branch, w.Head = branch, head
	}
	w.MergeReason, w.MergeMessage = v.whyPending(w, tree)
	return w
}

// faults are what callers are told of a checkout that is not as its record says.
var faults = map[checkout.Health]croft.Fault{
	checkout.Missing: croft.FaultMissing, checkout.Unregistered: croft.FaultUnregistered, checkout.Foreign: croft.FaultTaken,
	checkout.Replaced: croft.FaultTaken,
}

// moved looks for those of the workspaces that are not at their paths, and shows
// them where they are.
func (v *view) moved(ctx context.Context, records []journal.Record, list []croft.Workspace) {
	for i, to := range v.r.whereabouts(ctx, records) {
		if to == "" {
			continue
		}
		rec := records[i]
		rec.Workspace.Path = to
		w := v.of(ctx, rec)
		w.State, w.Fault, w.MovedFrom = croft.Broken, croft.FaultMoved, records[i].Workspace.Path
		list[i] = w
	}
}

func (v *view) head(ctx context.Context, tree *git.Worktree) (branch, oid string, err error) {
	if v.r.git.NativeRefs() {
		return tree.PrivateHead(v.refs)
	}
	return v.r.git.HeadOf(ctx, tree.Admin)
}

// lease is the longest lease that is held.
func (v *view) lease(id croft.ID) *croft.Lease {
	for _, l := range slices.Backward(v.leases[id]) {
		if held(l, v.now) {
			l.Process = ownerName(l.Owner)
			return &l
		}
	}
	return nil
}

// held reports whether a lease protects its workspace: it has not expired, and
// its owner is not provably gone; or it lasts as long as its owner, which lives.
func held(l croft.Lease, now time.Time) bool {
	if l.ExpiresAt.After(now) {
		return life(l.Owner) != proc.Dead
	}
	return l.Term == croft.TermProcess && life(l.Owner) == proc.Alive
}

// all looks many workspaces up, on all cores.
func (v *view) all(ctx context.Context, records []journal.Record) []croft.Workspace {
	out := make([]croft.Workspace, len(records))
	var wg sync.WaitGroup
	n := min(runtime.NumCPU(), len(records))
	for k := range n {
		wg.Go(func() {
			for i := k; i < len(records); i += n {
				out[i] = v.of(ctx, records[i])
			}
		})
	}
	wg.Wait()
	v.moved(ctx, records, out)
	return out
}

func (e *Engine) views(ctx context.Context, r *repo, ids []croft.ID) ([]croft.Workspace, error) {
	v, err := e.newView(ctx, r)
	if err != nil {
		return nil, err
	}
	records := make([]journal.Record, len(ids))
	for i, id := range ids {
		if records[i], err = e.journal.Record(ctx, id); err != nil {
			return nil, err
		}
	}
	return v.all(ctx, records), nil
}

func (e *Engine) viewOf(ctx context.Context, r *repo, id croft.ID) (*croft.Workspace, error) {
	list, err := e.views(ctx, r, []croft.ID{id})
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// listWorkspaces lists workspaces, oldest first.
func (e *Engine) listWorkspaces(ctx context.Context, s standing, f croft.Filter) ([]croft.Workspace, error) {
	list, err := e.list(ctx, s.repo, f)
	return list, err
}

func (e *Engine) list(ctx context.Context, r *repo, f croft.Filter) ([]croft.Workspace, error) {
	read := e.journal.Live
	if len(f.States)+len(f.MergeStatuses) > 0 {
		read = e.journal.Records
	}
	records, err := read(ctx, r.id)
	if err != nil {
		return nil, err
	}
	v, err := e.newView(ctx, r)
	if err != nil {
		return nil, err
	}
	out, all := []croft.Workspace{}, v.all(ctx, records)
	e.radarOf(r).Show(v.refs, all)
	for _, w := range all {
		if matches(w, f) {
			out = append(out, w)
		}
	}
	return out, nil
}

func matches(w croft.Workspace, f croft.Filter) bool {
	if f.Session != "" && w.Session != f.Session || f.Role != "" && w.Role != f.Role {
		return false
	}
	if len(f.MergeStatuses) > 0 && !slices.Contains(f.MergeStatuses, w.MergeStatus) {
		return false
	}
	return len(f.States) == 0 || slices.Contains(f.States, w.State)
}

// countActive counts the live workspaces.
func (e *Engine) countActive(ctx context.Context, s standing, dir string) (int, error) {
	n, err := e.journal.CountLive(ctx, s.id)
	return n, err
}

// showWorkspace finds one workspace.
func (e *Engine) showWorkspace(ctx context.Context, s standing, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	rec, err := e.find(ctx, s, req.Ref)
	if errors.Is(err, croft.WorktreeNotFound) && req.Scope == croft.ScopeAll && req.Ref != "" {
		rec, err = e.findGone(ctx, s.repo, req.Ref, err)
	}
	if err != nil {
		return nil, err
	}
	w, err := e.viewOf(ctx, s.repo, rec.Workspace.ID)
	return w, err
}

// find looks a live workspace up by its name, its ID, or a path in it; an
// empty ref means the one that the request was made from.
func (e *Engine) find(ctx context.Context, s standing, ref string) (journal.Record, error) {
	if ref == "" {
		if rec, ok, err := e.findPath(ctx, s.repo, s.place.WorkDir); err != nil || ok {
			return rec, err
		}
		return journal.Record{}, &croft.Error{
			Code: croft.WorktreeNotFound, Message: "not inside a workspace, and no name was given", Hint: "croft list",
		}
	}
	// An ID comes first: a name that is another's ID would lead whoever has that
	// ID astray. A workspace cannot be given such a name.
	rec, err := e.journal.Record(ctx, croft.ID(ref))
	if err == nil && rec.RepoID == s.id {
		if rec.Workspace.State == croft.Trashed {
			return journal.Record{}, e.notLive(ctx, s.repo, ref)
		}
		return rec, nil
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return rec, err
	}
	rec, err = e.journal.LiveByName(ctx, s.id, ref)
	if !errors.Is(err, journal.ErrNotFound) {
		return rec, err
	}
	if strings.ContainsRune(ref, filepath.Separator) || ref == "." {
		path := ref
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.dir, path)
		}
		if rec, ok, err := e.findPath(ctx, s.repo, path); err != nil || ok {
			return rec, err
		}
	}
	return journal.Record{}, e.notLive(ctx, s.repo, ref)
}

func (e *Engine) findPath(ctx context.Context, r *repo, path string) (journal.Record, bool, error) {
	if path == "" {
		return journal.Record{}, false, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	records, err := e.journal.Live(ctx, r.id)
	if err != nil {
		return journal.Record{}, false, err
	}
	for _, rec := range records {
		at := rec.Workspace.Path
		if rec.Workspace.Mode != croft.ModeLegacy && (path == at || strings.HasPrefix(path, at+string(os.PathSeparator))) {
			return rec, true, nil
		}
	}
	return journal.Record{}, false, nil
}

// byID finds a live workspace and its repository.
func (e *Engine) byID(ctx context.Context, id croft.ID) (*repo, journal.Record, error) {
	rec, err := e.journal.Record(ctx, id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		return nil, rec, notFound("", string(id))
	}
	if err != nil {
		return nil, rec, err
	}
	r, err := e.repoByID(ctx, rec.RepoID)
	return r, rec, err
}

// listWorktrees lists what git has registered.
func (e *Engine) listWorktrees(ctx context.Context, s standing, dir string) ([]croft.Worktree, error) {
	entries, err := s.git.List(ctx)
	if err != nil {
		return nil, err
	}
	records, err := e.journal.Live(ctx, s.id)
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
		if t.Locked && t.LockReason != worktree.BirthLock && !strings.HasPrefix(t.LockReason, "croft:") {
			out[i].IsLocked, out[i].LockReason = true, t.LockReason
		}
	}
	return out, nil
}
