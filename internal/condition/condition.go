// Package condition decides what a workspace is like now, why, and what it waits for. It
// is a table of rules over facts that others gather: it reads nothing, so that every
// surface says the same, and the table can be tested line by line.
package condition

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/shellword"
)

// Facts is what is known of a workspace. A fact that nobody looked at is its zero value;
// HasSeenCommits and HasSeenFiles say whether commits and files were looked at.
type Facts struct {
	// Workspace is the workspace as callers see it: its record with the fault, the head, the
	// lock and the live lease.
	Workspace croft.Workspace

	IsMakerDead   bool            // the process that was making it has died
	IsHalfRemoved bool            // the process that was removing it has died
	RemovedAs     croft.Condition // why it was removed, if that is known
	RoundOn       int             // the number of its round, if that goes on
	IsOrphan      bool            // its leases are over and their owners dead, and it was not finished since
	InMerge       bool            // a merge of another commit into it is not committed yet
	Approved      string          // why the checks that stopped its merge do not stop it now
	TargetMoved   bool            // the target is not where it was when a check failed on it
	RevertedBy    string          // the last revert that is in force of its work in the target
	IsMergeUndone bool            // that revert is of an undo, and what was before the merge was no other revert
	IsAsMerged    bool            // its head is that of its last merge into the target
	Presents      string          // the name of the session whose result it holds
	Forecast      Forecast        // valid for its head and its target as they are
	Queue         Queue           // of a merge that waits
	Merge         *croft.Merge    // the newest merge of its work; nil: none
	Inside        []string        // the processes inside, by name
	Commits       CommitFacts     // with HasSeenCommits
	Files         FileFacts       // with HasSeenFiles

	HasSeenCommits, HasSeenFiles bool

	IsListed bool // a list or a look shows it; the answer of an act on it does not say whether somebody looked
}

// Forecast is what is known of a merge of a workspace into its target.
type Forecast struct {
	IsKnown  bool
	Collides bool
	Paths    []string     // the first of those in conflict, at most MostPaths; none if they are not known
	Count    int          // of all of them
	Reason   croft.Reason // why git cannot merge it at all
}

// MostPaths is how many paths in conflict are named.
const MostPaths = 2

// Queue is the place of a merge that waits.
type Queue struct {
	Place   int  // from 1; zero: unknown
	IsUnrun bool // no process drives the queue
}

// CommitFacts is what a look at the commits of a workspace and its target found.
type CommitFacts struct {
	Ahead        int
	IsIntegrated bool // proven: all its commits are in the target
	IsTakenBack  bool // proven: a revert took work out of the target that to merge would bring there again
}

// FileFacts is what a look at the files of a workspace found.
type FileFacts struct {
	Changed  int // paths with uncommitted changes, the unmerged included
	Unmerged int
	Marked   int // files that a merge of the target left in conflict and that are as it left them, or have markers; none of Unmerged

	HeldBack []string // those of Changed that finish, merge and save do not commit
}

// Verdict is a condition with its reason and the next step, if there is one.
type Verdict struct {
	Condition croft.Condition
	Why       string
	Next      *croft.Next
}

// Decide returns the verdict of the first rule that applies.
func Decide(f Facts) Verdict {
	for _, rule := range rules() {
		if v, ok := rule(&f); ok {
			if f.Workspace.IsLocked && v.Why == "" {
				v.Why = f.Workspace.LockReason // a lock hides no other condition
			}
			v.Why = oneLine(v.Why)
			if v.Next != nil {
				v.Next.What = cmp.Or(v.Why, strings.ReplaceAll(string(v.Condition), "-", " "))
			}
			return v
		}
	}
	return Verdict{Condition: croft.ConditionEmpty}
}

// rule returns a verdict if it applies.
type rule func(*Facts) (Verdict, bool)

// rules returns the rules in their order.
func rules() []rule {
	return []rule{
		removed, halfRemoved, broken, making, waiting, asks, working, orphan, resolving, rejected, ended, dirty, reverted, merged, unready,
		collides, toReview, ahead, idle,
	}
}

