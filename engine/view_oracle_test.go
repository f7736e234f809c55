package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// oracle says what workspaces are like, by plain git commands, the records of workspaces
// and merges, and the forecasts that it was told of.
type oracle struct {
	*past
	merges    []croft.Merge // the last first
	forecasts map[croft.ID]forecast
	broken    map[string]string // where main was when its own check failed, by merge and time
	undos     map[croft.ID]bool // the reverts by which an undo took a merge back

	halfRemoved map[croft.ID]bool // the process that was removing it was killed
}

// forecast is what a forecast said of one workspace.
type forecast struct {
	head, tip string
	collides  bool
}

// do adds to the random histories what agents and people do with git: commits, merges by
// another way, a lost directory; and how agents end.
func (o *oracle) do() {
	live, isLeased := o.list(), len(o.held) > 0
	switch k := o.IntN(40); {
	case len(live) < 2:
		o.call("Create", croft.CreateRequest{Name: o.pick()})
		return
	case k == 0:
		o.round()
		return
	case k == 1 || k < 8 && isLeased:
		o.lease()
		return
	case k < 20:
		method, req := o.act()
		o.call(method, req)
		return
	}
	w := live[o.IntN(len(live))]
	if w.Lease != nil {
		return // an agent is at work
	}
	isThere := w.State == croft.Ready
	switch k := o.IntN(14); {
	case k < 3 && isThere:
		name := []string{w.Name, w.Name, w.Name, "shared", "shared", "shared", "bad", "bad"}[o.IntN(8)]
		_ = os.WriteFile(filepath.Join(w.Path, name), fmt.Appendf(nil, "%d\n", o.IntN(3)), 0o644)
		_, _ = o.r.TryGit(w.Path, "add", "--all")
		_, err := o.r.TryGit(w.Path, "commit", "--quiet", "--allow-empty", "--message", "work")
		o.note("commit of %s in %s: %v", name, w.Name, err)
	case k == 3:
		_ = os.WriteFile(filepath.Join(o.r.Dir, "shared"), fmt.Appendf(nil, "%d\n", o.IntN(3)), 0o644)
		_, _ = o.r.TryGit(o.r.Dir, "add", "shared")
		_, err := o.r.TryGit(o.r.Dir, "commit", "--quiet", "--message", "mine")
		o.note("commit in main: %v", err)
	case k == 4 && isThere:
		if _, err := o.r.TryGit(o.r.Dir, "cherry-pick", "--allow-empty", w.Head); err != nil {
			_, _ = o.r.TryGit(o.r.Dir, "cherry-pick", "--abort")
			_, _ = o.r.TryGit(o.r.Dir, "reset", "--quiet", "--hard")
		}
		o.note("cherry-pick of %s", w.Name)
	case k == 5 && o.IntN(3) == 0:
		_ = os.RemoveAll(w.Path)
		o.note("the directory of %s is lost", w.Name)
	case k == 6:
		_, err := o.e.Finish(o.t.Context(), croft.FinishRequest{
			Workspace: string(w.ID), Outcome: []croft.Outcome{croft.Failed, croft.Killed, croft.Succeeded}[o.IntN(3)], Policy: croft.MergeNever,
		})
		o.note("finish of %s: %v", w.Name, err)
	case k == 7:
		o.foresee()
	case k == 8 && isThere:
		_ = os.WriteFile(filepath.Join(w.Path, w.Name), fmt.Appendf(nil, "%d\n", o.Int()), 0o644)
		o.note("write in %s", w.Name)
	case k < 12:
		o.call("SubmitMerge", croft.MergeRequest{Workspace: string(w.ID), After: croft.AfterKeep})
		if k > 9 {
			o.call("DriveLanes", croft.DriveRequest{})
		}
	case k == 12:
		if at := slices.IndexFunc(live, func(w croft.Workspace) bool { return w.MergeStatus == croft.MergeMerged }); at >= 0 {
			w = live[at]
		}
		if o.IntN(3) == 0 {
			o.undoMergeOf(w)
		} else {
			o.call("SubmitRevert", croft.RevertRequest{Ref: w.Name})
			o.call("DriveLanes", croft.DriveRequest{})
		}
		o.afterRevert(w)
	default:
		_, err := o.e.Resolve(o.t.Context(), croft.MergeRequest{Workspace: string(w.ID)})
		o.note("resolve %s: %v", w.Name, err)
	}
}

