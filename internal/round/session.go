// Package round runs sessions of rounds: several agents try the same task, each in a
// workspace of its own, and one result is kept and presented.
//
// A session spans projects; each of its rounds has the same workspaces in all of them,
// made together or not at all. When a round ends, the work of every workspace is
// committed and kept under the session, files that look like secrets are archived
// beside it, and the workspaces are removed. The next process rolls back a round whose
// start was interrupted, and finishes an end that was interrupted.
//
// The package owns the sessions in the journal, their directories below the state
// directory, and the homes that were made for agents.
package round

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// Rounds runs sessions.
type Rounds struct {
	*project.Projects
	Commits    *work.Commits         // required
	Views      *view.Views           // required
	Workspaces *workspace.Workspaces // required
	Removals   *removal.Removals     // required
}

// NewSession begins a session.
func (svc *Rounds) NewSession(ctx context.Context, req croft.SessionRequest) (*croft.Session, error) {
	ses, err := svc.startSession(ctx, req)
	if err != nil {
		return nil, err
	}
	return shownSession(ses), nil
}

func (svc *Rounds) startSession(ctx context.Context, req croft.SessionRequest) (*journal.Session, error) {
	req.Layout = cmp.Or(req.Layout, "rounds")
	req.Retention = cmp.Or(req.Retention, croft.RetainOne)
	if err := checkSession(req); err != nil {
		return nil, err
	}
	ses := &journal.Session{
		Session: croft.Session{
			ID: project.NewID(), Name: req.Name, Layout: req.Layout, Retention: req.Retention, State: croft.SessionOpen, StartedAt: svc.Now(), Meta: req.Meta,
		},
		Key: req.Key, Context: req.Context,
	}
	repo := req.Repo
	req.Repo = ""
	ses.Request = once.DigestOf(req)
	if req.Context == croft.ContextNone {
		// The project is made once it is known that the session is new.
		ses.RepoID = noRepo
		ses.Repo = filepath.Join(svc.Workspaces.SessionDir(ses.ID), "project")
	} else {
		s, err := svc.LocateAs(ctx, repo, project.NewPlain)
		if err != nil {
			return nil, err
		}
		if err := svc.Recover(ctx, s.ID); err != nil {
			return nil, err
		}
		ses.RepoID, ses.Repo = s.ID, s.Path
	}
	was, err := svc.putNewSession(ctx, ses)
	if err != nil || was != nil {
		return was, err
	}
	return ses, svc.addFirstRepo(ctx, ses)
}

// noRepo is the repository ID of sessions that have no repository.
const noRepo croft.ID = "none"

// putNewSession records a session, or returns the session that its key was used for
// before.
func (svc *Rounds) putNewSession(ctx context.Context, ses *journal.Session) (was *journal.Session, err error) {
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		was = nil
		old, err := tx.SessionByKey(ses.RepoID, ses.Key)
		if err == nil {
			if old.Request != ses.Request {
				return once.KeyConflictError(ses.Key)
			}
			was = &old
			return nil
		}
		if !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		if err := tx.PutSession(ses); err != nil {
			return err
		}
		return tx.Emit(svc.sessionEvent(croft.EventSessionStarted, ses))
	})
	if err != nil && ses.Name != "" {
		if open, ferr := svc.Journal.OpenSessions(ctx, ses.Name); ferr == nil && slices.ContainsFunc(open, func(o journal.Session) bool { return o.RepoID == ses.RepoID }) {
			err = &croft.Error{
				Code: croft.WorktreeExists, Message: fmt.Sprintf("a session %q is open already", ses.Name), Hint: "croft session end " + shellword.Quote(ses.Name),
			}
		}
	}
	if err == nil && was != nil {
		return was, svc.addFirstRepo(ctx, was) // the first call may have died before this
	}
	return was, err
}

// addFirstRepo adds the first project to a session, and makes one if the request named
// none. It can be called again.
func (svc *Rounds) addFirstRepo(ctx context.Context, ses *journal.Session) error {
	if err := failpoint.Hit("session.journalled"); err != nil {
		return err
	}
	if ses.Context == croft.ContextNone {
		if err := git.InitEmpty(ctx, svc.Git, ses.Repo, svc.Now()); err != nil {
			return err
		}
	}
	if len(ses.Repos) > 0 {
		return nil
	}
	s, err := svc.LocateAs(ctx, ses.Repo, project.NewPlain)
	if err != nil {
		return err
	}
	if err := addRepo(ctx, ses, s); err != nil {
		return err
	}
	return svc.saveSession(ctx, ses, nil)
}

