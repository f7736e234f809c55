package round

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/workspace"
)

// NewRound starts a round and makes its workspaces.
func (svc *Rounds) NewRound(ctx context.Context, req croft.RoundRequest) (*croft.Round, error) {
	return project.Once(ctx, svc.Projects, svc.keyScope(ctx, "round", req.Session), req.Key, req, func(ctx context.Context) (*croft.Round, error) {
		ses, err := svc.holdSession(ctx, req.Session)
		if err != nil {
			return nil, err
		}
		defer ses.release()
		t, err := svc.startRound(ctx, ses.Session, req)
		if err != nil {
			return nil, err
		}
		return svc.shownRound(ctx, ses.Session, t)
	})
}

// keyScope returns the scope of a key for a verb that concerns a session: keys of different
// sessions differ. A name is that of a session of this project.
func (svc *Rounds) keyScope(ctx context.Context, verb string, session croft.Ref) project.KeyScope {
	kind, text := croft.CutRef(session)
	in := project.KeyScope{Verb: verb + " " + text}
	if kind.Is(croft.RefID) && project.IsID(text) {
		return in
	}
	in.Repo = noRepo
	if here, err := svc.Locate(ctx, ""); err == nil {
		in.Repo = here.ID
	}
	return in
}

func (svc *Rounds) startRound(ctx context.Context, ses *journal.Session, req croft.RoundRequest) (*journal.Round, error) {
	req.Session, req.Key = "", ""
	request := req
	request.Number, request.Repos = 0, nil // the spelling of directories is no part of the request
	id, err := once.PinID(ctx, "round", project.NewID)
	if err != nil {
		return nil, err
	}
	t := ses.Round(req.Number)
	if i := slices.IndexFunc(ses.Rounds, func(t journal.Round) bool { return t.ID == id }); i >= 0 {
		t = &ses.Rounds[i] // an earlier call with the same key began it
	}
	switch {
	case t != nil && t.Request != once.DigestOf(request):
		return nil, once.KeyConflictError(fmt.Sprintf("round %d", req.Number))
	case t != nil && !t.Starting:
		return t, svc.showBranches(ctx, ses, t) // the process that started the round may have died before this
	case t == nil && ses.State != croft.SessionOpen:
		return nil, sessionOverError(ses)
	case t == nil:
		if t, err = svc.planRound(ctx, ses, req, id); err != nil {
			return nil, err
		}
		t.Request = once.DigestOf(request)
	}
	if err := svc.saveSession(ctx, ses, nil); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("round.journalled"); err != nil {
		return nil, err
	}
	if err := svc.makeSeats(ctx, ses, t); err != nil {
		return nil, errors.Join(err, svc.rollBackRound(context.WithoutCancel(ctx), ses, t))
	}
	t.Starting = false
	if err := svc.saveSession(ctx, ses, func(tx *journal.Tx) error {
		return tx.Emit(svc.roundEvent(croft.EventRoundStarted, ses, t))
	}); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("round.started"); err != nil {
		return nil, err
	}
	return t, svc.showBranches(ctx, ses, t)
}

func sessionOverError(ses *journal.Session) error {
	return &croft.Error{Code: croft.SessionOver, Message: fmt.Sprintf("the session %s has ended", ses.ID), Hint: "croft session start"}
}

func (svc *Rounds) roundEvent(kind string, ses *journal.Session, t *journal.Round) croft.Event {
	e := svc.sessionEvent(kind, ses)
	e.Round, e.After.Round = t.ID, roundNoun(ses, t)
	return e
}

// planRound adds a round to the session, with the labels, bases and homes of its agents. It
// makes no workspace yet.
func (svc *Rounds) planRound(ctx context.Context, ses *journal.Session, req croft.RoundRequest, id croft.ID) (*journal.Round, error) {
	if err := checkRound(req); err != nil {
		return nil, err
	}
	number := req.Number
	for _, t := range ses.Rounds {
		if req.Number == 0 {
			number = max(number, t.Number)
		}
		if t.Ended {
			continue
		}
		for _, seat := range t.Workspaces {
			if slices.Contains(req.Agents, seat.Agent) && !seat.Ended {
				return nil, &croft.Error{
					Code: croft.RoundBusy, Workspace: seat.Agent, Message: fmt.Sprintf("round %d is still open for %s", t.Number, seat.Agent),
					Hint: "croft round end " + shellword.Quote(cmp.Or(ses.Name, string(ses.ID))),
				}
			}
		}
	}
	if req.Number == 0 {
		number++
	}
	t := journal.Round{ID: id, Number: number, Starting: true, StartedAt: svc.Now().Truncate(time.Second)}
	repos := req.Repos
	if len(repos) == 0 {
		for _, g := range ses.Repos {
			repos = append(repos, g.Path)
		}
	}
	labels, err := drawLabels(ses, req)
	if err != nil {
		return nil, err
	}
	var bases []seatBase
	for _, dir := range repos {
		b, err := svc.seatBase(ctx, ses, dir, req)
		if err != nil {
			return nil, err
		}
		// A project that is named twice, or by a directory in it, counts once.
		if !slices.ContainsFunc(bases, func(o seatBase) bool { return o.repo == b.repo }) {
			bases = append(bases, b)
		}
	}
	for _, agent := range req.Agents {
		home, err := svc.homeOf(ctx, ses, agent, req.Homes[agent])
		if err != nil {
			return nil, err
		}
		for _, b := range bases {
			t.Workspaces = append(t.Workspaces, journal.RoundWorkspace{
				Agent: agent, Label: labels[agent], Repo: b.repo, Home: home, Base: b.base, BaseRef: b.ref, Carried: b.carried, Branch: req.Branches[agent], Mode: req.Mode,
			})
		}
	}
	ses.Rounds = append(ses.Rounds, t)
	return &ses.Rounds[len(ses.Rounds)-1], nil
}

