package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// Reaper removes orphaned workspaces before new ones are made.
type Reaper interface {
	Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error)
}

// CreateRequested makes the workspaces of a request, all or none.
func (svc *Workspaces) CreateRequested(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	list, err := svc.CreateMany(ctx, req, nil)
	if err != nil {
		return nil, err
	}
	return &croft.CreateResult{Workspaces: list}, nil
}

// CreateMany makes workspaces, all or none. seats has one for each, or is nil. With seats it returns errors without an
// operation, because the caller sets its own.
func (svc *Workspaces) CreateMany(ctx context.Context, req croft.CreateAllRequest, seats []Seat) ([]croft.Workspace, error) {
	list, err := svc.createOnce(ctx, req, seats)
	if seats != nil {
		return list, explain.Error("", "", err)
	}
	return list, explain.Error("create", "", err)
}

// createOnce makes workspaces, unless a request with the same key has made them.
func (svc *Workspaces) createOnce(ctx context.Context, req croft.CreateAllRequest, seats []Seat) ([]croft.Workspace, error) {
	plain, err := svc.plainModeForRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	s, err := svc.LocateAs(ctx, req.Repo, plain)
	if err != nil {
		return nil, err
	}
	if err := svc.Recover(ctx, s.ID); err != nil {
		return nil, err
	}
	if err := svc.CommitPlain(ctx, s.Project); err != nil {
		return nil, err
	}
	if req.Key == "" {
		return svc.createNew(ctx, s, req, seats)
	}
	if err := layout.CheckKey(req.Key); err != nil {
		return nil, err
	}
	for {
		if list, done, err := svc.answerRepeated(ctx, s, req); err != nil || done {
			return list, err
		}
		list, err := svc.createNew(ctx, s, req, seats)
		if errors.Is(err, errKeyTaken) {
			continue
		}
		if err != nil {
			// It may have failed because another process has just made the same
			// workspaces.
			if list, done, aerr := svc.answerRepeated(ctx, s, req); aerr == nil && done {
				return list, nil
			}
		}
		return list, err
	}
}

// plainModeForRequest says what is done with a directory without git if a request asks
// for workspaces of it.
func (svc *Workspaces) plainModeForRequest(ctx context.Context, req croft.CreateAllRequest) (project.PlainMode, error) {
	cfg := svc.Settings.Config()
	if req.Repo != "" {
		dir, err := svc.RepoDir(ctx, req.Repo)
		if err != nil {
			return project.KnownPlain, err
		}
		cfg = svc.Settings.ForRepo(dir).Config()
	}
	mode := project.KnownPlain
	for _, part := range req.Workspaces {
		l, err := layout.Preset(cmp.Or(part.Layout, cfg.Layout))
		if err != nil {
			continue
		}
		switch kept, err := plainModeFor(l, part.Mode); {
		case err != nil:
		case kept == croft.ModeLegacy:
			mode = max(mode, project.NewPlain)
		default:
			mode = project.ShadowPlain
		}
	}
	return mode, nil
}

// errKeyTaken says that another process used the request's key at the same moment.
var errKeyTaken = errors.New("the key was just used")

func (svc *Workspaces) createNew(ctx context.Context, s project.Location, req croft.CreateAllRequest, seats []Seat) ([]croft.Workspace, error) {
	plans, err := svc.planAll(ctx, s, req.Workspaces, seats)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.layout.Orphans == layout.OrphansReapFirst }) {
		if _, err := svc.Reaper.Reap(ctx, croft.ReapRequest{Repo: req.Repo}); err != nil {
			return nil, err
		}
	}
	if err := svc.checkSpace(s, plans); err != nil {
		return nil, err
	}
	act := project.NewAct()
	if len(seats) > 0 && seats[0].Act.ID != "" {
		act = seats[0].Act
	}
	op, err := svc.Begin(ctx, act, "create", s.Project)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	if err := svc.writeIntent(ctx, s, op, req, plans); err != nil {
		return nil, err
	}
	meter := progress.Begin(ctx, svc.Journal, progress.Act{Repo: s.ID, Operation: op.Act, Kind: op.Kind, Unit: "workspaces", Total: len(plans)})
	err = svc.applyCreation(ctx, s, op, plans, meter)
	meter.End()
	if err != nil {
		return nil, svc.rollBackCreation(ctx, s.Project, op, plans, err)
	}
	// The workspaces exist now: an interrupt that comes later does not remove them.
	return svc.Views.ViewsOf(context.WithoutCancel(ctx), s.Project, op.Workspaces)
}

