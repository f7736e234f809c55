package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// reap removes orphans.
func (e *Engine) reap(ctx context.Context, s standing, req croft.ReapRequest) (*croft.CleanResult, error) {
	leases, err := e.journal.Leases(ctx, s.id)
	if err != nil {
		return nil, err
	}
	how := func(rec journal.Record) (removal, error) {
		if err := s.guardLock(rec); err != nil { // force is for uncommitted work, not for a person's word
			return removal{}, err
		}
		if err := e.guardOwners(leases[rec.Workspace.ID]); err != nil {
			return removal{}, err
		}
		done, err := e.integrated(ctx, s.repo, rec)
		if err != nil {
			return removal{}, err
		}
		if err := guardOnly(rec, req, done, e.orphaned(leases[rec.Workspace.ID])); err != nil {
			return removal{}, err
		}
		mode := croft.BranchDelete
		if !done {
			mode = croft.BranchKeep
		}
		return removal{Branch: mode, Event: croft.EventWorkspaceReaped}, nil
	}
	wanted := func(rec journal.Record) bool {
		return e.orphaned(leases[rec.Workspace.ID]) ||
			req.OlderThan > 0 && e.now().Sub(rec.Workspace.CreatedAt) > req.OlderThan && rec.Workspace.Mode != croft.ModeLegacy
	}
	res, err := e.sweep(ctx, s.repo, sweeping{req.Mode, req.DryRun, req.Agreed, wanted, how})
	return res, err
}

// guardOnly refuses a workspace whose commits its target does not have. Age says
// nothing about whether somebody wants them; an orphan's branch is kept.
func guardOnly(rec journal.Record, req croft.ReapRequest, isDone, isOrphan bool) error {
	isForced := req.OlderThan > 0 && req.Mode == croft.RemoveForce
	restarted := rec.Boot != proc.Here().Boot
	if isDone || isForced || isOrphan && !restarted {
		return nil
	}
	e := &croft.Error{
		Code: croft.WorkspaceDirty, Message: "it has commits that its target does not have", Hint: "croft merge " + rec.Workspace.Name + ", or croft remove " + rec.Workspace.Name,
	}
	if restarted {
		e.Message += ", and the machine was restarted since"
	}
	return e
}

// orphaned reports whether all leases of a workspace expired and all their
// owners are provably gone. Without a lease there is no orphan.
func (e *Engine) orphaned(leases []croft.Lease) bool {
	return len(leases) > 0 && e.guardOwners(leases) == nil
}

// guardOwners refuses a workspace whose leases are not all those of an orphan:
// one that has not expired, or whose owner may be alive.
func (e *Engine) guardOwners(leases []croft.Lease) error {
	for _, l := range leases {
		if l.ExpiresAt.After(e.now()) || life(l.Owner) != proc.Dead {
			return leased(l)
		}
	}
	return nil
}

// clean removes what is provably finished, or everything.
func (e *Engine) clean(ctx context.Context, s standing, req croft.CleanRequest) (*croft.CleanResult, error) {
	leases, err := e.journal.Leases(ctx, s.id)
	if err != nil {
		return nil, err
	}
	mode := croft.RemoveSafe
	wanted := func(rec journal.Record) bool { return e.finished(ctx, s.repo, rec) }
	guard := func(rec journal.Record) error {
		// A lease that has expired may be renewed by an owner that is alive.
		return errors.Join(s.guardLock(rec), e.guardOwners(leases[rec.Workspace.ID]))
	}
	if req.All == croft.ScopeAll {
		mode, guard = croft.RemoveForce, s.guardLock
		wanted = func(journal.Record) bool { return true }
	}
	how := func(rec journal.Record) (removal, error) {
		return removal{Event: croft.EventWorkspaceRemoved}, guard(rec)
	}
	isBranches := req.Branches == croft.ScopeAll
	if isBranches && req.All != croft.ScopeAll {
		wanted = func(journal.Record) bool { return false }
	}
	res, err := e.sweep(ctx, s.repo, sweeping{mode, req.DryRun, req.Agreed, wanted, how})
	if err == nil && req.DryRun == croft.DryRunOff {
		e.noticeTrash(ctx, s.repo)
	}
	if err != nil || req.All != croft.ScopeAll && !isBranches || s.git == nil {
		return res, err
	}
	res.Branches, err = e.sweepBranches(ctx, s.repo, req.DryRun, func(rec journal.Record) bool {
		return req.Agreed == nil || slices.Contains(req.Agreed.Branches, rec.Workspace.Branch)
	})
	if err == nil && req.DryRun == croft.DryRunOff {
		err = e.removeEmptyBases(ctx, s.repo)
	}
	return res, err
}

// sweeping says what a sweep takes, and how.
type sweeping struct {
	mode   croft.RemoveMode
	dry    croft.DryRun
	agreed *croft.Agreed
	wanted func(journal.Record) bool
	how    func(journal.Record) (removal, error) // or what keeps it
}

