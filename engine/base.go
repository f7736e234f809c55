package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/layout"
)

// start is where a workspace begins and where its work goes back to.
type start struct {
	oid    string
	ref    string // what the commit was called
	target string // a branch, or empty
}

// startFor finds the starting point of a request.
func (e *Engine) startFor(ctx context.Context, s standing, l layout.Layout, req croft.CreateRequest) (start, error) {
	branch, head, err := s.head(ctx)
	if err != nil {
		return start{}, err
	}
	if head == "" && req.Base == "" {
		return start{}, noCommits()
	}
	if req.Fetch == croft.FetchFirst {
		if err := s.fetch(ctx, req.Base, branch); err != nil {
			return start{}, err
		}
	}
	var st start
	switch {
	case req.Base != "":
		st, err = s.namedStart(ctx, req.Base, branch)
	case l.Start == layout.StartMain:
		st, err = s.mainStart(ctx)
	case l.Start == layout.StartHead || branch == "":
		st = start{oid: head, ref: "HEAD", target: branch}
	default:
		st, err = s.currentStart(ctx, branch, head)
	}
	switch {
	case req.Target != "":
		if _, rerr := s.git.ReadRef(ctx, "refs/heads/"+req.Target); rerr != nil {
			return start{}, targetNotFound(req.Target, rerr)
		}
		st.target = req.Target
	case l.Aim == layout.AimNone:
		st.target = ""
	}
	return st, err
}

// currentStart is the branch that one stands on, or its upstream where that is
// strictly ahead.
func (s standing) currentStart(ctx context.Context, branch, head string) (start, error) {
	st := start{oid: head, ref: branch, target: branch}
	upstream, err := s.git.Upstream(ctx, branch)
	if err != nil || upstream == "" {
		return st, err
	}
	tip, err := s.git.ReadRef(ctx, upstream)
	if errors.Is(err, git.ErrNoRef) || err == nil && tip == head {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	ahead, err := s.git.IsAncestor(ctx, head, tip)
	if ahead {
		st.oid, st.ref = tip, shortRef(upstream)
	}
	return st, err
}

// mainStart is the branch that the project's work goes back to.
func (s standing) mainStart(ctx context.Context) (start, error) {
	names := []string{"main", "master"}
	if head, err := s.git.SymbolicRef(ctx, "refs/remotes/origin/HEAD"); err == nil && head != "" {
		names = append([]string{"main", strings.TrimPrefix(head, "refs/remotes/origin/")}, names...)
	}
	for _, name := range names {
		if oid, err := s.git.ReadRef(ctx, "refs/heads/"+name); err == nil {
			return start{oid: oid, ref: name, target: name}, nil
		}
	}
	return start{}, &croft.Error{
		Code: croft.BaseNotFound, Message: "the repository has no branch main", Hint: "croft new --base BRANCH",
	}
}

// namedStart is the commit that the caller named. Its target is the branch
// that it named, or the local branch of the same name as the remote one.
func (s standing) namedStart(ctx context.Context, base, current string) (start, error) {
	oid, err := s.git.ResolveCommitAt(ctx, s.place.GitDir, base)
	if errors.Is(err, git.ErrNoCommit) {
		return start{}, &croft.Error{
			Code: croft.BaseNotFound, Message: fmt.Sprintf("%q names no commit", base), Hint: "git branch --all",
		}
	}
	if err != nil {
		return start{}, err
	}
	st := start{oid: oid, ref: base, target: current}
	candidates := []string{base, strings.TrimPrefix(base, "refs/heads/")}
	if _, rest, ok := strings.Cut(strings.TrimPrefix(base, "refs/remotes/"), "/"); ok {
		candidates = append(candidates, rest)
	}
	for _, c := range candidates {
		if layout.CheckBranch(c) != nil {
			continue
		}
		if _, err := s.git.ReadRef(ctx, "refs/heads/"+c); err == nil {
			st.target = c
			break
		}
	}
	return st, nil
}

// fetch brings the remote of the base up to date.
func (s standing) fetch(ctx context.Context, base, branch string) error {
	remote := "origin"
	if name, _, ok := strings.Cut(base, "/"); ok && !strings.HasPrefix(base, "refs/") {
		if has, err := s.git.HasRemote(name); err == nil && has {
			remote = name
		}
	} else if upstream, err := s.git.Upstream(ctx, branch); err == nil && upstream != "" {
		remote, _, _ = strings.Cut(shortRef(upstream), "/")
	}
	if has, err := s.git.HasRemote(remote); err != nil {
		return err
	} else if !has {
		if err := s.git.CheckConfig(); err != nil {
			return err // there may be one that was not accepted yet
		}
		return &croft.Error{
			Code: croft.BaseNotFound, Message: fmt.Sprintf("the repository has no remote %q to fetch from", remote), Hint: "croft new without --fresh, or git remote add " + remote + " URL",
		}
	}
	return s.git.Fetch(ctx, remote)
}

func shortRef(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/"} {
		if short, ok := strings.CutPrefix(ref, prefix); ok {
			return short
		}
	}
	return ref
}