// afterRevert does what may follow on a revert: the agent ends once more, the work is picked
// by hand, or the target is brought into the workspace.
func (o *oracle) afterRevert(w croft.Workspace) {
	var err error
	switch k := o.IntN(6); {
	case k < 2:
		_, err = o.e.Finish(o.t.Context(), croft.FinishRequest{Workspace: string(w.ID), Policy: croft.MergeNever})
		o.note("finish of %s: %v", w.Name, err)
	case k == 2:
		if _, err = o.r.TryGit(o.r.Dir, "cherry-pick", "--allow-empty", w.Head); err != nil {
			_, _ = o.r.TryGit(o.r.Dir, "cherry-pick", "--abort")
			_, _ = o.r.TryGit(o.r.Dir, "reset", "--quiet", "--hard")
		}
		o.note("cherry-pick of %s: %v", w.Name, err)
	case k == 3 && w.State == croft.Ready && w.Lease == nil:
		_, err = o.r.TryGit(w.Path, "merge", "--quiet", "--ff-only", "main")
		o.note("main into %s: %v", w.Name, err)
	}
}

func (o *oracle) note(format string, args ...any) {
	o.log = append(o.log, fmt.Sprintf(format, args...))
}

// foresee makes a forecast and remembers it.
func (o *oracle) foresee() {
	live, tip := o.list(), o.r.Git("rev-parse", "main")
	f, err := o.e.Conflicts(o.t.Context(), croft.ConflictsRequest{})
	o.note("forecast: %v", err)
	if err != nil {
		return
	}
	o.forecasts = map[croft.ID]forecast{}
	for _, w := range live {
		isIn := func(k croft.Kept) bool { return k.ID == w.ID || k.Name == w.Name }
		if w.State != croft.Ready || w.Target != "main" || slices.ContainsFunc(f.Skipped, isIn) {
			continue
		}
		collides := slices.ContainsFunc(f.Pairs, func(c croft.Collision) bool { return c.IsTarget && c.A == w.Name })
		o.forecasts[w.ID] = forecast{o.r.GitIn(w.Path, "rev-parse", "HEAD"), tip, collides}
	}
}

// isForeseen returns whether a workspace collides with its target: by git, or by the last forecast, if that is still
// about its head and its target and knows of uncommitted work, or if there is nothing to merge.
func (o *oracle) isForeseen(w croft.Workspace, head string, isDirty bool) (collides, known bool) {
	f, known := o.forecasts[w.ID]
	known = known && f.head == head && f.tip == o.r.Git("rev-parse", "main")
	reverts, _ := o.revertsOf(w)
	hasWork := w.Target != "" && o.r.Git("rev-list", "--count", "main.."+head) != "0" && len(reverts) == 0 && !o.isIntegrated(w, head)
	if !hasWork || known && isDirty {
		return f.collides, known
	}
	_, err := o.r.TryGit(o.r.Dir, "merge-tree", "--write-tree", "main", head)
	return err != nil, true
}

// endOf names one end of a merge, which may be submitted again.
func endOf(m croft.Merge) string { return string(m.ID) + m.EndedAt.String() }

// readMerges reads the merges, and remembers where main is if its own check has failed. It
// is called before main moves again.
func (o *oracle) readMerges() {
	merges, err := o.e.Merges(o.t.Context(), croft.MergesRequest{Scope: croft.ScopeAll, Page: croft.Page{Limit: 10_000}})
	if err != nil {
		o.t.Fatal(err)
	}
	o.merges = merges.Items
	for _, m := range o.merges {
		if _, known := o.broken[endOf(m)]; !known && m.Reason == croft.TargetBroken {
			o.broken[endOf(m)] = o.r.Git("rev-parse", "main")
		}
	}
}