// none is the verdict of a rule that does not apply.
func none() (Verdict, bool) { return Verdict{}, false }

// verdict returns a verdict without a next step.
func verdict(c croft.Condition, why string) (Verdict, bool) {
	return Verdict{Condition: c, Why: why}, true
}

// verdictFor returns a verdict whose next step is a command for the workspace.
func (f *Facts) verdictFor(c croft.Condition, why string, a croft.Action) (Verdict, bool) {
	return Verdict{c, why, f.next(a)}, true
}

// current returns the newest merge if it has ended and was about the commit that is
// checked out now.
func (f *Facts) current() *croft.Merge {
	m := f.Merge
	if m == nil || m.State != croft.MergeDone || m.Head == "" || m.Head != f.Workspace.Head {
		return nil
	}
	return m
}

// pendingFor returns the current merge if it stays pending for a reason.
func (f *Facts) pendingFor() *croft.Merge {
	m := f.current()
	if m == nil || m.Status != croft.MergePending || m.Reason == "" {
		return nil
	}
	return m
}

func removed(f *Facts) (Verdict, bool) {
	w := &f.Workspace
	if w.State != croft.Trashed {
		return none()
	}
	v := Verdict{Condition: croft.ConditionRemoved, Why: "gone"}
	switch {
	case w.MergeStatus == croft.MergeMerged:
		v.Condition = croft.ConditionMerged
	case w.MergeStatus == croft.MergeReverted:
		v.Condition = croft.ConditionReverted
	case w.MergeStatus == croft.MergeDiscarded:
		v.Condition = croft.ConditionDiscarded
	case f.RemovedAs != "":
		v.Condition = f.RemovedAs
	}
	if !w.KeptUntil.IsZero() {
		v.Why, v.Next = "in the trash", f.next(croft.ActionRestore)
	}
	return v, true
}

func halfRemoved(f *Facts) (Verdict, bool) {
	if !f.IsHalfRemoved {
		return none()
	}
	return f.verdictFor(croft.ConditionUnfinished, "its removal was interrupted", croft.ActionRepair)
}

func broken(f *Facts) (Verdict, bool) {
	w := &f.Workspace
	isUsable := w.State == croft.Ready || w.State == croft.Stopped
	if isUsable && w.Mode == croft.ModeWorktree && w.Branch != "" && w.Head == "" {
		return f.verdictFor(croft.ConditionBroken, fmt.Sprintf("branch %s is gone; git branch %s COMMIT makes it again", w.Branch, shellword.Quote(w.Branch)), croft.ActionShow)
	}
	if w.State != croft.Broken {
		return none()
	}
	switch w.Fault {
	case croft.FaultMissing:
		return f.verdictFor(croft.ConditionMissing, w.Path, croft.ActionDiagnose)
	case croft.FaultMoved:
		return f.verdictFor(croft.ConditionBroken, "moved to "+w.Path, croft.ActionDiagnose)
	case croft.FaultTaken:
		return f.verdictFor(croft.ConditionBroken, "something else is at its path", croft.ActionDiagnose)
	}
	return f.verdictFor(croft.ConditionBroken, "git does not know its directory", croft.ActionDiagnose)
}

func making(f *Facts) (Verdict, bool) {
	w := &f.Workspace
	switch {
	case w.State != croft.Creating:
		return none()
	case w.FaultReason != "":
		return f.verdictFor(croft.ConditionUnfinished, w.FaultReason, croft.ActionRepair)
	case f.IsMakerDead:
		return f.verdictFor(croft.ConditionUnfinished, "interrupted", croft.ActionRepair)
	case w.Fault == croft.FaultRewinding:
		return verdict(croft.ConditionMaking, "its files are being put back")
	}
	return verdict(croft.ConditionMaking, "")
}

