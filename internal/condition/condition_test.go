package condition

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// fresh returns the facts of a workspace that was just made.
func fresh() Facts {
	return Facts{Workspace: croft.Workspace{
		ID: "a1", Name: "x", Path: "/ws/x", Mode: croft.ModeWorktree, State: croft.Ready, Head: "b0", Base: "b0", BaseRef: "main", Target: "main",
	}}
}

// committed returns the facts of a workspace with two commits, looked at.
func committed() Facts {
	f := fresh()
	f.Workspace.Head = "c0ffee00"
	f.HasSeenCommits, f.HasSeenFiles, f.Commits.Ahead = true, true, 2
	return f
}

// pending returns the facts of a workspace whose merge stays pending for a reason.
func pending(reason croft.Code) Facts {
	f := committed()
	f.Workspace.MergeStatus = croft.MergePending
	f.Merge = &croft.Merge{State: croft.MergeDone, Status: croft.MergePending, Head: f.Workspace.Head, Reason: reason, Message: "a message"}
	return f
}

// waits returns the facts of a workspace whose merge has not ended.
func waits(state croft.MergeState) Facts {
	f := committed()
	f.Merge = &croft.Merge{State: state, Head: "an earlier one"}
	return f
}

// line is a line of the table: facts, and what is said of them.
type line struct {
	name string
	of   func() Facts
	want croft.Condition
	why  string
	next string
}

// with returns facts with a change.
func with(of Facts, change func(*Facts)) func() Facts {
	return func() Facts {
		change(&of)
		return of
	}
}

// pulled returns the facts of a workspace that was pushed and has a pull request of its head.
func pulled(state croft.PullRequestState, proof string) Facts {
	f := committed()
	f.Workspace.Push = &croft.Push{Commit: f.Workspace.Head}
	f.Workspace.PullRequest = &croft.PullRequest{Number: 12, State: state, Base: "main", Head: f.Workspace.Head, Proof: proof}
	return f
}

func tableOfPulls() []line {
	later := func(f *Facts) { f.Workspace.Head = "1a7e0000" }
	return []line{
		{"open", with(pulled(croft.PullRequestIsOpen, ""), func(*Facts) {}), croft.ConditionPending, "pull request #12 is open", "croft push --status x"},
		{"open, with commits", with(pulled(croft.PullRequestIsOpen, ""), later), croft.ConditionAhead, "commits that pull request #12 lacks", "croft push --pr x"},
		{"closed", with(pulled(croft.PullRequestClosed, ""), func(*Facts) {}), croft.ConditionAhead, "pull request #12 was closed", "croft diff x"},
		{"merged", with(pulled(croft.PullRequestMerged, "squash"), func(*Facts) {}), croft.ConditionMerged, "by pull request #12", "croft remove x"},
		{"merged, nobody looked", with(pulled(croft.PullRequestMerged, "squash"), func(f *Facts) { f.HasSeenCommits = false }), croft.ConditionMerged, "by pull request #12", "croft remove x"},
		{"merged, not proven", with(pulled(croft.PullRequestMerged, ""), func(*Facts) {}), croft.ConditionAhead, "pull request #12 was merged, and main there lacks its content", "croft diff x"},
		{"merged, with commits since", with(pulled(croft.PullRequestMerged, "squash"), later), croft.ConditionAhead, "commits since pull request #12 was merged", "croft push --pr x"},
	}
}

func table() []line {
	return slices.Concat(tableOfRecord(), tableOfMerges(), tableOfWork(), tableOfRemoved(), tableOfPulls())
}

// lost is a workspace with work whose agent is gone.
func lost(f *Facts) {
	f.Workspace.Run = &croft.Run{State: croft.RunEnded, How: croft.RunLost, StartedAt: time.Unix(100, 0), EndedAt: time.Unix(200, 0)}
	f.HasSeenFiles, f.Files.Changed = true, 1
}