func checkRound(req croft.RoundRequest) error {
	if len(req.Agents) == 0 {
		return &croft.Error{Code: croft.InvalidRequest, Message: "a round needs agents", Hint: "croft round start --agents 3"}
	}
	if req.Number < 0 {
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no round %d", req.Number)}
	}
	for i, agent := range req.Agents {
		if err := layout.CheckAgent(agent); err != nil {
			return err
		}
		if agent == presenter || slices.Contains(req.Agents[:i], agent) {
			return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("an agent cannot be called %q here", agent), Hint: "give each agent a name of its own"}
		}
	}
	for agent, home := range req.Homes {
		if !filepath.IsAbs(home) || !slices.Contains(req.Agents, agent) {
			return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is not the home of an agent of the round", home)}
		}
	}
	return nil
}

// makeSeats makes the workspaces of a round, one repository after the other. After an
// interruption it finds the workspaces that exist already by the key of the call.
func (svc *Rounds) makeSeats(ctx context.Context, ses *journal.Session, t *journal.Round) error {
	for _, g := range ses.Repos {
		req := croft.CreateAllRequest{Key: seatsKey(t, g.ID), Repo: g.Path}
		var seats []workspace.Seat
		for _, s := range t.Workspaces {
			if s.Repo != g.ID {
				continue
			}
			seats = append(seats, workspace.Seat{Round: t.Number, DirName: g.Place, Carried: s.Carried, NewOnly: true, Ref: s.BaseRef})
			req.Workspaces = append(req.Workspaces, croft.CreateRequest{
				Agent: s.Agent, Session: string(ses.ID), Label: s.Label, Home: s.Home, Base: s.Base, Branch: s.Branch, Layout: ses.Layout, Mode: s.Mode,
			})
		}
		if len(seats) == 0 {
			continue
		}
		if err := svc.nameSeats(ctx, g, req.Workspaces, seatsKey(t, g.ID)); err != nil {
			return err
		}
		// The order must not reveal the agents by the age of their directories, and has
		// to be the same after a crash.
		slices.SortFunc(req.Workspaces, func(a, b croft.CreateRequest) int {
			return strings.Compare(once.DigestOf(string(t.ID)+a.Agent), once.DigestOf(string(t.ID)+b.Agent))
		})
		made, err := svc.Workspaces.CreateMany(ctx, req, seats)
		if err != nil {
			return err
		}
		for _, w := range made {
			for i, s := range t.Workspaces {
				if s.Repo == g.ID && s.Agent == w.Agent {
					t.Workspaces[i].Workspace = w.ID
				}
			}
		}
		if err := failpoint.Hit("round.made"); err != nil {
			return err
		}
	}
	for i := range ses.Homes {
		if err := svc.Workspaces.ShareArchives(ses, &ses.Homes[i]); err != nil {
			return err
		}
	}
	return nil
}

// showBranches pushes the branches of the other agents, and the existing branches of
// earlier rounds, to the agents of an open round that have a git directory of their
// own. In a worktree these branches are visible anyway.
func (svc *Rounds) showBranches(ctx context.Context, ses *journal.Session, t *journal.Round) error {
	if t.Ended {
		return nil
	}
	for _, seat := range t.Workspaces {
		rec, err := svc.Journal.Record(ctx, seat.Workspace)
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if rec.Workspace.Mode != croft.ModeIsolated || rec.Workspace.State == croft.Trashed {
			continue
		}
		r, err := svc.ByID(ctx, seat.Repo)
		if err != nil {
			return err
		}
		all, err := svc.liveBranches(ctx, r, ses)
		if err != nil {
			return err
		}
		var names []string
		for _, b := range all {
			if b.Workspace != seat.Workspace {
				names = append(names, b.Name)
			}
		}
		for _, g := range ses.Repos {
			if g.ID == seat.Repo && g.Target != "" {
				names = append(names, g.Target)
			}
		}
		branches := map[string]string{}
		for _, name := range append(names, rec.Workspace.BaseRef) {
			tip, err := r.Git.ReadRef(ctx, "refs/heads/"+name)
			if errors.Is(err, refs.ErrNoRef) {
				continue
			}
			if err != nil {
				return err
			}
			branches[name] = tip
		}
		if err := r.Trees.At(project.SpecOf(rec)).Push(ctx, branches); err != nil {
			return err
		}
	}
	return nil
}

