// Package base finds the commit that a new workspace begins with, and the target for
// its work: the current branch, the main branch, or what a request names, with or
// without a fetch. It changes nothing but by that fetch.
package base

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// Start is the commit that a workspace begins with, and the target for its work.
type Start struct {
	OID    string
	Ref    string // the name of the commit: a branch, "HEAD", or as in the request
	Target string // a branch, or empty
}

// StartFor finds the starting point of a request.
func StartFor(ctx context.Context, s project.Location, l layout.Layout, req croft.CreateRequest) (Start, error) {
	branch, head, err := s.Head(ctx)
	if err != nil {
		return Start{}, err
	}
	if head == "" && req.Base == "" {
		return Start{}, s.NoCommitsError()
	}
	if req.Fetch == croft.FetchFirst {
		if err := fetch(ctx, s, req.Base, branch); err != nil {
			return Start{}, err
		}
	}
	var st Start
	switch {
	case req.Base != "":
		st, err = namedStart(ctx, s, req.Base, branch)
	case l.Start == layout.StartMain:
		st, err = Main(ctx, s)
	case l.Start == layout.StartHead || branch == "":
		st = Start{OID: head, Ref: "HEAD", Target: branch}
	default:
		st, err = currentStart(ctx, s, branch, head)
	}
	switch {
	case req.Target != "":
		if _, rerr := s.Git.ReadRef(ctx, "refs/heads/"+req.Target); rerr != nil {
			return Start{}, project.TargetError(req.Target, rerr)
		}
		st.Target = req.Target
	case l.Aim == layout.AimNone:
		st.Target = ""
	}
	return st, err
}

// currentStart returns the current branch as the starting point, or its upstream if
// that is strictly ahead.
func currentStart(ctx context.Context, s project.Location, branch, head string) (Start, error) {
	st := Start{OID: head, Ref: branch, Target: branch}
	upstream, err := s.Git.Upstream(ctx, branch)
	if err != nil || upstream == "" {
		return st, err
	}
	tip, err := s.Git.ReadRef(ctx, upstream)
	if errors.Is(err, refs.ErrNoRef) || err == nil && tip == head {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	ahead, err := s.Git.IsAncestor(ctx, head, tip)
	if ahead {
		st.OID, st.Ref = tip, shortRef(upstream)
	}
	return st, err
}

// Main returns the project's main branch: main, else the one that origin/HEAD names,
// else master. It fails with BaseNotFound if there is none of these.
func Main(ctx context.Context, s project.Location) (Start, error) {
	names := []string{"main", "master"}
	if head, err := s.Git.SymbolicRef(ctx, "refs/remotes/origin/HEAD"); err == nil && head != "" {
		names = append([]string{"main", strings.TrimPrefix(head, "refs/remotes/origin/")}, names...)
	}
	for _, name := range names {
		if oid, err := s.Git.ReadRef(ctx, "refs/heads/"+name); err == nil {
			return Start{OID: oid, Ref: name, Target: name}, nil
		}
	}
	return Start{}, &croft.Error{
		Code: croft.BaseNotFound, Message: "the repository has no branch main", Hint: "croft new --base BRANCH",
	}
}

// namedStart returns the commit that the caller named. Its target is the local branch
// of that name, or of the same name as the remote branch, or the current branch.
func namedStart(ctx context.Context, s project.Location, base, current string) (Start, error) {
	if strings.HasSuffix(base, "/HEAD") { // of a remote: its default branch
		if ref, err := s.Git.SymbolicRef(ctx, "refs/remotes/"+strings.TrimPrefix(base, "refs/remotes/")); err == nil && ref != "" {
			base = shortRef(ref)
		}
	}
	oid, err := s.Git.ResolveCommitAt(ctx, s.Place.GitDir, base)
	if errors.Is(err, odb.ErrNoCommit) {
		return Start{}, &croft.Error{
			Code: croft.BaseNotFound, Message: fmt.Sprintf("%q names no commit", base), Hint: "git branch --all",
		}
	}
	if err != nil {
		return Start{}, err
	}
	st := Start{OID: oid, Ref: base, Target: current}
	candidates := []string{base, strings.TrimPrefix(base, "refs/heads/")}
	if _, rest, ok := strings.Cut(strings.TrimPrefix(base, "refs/remotes/"), "/"); ok {
		candidates = append(candidates, rest)
	}
	for _, c := range candidates {
		if layout.CheckBranch(c) != nil {
			continue
		}
		if _, err := s.Git.ReadRef(ctx, "refs/heads/"+c); err == nil {
			st.Target = c
			break
		}
	}
	return st, nil
}

// fetch fetches from the remote of the base, or of the current branch.
func fetch(ctx context.Context, s project.Location, base, branch string) error {
	remote := "origin"
	if name, _, ok := strings.Cut(base, "/"); ok && !strings.HasPrefix(base, "refs/") {
		if has, err := s.Git.HasRemote(name); err == nil && has {
			remote = name
		}
	} else if upstream, err := s.Git.Upstream(ctx, branch); err == nil && upstream != "" {
		remote, _, _ = strings.Cut(shortRef(upstream), "/")
	}
	if has, err := s.Git.HasRemote(remote); err != nil {
		return err
	} else if !has {
		if err := s.Git.CheckConfig(); err != nil {
			return err // the configuration may have one that the user did not accept yet
		}
		return &croft.Error{
			Code: croft.BaseNotFound, Message: fmt.Sprintf("the repository has no remote %q to fetch from", remote), Hint: "croft new without --fresh, or git remote add " + shellword.Quote(remote) + " URL",
		}
	}
	return s.Git.Fetch(ctx, remote)
}

func shortRef(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/"} {
		if short, ok := strings.CutPrefix(ref, prefix); ok {
			return short
		}
	}
	return ref
}
