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
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/base"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// plan is one workspace that is going to be made.
type plan struct {
	req    croft.CreateRequest
	layout layout.Layout
	start  base.Start
	mode   croft.Mode
	note   string // why it has another mode than the request
	adopt  bool   // the branch exists already, and is used
	role   *croft.Role
	seat   Seat

	record journal.Record
	taken  *pool.Taken // its files, if they were in stock
}

// Seat is what a round, or a revert that is being resolved, sets of one of its workspaces besides the request.
type Seat struct {
	Round   int
	DirName string // the last part of its path; default: the repository's name
	Carried string // the commit of uncommitted changes that it starts from
	NewOnly bool   // an existing branch is not used
	Ref     string // the name of its base
	// Act is what the creation is a part of, and TakesBack the merge whose revert is resolved in the workspace.
	Act       project.Act
	TakesBack croft.ID
}

func (p *plan) spec() checkout.Spec {
	s := project.SpecOf(p.record)
	if p.taken != nil {
		s.Ready = &p.taken.Ready
	}
	return s
}

// planAll plans the workspaces of a request, as far as that does not depend on other
// workspaces. It changes nothing.
func (svc *Workspaces) planAll(ctx context.Context, s project.Location, parts []croft.CreateRequest, seats []Seat) ([]*plan, error) {
	if len(parts) == 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "no workspace was asked for"}
	}
	plans := make([]*plan, len(parts))
	for i, req := range parts {
		var at Seat
		if i < len(seats) {
			at = seats[i]
		}
		p, err := svc.planOne(ctx, s, req, at)
		if err != nil {
			return nil, explain.WithWorkspace(req.Name, err)
		}
		if isNamed := func(other *plan) bool { return p.req.Name != "" && other.req.Name == p.req.Name }; slices.ContainsFunc(plans[:i], isNamed) {
			return nil, &croft.Error{
				Code: croft.WorktreeExists, Workspace: p.req.Name, Message: fmt.Sprintf("%s was asked for twice", p.req.Name), Hint: "croft new " + shellword.Quote(p.req.Name),
			}
		}
		plans[i] = p
	}
	return plans, nil
}

func (svc *Workspaces) planOne(ctx context.Context, s project.Location, req croft.CreateRequest, at Seat) (*plan, error) {
	p := &plan{req: req, seat: at}
	var err error
	if p.layout, err = LayoutFor(s.Project, req); err != nil {
		return nil, err
	}
	if err := p.fillDefaults(); err != nil {
		return nil, err
	}
	if p.mode, p.note, err = svc.modeFor(s.Project, p.layout, req); err != nil {
		return nil, err
	}
	if req.Role != "" && req.RoleFiles != croft.RoleFilesSkip && p.mode != croft.ModeLegacy {
		role, err := s.Roles().Find(req.Role)
		if err != nil {
			return nil, err
		}
		p.role = &role
	}
	if p.mode == croft.ModeLegacy {
		return p, nil
	}
	if err := svc.checkSparse(s, p.mode); err != nil {
		return nil, err
	}
	if p.start, err = base.StartFor(ctx, s, p.layout, req); err != nil {
		return nil, err
	}
	p.start.Ref = cmp.Or(at.Ref, p.start.Ref)
	if p.layout.UsesHome() && req.Home == "" {
		p.req.Home = svc.NewHome(s.Project, string(project.NewID()))
	}
	return p, p.takeBranch(ctx, s)
}

