package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/trash"
)

// A pin is an object that Croft needs later, and a ref below refs/croft/ that keeps git
// from collecting it. Agents can move or delete such a ref, and other users of the same
// repository have refs of their own there. So the journal says which object is meant: a
// ref is never read back, and only refs that the journal has are deleted.

// findMovedPins looks for pins whose ref was moved or deleted. The fix restores the ref.
func (d *examination) findMovedPins(ctx context.Context) error {
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

// isKept reports whether a pin's ref names its object, or the pin was released. It waits
// for a process that is between writing the ref and the row.
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

// findLagging looks for checkouts of a target that have the files of an earlier commit:
// a git checkout of the branch that ran while a merge moved the branch leaves them so.
func (d *examination) findLagging(ctx context.Context) error {
	tips, err := d.Journal.LaneTips(ctx, d.r.ID)
	if err != nil {
		return err
	}
	for _, t := range tips {
		tip, err := d.r.Git.ReadRef(ctx, "refs/heads/"+t.Target)
		if err != nil {
			continue // the branch is gone, or another finding reports it
		}
		if err := d.findLaggingOn(ctx, t.Target, tip); err != nil {
			return err
		}
	}
	return nil
}

func (d *examination) findLaggingOn(ctx context.Context, target, tip string) error {
	now, err := d.r.Git.ReadCommit(ctx, tip)
	if err != nil {
		return nil //nolint:nilerr // another finding reports a missing object
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

// findUnrestored names files of a user that a merge could not put back into a checkout. Only a person knows whether they are
// still wanted.
func (d *examination) findUnrestored(context.Context) error {
	if d.r.Git == nil {
		return nil
	}
	for _, kept := range d.r.Git.Unrestored() {
		d.reportFinding(findUnrestored, kept.Dir, fmt.Sprintf("Files that could not be put back into a checkout when a merge moved it along are kept: %s. "+
			"Take what you need, and delete the directory.", kept.Names()), nil)
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

// recoverUnsettled recovers an operation. If it fails, the error gives the reason in
// one line.
func (d *examination) recoverUnsettled(ctx context.Context, op journal.Operation) error {
	err := d.Ops.Recover(ctx, op)
	if errors.Is(err, oplog.ErrUnsettled) {
		return errors.New(project.WhyUnsettled(err))
	}
	return err
}

// findSuspects reports workspaces whose files may be damaged since the machine was
// restarted.
func (d *examination) findSuspects(ctx context.Context) error {
	records, err := d.Journal.Live(ctx, d.r.ID)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Workspace.State != croft.Ready || d.r.Trees.Health(project.SpecOf(rec)) != checkout.Intact {
			continue // another finding reports the workspace
		}
		found, err := d.Commits.Verify(ctx, d.r, rec)
		if err != nil {
			return err
		}
		for _, s := range found {
			d.reportFinding(findSuspect, rec.Workspace.Name, s, nil)
		}
	}
	return nil
}

// checkOwnGit checks that all objects of an isolated workspace's git directory can be
// brought to the project.
func (d *examination) checkOwnGit(ctx context.Context, rec journal.Record) error {
	w, tree := rec.Workspace, d.r.Trees.At(project.SpecOf(rec))
	if tree.HasWrongAlternates() {
		d.reportFinding(findBorrows, w.Name, "Its git directory does not borrow objects from where Croft keeps them: that was changed, or the state directory lies elsewhere now.",
			func() error { return d.UnderLock(ctx, d.r, tree.Rejoin) })
		return nil
	}
	if mine, tip, err := tree.Apart(ctx); err == nil && mine != "" {
		d.reportFinding(findApart, w.Name, fmt.Sprintf("Its branch %s is at %.12s in the project, where another process moved it or a command was interrupted, and the workspace is at %.12s. "+
			"Both are kept, and nothing can be merged until you choose. To take the workspace's commits and give up those of git log %.12s..%s: %s", w.Branch, tip, mine, mine, w.Branch, project.TakeOwnCommits(w, mine)), nil)
	}
	left, err := tree.ListUnpulled(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.reportFinding(findLeftOut, w.Name, fmt.Sprintf("Nothing can be brought to the project from its own git directory: %s. "+
			"What was committed there since is nowhere else; git -C %s fsck says more.", oneLine(err), shellword.Quote(w.Path)), nil)
	case len(left) > 0:
		d.reportFinding(findLeftOut, w.Name, fmt.Sprintf("Its own git directory has what cannot be brought to the project: %s. "+
			"It is nowhere else; git -C %s fsck says what is missing. Once that is there again, croft doctor --fix brings it.", listLeftOut(left), shellword.Quote(w.Path)), func() error {
			return d.UnderLock(ctx, d.r, func() error {
				still, err := tree.RetryPull(ctx)
				if err == nil && len(still) > 0 {
					err = fmt.Errorf("it still cannot be brought: %s", still[0].Why)
				}
				return err
			})
		})
	}
	return nil
}

// toldLeft is how many of the objects that cannot be brought to the project a message
// names.
const toldLeft = 5

func listLeftOut(left []isolated.Unpulled) string {
	var list []string
	for _, l := range left[:min(len(left), toldLeft)] {
		if l.OID != "" {
			l.Name += fmt.Sprintf(" at %.12s", l.OID)
		}
		list = append(list, fmt.Sprintf("%s (%s)", l.Name, l.Why))
	}
	if more := len(left) - toldLeft; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// findMovedRepository reports a repository that was moved since its records were written.
func (d *examination) findMovedRepository(ctx context.Context) error {
	if d.r.MovedFrom == "" {
		return nil
	}
	d.reportFinding(findMoved, d.r.Path, fmt.Sprintf("The repository was at %s when it was last seen.", d.r.MovedFrom), func() error {
		return d.UnderLock(ctx, d.r, func() error { return d.Relocate(ctx, d.r) })
	})
	return nil
}

// reportMoved reports a workspace that was moved. The fix records its new path.
func (d *examination) reportMoved(ctx context.Context, rec journal.Record, to string) {
	w := rec.Workspace
	if project.IsTrashedAt(rec, to) {
		d.reportFinding(findElsewhere, w.Name, "Its directory lies in the trash, at "+to+", and no removal of it is known: an older state was put back.", nil)
		return
	}
	d.reportFinding(findElsewhere, w.Name, fmt.Sprintf("Its directory was moved from %s to %s.", w.Path, to), func() error {
		return d.UnderLock(ctx, d.r, func() error {
			if err := d.FollowTo(ctx, d.r, w.ID, to); err != nil {
				return err
			}
			return d.registerAgain(ctx, w.ID)
		})
	})
}

// reportLostBranch reports a workspace whose branch was deleted, with the commit that it was
// last at. The agent can write the reflog that says so, so the user decides.
func (d *examination) reportLostBranch(ctx context.Context, rec journal.Record) {
	w := rec.Workspace
	if w.State != croft.Ready || w.Mode != croft.ModeWorktree || !d.r.Git.HasNativeRefs() {
		return
	}
	tree := d.r.Trees.At(project.SpecOf(rec))
	branch, head, err := tree.PrivateHead(d.r.Git.RefSnapshot())
	if err != nil || branch == "" || head != "" {
		return
	}
	last := "COMMIT"
	for _, oid := range tree.HeadReflog() {
		if info, err := d.r.Git.Info(ctx, oid); err == nil && info.Type == "commit" {
			last = oid
			break
		}
	}
	d.reportFinding(findBranchGone, w.Name, fmt.Sprintf("Its branch %s was deleted. git branch %s %s makes it again; its files are as they were.", branch, shellword.Quote(branch), last), nil)
}

// registerAgain registers the directory of a workspace with git, if its registration was
// pruned.
func (d *examination) registerAgain(ctx context.Context, id croft.ID) error {
	rec, err := d.Journal.Record(ctx, id)
	if err != nil || d.r.Trees.Health(project.SpecOf(rec)) != checkout.Unregistered {
		return err
	}
	w := rec.Workspace
	return d.r.Trees.At(project.SpecOf(rec)).Register(ctx, worktree.AddSpec{Admin: rec.Admin, Path: w.Path, Branch: w.Branch, Head: w.Base, Sparse: rec.Sparse})
}

// findDamagedObjects verifies the packs of the project, and the copies of them that
// isolated workspaces read.
func (d *examination) findDamagedObjects(ctx context.Context) error {
	damaged, err := d.r.Git.VerifyObjects(ctx)
	var own []object.Damage
	for _, f := range damaged {
		if f.Store == "" {
			own = append(own, f)
			d.reportFinding(findPack, f.File, f.What+" Git cannot read some of the objects in it. Croft does not repair it: git fsck says what is missing, and another clone may have it.", nil)
		}
	}
	for _, f := range damaged {
		if f.Store == "" {
			continue
		}
		d.reportFinding(findStore, f.File, f.What+" Isolated workspaces read objects from this copy; the project is not concerned.", func() error {
			if len(own) > 0 {
				return errors.New("the project's own packs are damaged")
			}
			return d.r.Git.RepairStore(ctx, f)
		})
	}
	return err
}

// findLostCommits looks for lost commits in the workspaces that have no finding yet.
func (d *examination) findLostCommits(ctx context.Context) error {
	records, err := d.Journal.Live(ctx, d.r.ID)
	if err != nil {
		return err
	}
	for _, rec := range records {
		isOf := func(f croft.Finding) bool { return f.Subject == rec.Workspace.Name }
		if slices.ContainsFunc(d.findings, isOf) {
			continue
		}
		if err := d.findLostCommit(ctx, rec.Workspace); err != nil {
			return err
		}
	}
	return nil
}

// findLostCommit reports a workspace whose branch names a commit that is missing: a disk
// lost it, or a process that can write the repository's git directory deleted it.
func (d *examination) findLostCommit(ctx context.Context, w croft.Workspace) error {
	if w.Branch == "" || d.r.Git == nil {
		return nil
	}
	tip, err := d.r.Git.ReadRef(ctx, "refs/heads/"+w.Branch)
	if errors.Is(err, refs.ErrNoRef) {
		return nil
	}
	if err == nil {
		_, err = d.r.Git.Info(ctx, tip)
	}
	if !errors.Is(err, object.ErrMissing) {
		return err
	}
	message := fmt.Sprintf("Its branch %s names the commit %.7s, which is not in the repository; the files in %s are as they were.", w.Branch, tip, w.Path)
	if _, err := d.r.Git.Info(ctx, w.Base); w.Base != "" && err == nil {
		message += fmt.Sprintf(" git -C %s reset --soft %.12s lets them be committed again.", w.Path, w.Base)
	}
	d.reportFinding(findLost, w.Name, message, nil)
	return nil
}

// findInterruptedMerges looks for merges whose driver was killed, or had no disk left. They wait for the next one: to begin again, checks
// included, is for who wants them merged.
func (d *examination) findInterruptedMerges(ctx context.Context) error {
	waiting, err := d.Journal.Waiting(ctx, d.r.ID, "", -1)
	for _, m := range waiting {
		if d.Queues.IsInterrupted(ctx, d.r, m) {
			name := shellword.Quote(m.WorkspaceName)
			d.reportFinding(findMergeStopped, m.WorkspaceName, fmt.Sprintf("The process that merged it into %s was killed or could not go on, and nobody drives the queue. "+
				"croft queue run goes on with it; croft queue cancel %s takes it out of the queue.", m.Target, name), nil)
		}
	}
	return err
}
