// Package upkeep tidies: it removes workspaces whose work has landed or whose owner is gone,
// deletes what nothing needs any more (see roots), and joins git's small packs.
//
// It removes a workspace only through package removal, with all of that package's guards, and
// only what is integrated, orphaned, or agreed to. What cannot be removed is named with the
// reason. Everything that it does can be interrupted and done again.
package upkeep

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/review"
	"github.com/croft-sh/croft/internal/round"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/trash"
)

// Upkeep removes finished and orphaned workspaces, and deletes what is not needed.
type Upkeep struct {
	*project.Projects
	Removals *removal.Removals // required
	Trash    *trash.Trash      // required
	Lanes    *lane.Lanes       // required
	Reviews  *review.Reviews   // required
	Rounds   *round.Rounds     // required
	Pool     *pool.Pool        // required
}

// ReapOrphans removes workspaces whose leases have expired and whose owners are dead, whose
// agent is gone without a word, or that are older than the request says. A workspace that a
// guard protects is in Kept. So is one with unmerged commits, unless all its leases ended in
// this start of the machine and its branch has them, or the request has OlderThan and RemoveForce: then its branch stays. With DryRunOn nothing
// is removed.
func (svc *Upkeep) ReapOrphans(ctx context.Context, s project.Location, req croft.ReapRequest) (*croft.CleanResult, error) {
	leases, err := svc.Journal.Leases(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	lost, err := svc.lostRuns(ctx, s.Project)
	if err != nil {
		return nil, err
	}
	how := func(rec journal.Record) (removal.Spec, error) {
		if err := s.GuardLock(rec); err != nil { // force is for uncommitted work, not for a user's lock
			return removal.Spec{}, err
		}
		if err := svc.guardOwners(rec, leases[rec.Workspace.ID]); err != nil {
			return removal.Spec{}, err
		}
		done, err := svc.Removals.IsIntegrated(ctx, s.Project, rec)
		if err != nil {
			return removal.Spec{}, err
		}
		isKept := svc.isOrphaned(leases[rec.Workspace.ID]) && isOnBranch(ctx, s.Project, rec)
		if err := guardUnmerged(rec, req, done, isKept); err != nil {
			return removal.Spec{}, err
		}
		mode := croft.BranchDelete
		if !done {
			mode = croft.BranchKeep
		}
		return removal.Spec{Branch: mode, Event: croft.EventWorkspaceReaped, As: croft.ConditionReaped}, nil
	}
	wanted := func(rec journal.Record) bool {
		return svc.isOrphaned(leases[rec.Workspace.ID]) || lost[rec.Workspace.ID] ||
			req.OlderThan > 0 && svc.Now().Sub(rec.Workspace.CreatedAt) > time.Duration(req.OlderThan) && rec.Workspace.Mode != croft.ModeLegacy
	}
	return svc.removeWanted(ctx, s.Project, sweeping{req.Mode, req.DryRun, req.Agreed, wanted, how})
}

// lostRuns returns the workspaces that lists call orphans because the agent that Croft ran there is gone, with
// or without its lease, and nobody knows how it ended.
func (svc *Upkeep) lostRuns(ctx context.Context, r *project.Project) (map[croft.ID]bool, error) {
	records, err := svc.Journal.Live(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var ran []croft.ID
	for _, rec := range records {
		if rec.Run != nil {
			ran = append(ran, rec.Workspace.ID)
		}
	}
	lost := map[croft.ID]bool{}
	if len(ran) == 0 {
		return lost, nil
	}
	list, err := svc.Removals.Views.ViewsOf(ctx, r, ran)
	for _, w := range list {
		lost[w.ID] = w.Status == croft.ConditionOrphan
	}
	return lost, err
}

// guardUnmerged refuses a workspace that has commits which its target does not have. It
// allows an orphan, whose branch is kept, unless it was a subagent's or the machine was restarted since, and
// any workspace if the request has OlderThan and RemoveForce.
func guardUnmerged(rec journal.Record, req croft.ReapRequest, isDone, isKept bool) error {
	isForced := req.OlderThan > 0 && req.Mode == croft.RemoveForce
	restarted := rec.Boot != proc.Here().Boot
	isSubagent := rec.Workspace.Role == croft.RoleSubagent // its session may not have told anybody of what it did
	if isDone || isForced || isKept && !restarted && !isSubagent {
		return nil
	}
	e := &croft.Error{
		Code: croft.WorkspaceDirty, Message: "it has commits that its target does not have", Hint: "croft merge " + shellword.Quote(rec.Workspace.Name) + ", or croft remove " + shellword.Quote(rec.Workspace.Name),
	}
	if restarted && !isSubagent {
		e.Message += ", and the machine was restarted since"
	}
	return e
}

// isOnBranch reports whether the commits of a workspace are those of its branch, which outlives it.
func isOnBranch(ctx context.Context, r *project.Project, rec journal.Record) bool {
	if r.Git == nil {
		return false
	}
	branch, _, err := r.Trees.At(project.SpecOf(rec)).Head(ctx)
	return err == nil && branch != "" && branch == rec.Workspace.Branch
}

// isOrphaned reports whether all leases of a workspace expired and all their owners are
// dead. A workspace without a lease is no orphan.
func (svc *Upkeep) isOrphaned(leases []croft.Lease) bool {
	return len(leases) > 0 && svc.guardOwners(journal.Record{}, leases) == nil
}

// guardOwners refuses a workspace with a lease that has not expired, or whose owner may be
// alive.
func (svc *Upkeep) guardOwners(rec journal.Record, leases []croft.Lease) error {
	for _, l := range leases {
		if l.ExpiresAt.After(svc.Now()) || owner.Life(l.Owner) != proc.Dead {
			return project.LeasedError(rec, l)
		}
	}
	return nil
}

// CleanUp removes the workspaces whose work is merged. With All it removes every
// workspace, the recorded branches of removed workspaces and the empty base directories;
// with Branches only those branches and base directories. A workspace that a guard
// protects is in Kept, with All too. With DryRunOn nothing is removed.
func (svc *Upkeep) CleanUp(ctx context.Context, s project.Location, req croft.CleanRequest) (*croft.CleanResult, error) {
	leases, err := svc.Journal.Leases(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	mode := croft.RemoveSafe
	wanted := func(rec journal.Record) bool { return svc.isFinished(ctx, s.Project, rec) }
	guard := func(rec journal.Record) error {
		// A lease that has expired may be renewed by an owner that is alive.
		return errors.Join(s.GuardLock(rec), svc.guardOwners(rec, leases[rec.Workspace.ID]))
	}
	if req.All == croft.ScopeAll {
		mode, guard = croft.RemoveForce, s.GuardLock
		wanted = func(journal.Record) bool { return true }
	}
	how := func(rec journal.Record) (removal.Spec, error) {
		return removal.Spec{Event: croft.EventWorkspaceRemoved}, guard(rec)
	}
	isBranches := req.Branches == croft.ScopeAll
	if isBranches && req.All != croft.ScopeAll {
		wanted = func(journal.Record) bool { return false }
	}
	res, err := svc.removeWanted(ctx, s.Project, sweeping{mode, req.DryRun, req.Agreed, wanted, how})
	if err == nil && req.DryRun == croft.DryRunOff {
		svc.Removals.NoticeTrash(ctx, s.Project)
	}
	if err != nil || req.All != croft.ScopeAll && !isBranches || s.Git == nil {
		return res, err
	}
	res.Branches, err = svc.sweepBranches(ctx, s.Project, req.DryRun, func(rec journal.Record) bool {
		return req.Agreed == nil || slices.Contains(req.Agreed.Branches, rec.Workspace.Branch)
	})
	if err == nil && req.DryRun == croft.DryRunOff {
		if _, err := svc.Pool.Empty(ctx, s.Project); err != nil {
			return res, err
		}
		err = svc.removeEmptyBases(ctx, s.Project)
	}
	return res, err
}

// sweeping says which workspaces are removed, and how.
type sweeping struct {
	mode   croft.RemoveMode
	dry    croft.DryRun
	agreed *croft.Agreed
	wanted func(journal.Record) bool
	how    func(journal.Record) (removal.Spec, error) // an error keeps the workspace
}

// removeWanted removes the wanted workspaces that the guards allow.
func (svc *Upkeep) removeWanted(ctx context.Context, r *project.Project, s sweeping) (*croft.CleanResult, error) {
	res := &croft.CleanResult{Removed: []croft.Removed{}, Branches: []string{}}
	p, err := svc.pinWanted(ctx, r, s)
	if err != nil {
		return nil, err
	}
	records, err := svc.Journal.RecordsOf(ctx, p.Workspaces)
	if err != nil {
		return nil, err
	}
	before, err := svc.Removals.RemovedBy(ctx, p.Act)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(records, func(a, b journal.Record) int {
		return slices.Index(p.Workspaces, a.Workspace.ID) - slices.Index(p.Workspaces, b.Workspace.ID)
	})
	meter := progress.Begin(ctx, svc.Journal, progress.Act{Repo: r.ID, Operation: p.Act, Kind: "remove", Unit: "workspaces", Total: len(records)})
	defer meter.End()
	for i, rec := range records {
		meter.Set(i)
		if before[rec.Workspace.ID] { // by an earlier call with the same key
			res.Removed = append(res.Removed, removal.RemovedBefore(rec))
			continue
		}
		if rec.Workspace.State == croft.Trashed {
			continue // another process removed it first
		}
		h, err := s.how(rec)
		h.Act = project.Act{ID: p.Act}
		if err == nil {
			err = svc.guardUnseen(ctx, r, rec)
		}
		if err == nil {
			err = svc.Removals.RequireShown(ctx, r, rec, s.agreed)
		}
		var done *croft.Removed
		if err == nil {
			done, err = svc.Removals.RemoveOrPlan(ctx, r, rec, h, removal.AgreedMode(s.agreed, rec, s.mode), s.dry)
		}
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		if errors.Is(err, croft.WorktreeNotFound) {
			continue // another process removed it first
		}
		if err != nil {
			res.Kept = append(res.Kept, project.KeptBecause(rec, err))
			once.KeepOpen(ctx)
			continue
		}
		res.Removed = append(res.Removed, *done)
	}
	meter.Set(len(records))
	return res, nil
}

// wantedPin is what the first call of a sweep with a key found.
type wantedPin struct {
	Act        croft.ID   `json:"act"`
	Workspaces []croft.ID `json:"workspaces,omitempty"`
}

// pinWanted returns the act of a sweep, and the workspaces that it wants to remove.
func (svc *Upkeep) pinWanted(ctx context.Context, r *project.Project, s sweeping) (wantedPin, error) {
	return once.Pin(ctx, "workspaces", func() (wantedPin, error) {
		p := wantedPin{Act: project.NewID()}
		records, err := svc.Journal.Live(ctx, r.ID)
		for _, rec := range removal.AgreedOf(s.agreed, records) {
			if s.wanted(rec) {
				p.Workspaces = append(p.Workspaces, rec.Workspace.ID)
			}
		}
		return p, err
	})
}

// guardUnseen refuses a workspace whose directory is not found. The caller named no
// workspace, so its force is not meant for an absent one.
func (svc *Upkeep) guardUnseen(ctx context.Context, r *project.Project, rec journal.Record) error {
	if !r.IsAway(rec) || fsx.IsThere(rec.Workspace.Path) || r.FindMoved(ctx, []journal.Record{rec})[0] != "" {
		return nil
	}
	return svc.Removals.BrokenError(r, rec)
}

// isFinished reports whether a workspace has commits of its own that are all in its target.
// A workspace without any may be about to be used.
func (svc *Upkeep) isFinished(ctx context.Context, r *project.Project, rec journal.Record) bool {
	if r.Git == nil || rec.Workspace.Mode == croft.ModeLegacy {
		return false
	}
	_, head, err := r.Trees.At(project.SpecOf(rec)).Head(ctx)
	if err != nil || head == "" || head == rec.Workspace.Base {
		return false
	}
	done, err := svc.Removals.IsIntegrated(ctx, r, rec)
	return err == nil && done
}

// sweepBranches deletes recorded branches whose workspace was removed. Their tips stay
// archived.
func (svc *Upkeep) sweepBranches(ctx context.Context, r *project.Project, dry croft.DryRun, wanted func(journal.Record) bool) ([]string, error) {
	deleted := []string{}
	records, err := svc.Journal.Records(ctx, r.ID)
	if err != nil {
		return deleted, err
	}
	meant, err := svc.pinBranches(ctx, r, records, wanted)
	if err != nil {
		return deleted, err
	}
	heads := sync.OnceValue(r.Git.ReadHeads)
	for _, rec := range records {
		if !meant[rec.Workspace.ID] || rec.Workspace.State != croft.Trashed || rec.Trash == nil {
			continue
		}
		if rec.Trash.BranchGone { // an earlier call with the same key deleted it
			deleted = append(deleted, rec.Workspace.Branch)
			continue
		}
		ref := "refs/heads/" + rec.Workspace.Branch
		tip, err := r.Git.ReadRef(ctx, ref)
		if dry == croft.DryRunOn {
			if updates, _, why := project.BranchDeletion(ctx, r, heads, rec, tip); err == nil && why == nil && len(updates) > 0 {
				deleted = append(deleted, rec.Workspace.Branch)
			}
			continue
		}
		if err == nil {
			if gone, err := svc.retireBranch(ctx, r, rec, tip); err != nil || !gone {
				if err != nil {
					return deleted, err
				}
				continue
			}
			deleted = append(deleted, rec.Workspace.Branch)
		}
		rec.Trash.BranchGone = true
		if err := svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
			return tx.Emit(svc.WorkspaceEvent(croft.EventBranchDeleted, rec))
		}); err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// pinBranches returns the removed workspaces whose recorded branches are to be deleted.
func (svc *Upkeep) pinBranches(ctx context.Context, r *project.Project, records []journal.Record, wanted func(journal.Record) bool) (map[croft.ID]bool, error) {
	return once.Pin(ctx, "branches", func() (map[croft.ID]bool, error) {
		meant := map[croft.ID]bool{}
		for _, rec := range records {
			if rec.Workspace.State == croft.Trashed && rec.OwnsBranch && rec.Trash != nil && !rec.Trash.BranchGone && wanted(rec) {
				meant[rec.Workspace.ID] = true
			}
		}
		return meant, ctx.Err()
	})
}

func (svc *Upkeep) retireBranch(ctx context.Context, r *project.Project, rec journal.Record, tip string) (bool, error) {
	gone := false
	err := svc.UnderLock(ctx, r, func() error {
		err := svc.Pin(ctx, r, journal.Pin{Ref: project.ArchiveBranchRef(rec.Workspace.ID), OID: tip})
		if err != nil {
			return err
		}
		gone, err = project.DeleteBranch(ctx, r, rec, tip)
		return err
	})
	return gone, err
}

// removeEmptyBases removes the base directories of workspaces, if they are empty.
func (svc *Upkeep) removeEmptyBases(ctx context.Context, r *project.Project) error {
	records, err := svc.Journal.Records(ctx, r.ID)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.BaseDir != "" && rec.BaseDir != filepath.Dir(r.Path) && rec.BaseDir != r.Path {
			project.RemoveEmpty(rec.BaseDir)
		}
	}
	return nil
}

// joinTime is longer than it takes to join small packs.
const joinTime = 30 * time.Second

// JoinPacks joins the small packs of a project in the background: every snapshot adds a
// pack, and each slows down every git that runs there. It does nothing if the project is
// not open, and does not touch the git directories of isolated workspaces. If it fails,
// the next gc joins them.
func (svc *Upkeep) JoinPacks(commonDir string) {
	r := svc.OpenedAt(commonDir)
	if r == nil || r.Git == nil {
		return
	}
	_ = svc.Lifetime.TryGo(func() {
		ctx, cancel := context.WithTimeout(context.Background(), joinTime)
		defer cancel()
		_ = svc.tidyPacks(ctx, r, odb.SmallPacks) // else the next gc does it
	})
}

// tidyPacks joins packs, unless another process is doing that.
func (svc *Upkeep) tidyPacks(ctx context.Context, r *project.Project, which odb.PackChoice) error {
	l, err := flock.Try(filepath.Join(r.Dir, "repack"))
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.Unlock() }()
	return r.Git.JoinPacks(ctx, which)
}
