package round

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/workspace"
)

// presenter is the label of the workspace that presents the result of a session.
const presenter = "presenter"

// PresentWinner makes the workspace that presents the result of a session.
func (svc *Rounds) PresentWinner(ctx context.Context, req croft.PresentRequest) (*croft.Workspace, error) {
	return project.Once(ctx, svc.Projects, svc.keyScope(ctx, "present "+req.Repo, req.Session), req.Key, req, func(ctx context.Context) (*croft.Workspace, error) {
		ses, err := svc.holdSession(ctx, req.Session)
		if err != nil {
			return nil, err
		}
		defer ses.release()
		return svc.presentRound(ctx, ses.Session, req)
	})
}

func (svc *Rounds) presentRound(ctx context.Context, ses *journal.Session, req croft.PresentRequest) (*croft.Workspace, error) {
	g := ses.Repos[0]
	if req.Repo != "" {
		s, err := svc.LocateAs(ctx, req.Repo, project.KnownPlain)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(ses.Repos, func(have journal.SessionRepo) bool { return have.ID == s.ID })
		if i < 0 {
			return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("the session does not work on %s", s.Path), Hint: "croft session list"}
		}
		g = ses.Repos[i]
	}
	r, err := svc.ByID(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	if req.Home != "" && !filepath.IsAbs(req.Home) {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("the home %q is not an absolute path", req.Home)}
	}
	asked := []string{req.Winner, string(req.Mode)}
	if req.Home != "" {
		asked = append(asked, req.Home)
	}
	request := once.DigestOf(asked)
	for _, f := range ses.Finals {
		if f.Repo != g.ID || f.Request != request {
			continue
		}
		w, err := svc.Views.ViewOf(ctx, r, f.Workspace)
		if err == nil && w.State != croft.Trashed {
			return w, nil
		}
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return nil, err
		}
	}
	if ses.State != croft.SessionOpen {
		return nil, sessionOverError(ses)
	}
	won, err := svc.findWinner(ctx, ses, g, req.Winner)
	if err != nil {
		return nil, err
	}
	return svc.makeFinal(ctx, ses, g, won, croft.CreateRequest{
		Session: string(ses.ID), Label: presenter, Home: req.Home, Base: won.tip, Target: g.Target, Layout: ses.Layout, Mode: req.Mode,
	}, request)
}

// won is the work that a presenter's workspace starts from.
type won struct {
	tip, branch, carried string
}

// findWinner finds the last work of an agent in a repository. The round of that work must
// have ended.
func (svc *Rounds) findWinner(ctx context.Context, ses *journal.Session, g journal.SessionRepo, who string) (won, error) {
	for _, t := range slices.Backward(ses.Rounds) {
		for _, seat := range t.Workspaces {
			if seat.Repo != g.ID || seat.Agent != who && string(seat.Workspace) != who && !svc.isWorkspaceOf(ses, seat.Agent, who) {
				continue
			}
			rec, err := svc.Journal.Record(ctx, seat.Workspace)
			if err != nil {
				return won{}, err
			}
			if rec.Workspace.State != croft.Trashed {
				return won{}, &croft.Error{
					Code: croft.RoundBusy, Message: fmt.Sprintf("round %d of %s is still open", t.Number, seat.Agent),
					Hint: "croft round end " + shellword.Quote(cmp.Or(ses.Name, string(ses.ID))),
				}
			}
			if rec.Trash == nil || rec.Trash.Tip == "" {
				return won{}, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%s has left no commit to present", seat.Agent)}
			}
			return won{rec.Trash.Tip, rec.Workspace.Branch, seat.Carried}, nil
		}
	}
	return won{}, &croft.Error{Code: croft.WorktreeNotFound, Workspace: who, Message: "no agent of the session is called that", Hint: "croft session list"}
}

// isWorkspaceOf reports whether an ID is that of a workspace of an agent, in any repository
// of the session.
func (svc *Rounds) isWorkspaceOf(ses *journal.Session, agent, id string) bool {
	for _, t := range ses.Rounds {
		for _, seat := range t.Workspaces {
			if string(seat.Workspace) == id {
				return seat.Agent == agent
			}
		}
	}
	return false
}

// makeFinal makes the presenter's workspace, or finds the one that an interrupted call
// has made. Its branch is called presenter, with a suffix if such a branch exists.
func (svc *Rounds) makeFinal(ctx context.Context, ses *journal.Session, g journal.SessionRepo, from won, req croft.CreateRequest, request string) (*croft.Workspace, error) {
	home, err := svc.homeOf(ctx, ses, presenter, req.Home)
	if err != nil {
		return nil, err
	}
	req.Home = home
	made, err := svc.findFinal(ctx, g, home, from.tip)
	if err == nil && made == nil {
		made, err = svc.createFinal(ctx, ses, g, from, req)
	}
	if err != nil {
		return nil, err
	}
	return made, svc.recordFinal(ctx, ses, g, made, request)
}

func (svc *Rounds) createFinal(ctx context.Context, ses *journal.Session, g journal.SessionRepo, from won, req croft.CreateRequest) (*croft.Workspace, error) {
	if err := svc.saveSession(ctx, ses, nil); err != nil { // records the home first
		return nil, err
	}
	if err := failpoint.Hit("present.journalled"); err != nil {
		return nil, err
	}
	create := func(name string) ([]croft.Workspace, error) {
		req.Name, req.Branch = name, name
		return svc.Workspaces.CreateMany(ctx, croft.CreateAllRequest{Repo: g.Path, Workspaces: []croft.CreateRequest{req}},
			[]workspace.Seat{{DirName: g.Place, Carried: from.carried, NewOnly: true, Ref: from.branch}})
	}
	made, err := create(presenter)
	if errors.Is(err, croft.BranchExists) || errors.Is(err, croft.WorktreeExists) || errors.Is(err, croft.BranchBlocked) {
		made, err = create(presenter + "-" + project.Hex8())
	}
	if err != nil {
		return nil, err
	}
	return &made[0], failpoint.Hit("present.made")
}

// findFinal finds the workspace that an interrupted call has made. It refuses if another
// workspace is in the presenter's home.
func (svc *Rounds) findFinal(ctx context.Context, g journal.SessionRepo, home, tip string) (*croft.Workspace, error) {
	live, err := svc.Journal.Live(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	for _, rec := range live {
		if rec.Home != home || rec.Workspace.State == croft.Creating {
			continue
		}
		if rec.Workspace.Base != tip {
			return nil, &croft.Error{
				Code: croft.RoundBusy, Message: "the session presents something else already", Details: rec.Workspace.Path,
				Hint: "croft remove " + shellword.Quote(rec.Workspace.Name),
			}
		}
		r, err := svc.ByID(ctx, g.ID)
		if err != nil {
			return nil, err
		}
		return svc.Views.ViewOf(ctx, r, rec.Workspace.ID)
	}
	return nil, nil
}

func (svc *Rounds) recordFinal(ctx context.Context, ses *journal.Session, g journal.SessionRepo, w *croft.Workspace, request string) error {
	ses.Finals = append(ses.Finals, journal.Final{Repo: g.ID, Request: request, Workspace: w.ID})
	for i := range ses.Homes {
		if ses.Homes[i].Agent == presenter {
			if err := svc.Workspaces.ShareArchives(ses, &ses.Homes[i]); err != nil {
				return err
			}
		}
	}
	return svc.saveSession(ctx, ses, nil)
}
