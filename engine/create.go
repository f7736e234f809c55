package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/oplog"
)

// createAll makes workspaces; seats are those of a round, or nil. A round goes by
// the codes of its errors, and calls them its own.
func (e *Engine) createAll(ctx context.Context, req croft.CreateAllRequest, seats []seat) ([]croft.Workspace, error) {
	list, err := e.createOnce(ctx, req, seats)
	if seats != nil {
		return list, explain.Error("", "", err)
	}
	return list, explain.Error("create", "", err)
}

// createOnce makes workspaces, unless a request with the same key has made them.
func (e *Engine) createOnce(ctx context.Context, req croft.CreateAllRequest, seats []seat) ([]croft.Workspace, error) {
	s, err := e.locate(ctx, req.Repo, e.plainFor(req))
	if err != nil {
		return nil, err
	}
	if err := e.recover(ctx, s.id); err != nil {
		return nil, err
	}
	if err := e.baseline(ctx, s.repo); err != nil {
		return nil, err
	}
	if req.Key == "" {
		return e.createNew(ctx, s, req, seats)
	}
	if err := layout.CheckKey(req.Key); err != nil {
		return nil, err
	}
	for {
		if list, done, err := e.again(ctx, s, req); err != nil || done {
			return list, err
		}
		list, err := e.createNew(ctx, s, req, seats)
		if errors.Is(err, errKeyTaken) {
			continue
		}
		if err != nil {
			// The failure may be that another process has just made them.
			if list, done, aerr := e.again(ctx, s, req); aerr == nil && done {
				return list, nil
			}
		}
		return list, err
	}
}

// plainFor says what becomes of a directory without git that workspaces are
// asked for in.
func (e *Engine) plainFor(req croft.CreateAllRequest) plainMode {
	cfg := e.set.Config()
	if req.Repo != "" {
		cfg = e.set.ForRepo(req.Repo).Config()
	}
	mode := knownPlain
	for _, part := range req.Workspaces {
		l, err := layout.Preset(cmp.Or(part.Layout, cfg.Layout))
		if err != nil {
			continue
		}
		switch kept, err := plainModeFor(l, part.Mode); {
		case err != nil:
		case kept == croft.ModeLegacy:
			mode = max(mode, newPlain)
		default:
			mode = shadowPlain
		}
	}
	return mode
}

// errKeyTaken says that another process used the key at the same moment.
var errKeyTaken = errors.New("the key was just used")

func (e *Engine) createNew(ctx context.Context, s standing, req croft.CreateAllRequest, seats []seat) ([]croft.Workspace, error) {
	plans, err := e.planAll(ctx, s, req.Workspaces, seats)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.layout.Orphans == layout.OrphansReapFirst }) {
		if _, err := e.Reap(ctx, croft.ReapRequest{Repo: req.Repo}); err != nil {
			return nil, err
		}
	}
	if err := e.checkSpace(s, plans); err != nil {
		return nil, err
	}
	op, err := e.begin(newAct(), "create", s.repo)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	if err := e.writeIntent(ctx, s, op, req, plans); err != nil {
		return nil, err
	}
	if err := e.carryOut(ctx, s, op, plans); err != nil {
		return nil, e.takeBack(ctx, s.repo, op, plans, err)
	}
	ids := make([]croft.ID, len(plans))
	for i, p := range plans {
		ids[i] = p.record.Workspace.ID
	}
	// They are there now: an interrupt that comes later does not unmake them.
	return e.views(context.WithoutCancel(ctx), s.repo, ids)
}

// digest identifies a request, so that a key cannot be used for another one.
// How the repository was named is no part of it.
func digest(req croft.CreateAllRequest) string {
	req.Repo = ""
	req.Workspaces = slices.Clone(req.Workspaces)
	for i := range req.Workspaces {
		req.Workspaces[i].Key, req.Workspaces[i].Repo = "", ""
	}
	return digestOf(req)
}

