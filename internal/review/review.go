// Package review shows the changes that a workspace would bring to its target, and
// applies parts of them.
//
// A review is the work of a workspace at one moment, committed and uncommitted,
// compared with the commit where it left the target, without the parts that were applied
// before. Files that look secret or are too
// large are left out and named in HeldBack. ReviewWork keeps the review under a random
// ID; the review needs the workspace no longer, and changes of the workspace do not
// reach it. ApplyParts makes one commit of chosen files and hunks on the review's base
// and queues it in the target's lane. If the target changed a chosen file since the
// review, that merge ends pending with BaseMoved; the merge of a workspace would be
// tried.
//
// ShowDiff and ReadFile show work to clients that share no disk with the Service: that of a
// live or a removed workspace, of a review, or of a merge. They keep nothing.
//
// The package owns the refs below refs/croft/review/. It never writes to a workspace,
// takes no lease, and works while agents do. A process that dies before the review is
// pinned leaves nothing; one that dies before its part is queued leaves a ref, which is
// deleted with the review; a part that is queued stays queued, and lands when the queue
// is next driven.
package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/work"
)

// Reviews makes reviews and applies parts of them. croft.Reviews says what callers may
// rely on.
type Reviews struct {
	*project.Projects
	Commits  *work.Commits     // required
	Removals *removal.Removals // required
	Lanes    *lane.Lanes       // required
	Trash    *trash.Trash      // required
}

// Refs begins the names of the refs of reviews.
const Refs = "refs/croft/review/"

// reviewRef returns the ref of a review. It names a commit with the record as a file,
// and with the work, its base and the target as parents.
func reviewRef(id croft.ID) string { return Refs + string(id) + "/pin" }

// applyRef returns the ref of the part of a review that a merge brings.
func applyRef(review, merge croft.ID) string {
	return Refs + string(review) + "/apply/" + string(merge)
}

// reviewFile is the name of the record in a review's commit.
const reviewFile = "review.json"

// croftSignature returns the signature of commits that only Croft reads.
func (svc *Reviews) croftSignature() string { return object.Signature(croftIdentity, svc.Now()) }

const croftIdentity = "Croft <croft@localhost>"

