package engine

import (
	"context"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/adoption"
	"github.com/croft-sh/croft/internal/agentrun"
	"github.com/croft-sh/croft/internal/doctor"
	"github.com/croft-sh/croft/internal/equip"
	"github.com/croft-sh/croft/internal/history"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/push"
	"github.com/croft-sh/croft/internal/radar"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/resolve"
	"github.com/croft-sh/croft/internal/review"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/round"
	"github.com/croft-sh/croft/internal/rules"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/uninstall"
	"github.com/croft-sh/croft/internal/upkeep"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// newEngine returns an engine whose parts are connected.
func newEngine(p *project.Projects) *Engine {
	e := &Engine{projects: p}
	e.commits = &work.Commits{Projects: p}
	e.forecasts = &radar.Forecasts{Projects: p}
	e.views = &view.Views{Projects: p, Forecasts: e.forecasts}
	e.forecasts.Reverts = e.views
	e.pool = &pool.Pool{Projects: p}
	e.workspaces = &workspace.Workspaces{Projects: p, Commits: e.commits, Views: e.views, Reaper: e, Pool: e.pool}
	e.adoptions = &adoption.Adoptions{Projects: p, Views: e.views}
	e.removals = &removal.Removals{Projects: p, Views: e.views}
	e.trash = &trash.Trash{Projects: p, Removals: e.removals, Workspaces: e.workspaces}
	e.rewinds = &rewind.Rewinds{Projects: p, Removals: e.removals, Trash: e.trash, Views: e.views}
	e.workspaces.Snapshots = e.rewinds
	e.equipment = &equip.Equipment{Projects: p, Stock: e.pool}
	e.pool.Provisioner = e.equipment
	e.workspaces.Equipment, e.trash.Ports = e.equipment, e.equipment
	e.runs = &agentrun.Runs{Projects: p, Leases: e.workspaces}
	e.rules = &rules.Rules{Projects: p, Variables: e.equipment}
	e.views.Approvals, e.equipment.Approvals, e.workspaces.Targets = e.rules, e.rules, e.rules
	e.removals.Equipment, e.equipment.Hider = e.equipment, e.workspaces
	e.lanes = &lane.Lanes{Projects: p, Commits: e.commits, Workspaces: e.workspaces, Removals: e.removals, Rules: e.rules}
	e.views.Queues, e.removals.Queues = e.lanes, e.lanes
	e.resolver = &resolve.Resolver{Projects: p, Commits: e.commits, Views: e.views, Removals: e.removals, Rewinds: e.rewinds, Workspaces: e.workspaces, Lanes: e.lanes}
	e.reviews = &review.Reviews{Projects: p, Commits: e.commits, Removals: e.removals, Lanes: e.lanes, Trash: e.trash}
	e.rounds = &round.Rounds{Projects: p, Commits: e.commits, Views: e.views, Workspaces: e.workspaces, Removals: e.removals}
	e.pushes = &push.Pushes{Projects: p, Commits: e.commits}
	p.RoundRecovery = e.rounds.RecoverRounds
	e.upkeep = &upkeep.Upkeep{Projects: p, Removals: e.removals, Trash: e.trash, Lanes: e.lanes, Reviews: e.reviews, Rounds: e.rounds, Pool: e.pool}
	e.uninstaller = &uninstall.Uninstaller{Projects: p, Forecasts: e.forecasts, Workspaces: e.workspaces, Trash: e.trash, Lanes: e.lanes, Pool: e.pool}
	e.doctor = &doctor.Doctor{Projects: p, Commits: e.commits, Trash: e.trash, Rewinds: e.rewinds, Queues: e.lanes}
	e.history = &history.History{Projects: p, Removals: e.removals, Trash: e.trash, Rewinds: e.rewinds, Lanes: e.lanes}
	return e
}

// newOplog returns the engine's log of operations. Each kind of operation has the
// function that finishes it or rolls it back after its process died.
func (e *Engine) newOplog() *oplog.Log[*project.Project] {
	settle := func(f oplog.Recoverer[*project.Project]) oplog.Recoverer[*project.Project] {
		return func(ctx context.Context, r *project.Project, op *oplog.Op) error {
			if r.Git != nil {
				if err := r.Git.Sweep(ctx); err != nil {
					return err
				}
			}
			return f(ctx, r, op)
		}
	}
	return oplog.New(oplog.Options[*project.Project]{
		Journal: e.projects.Journal, Dir: filepath.Join(e.projects.Settings.Config().StateDir, "ops"), Now: e.projects.Now, Self: owner.Self(),
		IsDead:  func(o croft.Owner) bool { return owner.Life(o) == proc.Dead },
		Project: e.projects.FormerByID, Why: project.WhyUnsettled,
	}, map[string]oplog.Recoverer[*project.Project]{
		"create":  settle(e.workspaces.RecoverCreate),
		"remove":  settle(e.removals.RecoverRemove),
		"restore": settle(e.trash.RecoverRestore),
		"rewind":  settle(e.rewinds.RecoverRewind),
		"publish": settle(e.lanes.RecoverPublish),
		"resolve": settle(e.resolver.RecoverResolve),
		"ports":   e.equipment.RecoverPorts,
	})
}
