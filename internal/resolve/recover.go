package resolve

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/rewind"
)

// resolving is the input of a resolution in the journal. From has the name that it has
// in rewind.Spec, because an undo reads both types.
type resolving struct {
	From croft.Snapshot `json:"from"` // the workspace before the resolution
	// Head is the commit of the work, once git is about to merge the target into the
	// checkout. From then on an interrupted resolution is rolled back: the files are
	// neither those of the workspace nor those of the merge.
	Head string `json:"head,omitempty"`
	// Now is the state of the workspace when the rollback began, once it has: a
	// rollback that is continued finds a checkout that is half rolled back.
	Now croft.Snapshot `json:"now,omitzero"`
}

// beginResolve records a resolution in the journal, with the snapshot that undoes it.
func (svc *Resolver) beginResolve(ctx context.Context, r *project.Project, rec journal.Record, before croft.Snapshot, act project.Act) (*oplog.Op, error) {
	op, err := svc.Begin(ctx, act, "resolve", r)
	if err != nil {
		return nil, err
	}
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if err := op.Write(ctx, resolving{From: before}, nil); err != nil {
		op.Close()
		return nil, err
	}
	return op, nil
}

// noteMerging records that git is about to change the files of the checkout.
func (svc *Resolver) noteMerging(ctx context.Context, op *oplog.Op, before croft.Snapshot, head string) error {
	if err := op.Amend(ctx, resolving{From: before, Head: head}, nil); err != nil {
		return err
	}
	return failpoint.Hit("resolve.merging")
}

// failResolve ends a resolution that failed. If it failed while git changed the files it is
// rolled back; if that fails too, the next command tries again.
func (svc *Resolver) failResolve(ctx context.Context, r *project.Project, op *oplog.Op, cause error) error {
	ctx = context.WithoutCancel(ctx)
	if _, isHalf := errors.AsType[*git.HalfMergedError](cause); !isHalf {
		return op.EndFailed(ctx, cause)
	}
	return errors.Join(cause, svc.rollBackResolve(ctx, r, op, cause.Error()))
}

// RecoverResolve rolls back a resolution whose process died while git changed the files of
// the checkout. Before that point nothing has to be rolled back.
func (svc *Resolver) RecoverResolve(ctx context.Context, r *project.Project, op *oplog.Op) error {
	if r.Git == nil {
		return op.EndUndone(ctx, "the repository is gone")
	}
	return svc.rollBackResolve(ctx, r, op, "its process died")
}

// rollBackResolve rewinds a workspace to the snapshot from before its resolution, after
// it has saved the present state. It leaves the workspace as it is if git had not begun
// to merge, or if an agent has committed or switched branches since. An absent
// workspace is rolled back by the command that finds it again.
func (svc *Resolver) rollBackResolve(ctx context.Context, r *project.Project, op *oplog.Op, cause string) error {
	var how resolving
	if err := json.Unmarshal(op.Input, &how); err != nil {
		return err
	}
	rec, err := svc.Journal.Record(ctx, op.Workspaces[0])
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	isHalf := err == nil && how.Head != "" && rec.Workspace.State != croft.Trashed
	if isHalf {
		health := r.Trees.Health(project.SpecOf(rec))
		if health == checkout.Missing {
			return errors.Join(oplog.ErrUnsettled, rewind.ErrAway)
		}
		if isHalf = health == checkout.Intact; isHalf {
			if isHalf, err = svc.isAtHead(ctx, r, rec, how); err != nil {
				return err
			}
		}
	}
	if !isHalf {
		return svc.endUndone(ctx, op, rec, cause)
	}
	back := rewind.Spec{From: how.Now, To: how.From, Undoes: cause}
	if how.Now.ID == "" {
		if err := svc.noteRollBack(ctx, r, op, rec, how, &back); err != nil {
			return err
		}
	}
	if err := svc.Rewinds.Resume(ctx, r, op, back); err != nil {
		return err
	}
	if back.From.ID != how.From.ID {
		svc.Notice("an interrupted resolution of %s was rolled back; the previous state of the workspace is in a snapshot: croft restore %s", rec.Workspace.Name, back.From.ID)
	}
	return nil
}

// endUndone ends a resolution as undone and leaves the workspace as it is.
func (svc *Resolver) endUndone(ctx context.Context, op *oplog.Op, rec journal.Record, cause string) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		if rec.Workspace.State == croft.Creating { // the rollback had begun
			rec.Workspace.State = croft.Ready
			if err := tx.PutRecord(rec); err != nil {
				return err
			}
		}
		return tx.End(op.ID, journal.OpUndone, cause, svc.Now())
	})
}

// noteRollBack saves the workspace and records that it is being rolled back. From then on
// no command commits from it.
func (svc *Resolver) noteRollBack(ctx context.Context, r *project.Project, op *oplog.Op, rec journal.Record, how resolving, back *rewind.Spec) error {
	back.From = how.From
	err := svc.Rewinds.SaveFirst(ctx, r, back)
	if err != nil {
		return err
	}
	if back.Saved != nil {
		back.From = *back.Saved
	}
	how.Now = back.From
	rec.Workspace.State = croft.Creating
	return op.Amend(ctx, how, func(tx *journal.Tx) error { return tx.PutRecord(rec) })
}

// isAtHead reports whether the checkout is on the workspace's branch, at the commit of
// the work or, after a rollback that was interrupted, at the commit from before the
// resolution.
func (svc *Resolver) isAtHead(ctx context.Context, r *project.Project, rec journal.Record, how resolving) (bool, error) {
	err := r.Trees.At(project.SpecOf(rec)).RequireBranch(ctx, rec.Workspace.Branch)
	if _, isElsewhere := errors.AsType[*git.BranchError](err); isElsewhere {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
	if errors.Is(err, refs.ErrNoRef) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	before, err := rewind.ReadableHead(ctx, r, how.From)
	return tip == how.Head || tip == before.OID, err
}