// newest returns the newest merge of a workspace's work.
func (o *oracle) newest(w croft.Workspace) *croft.Merge {
	for i, m := range o.merges {
		if m.Workspace == w.ID && m.Kind == croft.KindMerge {
			return &o.merges[i]
		}
	}
	return nil
}

// word says what a workspace is like.
func (o *oracle) word(w croft.Workspace) croft.Condition {
	if w.State == croft.Creating { // no other process is at work when the words are compared
		return croft.ConditionUnfinished
	}
	if o.halfRemoved[w.ID] {
		return croft.ConditionUnfinished
	}
	if _, err := os.Stat(w.Path); err != nil {
		return croft.ConditionMissing
	}
	m := o.newest(w)
	if m != nil && m.State != croft.MergeDone {
		if m.IsHeld {
			return croft.ConditionHeld
		}
		return croft.ConditionQueued // also if its driver was killed: no other process is at work
	}
	if w.Lease != nil || w.Round > 0 && !w.IsRoundOver && w.Label != "presenter" {
		return croft.ConditionWorking
	}
	head := o.r.GitIn(w.Path, "rev-parse", "HEAD")
	if m != nil && m.Head != head {
		m = nil
	}
	status := strings.Split(o.r.GitIn(w.Path, "status", "--porcelain", "--untracked-files=all"), "\n")
	isUnmerged := func(line string) bool {
		return len(line) > 2 && (strings.Contains(line[:2], "U") || line[:2] == "AA" || line[:2] == "DD")
	}
	_, unmarked := o.r.TryGit(w.Path, "grep", "--quiet", "--extended-regexp", "-e", "^(<{7}|>{7}) ") // nil: a file has markers, also if it was committed with them
	_, notMerging := o.r.TryGit(w.Path, "rev-parse", "--quiet", "--verify", "MERGE_HEAD")
	isPending := m != nil && m.Status == croft.MergePending
	collides, known := o.isForeseen(w, head, status[0] != "")
	switch {
	case slices.ContainsFunc(status, isUnmerged), unmarked == nil, notMerging == nil && (isPending && m.Reason == croft.Conflict || (!isPending || m.Reason == "") && status[0] != ""):
		return croft.ConditionResolving
	case isPending && m.Reason == croft.Conflict && (!known || collides):
		return croft.ConditionConflict
	case isPending && m.Reason == croft.CheckFailed:
		return croft.ConditionCheckFailed
	case isPending && m.Reason == croft.TargetBroken && o.broken[endOf(*m)] == o.r.Git("rev-parse", "main"):
		return croft.ConditionTargetFails
	case isPending && m.Reason == croft.ChecksUntrusted:
		return croft.ConditionUnapproved
	case isPending && m.Reason == croft.HostDirty:
		return croft.ConditionBlocked
	case isPending && m.Reason != "" && m.Reason != croft.Conflict && m.Reason != croft.TargetBroken && m.Reason != croft.Canceled:
		return croft.ConditionStuck
	case w.Finished != nil && w.Finished.Outcome != croft.Succeeded && w.Finished.Head == head && (status[0] != "" || !o.hasLanded(w, head)):
		return croft.Condition(w.Finished.Outcome)
	case status[0] != "":
		return croft.ConditionDirty
	case o.isReverted(w, head) && !o.isUndone(w):
		return croft.ConditionReverted
	case o.isReverted(w, head) && w.Label != "presenter":
		return croft.ConditionPending
	case o.isReverted(w, head):
		return croft.ConditionToReview
	}
	return o.wordOfCommits(w, head, isPending, known && collides)
}

// hasLanded reports whether the last merge of a workspace brought main the commit that it has, and main still has its work.
func (o *oracle) hasLanded(w croft.Workspace, head string) bool {
	_, merged := o.revertsOf(w)
	return merged == head && !o.isReverted(w, head) && o.isIntegrated(w, head)
}

