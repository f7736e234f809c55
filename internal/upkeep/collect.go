package upkeep

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/agentrun"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/equip"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/workspace"
)

// debrisTime is more than enough to make a registration and rename it into place.
const debrisTime = time.Minute

// Collect recovers the interrupted operations of all projects, tidies the trash of this
// one, deletes the branches of its removed workspaces whose work is merged and all else
// that it does not need any more, prunes the history, and joins packs. Without a git
// repository it only recovers, and deletes lock files of dead processes and old checkouts
// of checks.
func (svc *Upkeep) Collect(ctx context.Context, s project.Location, req croft.GCRequest) (*croft.GCResult, error) {
	if req.DryRun == croft.DryRunOn {
		return svc.plan(ctx, s)
	}
	if err := svc.RecoverEverywhere(ctx, s.ID); err != nil {
		return nil, err
	}
	svc.SweepLocks(ctx)
	svc.Lanes.SweepChecks(s.Project)
	res := newResult()
	if s.Git == nil {
		return res, nil
	}
	s.Git.DeleteEmptyAdmins(worktree.AdminPrefix, debrisTime)
	// A repeated call with a key deletes nothing whose time came after the first call.
	now, err := once.Pin(ctx, "now", func() (time.Time, error) { return svc.Now(), nil })
	if err != nil {
		return nil, err
	}
	res.Branches, err = svc.sweepBranches(ctx, s.Project, croft.DryRunOff, svc.isIntegrated(ctx, s.Project))
	meter := progress.Begin(ctx, svc.Journal, progress.Act{Repo: s.ID, Operation: project.NewID(), Kind: "gc", Unit: "workspaces"})
	defer meter.End()
	c := &collection{Upkeep: svc, r: s.Project, res: res}
	if err == nil {
		err = errors.Join(svc.Trash.Tidy(ctx, s.Project, res, now, meter), c.sweep(ctx), svc.pruneHistory(ctx, now))
	}
	if err == nil { // stores are named after packs, so the packs are joined first
		err = errors.Join(svc.tidyPacks(ctx, s.Project, odb.AllPacks), s.Git.PackRefs(ctx, project.PinRefs), c.sweepStores(ctx))
	}
	return res, err
}

func newResult() *croft.GCResult {
	return &croft.GCResult{
		Purged: []croft.ID{}, Reduced: []croft.ID{}, Stripped: []croft.ID{}, Branches: []string{}, Announced: []croft.Announcement{},
	}
}

// isIntegrated returns a function that reports whether the work of a removed workspace is proven to be in its target.
func (svc *Upkeep) isIntegrated(ctx context.Context, r *project.Project) func(journal.Record) bool {
	return func(rec journal.Record) bool {
		done, err := svc.Removals.IsIntegrated(ctx, r, rec)
		return err == nil && done
	}
}

// plan says what Collect would delete of what users know of, and changes nothing.
func (svc *Upkeep) plan(ctx context.Context, s project.Location) (*croft.GCResult, error) {
	res := newResult()
	if s.Git == nil {
		return res, nil
	}
	var err error
	if res.Branches, err = svc.sweepBranches(ctx, s.Project, croft.DryRunOn, svc.isIntegrated(ctx, s.Project)); err != nil {
		return nil, err
	}
	return res, svc.Trash.Plan(ctx, s.Project, res, svc.Now())
}

// collection is one run of Collect.
type collection struct {
	*Upkeep
	r   *project.Project
	res *croft.GCResult
}

// kind is a kind of thing that a collection deletes, such as archive refs.
type kind struct {
	names   []string // of all things of the kind
	needed  func(m *roots, name string) bool
	held    func(ctx context.Context, m *roots, names []string) (map[string]bool, error) // reports the names that git shows to be needed; nil if git is not asked
	delete  func(ctx context.Context, m *roots, names []string) error
	isFinal bool // a thing that is not needed never will be: it is deleted without the project's lock
}