// waiting is about a merge that has not ended. It counts for any commit: it is still to be
// merged.
func waiting(f *Facts) (Verdict, bool) {
	m := f.Merge
	if m == nil || m.State == croft.MergeDone {
		return none()
	}
	switch {
	case f.Queue.IsUnrun && m.State != croft.MergeQueued:
		return f.verdictFor(croft.ConditionQueued, "interrupted: nobody drives the queue", croft.ActionDrive)
	case m.State == croft.MergeMerging:
		return verdict(croft.ConditionMerging, "")
	case m.State == croft.MergeChecking:
		return verdict(croft.ConditionChecking, m.Check)
	case m.IsHeld:
		return f.verdictFor(croft.ConditionHeld, holdText(m.Hold), croft.ActionRelease)
	case f.Queue.IsUnrun:
		return f.verdictFor(croft.ConditionQueued, "nobody drives the queue", croft.ActionDrive)
	case f.Queue.Place > 0:
		return verdict(croft.ConditionQueued, ordinal(f.Queue.Place))
	}
	return verdict(croft.ConditionQueued, "")
}

func working(f *Facts) (Verdict, bool) {
	l := leaseAtWork(&f.Workspace)
	switch {
	case f.RoundOn > 0:
		return verdict(croft.ConditionWorking, fmt.Sprintf("round %d", f.RoundOn))
	case l != nil && f.Workspace.Run != nil && f.Workspace.Run.Lease == l.ID && len(f.Workspace.Run.Command) > 0:
		return verdict(croft.ConditionWorking, path.Base(f.Workspace.Run.Command[0]))
	case l != nil && l.Process != "":
		return verdict(croft.ConditionWorking, l.Process)
	case l != nil:
		return verdict(croft.ConditionWorking, fmt.Sprintf("process %d on %s", l.Owner.PID, l.Owner.Host))
	case len(f.Inside) > 0:
		return verdict(croft.ConditionWorking, few(f.Inside))
	}
	if a := f.Workspace.Activity; a != nil && (a.State == croft.AgentWorking || a.State == croft.AgentStarting) {
		return verdict(croft.ConditionWorking, cmp.Or(a.Note, "its agent says so"))
	}
	return none()
}

// asks is about an agent that waits: for a person, who answers where it runs, or for something
// that comes by itself.
func asks(f *Facts) (Verdict, bool) {
	a := f.Workspace.Activity
	if a == nil || a.State != croft.AgentWaiting {
		return none()
	}
	why := needTexts[a.WaitingFor]
	if a.Note != "" {
		why += ": " + a.Note
	}
	if a.WaitingFor == croft.NeedLimit || a.WaitingFor == croft.NeedResource {
		return verdict(croft.ConditionWaiting, why)
	}
	next := f.next(croft.ActionAnswer)
	if r := f.Workspace.Run; r != nil && r.State != croft.RunEnded {
		next.Command = "croft logs --agent -f " + shellword.Quote(f.Workspace.Name)
	}
	return Verdict{croft.ConditionWaiting, why, next}, true
}

// needTexts says what an agent waits for.
var needTexts = map[croft.AgentNeed]string{
	croft.NeedAnswer: "it asks you", croft.NeedPermission: "it asks for permission", croft.NeedCredentials: "it needs you to log in",
	croft.NeedResource: "it waits for something outside", croft.NeedLimit: "it waits until a limit is over",
}

func resolving(f *Facts) (Verdict, bool) {
	m := f.pendingFor()
	isOurs := f.InMerge && (m == nil || m.Reason == croft.Conflict) // nothing was submitted yet of a revert that is resolved
	switch {
	case f.Files.Unmerged+f.Files.Marked > 0: // git add alone resolves nothing, and a merge would be refused
		return f.verdictFor(croft.ConditionResolving, count(f.Files.Unmerged+f.Files.Marked, "file")+" to resolve", croft.ActionWork)
	case isOurs && f.HasSeenFiles:
		return f.verdictFor(croft.ConditionResolving, "all resolved, not committed", croft.ActionMerge)
	case isOurs:
		return f.verdictFor(croft.ConditionResolving, "its conflicts are being resolved", croft.ActionWork)
	}
	return none()
}