// wordOfCommits says what a workspace is like that has nothing but commits.
func (o *oracle) wordOfCommits(w croft.Workspace, head string, isPending, collides bool) croft.Condition {
	isAhead := head != w.Base
	if w.Target != "" {
		isAhead = o.r.Git("rev-list", "--count", "main.."+head) != "0"
		if head != w.Base && o.isIntegrated(w, head) {
			return croft.ConditionMerged
		}
	}
	switch {
	case isAhead && collides:
		return croft.ConditionCollides
	case w.Label == "presenter":
		return croft.ConditionToReview
	case isAhead && w.Target != "" && (isPending || w.Finished != nil && w.Finished.Head == head):
		return croft.ConditionPending
	case isAhead:
		return croft.ConditionAhead
	case w.IsLocked:
		return croft.ConditionLocked
	}
	return croft.ConditionEmpty
}

// revertsOf returns the reverts of a workspace's work since it was merged last that were not
// reverted themselves, the last first, and what was merged then.
func (o *oracle) revertsOf(w croft.Workspace) (reverts []croft.Merge, head string) {
	return o.revertsAmong(o.merges, w)
}

func (o *oracle) revertsAmong(merges []croft.Merge, w croft.Workspace) (reverts []croft.Merge, head string) {
	for _, m := range merges { // the last first
		switch {
		case m.Workspace != w.ID || m.Commit == "":
		case m.Kind == croft.KindMerge:
			return reverts, m.Head
		case m.Kind == croft.KindRevert && m.Status == croft.MergeMerged && !o.isRevert(m.Reverts):
			reverts = append(reverts, m)
		}
	}
	return reverts, ""
}

// isReverted reports whether a revert took the work of a commit out of main, where it still is not.
func (o *oracle) isReverted(w croft.Workspace, head string) bool {
	reverts, merged := o.revertsOf(w)
	if len(reverts) == 0 || head == w.Base || merged != head && o.r.Git("rev-list", "--count", "main.."+head) != "0" {
		return false
	}
	return !o.isBack(reverts, head)
}

// isBack reports whether main has the work of a commit in spite of reverts: without them,
// which git does not do by itself if main has the commit, nothing changes.
func (o *oracle) isBack(reverts []croft.Merge, head string) bool {
	tip := "main"
	if _, err := o.r.TryGit(o.r.Dir, "merge-base", "--is-ancestor", head, "main"); err == nil {
		mainline := strings.Split(o.r.Git("rev-list", "--first-parent", "main"), "\n")
		has := func(commit, of string) bool {
			_, err := o.r.TryGit(o.r.Dir, "merge-base", "--is-ancestor", commit, of)
			return err == nil
		}
		for _, m := range reverts {
			if has(m.Commit, head) || !has(m.Head, head) && slices.Contains(mainline, head) {
				continue // to merge would bring nothing
			}
			commit := func(of string, parents ...string) string {
				return o.r.Git(append([]string{"commit-tree", of + "^{tree}", "-m", "x"}, parents...)...)
			}
			with := commit(m.Commit)
			tree, err := o.r.TryGit(o.r.Dir, "merge-tree", "--write-tree", commit(tip, "-p", with), commit(m.Commit+"^", "-p", with))
			if err != nil {
				return false
			}
			tip = o.r.Git("commit-tree", strings.TrimSpace(tree), "-p", tip, "-m", "x")
		}
	}
	tree, err := o.r.TryGit(o.r.Dir, "merge-tree", "--write-tree", tip, head)
	return err == nil && strings.TrimSpace(tree) == o.r.Git("rev-parse", "main^{tree}")
}

// isIntegrated reports whether main has the work of a commit: its history, no change by a
// merge, each patch, or one patch of all; and no revert took it back.
func (o *oracle) isIntegrated(w croft.Workspace, head string) bool {
	if reverts, _ := o.revertsOf(w); len(reverts) > 0 {
		lacks := func(m croft.Merge) bool {
			_, err := o.r.TryGit(o.r.Dir, "merge-base", "--is-ancestor", m.Commit, head)
			return err != nil
		}
		return slices.ContainsFunc(reverts, lacks) && o.isBack(reverts, head)
	}
	if _, err := o.r.TryGit(o.r.Dir, "merge-base", "--is-ancestor", head, "main"); err == nil {
		return true
	}
	base, err := o.r.TryGit(o.r.Dir, "merge-base", head, "main")
	if err != nil {
		return false
	}
	base = strings.TrimSpace(base)
	tree, err := o.r.TryGit(o.r.Dir, "merge-tree", "--write-tree", "main", head)
	if err == nil && strings.TrimSpace(tree) == o.r.Git("rev-parse", "main^{tree}") {
		return true
	}
	hasPatches := func(of string) bool {
		for line := range strings.Lines(o.r.Git("cherry", "main", of)) {
			if strings.HasPrefix(line, "+") {
				return false
			}
		}
		return true
	}
	isLinear := o.r.Git("rev-list", "--merges", "main.."+head) == ""
	return isLinear && hasPatches(head) || hasPatches(o.r.Git("commit-tree", head+"^{tree}", "-p", base, "-m", "squash"))
}

