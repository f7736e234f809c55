package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/proc"
)

// plan is one workspace that is going to be made.
type plan struct {
	req    croft.CreateRequest
	layout layout.Layout
	start  start
	mode   croft.Mode
	note   string // why it is not the mode that was asked for
	adopt  bool   // the branch is there already
	role   *croft.Role
	seat   seat

	record journal.Record
}

// seat is what a round knows about one of its workspaces beside the request
// for it.
type seat struct {
	round   int
	place   string // the last part of its path; default: the repository's name
	carried string // the commit of uncommitted changes that it starts from
	newOnly bool   // a branch that is there already is not taken
	ref     string // what its base is called
}

func (p *plan) spec() checkout.Spec {
	return specOf(p.record)
}

// planAll finds out everything about the workspaces that does not depend on
// which others there are, and touches nothing.
func (e *Engine) planAll(ctx context.Context, s standing, parts []croft.CreateRequest, seats []seat) ([]*plan, error) {
	if len(parts) == 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "no workspace was asked for"}
	}
	plans := make([]*plan, len(parts))
	for i, req := range parts {
		var at seat
		if i < len(seats) {
			at = seats[i]
		}
		p, err := e.planOne(ctx, s, req, at)
		if err != nil {
			return nil, explain.About(req.Name, err)
		}
		plans[i] = p
	}
	return plans, nil
}

func (e *Engine) planOne(ctx context.Context, s standing, req croft.CreateRequest, at seat) (*plan, error) {
	p := &plan{req: req, seat: at}
	var err error
	if p.layout, err = layoutFor(s.repo, req); err != nil {
		return nil, err
	}
	if err := p.defaults(); err != nil {
		return nil, err
	}
	if p.mode, p.note, err = e.modeFor(s.repo, p.layout, req); err != nil {
		return nil, err
	}
	if req.Role != "" && req.RoleFiles != croft.RoleFilesSkip && p.mode != croft.ModeLegacy {
		role, err := s.roles().Find(req.Role)
		if err != nil {
			return nil, err
		}
		p.role = &role
	}
	if p.mode == croft.ModeLegacy {
		return p, nil
	}
	if p.start, err = e.startFor(ctx, s, p.layout, req); err != nil {
		return nil, err
	}
	p.start.ref = cmp.Or(at.ref, p.start.ref)
	if p.layout.UsesHome() && req.Home == "" {
		p.req.Home = e.newHome(s.repo, string(newID()))
	}
	return p, p.takeBranch(ctx, s)
}

// defaults fills in what follows from the layout and checks every name.
func (p *plan) defaults() error {
	req := &p.req
	if p.layout.Role == layout.NeedRequired && req.Role == "" {
		req.Role = req.Name
	}
	if req.Name == "" {
		req.Name = req.Role
	}
	checks := []struct {
		value string
		check func(string) error
	}{
		{req.Role, checkRole},
		{req.Name, layout.CheckName},
		{req.Session, layout.CheckSession},
		{req.Label, layout.CheckLabel},
		{req.Agent, layout.CheckAgent},
		{req.Branch, layout.CheckBranch},
		{req.Target, layout.CheckBranch},
	}
	for _, c := range checks {
		if c.value == "" {
			continue
		}
		if err := c.check(c.value); err != nil {
			return err
		}
	}
	return nil
}

// checkRole refuses what cannot be the name of a role as a role that is not
// there.
func checkRole(role string) error {
	err := layout.CheckRole(role)
	if err != nil {
		why := croft.AsError("create", err)
		return &croft.Error{Code: croft.RoleNotFound, Message: "there is no role " + strconv.Quote(role), Details: why.Message, Hint: "ls roles"}
	}
	return nil
}