func tableOfRecord() []line {
	return []line{
		{"no directory", with(fresh(), func(f *Facts) { f.Workspace.State, f.Workspace.Fault = croft.Broken, croft.FaultMissing }), "missing", "/ws/x", "croft doctor"},
		{"moved", with(fresh(), func(f *Facts) { f.Workspace.State, f.Workspace.Fault = croft.Broken, croft.FaultMoved }), "broken", "moved to /ws/x", "croft doctor"},
		{"taken", with(fresh(), func(f *Facts) { f.Workspace.State, f.Workspace.Fault = croft.Broken, croft.FaultTaken }), "broken", "something else is at its path", "croft doctor"},
		{"unregistered", with(fresh(), func(f *Facts) { f.Workspace.State = croft.Broken }), "broken", "git does not know its directory", "croft doctor"},
		{"stopped, its branch gone", with(fresh(), func(f *Facts) { f.Workspace.State, f.Workspace.Branch, f.Workspace.Head = croft.Stopped, "b;c", "" }), "broken", "branch b;c is gone; git branch 'b;c' COMMIT makes it again", "croft show x"},
		{"isolated, no commit yet", with(fresh(), func(f *Facts) { f.Workspace.Mode, f.Workspace.Branch, f.Workspace.Head = croft.ModeIsolated, "b", "" }), "empty", "", "croft sh x"},
		{"no branch and no commit", with(fresh(), func(f *Facts) { f.Workspace.Head = "" }), "empty", "", "croft sh x"},
		{"being made", with(fresh(), func(f *Facts) { f.Workspace.State = croft.Creating }), "making", "", ""},
		{"put back", with(fresh(), func(f *Facts) { f.Workspace.State, f.Workspace.Fault = croft.Creating, croft.FaultRewinding }), "making", "its files are being put back", ""},
		{"its merge was interrupted", with(committed(), func(f *Facts) {
			f.Merge, f.Queue.IsUnrun = &croft.Merge{State: croft.MergeChecking, Head: "x"}, true
		}), "queued", "interrupted: nobody drives the queue", "croft queue run"},
		{"its remover died", with(fresh(), func(f *Facts) {
			f.Workspace.State, f.Workspace.Fault, f.IsHalfRemoved = croft.Broken, croft.FaultMissing, true
		}), "unfinished", "its removal was interrupted", "croft doctor --fix"},
		{"its maker died", with(fresh(), func(f *Facts) { f.Workspace.State, f.IsMakerDead = croft.Creating, true }), "unfinished", "interrupted", "croft doctor --fix"},
		{"not put back", with(fresh(), func(f *Facts) { f.Workspace.State, f.Workspace.FaultReason = croft.Creating, "no space" }), "unfinished", "no space", "croft doctor --fix"},
		{"stopped is no word", with(fresh(), func(f *Facts) { f.Workspace.State = croft.Stopped }), "empty", "", "croft sh x"},
		{"legacy", with(fresh(), func(f *Facts) { f.Workspace.Mode, f.Workspace.Head = croft.ModeLegacy, "c1" }), "in-place", "", ""},
		{"locked", with(fresh(), func(f *Facts) { f.Workspace.IsLocked, f.Workspace.LockReason = true, "mine" }), "locked", "mine", ""},
		{"fresh", with(fresh(), func(f *Facts) { f.IsListed, f.HasSeenFiles, f.HasSeenCommits = true, true, true }), "empty", "", "croft sh x"},
		{"made just now", fresh, "empty", "", "croft sh x"},
		{"not looked at", with(fresh(), func(f *Facts) { f.IsListed = true }), "unseen", "not looked at", "croft sh x"},
		{"only its commits were looked at", with(fresh(), func(f *Facts) { f.IsListed, f.HasSeenCommits = true, true }), "unseen", "not looked at", "croft sh x"},
		{"its agent is lost", with(fresh(), lost), "orphan", "its agent has ended without saying how", "croft diff x"},
		{"its agent is lost, and its work finished", with(fresh(), func(f *Facts) {
			lost(f)
			f.Workspace.Finished = &croft.Finished{At: f.Workspace.Run.StartedAt.Add(time.Second)}
		}), "dirty", "1 file not committed", "croft diff x"},
		{"its agent is lost, and its work submitted", with(fresh(), func(f *Facts) {
			lost(f)
			f.Merge = &croft.Merge{State: croft.MergeDone, SubmittedAt: f.Workspace.Run.StartedAt.Add(time.Second)}
		}), "dirty", "1 file not committed", "croft diff x"},
		{"its agent is lost, and an earlier run was finished", with(fresh(), func(f *Facts) {
			lost(f)
			f.Workspace.Finished = &croft.Finished{At: f.Workspace.Run.StartedAt.Add(-time.Second)}
		}), "orphan", "its agent has ended without saying how", "croft diff x"},
		{"its agent is lost, and earlier work was submitted", with(fresh(), func(f *Facts) {
			lost(f)
			f.Merge = &croft.Merge{State: croft.MergeDone, SubmittedAt: f.Workspace.Run.StartedAt.Add(-time.Second)}
		}), "orphan", "its agent has ended without saying how", "croft diff x"},
		{"its work could not be finished, and an earlier run was", with(fresh(), func(f *Facts) {
			lost(f)
			f.Workspace.Run.How, f.Workspace.Run.Unfinished = croft.RunDone, "a lock"
			f.Workspace.Finished = &croft.Finished{At: f.Workspace.Run.EndedAt.Add(-time.Second)}
		}), "stuck", "its agent has ended, and its work could not be finished: a lock", "croft finish x"},
		{"its work could not be finished", with(fresh(), func(f *Facts) {
			lost(f)
			f.Workspace.Run.How, f.Workspace.Run.Unfinished = croft.RunDone, "a lock"
		}), "stuck", "its agent has ended, and its work could not be finished: a lock", "croft finish x"},
		{"its work could not be finished, and was since", with(fresh(), func(f *Facts) {
			lost(f)
			f.Workspace.Run.How, f.Workspace.Run.Unfinished = croft.RunDone, "a lock"
			f.Workspace.Finished = &croft.Finished{At: f.Workspace.Run.EndedAt.Add(time.Second)}
		}), "dirty", "1 file not committed", "croft diff x"},
		{"imported", with(fresh(), func(f *Facts) { f.Workspace.BaseRef = "" }), "ahead", "imported, what it started from is not known", "croft sh x"},
	}
}