// sweep removes the workspaces that are wanted gone and may go.
func (e *Engine) sweep(ctx context.Context, r *repo, s sweeping) (*croft.CleanResult, error) {
	res := &croft.CleanResult{Removed: []croft.Removed{}, Branches: []string{}}
	a := newAct()
	records, err := e.journal.Live(ctx, r.id)
	if err != nil {
		return nil, err
	}
	for _, rec := range agreedOf(s.agreed, records) {
		if !s.wanted(rec) {
			continue
		}
		mode := agreedMode(s.agreed, rec, s.mode)
		h, err := s.how(rec)
		h.act = a
		if err == nil {
			err = e.guardUnseen(ctx, r, rec)
		}
		if err == nil {
			err = e.guard(ctx, r, rec, mode)
		}
		var done *croft.Removed
		switch {
		case err != nil:
		case s.dry == croft.DryRunOn:
			done = &croft.Removed{ID: rec.Workspace.ID, Name: rec.Workspace.Name}
		default:
			done, err = e.removeOne(ctx, r, rec, h, mode)
		}
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		if errors.Is(err, croft.WorktreeNotFound) {
			continue // somebody else was faster
		}
		if err != nil {
			res.Kept = append(res.Kept, kept(rec, err))
			continue
		}
		res.Removed = append(res.Removed, *done)
	}
	return res, nil
}

// guardUnseen refuses a workspace whose directory is not found: whoever sweeps
// names none, so force is not meant for it.
func (e *Engine) guardUnseen(ctx context.Context, r *repo, rec journal.Record) error {
	if !r.isAway(rec) || fsx.IsThere(rec.Workspace.Path) || r.whereabouts(ctx, []journal.Record{rec})[0] != "" {
		return nil
	}
	return e.guardBroken(r, rec)
}

// finished reports whether a workspace's work was done and is in its target. A
// workspace without any commit of its own may be one that is about to be used.
func (e *Engine) finished(ctx context.Context, r *repo, rec journal.Record) bool {
	if r.git == nil || rec.Workspace.Mode == croft.ModeLegacy {
		return false
	}
	_, head, err := r.trees.At(specOf(rec)).Head(ctx)
	if err != nil || head == "" || head == rec.Workspace.Base {
		return false
	}
	done, err := e.integrated(ctx, r, rec)
	return err == nil && done
}

// integrated reports whether everything that a workspace committed is in its
// target. What cannot be proven is not, and what was taken back there is in the
// target's history only.
func (e *Engine) integrated(ctx context.Context, r *repo, rec journal.Record) (bool, error) {
	if r.git == nil || rec.Workspace.Target == "" {
		return false, nil
	}
	reverts, err := e.takenBack(ctx, rec.Workspace.ID, rec.Workspace.Target)
	if err != nil || len(reverts) > 0 {
		return false, err
	}
	target, err := r.git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Target)
	if errors.Is(err, git.ErrNoRef) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var tips []string
	if rec.Workspace.State != croft.Trashed {
		_, head, err := r.trees.At(specOf(rec)).Head(ctx)
		if _, unknown := errors.AsType[*git.PrivateError](err); unknown {
			return false, nil
		}
		if err == nil && head != "" {
			tips = append(tips, head)
		}
	} else if rec.Trash != nil {
		tips = append(tips, rec.Trash.Tip)
		if head, err := e.pinned(ctx, r, archiveRef(rec.Workspace.ID)); err == nil && head != rec.Trash.Tip {
			tips = append(tips, head)
		}
		own, isAlone, err := e.ownTips(ctx, r, rec.Workspace.ID)
		if err != nil || isAlone {
			return false, err
		}
		tips = append(tips, own...)
	}
	if tip, err := r.git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch); err == nil {
		tips = append(tips, tip)
	}
	if len(tips) == 0 {
		return false, nil
	}
	tips = append(tips, r.trees.At(specOf(rec)).OwnTips()...)
	for _, tip := range tips {
		if how, err := r.git.Integrated(ctx, tip, target); err != nil || how == git.NotIntegrated {
			return false, err
		}
	}
	return true, nil
}

// ownTips are the commits that the agent of a removed isolated workspace had beside
// its branch, and whether it had something else that the project has nowhere, such as
// an annotated tag.
func (e *Engine) ownTips(ctx context.Context, r *repo, id croft.ID) (tips []string, isAlone bool, err error) {
	own, err := e.pinned(ctx, r, archiveOwnRef(id))
	if errors.Is(err, git.ErrNoRef) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	c, err := r.git.ReadCommit(ctx, own)
	if err != nil {
		return nil, false, err
	}
	isAlone, err = r.git.HasAlone(ctx, own)
	return c.Parents, isAlone, err
}