// addRepo adds a repository to a session, unless the session has it.
func addRepo(ctx context.Context, ses *journal.Session, s project.Location) error {
	if i := slices.IndexFunc(ses.Repos, func(g journal.SessionRepo) bool { return g.ID == s.ID }); i >= 0 {
		return noteTarget(ctx, &ses.Repos[i], s)
	}
	g := journal.SessionRepo{ID: s.ID, Path: s.Path, Place: s.Name()}
	taken := func(o journal.SessionRepo) bool { return layout.Fold(o.Place) == layout.Fold(g.Place) }
	for n := 2; slices.ContainsFunc(ses.Repos, taken); n++ {
		g.Place = fmt.Sprintf("%s-%d", s.Name(), n)
	}
	if err := noteTarget(ctx, &g, s); err != nil {
		return err
	}
	ses.Repos = append(ses.Repos, g)
	return nil
}

// noteTarget records the branch that results are merged into, once it exists: a
// directory without git has no branch before its first checkout is made.
func noteTarget(ctx context.Context, g *journal.SessionRepo, s project.Location) (err error) {
	if g.Target == "" && s.Git != nil {
		g.Target, _, err = s.Head(ctx)
	}
	return err
}

func checkSession(req croft.SessionRequest) error {
	if req.Key != "" {
		if err := layout.CheckKey(req.Key); err != nil {
			return err
		}
	}
	if req.Name != "" {
		if err := layout.CheckName(req.Name); err != nil {
			return err
		}
	}
	if err := layout.CheckMeta(req.Meta); err != nil {
		return err
	}
	l, err := layout.Preset(req.Layout)
	if err != nil {
		return err
	}
	if !l.UsesHome() {
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("the layout %q is not one for rounds", req.Layout), Hint: "croft session start --layout rounds"}
	}
	if _, err := retainedBranches(req.Retention); err != nil {
		return err
	}
	if req.Context != croft.ContextRepo && req.Context != croft.ContextNone {
		return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no context %q", req.Context), Details: "none, or leave it out"}
	}
	return nil
}

// retainedBranches returns how many branches of an agent are kept; -1 means all.
func retainedBranches(r croft.Retention) (int, error) {
	switch r {
	case croft.RetainOne, "":
		return 1, nil
	case croft.RetainAll:
		return -1, nil
	}
	n, err := strconv.Atoi(string(r))
	if err != nil || n < 1 {
		return 0, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is no number of branches to keep", r), Hint: "one, all, or a number from 1"}
	}
	return n, nil
}

func (svc *Rounds) sessionEvent(kind string, ses *journal.Session) croft.Event {
	return croft.Event{
		Time: svc.Now(), Kind: kind, Subjects: croft.Subjects{Repo: ses.RepoID, Session: ses.ID}, After: &croft.Nouns{Session: shownSession(ses)},
	}
}

// saveSession writes a changed session to the journal. The caller holds the session's lock.
// then emits the event that tells of the change; nil: the session is just changed.
func (svc *Rounds) saveSession(ctx context.Context, ses *journal.Session, then func(*journal.Tx) error) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		if err := tx.PutSession(ses); err != nil {
			return err
		}
		if then == nil {
			return tx.Emit(svc.sessionEvent(croft.EventSessionChanged, ses))
		}
		return then(tx)
	})
}

// heldSession is a session with its lock.
type heldSession struct {
	*journal.Session
	lock *flock.Lock
}

func (h heldSession) release() { _ = h.lock.Unlock() }

// holdSession finds a session and takes its lock.
func (svc *Rounds) holdSession(ctx context.Context, ref croft.Ref) (heldSession, error) {
	ses, err := svc.findSession(ctx, ref)
	if err != nil {
		return heldSession{}, err
	}
	if err := os.MkdirAll(svc.Workspaces.SessionDir(ses.ID), 0o700); err != nil {
		return heldSession{}, err
	}
	l, err := flock.Acquire(ctx, svc.sessionLockPath(ses.ID))
	if err != nil {
		return heldSession{}, err
	}
	now, err := svc.Journal.Session(ctx, ses.ID)
	if err == nil && len(now.Repos) == 0 {
		err = svc.addFirstRepo(ctx, &now) // the process that started the session died before this
	}
	if err != nil {
		_ = l.Unlock()
		return heldSession{}, err
	}
	return heldSession{&now, l}, nil
}

func (svc *Rounds) sessionLockPath(id croft.ID) string {
	return filepath.Join(svc.Workspaces.SessionDir(id), "lock")
}