// kinds lists the kinds of things that may be deleted. A kind comes after those that
// are found by it.
func (c *collection) kinds(m *roots) ([]kind, error) {
	var errs []error
	namesIn := func(dir string) []string {
		names, err := fsx.Ledger{Dir: dir}.Names()
		errs = append(errs, err)
		return names
	}
	works := slices.Sorted(maps.Keys(m.works))
	for _, survey := range namesIn(filepath.Dir(c.Trash.SurveyFile(""))) {
		works = append(works, strings.TrimSuffix(survey, ".json"))
	}
	secrets, mounts, copies := namesIn(c.SecretsDir(c.r, "")), fsx.Ledger{Dir: workspace.MountsDir(c.r)}, fsx.Ledger{Dir: equip.CopiesDir(c.r)}
	setups, runs := fsx.Ledger{Dir: equip.SetupDir(c.r)}, agentrun.Dir(c.r)
	made, dirs, deleted := c.r.Git.Made(), c.r.TrashDirLedger(), c.r.DeletedLedger()
	return []kind{
		{names: works, needed: (*roots).needsWork, delete: deleteEach(c.deleteWork)},
		{names: slices.Sorted(maps.Keys(m.archive)), needed: (*roots).needsArchive, held: c.heldArchive, delete: c.unpin},
		{names: slices.Sorted(maps.Keys(m.reviews)), needed: (*roots).needsReview, held: c.heldReviews, delete: c.deleteReviews},
		{names: slices.Sorted(maps.Keys(m.sessions)), needed: (*roots).needsSession, delete: deleteEach(c.deleteSession), isFinal: true},
		{names: secrets, needed: (*roots).needsSecrets, delete: deleteEach(c.deleteSecrets)},
		{names: namesIn(mounts.Dir), needed: (*roots).needsMount, delete: deleteEach(func(_ context.Context, _ *roots, id string) error { return mounts.Delete(id) })},
		{names: namesIn(copies.Dir), needed: (*roots).needsCopies, delete: deleteEach(func(_ context.Context, _ *roots, id string) error { return copies.Delete(id) })},
		{names: namesIn(setups.Dir), needed: (*roots).needsCopies, delete: deleteEach(func(_ context.Context, _ *roots, id string) error { return setups.Delete(id) })},
		{names: namesIn(runs), needed: (*roots).needsCopies, delete: deleteEach(func(_ context.Context, _ *roots, id string) error { return agentrun.Delete(c.r, id) })},
		{names: namesIn(made.Dir), needed: (*roots).needsMade, delete: deleteEach(deleteFromLedger(made))},
		{names: namesIn(dirs.Dir), needed: (*roots).needsTrashDir, delete: deleteEach(deleteFromLedger(dirs))},
		{names: namesIn(deleted.Dir), needed: (*roots).needsTrashDir, delete: deleteEach(deleteFromLedger(deleted))},
		{names: slices.Sorted(maps.Keys(m.records)), needed: (*roots).needsRecord, held: c.heldRecords, delete: c.deleteRecords},
	}, errors.Join(errs...)
}

// deleteEach returns a function that deletes things one by one by del.
func deleteEach(del func(ctx context.Context, m *roots, name string) error) func(context.Context, *roots, []string) error {
	return func(ctx context.Context, m *roots, names []string) (err error) {
		for _, name := range names {
			err = errors.Join(err, del(ctx, m, name))
		}
		return err
	}
}

// sweepStep is how many things are deleted at once. Other processes wait for the lock
// meanwhile.
const sweepStep = 500

// sweep deletes the things that no root needs. It deletes nothing while a row of the
// journal cannot be read: what the row needs is not known.
func (c *collection) sweep(ctx context.Context) error {
	if err := c.Journal.RequireReadable(ctx, c.r.ID); err != nil {
		return err
	}
	m, err := c.readRoots(ctx)
	if err != nil {
		return err
	}
	kinds, err := c.kinds(m)
	errs := []error{err}
	for _, k := range kinds {
		if m == nil { // something was deleted
			if m, err = c.readRoots(ctx); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
		names, err := k.mark(ctx, m)
		errs = append(errs, err)
		if len(names) > 0 {
			errs = append(errs, c.deleteMarked(ctx, k, m, names))
			m = nil
		}
	}
	return errors.Join(errs...)
}

// mark returns the names of the things of a kind that are not needed.
func (k kind) mark(ctx context.Context, m *roots) ([]string, error) {
	names := slices.DeleteFunc(k.names, func(name string) bool { return k.needed(m, name) })
	if k.held == nil || len(names) == 0 {
		return names, nil
	}
	held, err := k.held(ctx, m, names)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return held[name] }), nil
}