func layoutFor(r *repo, req croft.CreateRequest) (layout.Layout, error) {
	name := req.Layout
	if name == "" {
		name = r.cfg.Layout
	}
	l, err := layout.Preset(name)
	if err != nil {
		return l, err
	}
	if r.cfg.Prefix != "" {
		l.Prefix = r.cfg.Prefix
	}
	if req.Layout != "" && req.Layout != r.cfg.Layout {
		return l, nil // templates belong to the configured layout
	}
	return l.With(r.cfg.Path, r.cfg.Branch)
}

// modeFor is the mode that a workspace gets, and what is to be said of it.
func (e *Engine) modeFor(r *repo, l layout.Layout, req croft.CreateRequest) (mode croft.Mode, note string, err error) {
	if r.git == nil || e.isPlain(r.common) {
		if mode = req.Mode; mode == "" && r.git != nil {
			mode = croft.ModeAuto // it is a project already
		}
		mode, err = plainModeFor(l, mode)
		if err == nil && req.Mode == croft.ModeWorktree {
			note = "there is no git repository here: the workspace is a copy of the directory, with a git directory of its own"
		}
		if err == nil && mode != croft.ModeLegacy && r.git == nil {
			err = git.ErrNoRepository
		}
		return mode, note, err
	}
	switch req.Mode {
	case "", croft.ModeAuto:
		return croft.ModeWorktree, "", nil
	case croft.ModeWorktree, croft.ModeLegacy:
		return req.Mode, "", nil
	case croft.ModeIsolated:
		if err := r.git.CanIsolate(); err != nil {
			return "", "", &croft.Error{Code: croft.Unsupported, Message: err.Error(), Hint: "croft new --mode worktree"}
		}
		return croft.ModeIsolated, "", nil
	}
	return "", "", unknownMode(req.Mode)
}

// plainModeFor is the mode that a workspace of a plain directory gets. Where the
// layout has no rule for such a directory, nobody is given a copy of one unasked:
// they may only stand in the wrong place.
func plainModeFor(l layout.Layout, mode croft.Mode) (croft.Mode, error) {
	switch mode {
	case "", croft.ModeAuto:
		switch {
		case l.Plain == layout.PlainDirect:
			return croft.ModeLegacy, nil
		case l.Plain == layout.PlainRefuse && mode == "":
			return "", git.ErrNoRepository
		}
		return croft.ModeIsolated, nil
	case croft.ModeWorktree, croft.ModeIsolated:
		return croft.ModeIsolated, nil
	case croft.ModeLegacy:
		return croft.ModeLegacy, nil
	}
	return "", unknownMode(mode)
}

func unknownMode(mode croft.Mode) error {
	return &croft.Error{
		Code: croft.InvalidRequest, Message: fmt.Sprintf("unknown mode %q", mode), Hint: "auto, worktree, isolated or legacy",
	}
}