// rejected is about a merge that stays pending for a reason.
func rejected(f *Facts) (Verdict, bool) {
	m := f.pendingFor()
	if m == nil {
		return none()
	}
	switch m.Reason {
	case croft.Conflict:
		if f.isOver(m) {
			return none()
		}
		return f.verdictFor(croft.ConditionConflict, conflictText(m), croft.ActionResolve)
	case croft.CheckFailed:
		return f.verdictFor(croft.ConditionCheckFailed, checkText(m), croft.ActionLogs)
	case croft.TargetBroken:
		if f.TargetMoved {
			return none()
		}
		return f.verdictFor(croft.ConditionTargetFails, m.Message, croft.ActionLogs)
	case croft.ChecksUntrusted:
		if f.Approved != "" {
			return none()
		}
		return f.verdictFor(croft.ConditionUnapproved, m.Message, croft.ActionApprove)
	case croft.Canceled:
		return none() // as the user wanted it
	case croft.HostDirty:
		return f.verdictFor(croft.ConditionBlocked, blockedText(m), croft.ActionMerge)
	}
	return Verdict{croft.ConditionStuck, m.Message, f.hinted(m.Hint)}, true
}

// isOver reports whether a merge would have no conflict any more. The forecast is about merges of all the work into the
// workspace's own target, and knows that they take reverts of it back.
func (f *Facts) isOver(m *croft.Merge) bool {
	return f.Forecast.IsKnown && !f.Forecast.Collides && m.Target == f.Workspace.Target && (m.Kind == "" || m.Kind == croft.KindMerge)
}

// unready is about a workspace without work that is not merged, and whose set-up is not done.
func unready(f *Facts) (Verdict, bool) {
	p := f.Workspace.Provision
	if p == nil || p.State == croft.ProvisionReady || f.isAhead() || f.Files.Changed > 0 {
		return none()
	}
	if p.State == croft.ProvisionUnapproved && p.WaitsForVariablesOnly() {
		return none() // it can be worked in
	}
	if p.State == croft.ProvisionUnapproved {
		return Verdict{croft.ConditionUnready, p.Why, &croft.Next{Action: croft.ActionApprove, Command: "croft config trust --setup " + shellword.Quote(f.Workspace.Name)}}, true
	}
	return f.verdictFor(croft.ConditionUnready, p.Why, croft.ActionSetUp)
}

func dirty(f *Facts) (Verdict, bool) {
	if f.Files.Changed == 0 {
		return none()
	}
	why := count(f.Files.Changed, "file") + " not committed"
	if f.Forecast.IsKnown && f.Forecast.Collides {
		return f.verdictFor(croft.ConditionDirty, why+", and it collides with "+f.Workspace.Target, croft.ActionResolve)
	}
	if len(f.Files.HeldBack) == f.Files.Changed {
		why, action := "held back: "+few(shownPaths(f.Files.HeldBack)), croft.ActionWork // a diff shows nothing of them
		if f.isAhead() {
			action = croft.ActionMerge
		}
		return f.verdictFor(croft.ConditionDirty, why, action)
	}
	return f.verdictFor(croft.ConditionDirty, why, croft.ActionDiff)
}

func idle(f *Facts) (Verdict, bool) {
	w := &f.Workspace
	switch {
	case w.Mode == croft.ModeLegacy:
		return verdict(croft.ConditionInPlace, "")
	case w.IsLocked:
		return verdict(croft.ConditionLocked, w.LockReason)
	}
	if f.IsListed && !f.HasSeenFiles {
		return f.verdictFor(croft.ConditionUnseen, "not looked at", croft.ActionWork) // it may have uncommitted work
	}
	return f.verdictFor(croft.ConditionEmpty, "", croft.ActionWork)
}