func (svc *Rounds) findSession(ctx context.Context, ref croft.Ref) (*journal.Session, error) {
	gone := &croft.Error{Code: croft.SessionNotFound, Message: fmt.Sprintf("there is no session %q", ref), Hint: "croft session list", Fields: map[string]string{"ref": ref}}
	if ref == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "no session was named", Hint: "croft session list"}
	}
	// A database that was lost is filled from the repository.
	here, herr := svc.Locate(ctx, "")
	kind, text := croft.CutRef(ref)
	ses, err := svc.Journal.Session(ctx, croft.ID(text))
	if err == nil && kind.Is(croft.RefID) {
		return &ses, nil
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	if !kind.Is(croft.RefName) {
		return nil, gone
	}
	named, err := svc.Journal.OpenSessions(ctx, text)
	if err != nil {
		return nil, err
	}
	if herr == nil && len(named) > 1 { // the session of this project is meant
		named = slices.DeleteFunc(named, func(s journal.Session) bool { return s.RepoID != here.ID })
	}
	switch len(named) {
	case 0:
		return svc.sessionBeginning(ctx, here.Project, ref, gone)
	case 1:
		return &named[0], nil
	}
	gone.Message, gone.Hint = fmt.Sprintf("several projects have a session %q", ref), "name it by its ID: croft session list --all"
	return nil, gone
}

// sessionBeginning finds a session of a project by the beginning of its ID; without a project, one
// of any. If there is none, it returns the error none.
func (svc *Rounds) sessionBeginning(ctx context.Context, r *project.Project, ref croft.Ref, none error) (*journal.Session, error) {
	var repo croft.ID
	if r != nil {
		repo = r.ID
	}
	id, err := svc.WholeID(ctx, journal.IdentifiedSessions, repo, ref)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, none
	}
	ses, err := svc.Journal.Session(ctx, id)
	return &ses, err
}

// SessionNamed finds a session by its ID or name.
func (svc *Rounds) SessionNamed(ctx context.Context, req croft.GetRequest) (*croft.Session, error) {
	ses, err := svc.findSession(ctx, req.Ref)
	if err != nil {
		return nil, err
	}
	return shownSession(ses), nil
}

// ListSessions lists sessions, oldest first.
func (svc *Rounds) ListSessions(ctx context.Context, f croft.SessionsRequest) ([]croft.Session, error) {
	var of croft.ID // empty: all
	if f.Repos != croft.ScopeAll {
		s, err := svc.Locate(ctx, f.Repo)
		if errors.Is(err, gitdir.ErrNoRepository) && f.Repo == "" {
			s.Project = &project.Project{ID: noRepo}
			err = nil
		}
		if err != nil {
			return nil, err
		}
		of = s.ID
	}
	list, err := svc.Journal.Sessions(ctx, of)
	if err != nil {
		return nil, err
	}
	if len(f.States) == 0 {
		f.States = []croft.SessionState{croft.SessionOpen}
	}
	out := []croft.Session{}
	for _, ses := range list {
		if slices.Contains(f.States, ses.State) && layout.HasMeta(ses.Meta, f.Meta) {
			out = append(out, *shownSession(&ses))
		}
	}
	return out, nil
}

func shownSession(ses *journal.Session) *croft.Session {
	out := ses.Session
	for _, h := range ses.Homes {
		if h.Agent != presenter {
			out.Agents = append(out.Agents, croft.Agent{Name: h.Agent, Home: h.Path})
		}
	}
	for _, t := range ses.Rounds {
		if t.Starting {
			continue
		}
		sum := croft.RoundSummary{ID: t.ID, Number: t.Number, State: croft.RoundOpen}
		if t.Ended {
			sum.State = croft.RoundEnded
		}
		out.Rounds = append(out.Rounds, sum)
	}
	return &out
}

// DeleteSession deletes a session that has ended, with the homes that Croft made for it.
func (svc *Rounds) DeleteSession(ctx context.Context, ses journal.Session) error {
	var errs []error
	for _, h := range ses.Homes {
		if !h.Given {
			errs = append(errs, removeHome(h))
		}
	}
	errs = append(errs, fsx.RemoveOwn(svc.Workspaces.SessionDir(ses.ID)))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.DeleteSession(ses.ID) })
}

// removeHome deletes the home that Croft made for an agent. It leaves another directory
// at that path alone.
func removeHome(h journal.Home) error {
	beside, err := fsx.OpenDir(filepath.Dir(h.Path))
	if err == nil {
		defer beside.Close()
		err = beside.RemoveTree(filepath.Base(h.Path), fsx.Identity(h.Made), nil)
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, fsx.ErrOther) || errors.Is(err, fsx.ErrLink) {
		return nil
	}
	return err
}