// digestOfRequest identifies a request, so that its key cannot be used for another one.
// The path by which the request names the repository does not count.
func digestOfRequest(req croft.CreateAllRequest) string {
	req.Repo = ""
	req.Workspaces = slices.Clone(req.Workspaces)
	for i := range req.Workspaces {
		req.Workspaces[i].Key, req.Workspaces[i].Repo = "", ""
	}
	return once.DigestOf(req)
}

// answerRepeated answers a request whose key was used before. It reports false if the
// key is new, or if its creation was undone.
func (svc *Workspaces) answerRepeated(ctx context.Context, s project.Location, req croft.CreateAllRequest) ([]croft.Workspace, bool, error) {
	key, err := svc.Journal.FindKey(ctx, s.ID, "create", req.Key)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if key.Request != digestOfRequest(req) {
		return nil, false, once.KeyConflictError(req.Key)
	}
	op, err := svc.Ops.Await(ctx, key.Operation, svc.Recover)
	if err != nil || op.State != journal.OpDone {
		return nil, false, err
	}
	list, err := svc.Views.ViewsOf(ctx, s.Project, op.Workspaces)
	return list, true, err
}

// writeIntent settles the names, branches and paths of the plans, and records them in
// the journal together with the operation, before anything is made.
func (svc *Workspaces) writeIntent(ctx context.Context, s project.Location, op *oplog.Op, req croft.CreateAllRequest, plans []*plan) error {
	err := op.Write(ctx, nil, func(tx *journal.Tx) error {
		if req.Key != "" {
			if _, err := tx.FindKey(s.ID, "create", req.Key); err == nil {
				return errKeyTaken
			}
		}
		live, err := tx.CountLive(s.ID)
		if err != nil {
			return err
		}
		if limit := s.Config.Limits.MaxWorkers; limit > 0 && live+len(plans) > limit {
			return limitReachedError(live, len(plans), limit)
		}
		if req.Key != "" {
			if err := tx.PutKey(journal.Key{Repo: s.ID, Verb: "create", Key: req.Key, Request: digestOfRequest(req), Operation: op.ID}); err != nil {
				return err
			}
		}
		op.Workspaces, op.Names = nil, nil
		for _, p := range plans {
			if err := svc.settlePlan(tx, s, p); err != nil {
				return explain.WithWorkspace(p.req.Name, err)
			}
			if err := errors.Join(tx.PutRecord(p.record), tx.Emit(svc.WorkspaceEvent(croft.EventWorkspaceCreating, p.record))); err != nil {
				return err
			}
			op.Workspaces = append(op.Workspaces, p.record.Workspace.ID)
			op.Names = append(op.Names, p.record.Workspace.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return failpoint.Hit("create.journalled")
}

func limitReachedError(live, more, limit int) error {
	return &croft.Error{
		Code:    croft.LimitReached,
		Message: fmt.Sprintf("%d more would exceed the limit of %d workspaces (limits.max_workers): %d are there", more, limit, live),
		Hint:    "croft clean",
		Fields:  map[string]string{"limit": strconv.Itoa(limit), "active": strconv.Itoa(live)},
	}
}

// applyCreation carries out a create operation that is in the journal: it registers the
// checkouts, fills and equips them, marks them Ready, and ends the operation.
func (svc *Workspaces) applyCreation(ctx context.Context, s project.Location, op *oplog.Op, plans []*plan, meter *progress.Meter) error {
	unsynced, err := svc.registerAll(ctx, s, plans)
	defer giveBackAll(plans)
	if err != nil {
		return err
	}
	if err := svc.fillCheckouts(ctx, s, op, plans, meter); err != nil {
		return err
	}
	if err := svc.equipWorkspace(ctx, s, plans); err != nil {
		return err
	}
	if err := svc.recordEquipment(ctx, plans); err != nil {
		return err
	}
	for _, p := range plans {
		p.record.Workspace.State, p.record.Maker = croft.Ready, nil
	}
	for _, p := range plans {
		if err := s.CheckoutFor(p.mode).Release(p.spec()); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("create.released"); err != nil {
		return err
	}
	for _, p := range plans {
		if p.mode != croft.ModeLegacy {
			unsynced = append(unsynced, s.Trees.At(p.spec()).SyncPaths()...)
		}
	}
	var g errgroup.Group // together: each wait for the disk takes longer than the rest
	g.Go(func() error { return fsx.SyncAll(unsynced...) })
	giveBackAll(plans)
	if err := g.Wait(); err != nil {
		return err
	}
	return svc.endCreation(ctx, op, recordsOf(plans))
}

// endCreation writes the records of created workspaces, emits their events, and ends
// the operation, in one transaction.
func (svc *Workspaces) endCreation(ctx context.Context, op *oplog.Op, records []journal.Record) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, rec := range records {
			rec.SawCommit(rec.Workspace.Base, 0)
			if err := errors.Join(tx.PutRecord(rec), tx.Emit(svc.WorkspaceEvent(croft.EventWorkspaceCreated, rec))); err != nil {
				return err
			}
		}
		return tx.End(op.ID, journal.OpDone, "", svc.Now())
	})
}

func recordsOf(plans []*plan) []journal.Record {
	records := make([]journal.Record, len(plans))
	for i, p := range plans {
		records[i] = p.record
	}
	return records
}

// registerAll makes the refs of all workspaces in one transaction, and then the registrations, with files from the pool
// where it has them. It returns what has to be synced. The refs wait for the disk, the pool for the processor; so both
// go on at once.
func (svc *Workspaces) registerAll(ctx context.Context, s project.Location, plans []*plan) (unsynced []string, err error) {
	var updates []refs.Update
	for _, p := range plans {
		if p.mode != croft.ModeLegacy {
			updates = append(updates, p.refs()...)
		}
	}
	taking, stop := context.WithCancel(ctx)
	defer stop()
	var g errgroup.Group
	g.Go(func() error {
		svc.takeFromStock(taking, s, plans)
		return nil
	})
	if s.Git != nil {
		if unsynced, err = svc.makeRefs(ctx, s, plans, updates); err != nil {
			stop()
		}
	}
	_ = g.Wait()
	if s.Git != nil && err == nil {
		err = svc.registerCheckouts(ctx, s, plans)
	}
	return unsynced, err
}

// makeRefs makes the refs and the base directories of workspaces, under the repository's lock.
func (svc *Workspaces) makeRefs(ctx context.Context, s project.Location, plans []*plan, updates []refs.Update) (unsynced []string, err error) {
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.mode == croft.ModeIsolated }) && s.Git.CanIsolate() == nil {
		if err := s.Git.PrepareStore(ctx); err != nil { // the first time it may take long, so it runs without the lock
			return nil, err
		}
	}
	l, err := s.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Unlock()
	for _, p := range plans {
		if p.mode == croft.ModeLegacy {
			continue
		}
		if err := svc.makeBaseDir(s, p); err != nil {
			return nil, explain.WithWorkspace(p.record.Workspace.Name, err)
		}
	}
	if err := failpoint.Hit("create.bases"); err != nil {
		return nil, err
	}
	if unsynced, err = s.Git.UpdateRefsUnsynced(ctx, updates...); err != nil {
		return nil, svc.refsError(ctx, s, plans, err)
	}
	return unsynced, failpoint.Hit("create.refs")
}