func tableOfMerges() []line {
	return []line{
		{"merging", func() Facts { return waits(croft.MergeMerging) }, "merging", "", ""},
		{"checking", with(waits(croft.MergeChecking), func(f *Facts) { f.Merge.Check = "go test ./..." }), "checking", "go test ./...", ""},
		{"held", with(waits(croft.MergeQueued), func(f *Facts) { f.Merge.IsHeld = true }), "held", "", "croft queue release x"},
		{"held by", with(waits(croft.MergeQueued), func(f *Facts) { f.Merge.IsHeld, f.Merge.Hold = true, &croft.MergeHold{Actor: "ada"} }), "held", "by ada", "croft queue release x"},
		{"held, undriven", with(waits(croft.MergeQueued), func(f *Facts) { f.Merge.IsHeld, f.Queue.IsUnrun = true, true }), "held", "", "croft queue release x"},
		{"queued", with(waits(croft.MergeQueued), func(f *Facts) { f.Queue.Place = 2 }), "queued", "2nd", ""},
		{"queued, the first", with(waits(croft.MergeQueued), func(f *Facts) { f.Queue.Place = 1 }), "queued", "1st", ""},
		{"queued, at the end of a long queue", with(waits(croft.MergeQueued), func(f *Facts) { f.Queue.Place = 112 }), "queued", "112th", ""},
		{"queued, undriven", with(waits(croft.MergeQueued), func(f *Facts) { f.Queue = Queue{2, true} }), "queued", "nobody drives the queue", "croft queue run"},
		{"conflict", with(pending(croft.Conflict), func(f *Facts) {
			f.Merge.Conflicts = []croft.ConflictedPath{{Path: "src/f1.txt", Against: "fix-login"}, {Path: "b"}}
		}), "conflict", "src/f1.txt with fix-login and 1 more", "croft merge --resolve x"},
		{"conflict with a commit", with(pending(croft.Conflict), func(f *Facts) {
			f.Merge.Conflicts = []croft.ConflictedPath{{Path: "a\nb", Against: strings.Repeat("0a", 20)}}
		}), "conflict", `"a\nb"`, "croft merge --resolve x"},
		{"pending for no reason", func() Facts { return pending("") }, "pending", "finished", "croft merge x"},
		{"conflict, still forecast", with(pending(croft.Conflict), func(f *Facts) { f.Forecast = Forecast{IsKnown: true, Collides: true} }), "conflict", "a message", "croft merge --resolve x"},
		{"conflict, over", with(pending(croft.Conflict), func(f *Facts) { f.Forecast, f.Merge.Target = Forecast{IsKnown: true}, "main" }), "pending", "finished", "croft merge x"},
		{"conflict with another target", with(pending(croft.Conflict), func(f *Facts) { f.Forecast, f.Merge.Target = Forecast{IsKnown: true}, "v2" }), "conflict", "a message", "croft merge --resolve x"},
		{"conflict of a part of it", with(pending(croft.Conflict), func(f *Facts) {
			f.Forecast, f.Merge.Target, f.Merge.Kind = Forecast{IsKnown: true}, "main", croft.KindApply
		}), "conflict", "a message", "croft merge --resolve x"},
		{"conflict of all of it, over", with(pending(croft.Conflict), func(f *Facts) {
			f.Forecast, f.Merge.Target, f.Merge.Kind = Forecast{IsKnown: true}, "main", croft.KindMerge
		}), "pending", "finished", "croft merge x"},
		{"conflict, new commit", with(pending(croft.Conflict), func(f *Facts) { f.Workspace.Head = "c1" }), "ahead", "2 commits", "croft merge x"},
		{"check failed", with(pending(croft.CheckFailed), func(f *Facts) {
			f.Merge.Checks = []croft.Check{{Command: "go vet", Passed: true}, {Command: "go test", Tail: "ok a\n--- FAIL: TestB\n"}}
		}), "check-failed", "go test: --- FAIL: TestB", "croft logs x"},
		{"target fails", func() Facts { return pending(croft.TargetBroken) }, "target-fails", "a message", "croft logs x"},
		{"target moved since", with(pending(croft.TargetBroken), func(f *Facts) { f.TargetMoved = true }), "pending", "finished", "croft merge x"},
		{"unapproved", func() Facts { return pending(croft.ChecksUntrusted) }, "unapproved", "a message", "croft config trust --target main"},
		{"unapproved, for an odd target", with(pending(croft.ChecksUntrusted), func(f *Facts) { f.Workspace.Target = "a;b" }), "unapproved", "a message", "croft config trust --target 'a;b'"},
		{"approved since", with(pending(croft.ChecksUntrusted), func(f *Facts) { f.Approved = "approved now" }), "pending", "approved now", "croft merge x"},
		{"approved since, new commit", with(pending(croft.ChecksUntrusted), func(f *Facts) { f.Approved, f.Workspace.Head = "approved now", "c1" }), "ahead", "2 commits", "croft merge x"},
		{"blocked", with(pending(croft.HostDirty), func(f *Facts) { f.Merge.Details = "src/f1.txt\nb" }), "blocked", "your src/f1.txt and 1 more would be overwritten", "croft merge x"},
		{"stuck", with(pending(croft.GitFailed), func(f *Facts) { f.Merge.Hint = "git log main" }), "stuck", "a message", "croft merge x"},
		{"stuck, with a command", with(pending(croft.TargetMoved), func(f *Facts) { f.Merge.Hint = "croft queue accept main" }), "stuck", "a message", "croft queue accept main"},
		{"stuck, for want of a driver", with(pending(croft.GitFailed), func(f *Facts) { f.Merge.Hint = "croft queue run" }), "stuck", "a message", "croft queue run"},
		{"stuck, to be looked into", with(pending(croft.GitFailed), func(f *Facts) { f.Merge.Hint = "croft doctor" }), "stuck", "a message", "croft doctor"},
		{"stuck hides dirt", with(pending(croft.GitFailed), func(f *Facts) { f.Files.Changed = 1 }), "stuck", "a message", "croft merge x"},
	}
}

