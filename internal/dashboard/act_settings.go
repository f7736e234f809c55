package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// makeToken makes a token and answers with the page that shows its secret, this once.
func (d *dashboard) makeToken(r *request) (string, error) {
	if d.o.Tokens == nil {
		return "", &croft.Error{Code: croft.Unsupported, Op: "token", Message: "this server has no tokens"}
	}
	access, workspace := croft.Access(r.PostFormValue("access")), croft.ID("")
	if id, ok := strings.CutPrefix(string(access), "workspace:"); ok {
		access, workspace = croft.AccessWorkspace, croft.ID(id)
	}
	token, secret, err := d.o.Tokens.Make(r.Context(), strings.TrimSpace(r.PostFormValue("name")), access, workspace)
	if isOneOf(err, croft.InvalidName, croft.InvalidRequest, croft.LimitReached) {
		p := d.settingsWith(r)
		p.nav, p.Status = "Settings", http.StatusUnprocessableEntity
		if data, ok := p.Data.(*settingsData); ok {
			data.Wrong = croft.AsError("token", err).Message
		}
		return "", &answered{page: p}
	}
	if err != nil {
		return "", err
	}
	p := d.settingsWith(r)
	p.nav = "Settings"
	if data, ok := p.Data.(*settingsData); ok {
		data.Made = &madeToken{token, secret}
	}
	return "", &answered{p, true}
}

// revokeToken revokes a token. Requests with it, and browsers that logged in with it, are refused from then on.
func (d *dashboard) revokeToken(r *request) (string, error) {
	if d.o.Tokens == nil {
		return "", &croft.Error{Code: croft.Unsupported, Op: "token", Message: "this server has no tokens"}
	}
	if _, err := d.o.Tokens.Revoke(r.Context(), croft.ByID(croft.ID(r.PathValue("token")))); err != nil {
		return "", err
	}
	return r.back(), nil
}

// targetOf reads the target of a form.
func (r *request) targetOf() (string, error) {
	target, err := url.PathUnescape(r.PostFormValue("target"))
	if err != nil || target == "" {
		return "", &croft.Error{Code: croft.InvalidRequest, Op: "settings", Message: "the form names no target"}
	}
	return target, nil
}

// approve allows the checks that the person was shown, by their hash.
func (d *dashboard) approve(r *request) (string, error) {
	target, err := r.targetOf()
	if err != nil {
		return "", err
	}
	if _, err := d.svc.Approve(r.Context(), croft.ApproveRequest{Repo: r.ref(), Target: target, Hash: r.PostFormValue("hash"), Key: r.key()}); err != nil {
		return "", err
	}
	return r.back(), nil
}

// withdraw takes back what was allowed: the checks that the person was shown, by their hash.
func (d *dashboard) withdraw(r *request) (string, error) {
	target, err := r.targetOf()
	if err != nil {
		return "", err
	}
	req := croft.ApproveRequest{Repo: r.ref(), Target: target, Hash: r.PostFormValue("hash"), Mode: croft.ApproveWithdraw, Key: r.key()}
	if _, err := d.svc.Approve(r.Context(), req); err != nil {
		return "", err
	}
	return r.back(), nil
}

// acceptTarget accepts that a target is at the commit that the person was shown.
func (d *dashboard) acceptTarget(r *request) (string, error) {
	target, err := r.targetOf()
	if err != nil {
		return "", err
	}
	lanes, err := d.svc.Lanes(r.Context(), croft.LanesRequest{Repo: r.ref(), Target: target})
	if err != nil {
		return "", err
	}
	for _, l := range lanes.Items {
		if l.Target == target && l.Tip != r.PostFormValue("commit") {
			return "", &croft.Error{Code: croft.TargetMoved, Op: "accept", Message: "the target is at another commit than the page showed"}
		}
	}
	if _, err := d.svc.AcceptTarget(r.Context(), croft.AcceptRequest{Repo: r.ref(), Target: target, Key: r.key()}); err != nil {
		return "", err
	}
	return r.back(), nil
}

// acceptGitConfig takes over the git configuration that the person was shown, by its hash.
func (d *dashboard) acceptGitConfig(r *request) (string, error) {
	if _, err := d.svc.AcceptGitConfig(r.Context(), croft.AcceptGitConfigRequest{Repo: r.ref(), Hash: r.PostFormValue("hash"), Key: r.key()}); err != nil {
		return "", err
	}
	return r.back(), nil
}

// isOneOf reports whether an error has one of the codes.
func isOneOf(err error, codes ...croft.Code) bool {
	return slices.ContainsFunc(codes, func(c croft.Code) bool { return errors.Is(err, c) })
}