// ReviewWork freezes the work of a workspace and pins it; the review is on disk on
// return. An empty req.Target means the workspace's own. Work without changes gives a
// review without files. It fails with InvalidRequest for a legacy workspace or if there
// is no target, with TargetNotFound, and with WorkspaceBroken if the workspace is not
// ready or intact, or if its files look damaged since the machine was restarted.
func (svc *Reviews) ReviewWork(ctx context.Context, s project.Location, rec journal.Record, req croft.ReviewRequest) (*croft.Review, error) {
	if err := svc.Commits.RequireVerified(ctx, s.Project, rec); err != nil {
		return nil, err
	}
	id, err := once.PinID(ctx, "review", project.NewID)
	if err != nil {
		return nil, err
	}
	attempts, err := s.Git.OpenMergeTree(writers.OnDisk)
	if err != nil {
		return nil, err
	}
	defer attempts.Close()
	work, err := svc.keptBefore(ctx, s.Project, id, attempts)
	if err == nil && work == nil {
		work, err = svc.freeze(ctx, s.Project, rec, req, attempts, id)
	}
	if err == nil {
		// The review outlives the workspace, and needs its submodule commits. If the
		// project has no place for them, ApplyParts returns the error.
		err = svc.keepSubmodules(ctx, s.Project, rec.Workspace.ID, work.Head)
		if _, isLocal := errors.AsType[*git.SubmoduleError](err); isLocal {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	work.Total = merge.Count(work.Files)
	return svc.endReview(ctx, rec, work, req.Detail)
}

// endReview tells of a review that is kept, and records it as the answer of a call with a
// key; if it is large, without the lines. It returns the review in the detail that was
// asked for.
func (svc *Reviews) endReview(ctx context.Context, rec journal.Record, work *croft.Review, detail croft.Detail) (*croft.Review, error) {
	answer, lines := work, 0
	for _, f := range work.Files {
		_, of := sizeOf(f)
		lines += of
	}
	if lines > answerLines {
		answer = withoutLines(work)
	}
	answer, work = inDetail(answer, detail), inDetail(work, detail)
	told := *work
	told.Files = nil // there may be thousands
	event := svc.WorkspaceEvent(croft.EventReviewCreated, rec)
	event.Review, event.Target, event.After = work.ID, work.Target, &croft.Nouns{Review: &told}
	return work, svc.Journal.Update(ctx, func(tx *journal.Tx) error { return errors.Join(tx.Emit(event), once.Answer(ctx, tx, answer)) })
}

// answerLines is how many bytes of lines the recorded answer of a call may have.
const answerLines = 1 << 20

// keptBefore returns the review that an earlier call with the same key has kept, with its
// lines, or nil. The process was killed before it answered.
func (svc *Reviews) keptBefore(ctx context.Context, r *project.Project, id croft.ID, attempts *mergetree.Session) (*croft.Review, error) {
	if !once.HasKey(ctx) {
		return nil, nil
	}
	work, err := svc.readReview(ctx, r, id)
	if errors.Is(err, croft.ReviewNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	patch, err := attempts.Patch(ctx, work.Base, work.Head)
	work.Files = merge.ReviewFiles(patch)
	return work, err
}

// freeze compares the work of a workspace and keeps it as a review with an ID.
func (svc *Reviews) freeze(ctx context.Context, r *project.Project, rec journal.Record, req croft.ReviewRequest, attempts *mergetree.Session, id croft.ID) (*croft.Review, error) {
	work, _, err := svc.findWork(ctx, r, rec, req.Target, attempts, toKeep)
	if err != nil {
		return nil, err
	}
	patch, err := attempts.Patch(ctx, work.Base, work.Head)
	work.Files = merge.ReviewFiles(patch)
	if err == nil && req.Applied == croft.AppliedHidden {
		err = svc.leaveOutApplied(ctx, attempts, work)
	}
	if err != nil {
		return nil, err
	}
	work.ID = id
	if err := svc.keepReview(ctx, r, attempts, work); err != nil {
		return nil, err
	}
	return work, failpoint.Hit("review.pinned")
}

// purpose says what becomes of work that is found.
type purpose int

const (
	toKeep purpose = iota // it is reviewed: it needs a target, and no file may be in conflict
	toShow                // it is shown as it is; without a target, what differs from its base
)

// findWork returns the commit of a workspace's work, uncommitted work included, and the
// commit where it left the target, as a review without files. New objects are only in
// attempts.
func (svc *Reviews) findWork(ctx context.Context, r *project.Project, rec journal.Record, target string, attempts *mergetree.Session, why purpose) (out *croft.Review, committed string, err error) {
	w := rec.Workspace
	target = cmp.Or(target, w.Target)
	switch {
	case w.Mode == croft.ModeLegacy:
		return nil, "", &croft.Error{Code: croft.InvalidRequest, Message: "the agent wrote in the project itself; there is nothing to compare", Hint: "git diff"}
	case target == "" && why == toKeep:
		return nil, "", &croft.Error{Code: croft.InvalidRequest, Message: "the workspace has no target branch", Hint: "croft diff --into BRANCH " + shellword.Quote(w.Name)}
	case w.State != croft.Ready:
		return nil, "", project.NotReadyError(croft.WorkspaceBroken, rec)
	}
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return nil, "", r.BrokenNowError(ctx, rec, h)
	}
	out, err = svc.reviewFor(ctx, r, rec, target)
	if err != nil {
		return nil, "", err
	}
	tree := r.Trees.At(project.SpecOf(rec))
	find := svc.Commits.FindUncommitted
	if why == toShow {
		find = func(ctx context.Context, r *project.Project, rec journal.Record, as work.CommitSpec) (work.Uncommitted, error) {
			return work.SortUncommitted(ctx, r, tree, rec, as.Large)
		}
	}
	found, err := find(ctx, r, rec, work.CommitSpec{})
	if err != nil {
		return nil, "", err
	}
	if committed, err = addWork(ctx, r, out, tree, found, attempts); err != nil {
		return nil, "", err
	}
	return out, committed, svc.setBase(ctx, rec, attempts, out)
}

// reviewFor returns a review of a workspace, with the target and its commit, if it has one.
func (svc *Reviews) reviewFor(ctx context.Context, r *project.Project, rec journal.Record, target string) (*croft.Review, error) {
	out := &croft.Review{RepoID: r.ID, WorkspaceName: rec.Workspace.Name, Workspace: rec.Workspace.ID, CreatedAt: svc.Now()}
	if target == "" {
		return out, nil
	}
	var err error
	if out.Target, err = svc.BranchOf(ctx, r, target); err != nil {
		return nil, err
	}
	if out.TargetCommit, err = r.Git.ReadRef(ctx, "refs/heads/"+out.Target); err != nil {
		return nil, project.TargetError(out.Target, err)
	}
	return out, nil
}

// addWork sets the commit of the uncommitted work that was found in a checkout. It returns the
// commit that is checked out, which is the same one if all is committed.
func addWork(ctx context.Context, r *project.Project, out *croft.Review, tree *git.Worktree, found work.Uncommitted, attempts *mergetree.Session) (committed string, err error) {
	for _, p := range found.HeldBack {
		out.HeldBack = append(out.HeldBack, merge.PathText(p))
	}
	if _, committed, err = tree.Head(ctx); err != nil {
		return "", err
	}
	if out.Head, err = tree.WorkCommit(ctx, attempts, found.Request()); err == nil && out.Head == "" {
		err = r.NoCommitsError()
	}
	return committed, err
}

// setBase sets the commit that work is measured from: where it left its target or, without
// one, where it began.
func (svc *Reviews) setBase(ctx context.Context, rec journal.Record, attempts *mergetree.Session, out *croft.Review) (err error) {
	out.Base = rec.Carried // the user's uncommitted changes are not the agent's work
	if out.Base == "" && out.Target == "" {
		out.Base = rec.Workspace.Base
	}
	if out.Base == "" {
		out.Base, err = svc.baseOf(ctx, attempts, out)
	}
	return err
}

// baseOf returns the commit where work left its target, without the work if that was
// merged and reverted. If work and target have no common commit, it makes an empty one.
func (svc *Reviews) baseOf(ctx context.Context, attempts *mergetree.Session, work *croft.Review) (string, error) {
	it := merge.Item{Kind: croft.KindMerge, Head: work.Head}
	var err error
	if it.Reverts, err = svc.Removals.RevertsOf(ctx, work.Workspace, work.Target); err != nil {
		return "", err
	}
	base, err := merge.Trial(attempts, svc.Clock).Base(ctx, work.TargetCommit, it)
	if err != nil || base != "" {
		return base, err
	}
	return svc.emptyCommit(ctx, attempts)
}

// emptyCommit makes a commit without files.
func (svc *Reviews) emptyCommit(ctx context.Context, attempts *mergetree.Session) (string, error) {
	tree, err := attempts.WriteTree(nil)
	if err != nil {
		return "", err
	}
	return attempts.Commit(ctx, object.Commit{Tree: tree, Signature: svc.croftSignature(), Message: "nothing"}, gitcmd.Identity{})
}

// reviewRecord is the stored form of a review: without the text of the hunks, which is
// in the objects.
type reviewRecord struct {
	Version int          `json:"version"`
	Review  croft.Review `json:"review"`
}

// reviewVersion is the version of the stored form. In version 1 the field workspace had
// the name, and workspaceId the ID.
const reviewVersion = 2

// decodeReview decodes a stored review.
func decodeReview(b []byte) (croft.Review, error) {
	var rec reviewRecord
	err := json.Unmarshal(b, &rec)
	if err == nil && rec.Version == 1 {
		var old struct {
			Review struct {
				WorkspaceID croft.ID `json:"workspaceId"`
			} `json:"review"`
		}
		err = json.Unmarshal(b, &old)
		rec.Review.WorkspaceName, rec.Review.Workspace = string(rec.Review.Workspace), old.Review.WorkspaceID
	}
	if err == nil && (rec.Version < 1 || rec.Version > reviewVersion) {
		err = fmt.Errorf("version %d of the stored form is not known", rec.Version)
	}
	return rec.Review, err
}

// keepReview stores a review in a commit whose parents are the commits that it needs, and
// pins that commit by a ref, so that git gc keeps them.
func (svc *Reviews) keepReview(ctx context.Context, r *project.Project, attempts *mergetree.Session, work *croft.Review) error {
	b, err := json.Marshal(reviewRecord{reviewVersion, *withoutLines(work)})
	if err != nil {
		return err
	}
	blob, err := attempts.WriteBlob(b)
	if err != nil {
		return err
	}
	tree, err := attempts.WriteTree([]object.TreeEntry{{Mode: "100644", Name: reviewFile, OID: blob}})
	if err != nil {
		return err
	}
	pin, err := attempts.Commit(ctx, object.Commit{
		Tree: tree, Parents: []string{work.Head, work.Base, work.TargetCommit}, Signature: svc.croftSignature(), Message: "Review of " + work.WorkspaceName,
	}, gitcmd.Identity{})
	if err != nil {
		return err
	}
	release, err := attempts.Keep(ctx, pin)
	if err != nil {
		return err
	}
	defer release()
	if err := failpoint.Hit("review.kept"); err != nil {
		return err
	}
	return svc.Pin(ctx, r, journal.Pin{Ref: reviewRef(work.ID), OID: pin})
}

// readReview reads a review that keepReview has pinned.
func (svc *Reviews) readReview(ctx context.Context, r *project.Project, id croft.ID) (*croft.Review, error) {
	gone := &croft.Error{Code: croft.ReviewNotFound, Message: fmt.Sprintf("there is no review %q; croft review NAME makes one of a workspace", id), Hint: "croft list"}
	if id == "" || strings.Trim(string(id), project.IDAlphabet) != "" {
		return nil, gone
	}
	pin, err := svc.Pinned(ctx, r, reviewRef(id))
	if errors.Is(err, refs.ErrNoRef) {
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	o, err := r.Git.ReadFileAt(ctx, pin, reviewFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, object.ErrMissing) {
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	work, err := decodeReview(o.Data)
	if err != nil || work.ID != id {
		gone.Message, gone.Details = fmt.Sprintf("the review %q cannot be read", id), fmt.Sprint(err)
		return nil, gone
	}
	work.RepoID, work.Total = r.ID, merge.Count(work.Files)
	return &work, nil
}

// CreatedAt returns when a review was made, or the zero time if the review is not found
// or cannot be read, so that it counts as expired.
func (svc *Reviews) CreatedAt(ctx context.Context, r *project.Project, id croft.ID) (time.Time, error) {
	work, err := svc.readReview(ctx, r, id)
	if errors.Is(err, croft.ReviewNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return work.CreatedAt, nil
}