// activity has an agent say what it does.
func activity(state croft.AgentState, need croft.AgentNeed, note string) func(*Facts) {
	return func(f *Facts) { f.Workspace.Activity = &croft.Activity{State: state, WaitingFor: need, Note: note} }
}

func tableOfWork() []line {
	reverted := func(f *Facts) {
		f.Workspace.MergeStatus, f.RevertedBy = croft.MergeReverted, "859d7ad00"
		f.Merge = &croft.Merge{State: croft.MergeDone, Status: croft.MergeReverted, Head: f.Workspace.Head}
	}
	merged := func(f *Facts) {
		f.Workspace.MergeStatus, f.Workspace.MergeCommit = croft.MergeMerged, "252714400"
		f.Merge = &croft.Merge{State: croft.MergeDone, Status: croft.MergeMerged, Head: f.Workspace.Head}
		f.Commits = CommitFacts{IsIntegrated: true}
	}
	ends := func(o croft.Outcome) func(*Facts) {
		return func(f *Facts) { f.Workspace.Finished = &croft.Finished{Outcome: o, Head: f.Workspace.Head} }
	}
	landed := func(o croft.Outcome) func(*Facts) { // and finished afterwards, which is another merge, of the same commit
		return func(f *Facts) {
			merged(f)
			ends(o)(f)
			f.IsAsMerged = true
			f.Merge = &croft.Merge{State: croft.MergeDone, Status: croft.MergePending, Head: f.Workspace.Head}
		}
	}
	return []line{
		{"leased", with(committed(), func(f *Facts) { f.Workspace.Lease = &croft.Lease{Process: "claude"} }), "working", "claude", ""},
		{"leased since its run ended", with(committed(), func(f *Facts) {
			f.Workspace.Lease, f.Workspace.Run = &croft.Lease{ID: "l2", Process: "make"}, &croft.Run{Lease: "l1", Command: []string{"claude"}}
		}), "working", "make", ""},
		{"leased elsewhere", with(committed(), func(f *Facts) { f.Workspace.Lease = &croft.Lease{Owner: croft.Owner{PID: 7, Host: "far"}} }), "working", "process 7 on far", ""},
		{"leased, and its agent has ended", with(committed(), func(f *Facts) {
			activity(croft.AgentEnded, "", "")(f)
			f.Workspace.Lease = &croft.Lease{Process: "make"}
		}), "working", "make", ""},
		{"leased by a subagent", with(committed(), func(f *Facts) {
			activity(croft.AgentIdle, "", "")(f)
			f.Workspace.Role, f.Workspace.Lease = croft.RoleSubagent, &croft.Lease{Process: "claude"}
		}), "working", "claude", ""},
		{"leased by the session of a subagent that has ended", with(committed(), func(f *Facts) {
			activity(croft.AgentEnded, "", "")(f)
			f.Workspace.Role, f.Workspace.Lease = croft.RoleSubagent, &croft.Lease{Process: "claude"}
		}), "ahead", "2 commits", "croft merge x"},
		{"process inside", with(committed(), func(f *Facts) { f.Inside = []string{"vim", "bash", "git"} }), "working", "vim, bash and 1 more", ""},
		{"round", with(committed(), func(f *Facts) { f.RoundOn = 2 }), "working", "round 2", ""},
		{"says that it works", with(committed(), activity(croft.AgentWorking, "", "")), "working", "its agent says so", ""},
		{"says that it starts", with(committed(), activity(croft.AgentStarting, "", "reads the issue")), "working", "reads the issue", ""},
		{"asks", with(committed(), activity(croft.AgentWaiting, croft.NeedAnswer, "which\x1b[31m?")), "waiting", "it asks you: which\ufffd[31m?", "croft sh x"},
		{"asks, though leased", with(committed(), func(f *Facts) {
			activity(croft.AgentWaiting, croft.NeedPermission, "")(f)
			f.Workspace.Lease = &croft.Lease{Process: "claude"}
		}), "waiting", "it asks for permission", "croft sh x"},
		{"asks, and Croft runs it", with(committed(), func(f *Facts) {
			activity(croft.AgentWaiting, croft.NeedAnswer, "")(f)
			f.Workspace.Run = &croft.Run{State: croft.RunRunning}
		}), "waiting", "it asks you", "croft logs --agent -f x"},
		{"asks, and what Croft ran has ended", with(committed(), func(f *Facts) {
			activity(croft.AgentWaiting, croft.NeedAnswer, "")(f)
			f.Workspace.Run = &croft.Run{State: croft.RunEnded}
		}), "waiting", "it asks you", "croft sh x"},
		{"waits for a limit", with(committed(), activity(croft.AgentWaiting, croft.NeedLimit, "")), "waiting", "it waits until a limit is over", ""},
		{"waits for a resource", with(committed(), activity(croft.AgentWaiting, croft.NeedResource, "")), "waiting", "it waits for something outside", ""},
		{"idle is no word", with(committed(), activity(croft.AgentIdle, "", "")), "ahead", "2 commits", "croft merge x"},
		{"nothing known of its agent", with(committed(), activity(croft.AgentUnknown, "", "")), "ahead", "2 commits", "croft merge x"},
		{"not set up", with(fresh(), func(f *Facts) {
			f.Workspace.Provision = &croft.Provision{State: croft.ProvisionFailed, Why: "deps: exit status 1"}
		}), "not-set-up", "deps: exit status 1", "croft provision x"},
		{"set-up to approve", with(fresh(), func(f *Facts) {
			f.Workspace.Provision = &croft.Provision{State: croft.ProvisionUnapproved, Why: "nobody has approved its commands"}
		}), "not-set-up", "nobody has approved its commands", "croft config trust --setup x"},
		{"set up", with(fresh(), func(f *Facts) { f.Workspace.Provision = &croft.Provision{State: croft.ProvisionReady} }), "empty", "", "croft sh x"},
		{"not set up, with commits", with(committed(), func(f *Facts) { f.Workspace.Provision = &croft.Provision{State: croft.ProvisionFailed} }), "ahead", "2 commits", "croft merge x"},
		{"orphan", with(committed(), func(f *Facts) { f.IsOrphan = true }), "orphan", "its agent has ended without saying how", "croft diff x"},
		{"reverted orphan", with(committed(), func(f *Facts) { reverted(f); f.IsOrphan, f.Commits = true, CommitFacts{} }), "orphan", "its agent has ended without saying how", "croft diff x"},
		{"empty orphan", with(fresh(), func(f *Facts) { f.IsOrphan, f.HasSeenFiles, f.HasSeenCommits = true, true, true }), "orphan", "its agent has ended without saying how", "croft remove x"},
		{"orphan, not looked at", with(fresh(), func(f *Facts) { f.IsOrphan = true }), "orphan", "its agent has ended without saying how", "croft diff x"},
		{"orphan, merged by the record", with(committed(), func(f *Facts) { merged(f); f.IsOrphan, f.HasSeenCommits = true, false }), "orphan", "its agent has ended without saying how", "croft remove x"},
		{"resolving", with(pending(croft.Conflict), func(f *Facts) { f.Files, f.InMerge = FileFacts{Changed: 3, Unmerged: 2}, true }), "resolving", "2 files to resolve", "croft sh x"},
		{"dirty, and collides", with(committed(), func(f *Facts) { f.Files.Changed, f.Forecast = 2, Forecast{IsKnown: true, Collides: true} }), "dirty", "2 files not committed, and it collides with main", "croft merge --resolve x"},
		{"dirty, and does not collide", with(committed(), func(f *Facts) { f.Files.Changed, f.Forecast = 2, Forecast{IsKnown: true} }), "dirty", "2 files not committed", "croft diff x"},
		{"canceled", with(pending(croft.Canceled), func(f *Facts) {}), "pending", "its merge was canceled", "croft merge x"},
		{"resolving, staged with markers", with(pending(croft.Conflict), func(f *Facts) { f.Files, f.InMerge = FileFacts{Changed: 3, Unmerged: 1, Marked: 1}, true }), "resolving", "2 files to resolve", "croft sh x"},
		{"resolving, committed with markers", with(committed(), func(f *Facts) { f.Files.Marked = 1 }), "resolving", "1 file to resolve", "croft sh x"},
		{"resolved", with(pending(croft.Conflict), func(f *Facts) { f.Files, f.InMerge = FileFacts{Changed: 3}, true }), "resolving", "all resolved, not committed", "croft merge x"},
		{"resolving, not looked at", with(pending(croft.Conflict), func(f *Facts) { f.HasSeenFiles, f.InMerge = false, true }), "resolving", "its conflicts are being resolved", "croft sh x"},
		{"resolved, never submitted", with(committed(), func(f *Facts) {
			f.Files, f.InMerge, f.Forecast = FileFacts{Changed: 1}, true, Forecast{IsKnown: true, Collides: true}
		}), "resolving", "all resolved, not committed", "croft merge x"},
		{"a check failed, and something is merged into it", with(pending(croft.CheckFailed), func(f *Facts) { f.InMerge = true }), "check-failed", "a message", "croft logs x"},
		{"failed", with(committed(), ends(croft.Failed)), "failed", "the agent failed", "croft diff x"},
		{"failed, before a run that failed", with(fresh(), func(f *Facts) {
			ends(croft.Failed)(f)
			f.Workspace.Run = &croft.Run{State: croft.RunEnded, How: croft.RunFailed, StartedAt: f.Workspace.Finished.At.Add(time.Second)}
		}), "failed", "the agent failed", "croft diff x"},
		{"failed, in a run that ended well", with(fresh(), func(f *Facts) {
			ends(croft.Failed)(f)
			f.Workspace.Run = &croft.Run{State: croft.RunEnded, How: croft.RunDone}
		}), "failed", "the agent failed", "croft diff x"},
		{"failed, without work", with(fresh(), func(f *Facts) {
			ends(croft.Failed)(f)
			f.Workspace.Name, f.Workspace.Run = "x;y", &croft.Run{State: croft.RunEnded, How: croft.RunFailed, Status: 3}
		}), "failed", "the agent failed with status 3", "croft logs --agent 'x;y'"},
		{"killed", with(committed(), ends(croft.Killed)), "killed", "the agent was killed", "croft diff x"},
		{"killed, after all of it was merged", with(committed(), landed(croft.Killed)), "merged", "as 2527144", "croft remove x"},
		{"killed, after a part of it was merged", with(committed(), func(f *Facts) { landed(croft.Killed)(f); f.Files.Changed = 1 }), "killed", "the agent was killed", "croft diff x"},
		{"killed, after its work came to the target by another way", with(committed(), func(f *Facts) { landed(croft.Killed)(f); f.IsAsMerged = false }), "killed", "the agent was killed", "croft diff x"},
		{"failed, new commit", with(committed(), func(f *Facts) { ends(croft.Failed)(f); f.Workspace.Head = "c1" }), "ahead", "2 commits", "croft merge x"},
		{"dirty", with(committed(), func(f *Facts) { f.Files.Changed = 2 }), "dirty", "2 files not committed", "croft diff x"},
		{"some held back", with(committed(), func(f *Facts) { f.Files = FileFacts{Changed: 2, HeldBack: []string{".env"}} }), "dirty", "2 files not committed", "croft diff x"},
		{"all held back", with(committed(), func(f *Facts) { f.Files = FileFacts{Changed: 2, HeldBack: []string{".env", "b\n"}} }), "dirty", `held back: .env, "b\n"`, "croft merge x"},
		{"held back, merged", with(committed(), func(f *Facts) { merged(f); f.Files = FileFacts{Changed: 1, HeldBack: []string{".env"}} }), "dirty", "held back: .env", "croft sh x"},
		{"reverted", with(committed(), reverted), "reverted", "as 859d7ad", "croft diff x"},
		{"merge undone", with(committed(), func(f *Facts) { reverted(f); f.IsMergeUndone = true }), "pending", "its merge was undone", "croft merge x"},
		{"merge undone, and looked at", with(committed(), func(f *Facts) {
			reverted(f)
			f.IsMergeUndone, f.Commits = true, CommitFacts{IsTakenBack: true}
		}), "pending", "its merge was undone", "croft merge x"},
		{"merge undone, and collides", with(committed(), func(f *Facts) {
			reverted(f)
			f.IsMergeUndone, f.Forecast = true, Forecast{IsKnown: true, Collides: true, Paths: []string{"a.go"}, Count: 1}
		}), "collides", "a.go", "croft merge --resolve x"},
		{"merge undone, a result to review", with(committed(), func(f *Facts) { reverted(f); f.IsMergeUndone, f.Presents = true, "login-race" }), "to-review", "the result of login-race", "croft review x"},
		{"merge undone, new files", with(committed(), func(f *Facts) { reverted(f); f.IsMergeUndone, f.Files.Changed = true, 1 }), "dirty", "1 file not committed", "croft diff x"},
		{"reverted, new commit", with(committed(), func(f *Facts) { reverted(f); f.Workspace.Head, f.RevertedBy = "c1", "" }), "ahead", "2 commits", "croft merge x"},
		{"reverted, and brought by another way", with(committed(), func(f *Facts) { reverted(f); f.Commits = CommitFacts{IsIntegrated: true} }), "merged", "", "croft remove x"},
		{"reverted, and finished since", with(pending(""), func(f *Facts) { f.RevertedBy, f.Commits = "859d7ad00", CommitFacts{IsTakenBack: true} }), "reverted", "as 859d7ad", "croft diff x"},
		{"squashed, reverted, and finished since", with(pending(""), func(f *Facts) { f.RevertedBy, f.IsAsMerged, f.Commits.IsTakenBack = "859d7ad00", true, true }), "reverted", "as 859d7ad", "croft diff x"},
		{"reverted, and finished since, by the record", with(pending(""), func(f *Facts) { f.RevertedBy, f.IsAsMerged, f.HasSeenCommits = "859d7ad00", true, false }), "reverted", "as 859d7ad", "croft diff x"},
		{"squashed, reverted, new commit", with(committed(), func(f *Facts) { f.RevertedBy, f.Commits.IsTakenBack = "859d7ad00", true }), "ahead", "2 commits", "croft merge x"},
		{"reverted, new commit, by the record", with(committed(), func(f *Facts) { f.RevertedBy, f.HasSeenCommits = "859d7ad00", false }), "ahead", "commits", "croft merge x"},
		{"reverted, and not in the target any more, nor its revert", with(committed(), func(f *Facts) { f.RevertedBy, f.IsAsMerged = "859d7ad00", true }), "ahead", "2 commits", "croft merge x"},
		{"reverted, and the revert brought into it", with(committed(), func(f *Facts) { f.RevertedBy, f.Commits = "859d7ad00", CommitFacts{} }), "empty", "", "croft sh x"},
		{"reverted, and in conflict since", with(pending(croft.Conflict), func(f *Facts) {
			f.RevertedBy, f.Commits, f.Forecast = "859d7ad00", CommitFacts{IsTakenBack: true}, Forecast{}
		}), "conflict", "a message", "croft merge --resolve x"},
		{"reverted, and in conflict since, which is over", with(pending(croft.Conflict), func(f *Facts) {
			f.RevertedBy, f.Commits, f.Forecast, f.Merge.Target = "859d7ad00", CommitFacts{IsTakenBack: true}, Forecast{IsKnown: true}, "main"
		}), "reverted", "as 859d7ad", "croft diff x"},
		{"reverted, and nothing left to merge, by the record", with(committed(), func(f *Facts) {
			merged(f)
			f.Merge.Commit, f.HasSeenCommits, f.RevertedBy, f.IsAsMerged = "", false, "859d7ad00", true
		}), "merged", "as 2527144", "croft remove x"},
		{"merged", with(committed(), merged), "merged", "as 2527144", "croft remove x"},
		{"merged and locked", with(committed(), func(f *Facts) { merged(f); f.Workspace.IsLocked = true }), "merged", "as 2527144", "croft unlock x"},
		{"merged, and never set up", with(committed(), func(f *Facts) { merged(f); f.Workspace.Provision = &croft.Provision{State: croft.ProvisionFailed} }), "merged", "as 2527144", "croft remove x"},
		{"merged by others", with(committed(), func(f *Facts) { f.Commits = CommitFacts{IsIntegrated: true} }), "merged", "", "croft remove x"},
		{"merged, reverted, and brought by another way", with(committed(), func(f *Facts) { merged(f); f.Merge.Commit, f.Commits = "", CommitFacts{} }), "merged", "as 2527144", "croft remove x"},
		{"merged, by the record", with(committed(), func(f *Facts) { merged(f); f.HasSeenCommits = false }), "merged", "as 2527144", "croft remove x"},
		{"merged, and pending again, by the record", with(committed(), func(f *Facts) { merged(f); f.Workspace.MergeStatus, f.HasSeenCommits = croft.MergePending, false }), "ahead", "commits", "croft merge x"},
		{"merged, and not in the target any more", with(committed(), func(f *Facts) { merged(f); f.Commits = CommitFacts{Ahead: 2} }), "ahead", "merged, and not in main any more", "croft merge x"},
		{"merged, and nothing proves it", with(committed(), func(f *Facts) { merged(f); f.Merge.Commit, f.Commits = "252714400", CommitFacts{} }), "empty", "", "croft sh x"},
		{"merged, new commits", with(committed(), func(f *Facts) {
			merged(f)
			f.Workspace.Head, f.Commits = "c1", CommitFacts{Ahead: 2}
		}), "ahead", "2 commits since it was merged", "croft merge x"},
		{"collides", with(committed(), func(f *Facts) { f.Forecast = Forecast{IsKnown: true, Collides: true} }), "collides", "with main", "croft merge --resolve x"},
		{"collides on paths", with(committed(), func(f *Facts) {
			f.Forecast = Forecast{IsKnown: true, Collides: true, Paths: []string{"a\nb", "src/c.go"}, Count: 2}
		}), "collides", `"a\nb", src/c.go`, "croft merge --resolve x"},
		{"collides on many paths", with(committed(), func(f *Facts) {
			f.Forecast = Forecast{IsKnown: true, Collides: true, Paths: []string{"a", "b"}, Count: 5}
		}), "collides", "a, b and 3 more", "croft merge --resolve x"},
		{"collides on one path more", with(committed(), func(f *Facts) {
			f.Forecast = Forecast{IsKnown: true, Collides: true, Paths: []string{"a", "b"}, Count: 3}
		}), "collides", "a, b and 1 more", "croft merge --resolve x"},
		{"collides without a path", with(committed(), func(f *Facts) {
			f.Forecast = Forecast{IsKnown: true, Collides: true, Reason: croft.Unrelated}
		}), "collides", "with main: unrelated", "croft merge --resolve x"},
		{"collides with nothing to merge", with(fresh(), func(f *Facts) { f.Forecast = Forecast{IsKnown: true, Collides: true} }), "empty", "", "croft sh x"},
		{"to review", with(committed(), func(f *Facts) { f.Presents = "login-race" }), "to-review", "the result of login-race", "croft review x"},
		{"pending", with(committed(), ends(croft.Succeeded)), "pending", "finished", "croft merge x"},
		{"ahead", committed, "ahead", "2 commits", "croft merge x"},
		{"ahead, not looked at", with(committed(), func(f *Facts) { f.HasSeenCommits = false }), "ahead", "commits", "croft merge x"},
		{"ahead of nothing", with(committed(), func(f *Facts) { f.Workspace.Target = "" }), "ahead", "it has commits and no target", "croft sh x"},
		{"a lock hides nothing", with(fresh(), func(f *Facts) {
			f.Workspace.IsLocked, f.Workspace.LockReason, f.Workspace.State = true, "mine", croft.Creating
		}), "making", "mine", ""},
		{"hostile", with(committed(), func(f *Facts) { f.Workspace.Name = "x;rm'$HOME" }), "ahead", "2 commits", `croft merge 'x;rm'"'"'$HOME'`},
		{"hostile output", with(pending(croft.CheckFailed), func(f *Facts) { f.Merge.Message = "a\x1b[2J\nb" }), "check-failed", "a\uFFFD[2J", "croft logs x"},
	}
}

