package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/trash"
)

// findDamagedState tells of databases that were set aside. What they held is back; they
// are kept for a while, for whoever wants to know why.
func (d *examination) findDamagedState(ctx context.Context) error {
	if err := d.Journal.Check(ctx); err != nil {
		return err
	}
	list, err := journal.Damaged(d.Settings.Config().StateDir)
	for _, path := range list {
		d.findings = append(d.findings, croft.Finding{
			Code: findDamaged, Subject: path, Fixed: true,
			Message: "The database was damaged, or of an earlier version of Croft, and was set aside here. The file is not needed any more.",
		})
	}
	return err
}

// A pin is an object that Croft needs later, and a ref below refs/croft/ that
// keeps git from collecting it. Agents can move or delete such a ref, and others
// who use the same repository have refs of their own there. So the database says
// which object is meant; what a ref names is never read back, and only refs that
// the database knows are deleted.

// movedPins looks for refs that do not name what was pinned: somebody moved
// or deleted them. Mended, they name it again.
func (d *examination) movedPins(ctx context.Context) error {
	pins, err := d.Journal.Pins(ctx, d.r.ID, project.PinRefs)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(project.ReleaseTime)
	for _, p := range pins {
		if d.isKept(ctx, p, deadline) {
			continue
		}
		if _, err := d.r.Git.Info(ctx, p.OID); errors.Is(err, object.ErrMissing) {
			d.reportFinding(findPinLost, p.Ref, "The ref was moved or deleted, and git has collected the object that it kept, "+p.OID+".",
				func() error { return d.Unpin(ctx, d.r, p.Ref) })
			continue
		}
		d.reportFinding(findPinMoved, p.Ref, "The ref does not name the object any more that Croft keeps there, "+p.OID+".",
			func() error { return d.Pin(ctx, d.r, p) })
	}
	return nil
}

// isKept reports whether a pin's ref names its object, or the pin is not there any
// more. Somebody may be at work between the two.
func (d *examination) isKept(ctx context.Context, p journal.Pin, deadline time.Time) bool {
	for {
		if now, err := d.r.Git.ReadRef(ctx, p.Ref); err == nil && now == p.OID {
			return true
		}
		if oid, err := d.Journal.Pin(ctx, d.r.ID, p.Ref); errors.Is(err, journal.ErrNotFound) || err == nil && oid != p.OID {
			return true
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// findLagging looks for checkouts that have a target's branch, and the files of an
// earlier commit of it: a git checkout that was just going there when a merge
// moved the branch leaves that.
func (d *examination) findLagging(ctx context.Context) error {
	tips, err := d.Journal.LaneTips(ctx, d.r.ID)
	if err != nil {
		return err
	}
	for _, t := range tips {
		tip, err := d.r.Git.ReadRef(ctx, "refs/heads/"+t.Target)
		if err != nil {
			continue // it is gone, or told as something else
		}
		if err := d.laggingOn(ctx, t.Target, tip); err != nil {
			return err
		}
	}
	return nil
}

func (d *examination) laggingOn(ctx context.Context, target, tip string) error {
	now, err := d.r.Git.ReadCommit(ctx, tip)
	if err != nil {
		return nil //nolint:nilerr // an object that is missing is told by others
	}
	for _, h := range d.r.Git.Hosts(target) {
		tree, err := h.IndexTree()
		if err != nil || h.InProgress || tree == now.Tree {
			continue
		}
		merges, err := d.Journal.Merges(ctx, d.r.ID, target, project.LagMerges)
		if err != nil {
			return err
		}
		for _, m := range merges {
			was, err := d.r.Git.ReadCommit(ctx, m.Before)
			if m.Before == "" || err != nil || was.Tree != tree {
				continue
			}
			d.reportFinding(findLags, h.Path, fmt.Sprintf("It has %s checked out, and the files of %.7s, from before a merge: git status shows the merge undone. "+
				"croft doctor --fix brings it along, and touches nothing of yours.", target, m.Before), func() error {
				advance, err := h.Prepare(ctx, m.Before, tip)
				if err != nil {
					return err
				}
				defer advance.Cancel()
				return advance.Apply(ctx)
			})
			break
		}
	}
	return nil
}

// interruptedMessage returns the text of the finding about an operation whose process
// died.
func (d *examination) interruptedMessage(op journal.Operation) string {
	of := ""
	if len(op.Names) > 0 {
		of = " of " + trash.SomeOf(op.Names)
	}
	text := fmt.Sprintf("A %s%s was interrupted when process %d died.", op.Kind, of, op.Owner.PID)
	if op.Error != "" && !d.fix {
		text += " The last attempt to bring it to its end failed: " + op.Error + "."
	}
	return text
}

// recoverUnsettled recovers an operation, and says in one line what keeps it from that.
func (d *examination) recoverUnsettled(ctx context.Context, op journal.Operation) error {
	err := d.Ops.Recover(ctx, op)
	if errors.Is(err, oplog.ErrUnsettled) {
		return errors.New(project.WhyUnsettled(err))
	}
	return err
}

// findSuspects tells, after a start of the machine, which workspaces nobody should
// commit from unasked.
func (d *examination) findSuspects(ctx context.Context) error {
	records, err := d.Journal.Live(ctx, d.r.ID)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Workspace.State != croft.Ready || d.r.Trees.Health(project.SpecOf(rec)) != checkout.Intact {
			continue // told as something else
		}
		found, err := d.Commits.Verify(ctx, d.r, rec)
		if err != nil {
			return err
		}
		for _, s := range found {
			d.reportFinding(findSuspect, rec.Workspace.Name, s.Message, nil)
		}
	}
	return nil
}
