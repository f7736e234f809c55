package dashboard

import (
	"strconv"

	"github.com/croft-sh/croft"
)

// endData is the question before a round or a session ends.
type endData struct {
	Session *croft.Session
	Round   *croft.Round // nil: the session is to end
	Action  string
	Back    string
	Live    int // checkouts that go to the trash
}

// endRoundPage asks before a round ends.
func (d *dashboard) endRoundPage(r *request) (*page, error) {
	session, round, err := d.roundOf(r)
	if err != nil {
		return nil, err
	}
	data := &endData{Session: session, Round: round, Back: sessionPath(r.Repo.ID, session.ID), Live: len(round.Workspaces)}
	data.Action = data.Back + "/round/" + string(round.ID) + "/end"
	return &page{Template: "endround", Title: "End round " + strconv.Itoa(round.Number), Data: data}, nil
}

func (d *dashboard) roundOf(r *request) (*croft.Session, *croft.Round, error) {
	session, err := d.sessionOf(r)
	if err != nil {
		return nil, nil, err
	}
	round, err := d.svc.Round(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(r.PathValue("round")))})
	if err != nil {
		return nil, nil, err
	}
	if round.Session != session.ID {
		return nil, nil, &croft.Error{Code: croft.RoundNotFound, Op: "round", Message: "the session does not have this round"}
	}
	return session, round, nil
}

func (d *dashboard) sessionOf(r *request) (*croft.Session, error) {
	return d.svc.Session(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(r.PathValue("session")))})
}

// endRound ends a round.
func (d *dashboard) endRound(r *request) (string, error) {
	session, round, err := d.roundOf(r)
	if err != nil {
		return "", err
	}
	req := croft.EndRoundRequest{Round: round.ID, Key: r.key()}
	if r.PostFormValue("force") == "yes" {
		req.Mode = croft.EndForce
	}
	if _, err := d.svc.EndRound(r.Context(), req); err != nil {
		return "", err
	}
	return sessionPath(r.Repo.ID, session.ID), nil
}

// endSessionPage asks before a session ends.
func (d *dashboard) endSessionPage(r *request) (*page, error) {
	session, err := d.sessionOf(r)
	if err != nil {
		return nil, err
	}
	data := &endData{Session: session, Back: sessionPath(r.Repo.ID, session.ID)}
	data.Action = data.Back + "/end"
	return &page{Template: "endround", Title: "End the session", Data: data}, nil
}

// endSession ends a session, if it is as the question showed it.
func (d *dashboard) endSession(r *request) (string, error) {
	revision, err := strconv.Atoi(r.PostFormValue("revision"))
	if err != nil {
		return "", &croft.Error{Code: croft.InvalidRequest, Op: "session", Message: "the form does not say which revision of the session it was made for"}
	}
	id := croft.ID(r.PathValue("session"))
	if _, err := d.svc.EndSession(r.Context(), croft.EndSessionRequest{Session: croft.ByID(id), IfRevision: revision, Key: r.key()}); err != nil {
		if isOutdated(err) {
			return "", r.askAgain(d.endSessionPage, "Rounds", err, func(*page) string { return "The session has changed since you were asked." })
		}
		return "", err
	}
	return sessionPath(r.Repo.ID, id), nil
}

// startRound starts another round with the same agents.
func (d *dashboard) startRound(r *request) (string, error) {
	session, err := d.sessionOf(r)
	if err != nil {
		return "", err
	}
	req := croft.RoundRequest{Session: croft.ByID(session.ID), Key: r.key()}
	for _, a := range session.Agents {
		req.Agents = append(req.Agents, a.Name)
	}
	if _, err := d.svc.StartRound(r.Context(), req); err != nil {
		return "", err
	}
	return sessionPath(r.Repo.ID, session.ID), nil
}

// present makes the workspace of the attempt that was chosen, and shows a review of it.
func (d *dashboard) present(r *request) (string, error) {
	winner := r.PostFormValue("winner")
	if winner == "" {
		return "", &croft.Error{Code: croft.InvalidRequest, Op: "present", Message: "no attempt is chosen"}
	}
	id := croft.ID(r.PathValue("session"))
	ws, err := d.svc.Present(r.Context(), croft.PresentRequest{Session: croft.ByID(id), Winner: winner, Key: r.key()})
	if err != nil {
		return "", err
	}
	repo := ws.RepoID
	if repo == "" {
		repo = r.Repo.ID
	}
	review, err := d.svc.CreateReview(r.Context(), croft.ReviewRequest{Repo: croft.ByID(repo), Workspace: croft.ByID(ws.ID), Applied: croft.AppliedHidden, Detail: croft.DetailStat, Key: r.key("review")})
	if err != nil {
		return workspacePath(repo, ws.ID, ""), nil //nolint:nilerr // it is presented, and its page says what else there is
	}
	return reviewPath(repo, review.ID), nil
}