func tableOfRemoved() []line {
	removed := func(change func(*Facts)) func() Facts {
		f := committed()
		f.Workspace.State, f.Workspace.KeptUntil = croft.Trashed, time.Unix(1, 0)
		return with(f, change)
	}
	status := func(s croft.MergeStatus) func(*Facts) { return func(f *Facts) { f.Workspace.MergeStatus = s } }
	return []line{
		{"removed", removed(func(*Facts) {}), "removed", "in the trash", "croft restore x"},
		{"gone", removed(func(f *Facts) { f.Workspace.KeptUntil = time.Time{} }), "removed", "gone", ""},
		{"discarded", removed(status(croft.MergeDiscarded)), "discarded", "in the trash", "croft restore x"},
		{"merged and removed", removed(status(croft.MergeMerged)), "merged", "in the trash", "croft restore x"},
		{"reverted and removed", removed(status(croft.MergeReverted)), "reverted", "in the trash", "croft restore x"},
		{"reaped", removed(func(f *Facts) { f.RemovedAs = croft.ConditionReaped }), "reaped", "in the trash", "croft restore x"},
		{"undone", removed(func(f *Facts) { f.RemovedAs = croft.ConditionUndone }), "undone", "in the trash", "croft restore x"},
	}
}

// TestTable: every line of the table, and a line for every condition.
func TestTable(t *testing.T) {
	seen := map[croft.Condition]bool{}
	for _, l := range table() {
		t.Run(l.name, func(t *testing.T) {
			got := Decide(l.of())
			next := ""
			if got.Next != nil {
				next = got.Next.Command
			}
			if got.Condition != l.want || got.Why != l.why || next != l.next {
				t.Errorf("%s, %q, %q, want %s, %q, %q", got.Condition, got.Why, next, l.want, l.why, l.next)
			}
			seen[got.Condition] = true
		})
	}
	for _, c := range croft.Conditions() {
		if !seen[c] {
			t.Errorf("no line has the condition %s", c)
		}
	}
}