// takeBranch decides whether an existing branch is taken, and refuses one that
// is checked out elsewhere.
func (p *plan) takeBranch(ctx context.Context, s standing) error {
	if p.req.Branch == "" || p.seat.newOnly {
		return nil
	}
	tip, err := s.git.ReadRef(ctx, "refs/heads/"+p.req.Branch)
	if errors.Is(err, git.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	if used := s.git.CheckedOut(p.req.Branch, ""); len(used) > 0 {
		return &croft.Error{
			Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", p.req.Branch),
			Details: used[0], Hint: "git worktree list",
		}
	}
	p.adopt = true
	p.start.oid, p.start.ref = tip, p.req.Branch
	return nil
}

// settle gives a plan its name, branch and path. It runs in the transaction
// that writes the record down, so that no two workspaces settle on the same.
func (e *Engine) settle(tx *journal.Tx, s standing, p *plan) error {
	id := newID()
	now := e.now()
	w := croft.Workspace{
		ID: id, Name: p.req.Name, Agent: p.req.Agent, Role: p.req.Role, Session: p.req.Session, Label: p.req.Label,
		Mode: p.mode, State: croft.Creating, Layout: p.layout.Name, Base: p.start.oid, BaseRef: p.start.ref, Target: p.start.target,
		Host: e.host, Repo: s.path, CreatedAt: now, Round: p.seat.round,
	}
	if p.note != "" {
		w.Notes = append(w.Notes, p.note)
	}
	var err error
	if w.Name, err = settleName(tx, s.repo, w.Name); err != nil {
		return err
	}
	maker := self()
	p.record = journal.Record{Workspace: w, RepoID: s.id, Generation: 1, Boot: proc.Here().Boot, Maker: &maker, Carried: p.seat.carried}
	if p.mode == croft.ModeLegacy {
		p.record.Workspace.Path = s.path
		return nil
	}
	p.record.Admin = worktree.Admin(string(id))
	return p.settlePlace(tx, s, e.set.Config().DataDir, now.Unix())
}

// refuseID refuses a name that is the ID of another workspace or of a merge:
// whoever means that one by its ID would get this one.
func refuseID(tx *journal.Tx, name string) error {
	_, err := tx.Record(croft.ID(name))
	if errors.Is(err, journal.ErrNotFound) {
		_, err = tx.Merge(croft.ID(name))
	}
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &croft.Error{Code: croft.InvalidName, Workspace: name, Message: fmt.Sprintf("%q is the ID of something else", name), Hint: "choose another name"}
}

func settleName(tx *journal.Tx, r *repo, name string) (string, error) {
	if name != "" {
		if err := refuseID(tx, name); err != nil {
			return name, err
		}
		other, err := tx.LiveByName(r.id, name)
		if errors.Is(err, journal.ErrNotFound) {
			return name, nil
		}
		if err == nil {
			err = &croft.Error{
				Code: croft.WorktreeExists, Workspace: name, Message: "a workspace of that name exists already",
				Details: other.Workspace.Path, Hint: "croft show " + name,
			}
		}
		return name, err
	}
	for range 1000 {
		name = layout.Invent(random)
		if _, err := tx.LiveByName(r.id, name); errors.Is(err, journal.ErrNotFound) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", &croft.Error{Code: croft.InvalidRequest, Message: "no free name was found", Hint: "croft new NAME"}
}

// settleBranch is the branch that a workspace gets. Where the short form of an
// ID is taken, a longer one is tried.
func (p *plan) settleBranch(tx *journal.Tx, s standing, v *layout.Values) (branch string, err error) {
	isFree := func(branch string) (bool, error) {
		_, err := tx.LiveByBranch(s.id, branch)
		if err == nil || !errors.Is(err, journal.ErrNotFound) {
			return false, err
		}
		return true, nil
	}
	if branch = p.req.Branch; branch != "" {
		free, err := isFree(branch)
		if err == nil && !free {
			err = branchExists(branch)
		}
		return branch, err
	}
	first := ""
	for _, v.ShortID = range layout.ShortIDs(v.ID) {
		if branch, err = p.layout.RenderBranch(*v); err != nil {
			return "", err
		}
		if branch == first { // an ID is no part of it
			break
		}
		first = cmp.Or(first, branch)
		free, err := isFree(branch)
		if err != nil {
			return "", err
		}
		if oid, _ := s.git.Snapshot().Ref("refs/heads/" + branch); free && oid == "" {
			return branch, nil
		}
	}
	v.ShortID = ""
	if free, err := isFree(first); err != nil || !free {
		return "", cmp.Or(err, branchExists(first))
	}
	return first, nil // who made it is found out with its ref
}

func (p *plan) settlePlace(tx *journal.Tx, s standing, dataDir string, unix int64) error {
	w := &p.record.Workspace
	v := layout.Values{
		RepoPath: s.path, Repo: cmp.Or(p.seat.place, s.name()), Home: p.req.Home, Name: w.Name, Role: w.Role, Session: w.Session,
		ID: agentID(w), Hex8: hex8(), Unix: unix,
	}
	var err error
	if w.Branch, err = p.settleBranch(tx, s, &v); err != nil {
		return err
	}
	v.Branch = w.Branch
	p.record.OwnsBranch = !p.adopt
	if p.layout.UsesHome() {
		p.record.Home = p.req.Home
	}
	base := p.layout.BaseDir(s.path, s.name(), p.req.Home)
	elsewhere, err := p.writableBase(s, base, dataDir)
	if err != nil {
		return err
	}
	home := cmp.Or(elsewhere, base)
	real, err := realBase(s.repo, home)
	if err != nil {
		return err
	}
	place := func(slug string) (string, error) {
		v.Slug = slug
		path, err := p.layout.RenderPath(v)
		if err != nil {
			return path, err
		}
		rel, err := filepath.Rel(base, path)
		return filepath.Join(real, rel), err
	}
	if err := p.settlePath(tx, place); err != nil {
		return err
	}
	p.record.BaseDir = real
	if elsewhere != "" {
		w.Notes = append(w.Notes, fmt.Sprintf("%s cannot be written; the workspace lies in %s", filepath.Dir(base), elsewhere))
	}
	return nil
}

// agentID is what {id} stands for: the caller's own name for its agent, where
// it has one.
func agentID(w *croft.Workspace) string {
	switch {
	case w.Agent != "":
		return w.Agent
	case w.Name != "" && layout.CheckAgent(w.Name) == nil:
		return w.Name
	}
	return string(w.ID)
}

// settlePath finds a free path. Where the layout makes the last part from the
// name, a taken one gets a number; elsewhere it is refused.
func (p *plan) settlePath(tx *journal.Tx, place func(slug string) (string, error)) error {
	w := &p.record.Workspace
	free := func(path string) (bool, error) {
		if _, err := os.Lstat(path); err == nil {
			return false, nil
		}
		taken, err := tx.PathTaken(path)
		return !taken, err
	}
	if !p.layout.UsesSlug() {
		path, err := place("")
		if err != nil {
			return err
		}
		ok, err := free(path)
		if err == nil && !ok {
			err = pathTaken(w.Name, path)
		}
		w.Path = path
		return err
	}
	path, err := place(layout.Slug(w.Name))
	if err != nil {
		return err
	}
	// Something foreign at the plain path is refused, not sidestepped: the
	// caller would look for the workspace there.
	if taken, err := tx.PathTaken(path); err != nil || !taken {
		if _, lerr := os.Lstat(path); err == nil && lerr == nil {
			return pathTaken(w.Name, path)
		}
		w.Slug, w.Path = layout.Slug(w.Name), path
		return err
	}
	var failed error
	w.Slug = layout.UniqueSlug(w.Name, func(slug string) bool {
		path, err := place(slug)
		if err != nil {
			failed = err
			return false
		}
		ok, err := free(path)
		failed = err
		return !ok && err == nil
	})
	if failed != nil {
		return failed
	}
	w.Path, err = place(w.Slug)
	return err
}

func pathTaken(name, path string) error {
	return &croft.Error{
		Code: croft.WorktreeExists, Workspace: name, Message: "something is already at the path", Details: path,
		Hint: "choose another name, or move it away",
	}
}

// writableBase returns another base directory where the layout's own cannot be
// written and the layout allows that, and "" where it can.
func (p *plan) writableBase(s standing, base, dataDir string) (string, error) {
	at := base
	for {
		if info, err := os.Stat(at); err == nil {
			if !info.IsDir() {
				return "", &croft.Error{Code: croft.NotWritable, Message: fmt.Sprintf("%s is not a directory", at)}
			}
			break
		}
		if filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	if writable(at) {
		return "", nil
	}
	if p.layout.Parent == layout.ParentStrict {
		return "", &croft.Error{
			Code: croft.NotWritable, Message: fmt.Sprintf("the directory %s cannot be written", at),
			Hint: "croft new --layout default",
		}
	}
	return filepath.Join(dataDir, s.name()+"-"+layout.ShortID(string(s.id))), nil
}