// registerCheckouts registers the checkouts of workspaces, under the repository's lock.
func (svc *Workspaces) registerCheckouts(ctx context.Context, s project.Location, plans []*plan) error {
	l, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	for _, p := range plans {
		if p.mode != croft.ModeLegacy { // another creation, which failed, may have removed it while it was empty
			if err := svc.makeBaseDir(s, p); err != nil {
				return explain.WithWorkspace(p.record.Workspace.Name, err)
			}
		}
		spec, err := p.prepare(ctx, s)
		if err != nil {
			return explain.WithWorkspace(p.record.Workspace.Name, err)
		}
		if p.mode != croft.ModeLegacy {
			p.record.Identity = string(s.Trees.At(spec).Made())
		}
	}
	return failpoint.Hit("create.prepared")
}

// refs returns the refs of a new workspace: the pin of its base, and its branch. The
// pin comes first, so that a git which is killed in between never leaves a branch
// without the pin that shows it to be Croft's.
func (p *plan) refs() []refs.Update {
	w := p.record.Workspace
	updates := []refs.Update{{Ref: project.BaseRef(w.ID), New: w.Base}}
	if p.record.OwnsBranch {
		updates = append(updates, refs.Update{Ref: "refs/heads/" + w.Branch, New: w.Base})
	}
	return updates
}