// TestFirstApplies: of two lines whose facts hold together, the one that stands first in the
// order of the conditions is said.
func TestFirstApplies(t *testing.T) {
	f := committed()
	steps := []struct {
		want   croft.Condition
		change func()
	}{
		{"ahead", func() {}},
		{"pending", func() { f.Workspace.Finished = &croft.Finished{Outcome: croft.Succeeded, Head: f.Workspace.Head} }},
		{"to-review", func() { f.Presents = "s" }},
		{"collides", func() { f.Forecast = Forecast{IsKnown: true, Collides: true} }},
		{"merged", func() { f.Commits.IsIntegrated = true }},
		{"reverted", func() {
			f.Commits.IsIntegrated = false
			f.Merge = &croft.Merge{State: croft.MergeDone, Status: croft.MergeReverted, Head: f.Workspace.Head}
		}},
		{"dirty", func() { f.Files.Changed = 1 }},
		{"killed", func() { f.Workspace.Finished.Outcome = croft.Killed }},
		{"stuck", func() { f.Merge.Status, f.Merge.Reason = croft.MergePending, croft.GitFailed }},
		{"conflict", func() { f.Merge.Reason = croft.Conflict }},
		{"resolving", func() { f.Files.Unmerged = 1 }},
		{"orphan", func() { f.IsOrphan = true }},
		{"working", func() { f.Inside = []string{"vim"} }},
		{"queued", func() { f.Merge.State = croft.MergeQueued }},
		{"held", func() { f.Merge.IsHeld = true }},
		{"making", func() { f.Workspace.State = croft.Creating }},
		{"broken", func() { f.Workspace.State = croft.Broken }},
		{"removed", func() { f.Workspace.State = croft.Trashed }},
	}
	order := croft.Conditions()
	last := len(order)
	for _, s := range steps {
		s.change()
		if got := Decide(f).Condition; got != s.want {
			t.Errorf("%s, want %s", got, s.want)
		}
		if at := slices.Index(order, s.want); s.want != "removed" && at > last {
			t.Errorf("%s stands after the one before", s.want)
		} else {
			last = at
		}
	}
}

func TestOrdinal(t *testing.T) {
	got := ""
	for _, n := range []int{1, 2, 3, 4, 11, 12, 13, 21, 111, 122} {
		got += " " + ordinal(n)
	}
	if want := " 1st 2nd 3rd 4th 11th 12th 13th 21st 111th 122nd"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReasonsAreShort: a reason that an agent has written is one line.
func TestReasonsAreShort(t *testing.T) {
	f := pending(croft.GitFailed)
	f.Merge.Message = strings.Repeat("é", 1000)
	if got := []rune(Decide(f).Why); len(got) != longest {
		t.Errorf("%d characters", len(got))
	}
}

// TestNamesOfFilesAreQuoted: the name of a file does not decide what the rest of the reason is.
func TestNamesOfFilesAreQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"a b.txt":            "a b.txt with main",
		"merged\nx":          `"merged\nx" with main`,
		"tab\there":          `"tab\there" with main`,
		"red\x1b[31m":        `"red\x1b[31m" with main`,
		"right\u202eto left": `"right\u202eto left" with main`,
	} {
		f := pending(croft.Conflict)
		f.Merge.Conflicts = []croft.ConflictedPath{{Path: path, Against: "main"}}
		if got := Decide(f).Why; got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
