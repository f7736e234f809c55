package review

import (
	"cmp"
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// SubmitMerge submits the work of a workspace to its lane. If the request names a commit
// or a review, it fails with WorkChanged unless the workspace has just that work, and
// with ReviewNotFound if the review is not kept any more.
func (svc *Reviews) SubmitMerge(ctx context.Context, s project.Location, req croft.MergeRequest) (*croft.Merge, error) {
	return svc.Lanes.SubmitSeen(ctx, s, req, func(rec journal.Record) (git.Seen, error) {
		if req.Head != "" && !object.IsOID(req.Head) {
			return git.Seen{}, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is no full name of a commit", req.Head), Details: "The head that was seen is named by all its digits."}
		}
		work, err := svc.seenWork(ctx, s.Project, rec.Workspace, req.Review, req.Target)
		return git.Seen{Head: req.Head, Work: work}, err
	})
}

// ShowReview returns a review, without the lines of its hunks.
func (svc *Reviews) ShowReview(ctx context.Context, s project.Location, req croft.GetRequest) (*croft.Review, error) {
	return svc.readReview(ctx, s.Project, croft.RefToID(req.Ref))
}

// seenWork returns the commit of a review of a workspace; nil if the request names none.
func (svc *Reviews) seenWork(ctx context.Context, r *project.Project, w croft.Workspace, review croft.ID, target string) (*object.Commit, error) {
	if review == "" {
		return nil, nil
	}
	work, err := svc.readReview(ctx, r, review)
	if err != nil {
		return nil, err
	}
	if w.ID != work.Workspace {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Workspace: w.Name, Message: fmt.Sprintf("the review is of %q", work.WorkspaceName), Hint: "croft review " + shellword.Quote(w.Name),
		}
	}
	if to := cmp.Or(target, w.Target); to != work.Target {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Workspace: w.Name, Message: fmt.Sprintf("the review compares with %q, and the work goes to %q", work.Target, to),
			Hint: fmt.Sprintf("croft review %s --into %s", shellword.Quote(w.Name), shellword.Quote(to)),
		}
	}
	head, err := r.Git.ReadCommit(ctx, work.Head)
	return &head, err
}