// digestOf identifies a value by its JSON.
func digestOf(v any) string {
	b, _ := json.Marshal(v)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// again answers a request whose key was used before.
func (e *Engine) again(ctx context.Context, s standing, req croft.CreateAllRequest) ([]croft.Workspace, bool, error) {
	key, err := e.journal.FindKey(ctx, s.id, "create", req.Key)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if key.Request != digest(req) {
		return nil, false, keyConflict(req.Key)
	}
	op, err := e.ops.Await(ctx, key.Operation, e.recover)
	if err != nil || op.State != journal.OpDone {
		return nil, false, err
	}
	list, err := e.views(ctx, s.repo, op.Workspaces)
	return list, true, err
}

func keyConflict(key string) error {
	return &croft.Error{
		Code: croft.KeyConflict, Message: fmt.Sprintf("key %q was used for another request", key), Hint: "use a new key",
	}
}

// writeIntent settles the plans and writes them down with the operation: what
// is going to be made is known before anything is.
func (e *Engine) writeIntent(ctx context.Context, s standing, op *oplog.Op, req croft.CreateAllRequest, plans []*plan) error {
	err := op.Write(ctx, nil, func(tx *journal.Tx) error {
		if req.Key != "" {
			if _, err := tx.FindKey(s.id, "create", req.Key); err == nil {
				return errKeyTaken
			}
		}
		live, err := tx.CountLive(s.id)
		if err != nil {
			return err
		}
		if limit := s.cfg.Limits.MaxWorkers; limit > 0 && live+len(plans) > limit {
			return limitReached(live, len(plans), limit)
		}
		if req.Key != "" {
			if err := tx.PutKey(journal.Key{Repo: s.id, Verb: "create", Key: req.Key, Request: digest(req), Operation: op.ID}); err != nil {
				return err
			}
		}
		op.Workspaces, op.Names = nil, nil
		for _, p := range plans {
			if err := e.settle(tx, s, p); err != nil {
				return explain.About(p.req.Name, err)
			}
			if err := tx.Put(p.record); err != nil {
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

func limitReached(live, more, limit int) error {
	return &croft.Error{
		Code:    croft.LimitReached,
		Message: fmt.Sprintf("%d workspaces are active, %d more would exceed the limit of %d", live, more, limit),
		Hint:    "croft clean, or raise limits.max_workers",
	}
}

// carryOut makes what the journal says.
func (e *Engine) carryOut(ctx context.Context, s standing, op *oplog.Op, plans []*plan) error {
	if s.git != nil {
		if err := e.prepare(ctx, s, plans); err != nil {
			return err
		}
	}
	if err := e.fill(ctx, s, op, plans); err != nil {
		return err
	}
	if err := e.equip(ctx, s, plans); err != nil {
		return err
	}
	for _, p := range plans {
		p.record.Workspace.State, p.record.Maker = croft.Ready, nil
		p.record.Generation++
	}
	for _, p := range plans {
		if err := s.checkoutFor(p.mode).Release(p.spec()); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("create.released"); err != nil {
		return err
	}
	for _, p := range plans {
		if p.mode == croft.ModeLegacy {
			continue
		}
		if err := s.trees.At(p.spec()).Sync(); err != nil {
			return err
		}
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range plans {
			if err := tx.Put(p.record); err != nil {
				return err
			}
			if err := tx.Emit(e.event(croft.EventWorkspaceCreated, p.record)); err != nil {
				return err
			}
		}
		return tx.End(op.ID, journal.OpDone, "", e.now())
	})
}

// prepare registers all workspaces, under the repository's lock: first all
// refs in one transaction, then the registrations.
func (e *Engine) prepare(ctx context.Context, s standing, plans []*plan) error {
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.mode == croft.ModeIsolated }) && s.git.CanIsolate() == nil {
		if err := s.git.PrepareStore(ctx); err != nil { // it may take a while, the first time
			return err
		}
	}
	l, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	var updates []git.RefUpdate
	for _, p := range plans {
		if p.mode == croft.ModeLegacy {
			continue
		}
		updates = append(updates, p.refs()...)
		if err := e.makeBase(s, p); err != nil {
			return explain.About(p.record.Workspace.Name, err)
		}
	}
	if err := failpoint.Hit("create.bases"); err != nil {
		return err
	}
	if err := s.git.UpdateRefs(ctx, updates...); err != nil {
		return e.whyRefs(ctx, s, plans, err)
	}
	if err := failpoint.Hit("create.refs"); err != nil {
		return err
	}
	for _, p := range plans {
		spec := p.spec()
		spec.Branches = p.baseBranch(ctx, s.repo)
		if err := s.checkoutFor(p.mode).Prepare(ctx, spec); err != nil {
			return explain.About(p.record.Workspace.Name, err)
		}
		if p.mode != croft.ModeLegacy {
			p.record.Identity = string(s.trees.At(spec).Made())
		}
	}
	return failpoint.Hit("create.prepared")
}

// refs are the refs of a new workspace: the pin of its base, and its branch. The
// pin comes first: a git that is killed between the two never leaves a branch
// without the pin by which it is known to be Croft's.
func (p *plan) refs() []git.RefUpdate {
	w := p.record.Workspace
	updates := []git.RefUpdate{{Ref: baseRef(w.ID), New: w.Base}}
	if p.record.OwnsBranch {
		updates = append(updates, git.RefUpdate{Ref: "refs/heads/" + w.Branch, New: w.Base})
	}
	return updates
}

// makeBase makes the directory that the workspaces lie in, and has git ignore
// it where it lies inside the main checkout.
func (e *Engine) makeBase(s standing, p *plan) error {
	dir, err := fsx.MakeDir(filepath.Dir(p.record.Workspace.Path), 0o777)
	if err != nil {
		return err
	}
	_ = dir.Close()
	if !p.layout.Nested(s.path, s.name(), p.req.Home) || s.place.Bare {
		return nil
	}
	rel, err := filepath.Rel(s.path, p.record.BaseDir)
	if err != nil {
		return err
	}
	return s.git.Exclude("/" + filepath.ToSlash(rel) + "/")
}

// whyRefs finds out why refs could not be made, by looking at what is there.
func (e *Engine) whyRefs(ctx context.Context, s standing, plans []*plan, cause error) error {
	if errors.Is(cause, git.KindNoSpace) || errors.Is(cause, git.KindIO) {
		return cause // whatever else is there now, that was it
	}
	for _, p := range plans {
		branch, name := p.record.Workspace.Branch, p.record.Workspace.Name
		if !p.record.OwnsBranch || p.mode == croft.ModeLegacy {
			continue
		}
		if _, err := s.git.ReadRef(ctx, "refs/heads/"+branch); err == nil {
			return explain.About(name, branchExists(branch))
		}
		if other, err := s.git.Blocking(ctx, branch); err == nil && other != "" {
			return explain.About(name, e.branchBlocked(ctx, s.repo, blocked{workspace: name, branch: branch, by: other}))
		}
	}
	if blocked := amongThemselves(plans); blocked != nil {
		return blocked
	}
	return cause
}

func branchExists(branch string) error {
	return &croft.Error{
		Code: croft.BranchExists, Message: fmt.Sprintf("branch %q exists already", branch),
		Hint: "croft new --branch " + branch + " takes it as it is; another name makes a new one",
	}
}

// fill writes and verifies the files, outside any lock.
func (e *Engine) fill(ctx context.Context, s standing, op *oplog.Op, plans []*plan) error {
	limit, workers := parallel(len(plans), s.cfg.Checkout.Workers)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for _, p := range plans {
		g.Go(func() error {
			spec := p.spec()
			spec.Workers = workers
			spec.Inherit = op.Inherit()
			if e.isPlain(s.common) {
				spec.Source, spec.Skip = s.path, []string{p.record.BaseDir}
			}
			co := s.checkoutFor(p.mode)
			err := fullDisk(spec.Path, co.Fill(gctx, spec))
			if err == nil {
				err = failpoint.Hit("create.filled")
			}
			if err == nil {
				var notes []string
				notes, err = co.Verify(gctx, spec)
				p.record.Workspace.Notes = append(p.record.Workspace.Notes, notes...)
			}
			return explain.About(p.record.Workspace.Name, err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return failpoint.Hit("create.verified")
}