// makeBaseDir makes the directory that a workspace will lie in, and excludes it from
// git if it lies inside the main checkout.
func (svc *Workspaces) makeBaseDir(s project.Location, p *plan) error {
	dir, err := fsx.MakeDir(filepath.Dir(p.record.Workspace.Path), 0o777)
	if err != nil {
		return err
	}
	_ = dir.Close()
	if !p.layout.IsNested(s.Path, s.Name(), p.req.Home) || s.Place.Bare {
		return nil
	}
	rel, err := filepath.Rel(s.Path, p.record.BaseDir)
	if err != nil {
		return err
	}
	return s.Git.Exclude("/" + filepath.ToSlash(rel) + "/")
}

// refsError finds out why refs could not be made, by looking at the refs that exist.
func (svc *Workspaces) refsError(ctx context.Context, s project.Location, plans []*plan, cause error) error {
	if errors.Is(cause, gitcmd.KindNoSpace) || errors.Is(cause, gitcmd.KindIO) {
		return cause // that is the reason, whatever refs exist
	}
	for _, p := range plans {
		branch, name := p.record.Workspace.Branch, p.record.Workspace.Name
		if !p.record.OwnsBranch || p.mode == croft.ModeLegacy {
			continue
		}
		if _, err := s.Git.ReadRef(ctx, "refs/heads/"+branch); err == nil {
			return explain.WithWorkspace(name, branchTakenError(s, name, branch))
		}
		if other, err := s.Git.ConflictingBranch(ctx, branch); err == nil && other != "" {
			return explain.WithWorkspace(name, svc.branchBlockedError(ctx, s.Project, Blocked{Workspace: name, Branch: branch, By: other}))
		}
	}
	if blocked := blockedByEachOtherError(plans); blocked != nil {
		return blocked
	}
	return cause
}

// checkedOutAt is a directory that has a branch checked out: the checkout, or the git directory of one that is gone.
func checkedOutAt(s project.Location, branch string) string {
	if hosts := s.Git.Hosts(branch); len(hosts) > 0 {
		return hosts[0].Path
	}
	return strings.Join(s.Git.CheckedOut(branch, ""), "\n")
}

// newWords are the words of a command that makes a workspace of a name, or of one that is invented.
func newWords(name string) []string {
	words := []string{"croft", "new"}
	if name != "" {
		words = append(words, shellword.Quote(name))
	}
	return words
}

// branchTakenError says that the branch of a new workspace is there already, and where it is checked out, if it is.
func branchTakenError(s project.Location, name, branch string) error {
	e := &croft.Error{
		Code: croft.BranchExists, Message: fmt.Sprintf("branch %q exists already", branch), Fields: map[string]string{"branch": branch},
		Hint: strings.Join(append(newWords(name), "--branch", shellword.Quote(branch)), " "),
	}
	if where := checkedOutAt(s, branch); where != "" {
		e.Message, e.Details, e.Hint = fmt.Sprintf("branch %q is checked out elsewhere", branch), where, strings.Join(newWords(cmp.Or(name, "work")+"-2"), " ")
	}
	return e
}
