package round

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/base"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/work"
)

// seatBase is the commit that the workspaces of a round start from in one repository.
type seatBase struct {
	repo               croft.ID
	base, ref, carried string
}

// seatBase resolves the commit that a round starts from in a repository. The round
// records it, so that workspaces that are made after a crash start from the same
// commit.
func (svc *Rounds) seatBase(ctx context.Context, ses *journal.Session, dir string, req croft.RoundRequest) (seatBase, error) {
	plain := project.ShadowPlain
	if req.Mode == croft.ModeLegacy {
		plain = project.NewPlain
	}
	s, err := svc.LocateAs(ctx, dir, plain)
	if err == nil {
		err = svc.CommitPlain(ctx, s.Project)
	}
	if err != nil {
		return seatBase{}, err
	}
	if err := addRepo(ctx, ses, s); err != nil {
		return seatBase{}, err
	}
	out := seatBase{repo: s.ID}
	if s.Git == nil || req.Mode == croft.ModeLegacy {
		return out, nil
	}
	l, err := layout.Preset(ses.Layout)
	if err != nil {
		return seatBase{}, err
	}
	st, err := base.StartFor(ctx, s, l, croft.CreateRequest{Base: req.Base})
	if err != nil {
		return seatBase{}, err
	}
	out.base, out.ref = st.OID, st.Ref
	switch req.Carry {
	case croft.CarryNothing:
	case croft.CarryDirty:
		if out.carried, err = svc.commitProjectChanges(ctx, s, st.OID); err != nil {
			return seatBase{}, err
		}
		if out.carried != "" {
			out.base = out.carried
		}
	default:
		return seatBase{}, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("nothing %q can be carried", req.Carry), Hint: "dirty"}
	}
	return out, nil
}

// carryRef returns the ref that keeps the commit of a project's uncommitted changes
// until workspaces are based on it.
func carryRef(oid string) string { return "refs/croft/carry/" + oid }

// commitProjectChanges commits the uncommitted files of the project's own checkout, on
// top of its HEAD, without changing its index or branch. It returns the empty string if
// there are no changes.
func (svc *Rounds) commitProjectChanges(ctx context.Context, s project.Location, base string) (string, error) {
	_, head, err := s.Head(ctx)
	if err != nil {
		return "", err
	}
	if head != base {
		return "", &croft.Error{
			Code: croft.InvalidRequest, Message: "uncommitted changes can be carried only on top of what is checked out", Hint: "leave out --base or --carry",
		}
	}
	tree := s.Git.Main()
	found, err := work.SortUncommitted(ctx, s.Project, tree, journal.Record{}, work.HoldLarge)
	if err != nil {
		return "", err
	}
	if len(found.HeldBack) > 0 {
		svc.Notice("not carried into the round: %s", strings.Join(found.HeldBack, ", "))
	}
	attempts, err := s.Git.OpenMergeTree(writers.OnDisk)
	if err != nil {
		return "", err
	}
	defer attempts.Close()
	oid, err := tree.WorkCommit(ctx, attempts, found.Request())
	if err != nil || oid == head {
		return "", err
	}
	release, err := attempts.Keep(ctx, oid)
	if err != nil {
		return "", err
	}
	defer release()
	old, err := s.Git.ReadRef(ctx, carryRef(oid))
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return "", err
	}
	return oid, s.Git.UpdateRefs(ctx, refs.Update{Ref: carryRef(oid), New: oid, Old: old})
}

// homeOf returns the home of an agent in a session, and chooses one if it has none.
func (svc *Rounds) homeOf(ctx context.Context, ses *journal.Session, agent, given string) (string, error) {
	for i, h := range ses.Homes {
		if h.Agent != agent {
			continue
		}
		if given != "" && given != h.Path {
			ses.Homes[i].Path, ses.Homes[i].Given = given, true
		}
		return ses.Homes[i].Path, nil
	}
	h := journal.Home{Agent: agent, Path: given, Given: given != ""}
	if given == "" {
		r, err := svc.ByID(ctx, ses.Repos[0].ID)
		if err != nil {
			return "", err
		}
		h.Path = svc.Workspaces.NewHome(r, string(project.NewID()))
	}
	ses.Homes = append(ses.Homes, h)
	return h.Path, nil
}