// sweepBranches deletes recorded branches whose workspace is gone. Their tips
// stay archived.
func (e *Engine) sweepBranches(ctx context.Context, r *repo, dry croft.DryRun, wanted func(journal.Record) bool) ([]string, error) {
	deleted := []string{}
	records, err := e.journal.Records(ctx, r.id)
	if err != nil {
		return deleted, err
	}
	for _, rec := range records {
		if rec.Workspace.State != croft.Trashed || !rec.OwnsBranch || rec.Trash == nil || rec.Trash.BranchGone || !wanted(rec) {
			continue
		}
		ref := "refs/heads/" + rec.Workspace.Branch
		tip, err := r.git.ReadRef(ctx, ref)
		if dry == croft.DryRunOn {
			if updates, _, why := branchDeletion(ctx, r, rec, tip); err == nil && why == nil && len(updates) > 0 {
				deleted = append(deleted, rec.Workspace.Branch)
			}
			continue
		}
		if err == nil {
			if gone, err := e.retireBranch(ctx, r, rec, tip); err != nil || !gone {
				if err != nil {
					return deleted, err
				}
				continue
			}
			deleted = append(deleted, rec.Workspace.Branch)
		}
		rec.Trash.BranchGone = true
		if err := e.saveRecord(ctx, &rec, func(tx *journal.Tx) error {
			return tx.Emit(e.event(croft.EventBranchDeleted, rec))
		}); err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

func (e *Engine) retireBranch(ctx context.Context, r *repo, rec journal.Record, tip string) (bool, error) {
	gone := false
	err := e.underLock(ctx, r, func() error {
		err := e.pin(ctx, r, journal.Pin{Ref: archiveBranchRef(rec.Workspace.ID), OID: tip})
		if err != nil {
			return err
		}
		gone, err = deleteBranch(ctx, r, rec, tip)
		return err
	})
	return gone, err
}

// removeEmptyBases removes the directories that layouts kept workspaces in, if
// nothing is left in them.
func (e *Engine) removeEmptyBases(ctx context.Context, r *repo) error {
	records, err := e.journal.Records(ctx, r.id)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.BaseDir != "" && rec.BaseDir != filepath.Dir(r.path) && rec.BaseDir != r.path {
			removeEmpty(rec.BaseDir)
		}
	}
	return nil
}

// debrisTime is more than enough to make a registration and rename it into place.
const debrisTime = time.Minute

// collect deletes trash and branches that are not needed.
func (e *Engine) collect(ctx context.Context, s standing, dir string) (*croft.GCResult, error) {
	if err := e.recoverElsewhere(ctx, s.id); err != nil {
		return nil, err
	}
	e.sweepLocks(ctx)
	e.sweepChecks(s.repo)
	res := &croft.GCResult{
		Purged: []croft.ID{}, Reduced: []croft.ID{}, Stripped: []croft.ID{}, Branches: []string{}, Announced: []croft.Announcement{},
	}
	if s.git == nil {
		return res, nil
	}
	s.git.DropDebris(worktree.AdminPrefix, debrisTime)
	var err error
	res.Branches, err = e.sweepBranches(ctx, s.repo, croft.DryRunOff, func(rec journal.Record) bool {
		done, err := e.integrated(ctx, s.repo, rec)
		return err == nil && done
	})
	if err == nil {
		err = errors.Join(e.tidyTrash(ctx, s.repo, res), e.forgetReviews(ctx, s.repo), e.expiredSessions(ctx, s.repo))
	}
	if err == nil {
		err = errors.Join(e.sweepSecrets(ctx, s.repo), e.sweepMounts(ctx, s.repo), e.forgetPast(ctx, s.repo, res))
	}
	if err == nil {
		err = errors.Join(e.tidyPacks(ctx, s.repo, git.AllPacks), s.git.TidyRefs(ctx, "refs/croft/"), e.sweepStores(ctx, s.repo))
	}
	return res, err
}

// joinTime is longer than it takes to join small packs.
const joinTime = 30 * time.Second

// joinPacks joins the small packs of a project in the background once there are
// many: every snapshot leaves one, and each costs every git that runs there.
// Those of private git directories are their agents' affair.
func (e *Engine) joinPacks(packed *git.Repository) {
	if !packed.HasManyPacks() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := e.repos[packed.CommonDir]
	if seen == nil || seen.r == nil || seen.r.git == nil || e.closed {
		return
	}
	r := seen.r
	e.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), joinTime)
		defer cancel()
		_ = e.tidyPacks(ctx, r, git.SmallPacks) // else the next gc does it
	})
}

// tidyPacks joins packs. If another process is at it, it is left to that one.
func (e *Engine) tidyPacks(ctx context.Context, r *repo, which git.PackChoice) error {
	l, err := flock.Try(filepath.Join(r.dir, "repack"))
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.Unlock() }()
	return r.git.TidyPacks(ctx, which)
}