// seatsKey returns the key of the call that makes the workspaces of a round in one
// repository.
func seatsKey(t *journal.Round, repo croft.ID) string {
	return "round-" + string(t.ID) + "-" + string(repo)
}

// nameSeats names workspaces after their agents, with a suffix where another workspace of
// the repository has that name.
func (svc *Rounds) nameSeats(ctx context.Context, g journal.SessionRepo, parts []croft.CreateRequest, key string) error {
	for i := range parts {
		name := parts[i].Agent
		rec, err := svc.Journal.LiveByName(ctx, g.ID, name)
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		if err == nil {
			made, err := svc.isMadeWith(ctx, g.ID, key, rec.Workspace.ID)
			if err != nil {
				return err
			}
			if !made {
				name = name + "-" + layout.ShortID(parts[i].Session)
			}
		}
		parts[i].Name = name
	}
	return nil
}

// isMadeWith reports whether the call with an idempotency key made a workspace.
func (svc *Rounds) isMadeWith(ctx context.Context, repo croft.ID, key string, id croft.ID) (bool, error) {
	used, err := svc.Journal.FindKey(ctx, repo, "create", key)
	if err == nil {
		var op journal.Operation
		op, err = svc.Journal.Operation(ctx, used.Operation)
		return err == nil && slices.Contains(op.Workspaces, id), err
	}
	if errors.Is(err, journal.ErrNotFound) {
		err = nil
	}
	return false, err
}

// ShowRound returns the round with an ID.
func (svc *Rounds) ShowRound(ctx context.Context, req croft.GetRequest) (*croft.Round, error) {
	list, err := svc.Journal.Sessions(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, ses := range list {
		for _, t := range ses.Rounds {
			if t.ID == croft.RefToID(req.Ref) {
				return svc.shownRound(ctx, &ses, &t)
			}
		}
	}
	return nil, roundNotFoundError(string(req.Ref))
}

// roundNoun returns a round without its workspaces.
func roundNoun(ses *journal.Session, t *journal.Round) *croft.Round {
	out := &croft.Round{ID: t.ID, RepoID: ses.RepoID, Session: ses.ID, Number: t.Number, State: croft.RoundOpen, StartedAt: t.StartedAt}
	if t.Ended {
		out.State, out.EndedAt = croft.RoundEnded, t.EndedAt
	}
	for _, seat := range t.Workspaces {
		if len(seat.HeldBack) > 0 {
			out.HeldBack = append(out.HeldBack, croft.HeldBack{
				Workspace: seat.Workspace, Agent: seat.Agent, Label: seat.Label, Paths: seat.HeldBack, Archive: seat.HeldIn,
			})
		}
		if seat.Absent != "" {
			out.Absent = append(out.Absent, croft.AbsentCheckout{
				Workspace: seat.Workspace, Agent: seat.Agent, Label: seat.Label, Path: seat.Absent,
			})
		}
	}
	return out
}

func (svc *Rounds) shownRound(ctx context.Context, ses *journal.Session, t *journal.Round) (*croft.Round, error) {
	out := roundNoun(ses, t)
	for _, seat := range t.Workspaces {
		r, err := svc.ByID(ctx, seat.Repo)
		if err != nil {
			return nil, err
		}
		w, err := svc.Views.ViewOf(ctx, r, seat.Workspace)
		if errors.Is(err, journal.ErrNotFound) {
			continue // its record was pruned
		}
		if err != nil {
			return nil, err
		}
		out.Workspaces = append(out.Workspaces, *w)
	}
	return out, nil
}

// drawLabels gives every agent of a round a label: the one that the caller chose, or
// one that is new in this session. New labels are drawn at random, so that the order of
// the request does not reveal the agents.
func drawLabels(ses *journal.Session, req croft.RoundRequest) (map[string]string, error) {
	holders := map[string]string{layout.Fold(presenter): presenter}
	for _, t := range ses.Rounds {
		for _, seat := range t.Workspaces {
			holders[layout.Fold(seat.Label)] = seat.Agent
		}
	}
	out := map[string]string{}
	for agent, label := range req.Labels {
		if err := layout.CheckLabel(label); err != nil {
			return nil, err
		}
		if !slices.Contains(req.Agents, agent) {
			return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is not the label of an agent of the round", label)}
		}
		if holder, taken := holders[layout.Fold(label)]; taken && holder != agent {
			return nil, &croft.Error{
				Code: croft.InvalidRequest, Message: fmt.Sprintf("the label %q is another agent's in this session", label), Hint: "give each agent a label of its own",
			}
		}
		holders[layout.Fold(label)] = agent
		out[agent] = label
	}
	last := 0
	for label := range holders {
		if n, err := strconv.Atoi(strings.TrimPrefix(label, "agent")); err == nil && strings.HasPrefix(label, "agent") {
			last = max(last, n)
		}
	}
	fresh := rand.Perm(len(req.Agents) - len(out))
	for _, agent := range req.Agents {
		if out[agent] == "" {
			out[agent] = fmt.Sprintf("agent%d", last+fresh[0]+1)
			fresh = fresh[1:]
		}
	}
	return out, nil
}