// isRevert reports whether a merge is a revert.
func (o *oracle) isRevert(id croft.ID) bool {
	return slices.ContainsFunc(o.merges, func(m croft.Merge) bool { return m.ID == id && m.Kind == croft.KindRevert })
}

// look is what the Service says, looked at without a limit.
func (o *oracle) look() *croft.List[croft.Workspace] {
	o.t.Helper()
	list, err := o.e.Workspaces(o.t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
	if err != nil || len(list.Unseen) > 0 {
		o.t.Fatalf("unseen %v, %v", list.Unseen, err)
	}
	return list
}

// compare compares what the Service says with the oracle.
func (o *oracle) compare(seen map[croft.Condition]int) {
	o.t.Helper()
	o.readMerges()
	o.readRecord()
	list := o.look()
	// A process that a parallel test starts holds the killed driver's lock for a moment longer.
	isDriven := func(w croft.Workspace) bool {
		return w.Status == croft.ConditionChecking && o.word(w) == croft.ConditionQueued
	}
	for until := time.Now().Add(5 * time.Second); slices.ContainsFunc(list.Items, isDriven) && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
		list = o.look()
	}
	for _, w := range list.Items {
		want := o.word(w)
		seen[want]++
		if w.Status != want {
			o.t.Errorf("%s is %s (%s), by git and the record %s", w.Name, w.Status, w.Why, want)
		}
		if !w.Work.Has(croft.AspectCommits) || w.Target == "" {
			continue
		}
		head := o.r.GitIn(w.Path, "rev-parse", "HEAD")
		ahead, behind := o.r.Git("rev-list", "--count", "main.."+head), o.r.Git("rev-list", "--count", head+"..main")
		if got := fmt.Sprint(w.Work.Ahead, " ", w.Work.Behind); got != ahead+" "+behind {
			o.t.Errorf("%s is %s commits ahead and behind, by git %s %s", w.Name, got, ahead, behind)
		}
	}
}

// TestConditionsEqualAnOracle: what a list says of workspaces is what plain git and the
// record say, over random histories in which processes are killed, directories are lost and
// work reaches the target by other ways. CROFT_LONG=1 tries 1,000 histories.
func TestConditionsEqualAnOracle(t *testing.T) {
	t.Parallel()
	histories := 25
	if os.Getenv("CROFT_LONG") != "" {
		histories = 1000
	}
	if n, err := strconv.Atoi(os.Getenv("CROFT_HISTORIES")); err == nil {
		histories = n
	}
	if testing.Short() {
		histories = 3
	}
	seen := map[croft.Condition]int{}
	for n := range histories {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newPast(t, 15, n)
			o := &oracle{past: p, broken: map[string]string{}}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("after:\n%s", strings.Join(o.log, "\n"))
				}
			})
			for i := range 40 {
				o.do()
				o.readMerges()
				if i%5 == 4 {
					o.compare(seen)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Logf("conditions: %v", seen)
	want := []croft.Condition{}
	if histories >= 25 {
		want = append(want, "empty", "ahead", "dirty", "merged", "conflict", "check-failed", "working", "queued", "failed", "missing")
	}
	if histories >= 100 {
		want = append(want, "killed", "pending", "reverted", "resolving", "collides", "held", "stuck", "locked", "unfinished")
	}
	for _, c := range want {
		if seen[c] == 0 && !testing.Short() {
			t.Errorf("no history had a workspace that is %s", c)
		}
	}
}