// deleteMarked deletes things that were not needed, unless they are needed by now.
func (c *collection) deleteMarked(ctx context.Context, k kind, m *roots, names []string) error {
	if k.isFinal {
		return k.delete(ctx, m, names)
	}
	if err := failpoint.Hit("gc.marked"); err != nil {
		return err
	}
	for some := range slices.Chunk(names, sweepStep) {
		err := c.UnderLock(ctx, c.r, func() error {
			now, err := c.readRoots(ctx)
			if err != nil {
				return err
			}
			return k.delete(ctx, now, slices.DeleteFunc(some, func(name string) bool { return k.needed(now, name) }))
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

func (c *collection) deleteWork(ctx context.Context, _ *roots, id string) error {
	return c.Trash.DeleteWork(ctx, c.r, croft.ID(id))
}

// heldArchive returns the archive refs that stay for good: those that keep commits
// which no branch has, or tags and files that the project has by no other ref.
func (c *collection) heldArchive(ctx context.Context, m *roots, refs []string) (map[string]bool, error) {
	held, keeps := map[string]bool{}, map[string][]string{}
	var tips []string
	for _, ref := range refs {
		switch path.Base(ref) {
		case "state": // only the index of the workspace needed it
		case path.Base(project.ArchiveOwnRef("")): // its parents are what it keeps
			own, err := c.r.Git.ReadCommit(ctx, m.archive[ref])
			if errors.Is(err, object.ErrMissing) {
				continue
			}
			if err == nil {
				keeps[ref] = own.Parents
				held[ref], err = c.r.Git.HasOnlyCopy(ctx, m.archive[ref])
			}
			if err != nil {
				return nil, err
			}
		default:
			keeps[ref] = []string{m.archive[ref]}
		}
		tips = append(tips, keeps[ref]...)
	}
	alone, err := c.r.Git.CommitsOnNoBranch(ctx, tips)
	for ref, oids := range keeps {
		held[ref] = held[ref] || slices.ContainsFunc(oids, func(oid string) bool { return alone[oid] })
	}
	return held, err
}

func (c *collection) unpin(ctx context.Context, _ *roots, refs []string) error {
	return c.Unpin(ctx, c.r, refs...)
}

// heldReviews returns the reviews that are younger than trash.retention. One that
// cannot be read counts as old.
func (c *collection) heldReviews(ctx context.Context, m *roots, ids []string) (map[string]bool, error) {
	held := map[string]bool{}
	for _, id := range ids {
		made, err := c.Reviews.CreatedAt(ctx, c.r, croft.ID(id))
		if err != nil {
			return nil, err
		}
		held[id] = m.now.Sub(made) <= m.retention
	}
	return held, nil
}

func (c *collection) deleteReviews(ctx context.Context, m *roots, ids []string) error {
	var refs []string
	for _, id := range ids {
		refs = append(refs, m.reviews[id]...)
	}
	return c.Unpin(ctx, c.r, refs...)
}

func (c *collection) deleteSession(ctx context.Context, m *roots, id string) error {
	return c.Rounds.DeleteSession(ctx, m.sessions[id])
}

// deleteSecrets deletes the private files of a snapshot, unless a process is still
// making it.
func (c *collection) deleteSecrets(ctx context.Context, m *roots, id string) error {
	file := c.Ops.LockPath(project.DraftSnapshot + id)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := failpoint.Hit("gc.secrets"); err != nil {
		return err
	}
	l, err := flock.Try(file)
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(file)
		_ = l.Unlock()
	}()
	// The process may have pinned the snapshot just before it released the lock.
	if err := c.readPins(ctx, m); err != nil || m.needsSecrets(id) {
		return err
	}
	return fsx.RemoveOwn(c.SecretsDir(c.r, croft.ID(id)))
}

// deleteFromLedger returns a function that deletes an entry from a ledger, unless its
// directory exists and is not empty.
func deleteFromLedger(l fsx.Ledger) func(context.Context, *roots, string) error {
	return func(_ context.Context, _ *roots, name string) error {
		made := l.Find(name)
		if project.RemoveEmpty(made.Path); made.Identity.IsAt(made.Path) {
			return nil
		}
		return l.Delete(name)
	}
}

// heldRecords returns the removed workspaces whose branch still exists: only their
// records show that it is Croft's.
func (c *collection) heldRecords(ctx context.Context, m *roots, ids []string) (map[string]bool, error) {
	held := map[string]bool{}
	for _, id := range ids {
		rec := m.records[id]
		if rec.OwnsBranch && !rec.Trash.BranchGone && rec.Workspace.Branch != "" {
			_, err := c.r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
			held[id] = !errors.Is(err, refs.ErrNoRef)
		}
	}
	return held, nil
}

func (c *collection) deleteRecords(ctx context.Context, _ *roots, ids []string) error {
	if err := failpoint.Hit("forget.chosen"); err != nil {
		return err
	}
	err := c.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, id := range ids {
			if err := tx.DeleteRecord(croft.ID(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		c.res.Forgotten += len(ids)
	}
	return err
}

// pruneHistory deletes operations and events older than history.retention.
func (svc *Upkeep) pruneHistory(ctx context.Context, now time.Time) error {
	before := now.Add(-time.Duration(svc.Settings.Config().History.Retention))
	for more := true; more; {
		err := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
			more, err = tx.Prune(before, sweepStep)
			return err
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// sweepStores deletes the object stores from which no checkout borrows. Only the stores
// say which checkouts borrow.
func (c *collection) sweepStores(ctx context.Context) error {
	return c.UnderLock(ctx, c.r, func() error {
		m, err := c.readRoots(ctx)
		if err != nil {
			return err
		}
		return c.r.Git.SweepStores(ctx, m.needsLent)
	})
}
