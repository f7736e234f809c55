package project

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// Act is one call, which may consist of several operations.
type Act struct {
	ID     croft.ID
	Undoes croft.ID // the act that it undoes
	Actor  string   // the process, user or agent that acts; empty: Projects.Actor
}

// NewAct returns an act with a new ID.
func NewAct() Act { return Act{ID: NewID()} }

// Begin opens an operation. It does not record it in the journal: oplog.Op.Write does. It
// refuses, except for a removal, if the repository's git configuration is not the
// accepted one.
func (p *Projects) Begin(ctx context.Context, a Act, kind string, r *Project) (*oplog.Op, error) {
	if kind != "remove" && r.Git != nil { // a removal works with any configuration
		if err := r.Git.CheckConfig(); err != nil {
			return nil, err
		}
	}
	return p.Ops.Open(journal.Operation{
		ID: NewID(), Act: a.ID, Undoes: a.Undoes, Kind: kind, Actor: cmp.Or(a.Actor, p.Actor(ctx)), Repo: r.ID,
	})
}

// FormerByID opens the repository of an operation, as ByID does. If the journal does
// not have it, because another one took its path, it returns a Project with nothing but
// the ID.
func (p *Projects) FormerByID(ctx context.Context, id croft.ID) (*Project, error) {
	r, err := p.ByID(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return &Project{ID: id}, nil
	}
	return r, err
}

// Recover finishes or rolls back the operations and rounds of one repository whose
// processes died. If the repository is open, it also deletes lock files of git and drafts
// of snapshots that such processes left. It leaves an operation alone whose process
// lives, or that another process is recovering. Operations of other repositories are
// recovered by calls for those, and by gc.
func (p *Projects) Recover(ctx context.Context, repo croft.ID) error {
	r := p.openedByID(repo)
	if r != nil && r.Git != nil {
		if err := r.Git.Sweep(ctx); err != nil {
			return err
		}
	}
	if err := p.Ops.RecoverAt(ctx, repo); err != nil {
		return err
	}
	if r != nil && r.Git != nil {
		p.sweepDrafts(ctx, r)
		if err := p.sweepKept(ctx, r); err != nil {
			return err
		}
	}
	return p.RoundRecovery(ctx, repo)
}

// RecoverEverywhere recovers the operations and rounds of all repositories. It is no
// error if an operation of another repository than repo cannot be recovered.
func (p *Projects) RecoverEverywhere(ctx context.Context, repo croft.ID) error {
	if err := p.Ops.RecoverEverywhere(ctx, repo); err != nil {
		return err
	}
	return p.RoundRecovery(ctx, "")
}

// sweepKept deletes the locks of checkouts that publications left for their recovery,
// if no publication is running.
func (p *Projects) sweepKept(ctx context.Context, r *Project) error {
	ops, err := p.Journal.RunningAt(ctx, r.ID)
	if err != nil || slices.ContainsFunc(ops, func(op journal.Operation) bool { return op.Kind == "publish" }) {
		return err
	}
	return r.Git.SweepKept(ctx)
}

// ByID opens a repository that the journal knows. The Project has no Git if it is not at
// its path, or is a plain directory without a repository.
func (p *Projects) ByID(ctx context.Context, id croft.ID) (*Project, error) {
	if r := p.openedByID(id); r != nil && r.isThere() {
		return r, nil
	}
	known, err := p.Journal.Repo(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(known.CommonDir); err != nil {
		return &Project{ID: id, Path: known.Path, CommonDir: known.CommonDir}, nil
	}
	s, err := p.Locate(ctx, known.CommonDir)
	return s.Project, err
}

// WhyUnsettled returns in one line why an operation could not be finished.
func WhyUnsettled(cause error) string {
	told, is := errors.AsType[*croft.Error](cause)
	if !is {
		return inOneLine(cause.Error())
	}
	if details := inOneLine(told.Details); details != "" {
		return told.Message + ": " + details
	}
	return told.Message
}

// inOneLine joins the lines of an error, without the lines that every unsettled
// operation has.
func inOneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line != oplog.ErrUnsettled.Error() && line != restore.ErrAsWas.Error() && line != ErrWorkedOn.Error() {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// NotReadyError says that a workspace cannot be used yet.
func NotReadyError(code croft.Code, rec journal.Record) error {
	w := rec.Workspace
	e := &croft.Error{Code: code, Workspace: w.Name, Message: "the workspace is not ready: it is " + string(w.State), Hint: "croft show " + shellword.Quote(w.Name)}
	if w.State == croft.Creating {
		e.Message = "the workspace is not ready: it is being made, or its files are being put back"
	}
	return e
}

// Unsettled are the workspaces that running operations change.
type Unsettled struct {
	Rewinding   map[croft.ID]string // their files are being put back; why that could not go on, if it could not
	HalfRemoved map[croft.ID]bool   // the process that removed them has died
}

// UnsettledIn returns the workspaces of a project that running operations change.
func (p *Projects) UnsettledIn(ctx context.Context, r *Project) (Unsettled, error) {
	out := Unsettled{map[croft.ID]string{}, map[croft.ID]bool{}}
	ops, err := p.Journal.RunningAt(ctx, r.ID)
	for _, op := range ops {
		for _, id := range op.Workspaces {
			switch op.Kind {
			case "rewind", "resolve":
				out.Rewinding[id] = op.Error
			case "remove":
				out.HalfRemoved[id] = owner.Life(op.Owner) == proc.Dead
			}
		}
	}
	return out, err
}

// ErrWorkedOn says that an agent has committed in a workspace since it was saved for a
// rewind. The rewind has changed nothing.
var ErrWorkedOn = errors.New("a process is at work in it")