// fillDefaults sets the fields of the request that follow from the layout, and checks
// every name.
func (p *plan) fillDefaults() error {
	req := &p.req
	if p.layout.Role == layout.NeedRequired && req.Role == "" {
		req.Role = req.Name
	}
	req.Name = cmp.Or(req.Name, req.Role)
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
	if err := layout.CheckMeta(req.Meta); err != nil {
		return err
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

// checkRole returns RoleNotFound for a text that cannot be the name of a role, and
// InvalidName for one that is not UTF-8.
func checkRole(role string) error {
	err := layout.CheckRole(role)
	if err != nil && !utf8.ValidString(role) {
		return err // no client could send it
	}
	if err != nil {
		why := croft.AsError("create", err)
		return &croft.Error{Code: croft.RoleNotFound, Message: "there is no role " + strconv.Quote(role), Details: why.Message, Hint: "ls roles"}
	}
	return nil
}

// LayoutFor returns the layout that a request or the project names, with the project's
// templates.
func LayoutFor(r *project.Project, req croft.CreateRequest) (layout.Layout, error) {
	l, err := layout.Preset(cmp.Or(req.Layout, r.Config.Layout))
	if err != nil {
		return l, err
	}
	l.Prefix = cmp.Or(r.Config.Prefix, l.Prefix)
	if req.Layout != "" && req.Layout != r.Config.Layout {
		return l, nil // the templates are for the configured layout
	}
	return l.With(r.Config.Path, r.Config.Branch)
}

// modeFor returns the mode of a new workspace, and a note if it is another than the
// user may expect.
func (svc *Workspaces) modeFor(r *project.Project, l layout.Layout, req croft.CreateRequest) (mode croft.Mode, note string, err error) {
	if r.Git == nil || svc.IsPlain(r.CommonDir) {
		if mode = req.Mode; mode == "" && r.Git != nil {
			mode = croft.ModeAuto // it is a project already
		}
		mode, err = plainModeFor(l, mode)
		if err == nil && req.Mode == croft.ModeWorktree {
			note = "there is no git repository here: the workspace is a copy of the directory, with a git directory of its own"
		}
		if err == nil && mode != croft.ModeLegacy && r.Git == nil {
			err = gitdir.ErrNoRepository
		}
		return mode, note, err
	}
	switch req.Mode {
	case "", croft.ModeAuto:
		return croft.ModeWorktree, "", nil
	case croft.ModeWorktree, croft.ModeLegacy:
		return req.Mode, "", nil
	case croft.ModeIsolated:
		if err := r.Git.CanIsolate(); err != nil {
			return "", "", &croft.Error{Code: croft.Unsupported, Message: err.Error(), Hint: "croft new --mode worktree"}
		}
		return croft.ModeIsolated, "", nil
	}
	return "", "", unknownModeError(req.Mode)
}

// plainModeFor returns the mode of a workspace of a plain directory. If the layout
// refuses plain directories and the request names no mode, it fails with
// gitdir.ErrNoRepository: the user may have run the command in the wrong directory.
func plainModeFor(l layout.Layout, mode croft.Mode) (croft.Mode, error) {
	switch mode {
	case "", croft.ModeAuto:
		switch {
		case l.Plain == layout.PlainDirect:
			return croft.ModeLegacy, nil
		case l.Plain == layout.PlainRefuse && mode == "":
			return "", gitdir.ErrNoRepository
		}
		return croft.ModeIsolated, nil
	case croft.ModeWorktree, croft.ModeIsolated:
		return croft.ModeIsolated, nil
	case croft.ModeLegacy:
		return croft.ModeLegacy, nil
	}
	return "", unknownModeError(mode)
}

func unknownModeError(mode croft.Mode) error {
	return &croft.Error{
		Code: croft.InvalidRequest, Message: fmt.Sprintf("unknown mode %q", mode), Hint: "auto, worktree, isolated or legacy",
	}
}

// takeBranch decides whether the branch of a request exists and is used. It refuses a
// branch that is checked out elsewhere.
func (p *plan) takeBranch(ctx context.Context, s project.Location) error {
	if p.req.Branch == "" || p.seat.NewOnly {
		return nil
	}
	tip, err := s.Git.ReadRef(ctx, "refs/heads/"+p.req.Branch)
	if errors.Is(err, refs.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	if where := checkedOutAt(s, p.req.Branch); where != "" {
		return &croft.Error{
			Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", p.req.Branch), Fields: map[string]string{"branch": p.req.Branch},
			Details: where, Hint: strings.Join(append(newWords(p.req.Name), "--base", shellword.Quote(p.req.Branch)), " "),
		}
	}
	p.adopt = true
	p.start.OID, p.start.Ref = tip, p.req.Branch
	return nil
}

// errPlanned ends the transaction of PlanCreation, so that nothing of it is kept.
var errPlanned = errors.New("this was only a plan")

// PlanCreation returns the workspaces that CreateAll would make.
func (svc *Workspaces) PlanCreation(ctx context.Context, s project.Location, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	plans, err := svc.planAll(ctx, s, req.Workspaces, nil)
	if err != nil {
		return nil, err
	}
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range plans {
			if err := svc.settlePlan(tx, s, p); err != nil {
				return explain.WithWorkspace(p.req.Name, err)
			}
			if err := tx.PutRecord(p.record); err != nil { // the plans that follow must not get the same name, branch or path
				return err
			}
		}
		return errPlanned
	})
	if !errors.Is(err, errPlanned) {
		return nil, err
	}
	out := make([]croft.Workspace, len(plans))
	for i, p := range plans {
		w := p.record.Workspace
		w.ID, w.State = "", croft.Planned
		out[i] = w
	}
	return &croft.CreateResult{Workspaces: out}, nil
}

// baseBranch returns the branch that a new isolated workspace begins from, with its
// tip, so that the agent can compare with it. A worktree sees all branches anyway.
func (p *plan) baseBranch(ctx context.Context, r *project.Project) map[string]string {
	w := p.record.Workspace
	if tip, err := r.Git.ReadRef(ctx, "refs/heads/"+w.BaseRef); p.mode == croft.ModeIsolated && err == nil && tip == w.Base {
		return map[string]string{w.BaseRef: tip}
	}
	return nil
}

// NewHome returns a path for the home of an agent, beside the other workspaces of a
// repository.
func (svc *Workspaces) NewHome(r *project.Project, name string) string {
	top := filepath.Dir(r.Path)
	if !fsx.IsWritable(top) {
		return filepath.Join(dataDirOf(r, svc.Settings.Config().DataDir), ".rounds", name)
	}
	return filepath.Join(top, r.Name()+".croft", ".rounds", name)
}
