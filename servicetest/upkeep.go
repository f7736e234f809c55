package servicetest

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

type reapScenarios struct{}

func reap(t *testing.T, f *fixture, req croft.ReapRequest) *croft.CleanResult {
	t.Helper()
	res, err := f.Reap(t.Context(), req)
	must(t, err)
	return res
}

func (reapScenarios) NoLeaseNoOrphan(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	if res := reap(t, f, croft.ReapRequest{Mode: croft.RemoveForce}); len(res.Removed) != 0 || len(res.Kept) != 0 {
		t.Errorf("Reap = %+v, want nothing", res)
	}
	f.wantNames("a")
}

func (reapScenarios) LiveOwnerIsKept(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.hold(w.ID)
	if res := reap(t, f, croft.ReapRequest{Mode: croft.RemoveForce}); len(res.Removed) != 0 {
		t.Errorf("Reap = %+v", res)
	}
}

// LostRuns: an agent that is gone without a word, and without a lease, leaves an orphan; work stays.
func (reapScenarios) LostRuns(t *testing.T, f *fixture) {
	paths := map[string]string{}
	for _, name := range []string{"idle", "committed", "dirty", "finished"} {
		w := f.create(croft.CreateRequest{Name: name})
		paths[name] = w.Path
		begun, err := f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: name, Command: []string{"agent"}})
		must(t, err)
		must(t, errOf(f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: name, Run: begun.ID, End: croft.RunLost})))
	}
	f.commitIn(paths["committed"], "x.txt", "x\n")
	f.WriteFile(filepath.Join(paths["dirty"], "x.txt"), "x\n")
	must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: "finished", Outcome: croft.Succeeded, Policy: croft.MergeNever})))
	res := reap(t, f, croft.ReapRequest{})
	if len(res.Removed) != 1 || res.Removed[0].Name != "idle" || f.Exists(paths["idle"]) {
		t.Errorf("Reap removed %+v", res.Removed)
	}
	kept := map[string]croft.Code{}
	for _, k := range res.Kept {
		kept[k.Name] = k.Reason.Code
	}
	if len(kept) != 2 || kept["committed"] != croft.WorkspaceDirty || kept["dirty"] != croft.WorkspaceDirty {
		t.Errorf("Reap kept %v", kept)
	}
	for _, name := range []string{"committed", "dirty", "finished"} {
		if !f.Exists(paths[name]) {
			t.Errorf("%s is gone", name)
		}
	}
}

func (reapScenarios) OlderThan(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	if res := reap(t, f, croft.ReapRequest{OlderThan: croft.Duration(time.Hour)}); len(res.Removed) != 0 {
		t.Errorf("Reap of those older than an hour = %+v", res)
	}
	// Commits that exist nowhere else are kept, however old they are.
	if res := reap(t, f, croft.ReapRequest{OlderThan: 1}); len(res.Removed) != 0 || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.WorkspaceDirty {
		t.Errorf("Reap = %+v", res)
	}
	res := reap(t, f, croft.ReapRequest{OlderThan: 1, Mode: croft.RemoveForce})
	if len(res.Removed) != 1 || res.Removed[0].Name != "a" || f.Exists(w.Path) {
		t.Errorf("Reap = %+v", res)
	}
	// Its commits are in no target, so the branch stays.
	if got := f.Git("rev-parse", w.Branch); got != tip || res.Removed[0].Branch != "" {
		t.Errorf("branch at %s, result %+v", got, res)
	}
}

func (reapScenarios) OlderThanKeepsDirty(t *testing.T, f *fixture) {
	f.createWith("a", "wip", "x")
	res := reap(t, f, croft.ReapRequest{OlderThan: 1})
	if len(res.Removed) != 0 || len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, croft.WorkspaceDirty) {
		t.Errorf("Reap = %+v", res)
	}
	if res := reap(t, f, croft.ReapRequest{OlderThan: 1, Mode: croft.RemoveForce}); len(res.Removed) != 1 {
		t.Errorf("Reap by force = %+v", res)
	}
}

func (reapScenarios) OlderThanKeepsLocked(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	lock(t, f, "a", "mine")
	res := reap(t, f, croft.ReapRequest{OlderThan: 1, Mode: croft.RemoveForce})
	if len(res.Removed) != 0 || len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, croft.WorkspaceLocked) {
		t.Errorf("Reap = %+v", res)
	}
}

func (reapScenarios) OlderThanKeepsLeased(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	must(t, errOf(f.at(f.Dir).TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})))
	res := reap(t, f, croft.ReapRequest{OlderThan: 1, Mode: croft.RemoveForce})
	if len(res.Removed) != 0 || len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, croft.WorkspaceBusy) {
		t.Errorf("Reap = %+v, want it kept as busy", res)
	}
}

func (reapScenarios) DryRun(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	res := reap(t, f, croft.ReapRequest{OlderThan: 1, DryRun: croft.DryRunOn})
	if len(res.Removed) != 1 || res.Removed[0].ID != w.ID || !f.Exists(w.Path) || len(f.names()) != 1 {
		t.Errorf("Reap, told only = %+v", res)
	}
}

type cleanScenarios struct{}

// Reverted: work that was merged and reverted is not finished: its target does not have it.
func (cleanScenarios) Reverted(t *testing.T, f *fixture) {
	f.createWith("a", "work.txt", "work\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	plan := func() int {
		res, err := f.Clean(t.Context(), croft.CleanRequest{DryRun: croft.DryRunOn})
		must(t, err)
		return len(res.Removed)
	}
	if plan() != 1 {
		t.Error("what was merged is not finished")
	}
	m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"})
	if err == nil {
		m, err = f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
	}
	if err != nil || f.has("work.txt") {
		t.Fatalf("%+v, %v", m, err)
	}
	if plan() != 0 {
		t.Error("what was taken back is finished")
	}
	f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	if !f.has("work.txt") || plan() != 1 {
		t.Error("what was merged again is not finished")
	}
}

// OnlyFinished has one workspace of every kind; only the one whose work is in its target is
// removed.
func (cleanScenarios) OnlyFinished(t *testing.T, f *fixture) {
	f.createAll(croft.CreateRequest{Name: "fresh"}, croft.CreateRequest{Name: "merged"}, croft.CreateRequest{Name: "ahead"},
		croft.CreateRequest{Name: "dirty"}, croft.CreateRequest{Name: "locked"})
	for _, name := range []string{"merged", "ahead", "dirty", "locked"} {
		w := f.show(name)
		f.commitIn(w.Path, name+".txt", "x\n")
		if name != "ahead" {
			f.Git("merge", "--quiet", "--no-ff", "--message", "merge "+name, w.Branch)
		}
	}
	f.WriteFile(filepath.Join(f.show("dirty").Path, "wip"), "x")
	lock(t, f, "locked", "mine")
	res, err := f.Clean(t.Context(), croft.CleanRequest{})
	must(t, err)
	if len(res.Removed) != 1 || res.Removed[0].Name != "merged" || res.Removed[0].Branch != "croft/merged" {
		t.Errorf("Clean removed %+v", res.Removed)
	}
	f.wantNames("fresh", "ahead", "dirty", "locked")
	for _, k := range res.Kept {
		checkError(t, k.Reason)
	}
}

func (cleanScenarios) All(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b", Layout: "agents"}, croft.CreateRequest{Name: "c", Layout: "sibling"})
	f.writeIn(list[0], "wip", "x")
	lock(t, f, "b", "mine")
	res, err := f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})
	if err != nil || len(res.Removed) != 2 || len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, croft.WorkspaceLocked) {
		t.Errorf("Clean = %+v, %v, want all but the locked one removed", res, err)
	}
	must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "b"})))
	res, err = f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})
	if err != nil || len(res.Removed) != 1 || len(f.names()) != 0 {
		t.Errorf("Clean = %+v, %v, left %v", res, err, f.names())
	}
	if got := f.Git("for-each-ref", "--format=%(refname)", "refs/heads"); got != "refs/heads/main" {
		t.Errorf("branches left: %s", got)
	}
	if f.Exists(filepath.Join(f.Dir, ".worktrees")) {
		t.Error("the emptied base directory is still there")
	}
}

func (cleanScenarios) DryRun(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.create(croft.CreateRequest{Name: "b"})
	f.remove(croft.RemoveRequest{Workspaces: []string{"b"}, Branch: croft.BranchKeep})
	res, err := f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll, DryRun: croft.DryRunOn})
	if err != nil || len(res.Removed) != 1 || !slices.Equal(res.Branches, []string{"croft/b"}) {
		t.Errorf("Clean, told only = %+v, %v", res, err)
	}
	if !f.Exists(w.Path) || f.Git("branch", "--list", "croft/b") == "" {
		t.Error("something was removed")
	}
}

// GCBranches: a recorded branch that is integrated is deleted; another one stays, and so
// does one without a record.
func (cleanScenarios) GCBranches(t *testing.T, f *fixture) {
	f.Git("branch", "croft/mine")
	f.createAll(croft.CreateRequest{Name: "merged"}, croft.CreateRequest{Name: "ahead"})
	for _, name := range []string{"merged", "ahead"} {
		f.commitIn(f.show(name).Path, name+".txt", "x\n")
	}
	f.Git("merge", "--quiet", "--no-ff", "--message", "merge", "croft/merged")
	f.remove(croft.RemoveRequest{All: croft.ScopeAll, Branch: croft.BranchKeep})
	res, err := f.GC(t.Context(), croft.GCRequest{})
	if err != nil || !slices.Equal(res.Branches, []string{"croft/merged"}) || len(res.Purged) != 0 {
		t.Errorf("GC = %+v, %v", res, err)
	}
	for branch, want := range map[string]bool{"croft/mine": true, "croft/ahead": true, "croft/merged": false} {
		if has, _ := f.Branch(t.Context(), croft.BranchRequest{Branch: branch}); has.Exists != want {
			t.Errorf("%s there: %v, want %v", branch, has.Exists, want)
		}
	}
}

func (cleanScenarios) GCRetention(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "keep.txt", "x\n")
	f.removed("a")
	if res, err := f.GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Purged) != 0 {
		t.Errorf("GC within the retention = %+v, %v", res, err)
	}
	f.Service = f.with("trash.retention", "0s")
	b := f.create(croft.CreateRequest{Name: "b"})
	f.removed("b")
	res, err := f.GC(t.Context(), croft.GCRequest{})
	if err != nil || !slices.Equal(res.Purged, []croft.ID{b.ID}) || res.Bytes == 0 {
		t.Errorf("GC past the retention = %+v, %v", res, err)
	}
	if res, err := f.GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Purged) != 0 {
		t.Errorf("GC again = %+v, %v", res, err)
	}
	f.WantCommit(tip)
}

type doctorScenarios struct{}

func doctor(t *testing.T, f *fixture, fix croft.FixMode) []croft.Finding {
	t.Helper()
	list, err := f.Doctor(t.Context(), croft.DoctorRequest{Fix: fix})
	must(t, err)
	return list.Findings
}

// mended has the doctor find exactly one fault, mend it, and then find none.
func mended(t *testing.T, f *fixture, code string) {
	t.Helper()
	list := doctor(t, f, croft.FixNothing)
	if len(list) != 1 || list[0].Code != code || list[0].Fixed || list[0].Subject == "" || list[0].Message == "" {
		t.Fatalf("Doctor = %+v, want %s, not mended", list, code)
	}
	list = doctor(t, f, croft.FixAll)
	if len(list) != 1 || list[0].Code != code || !list[0].Fixed {
		t.Fatalf("Doctor with FixAll = %+v, want %s, mended", list, code)
	}
	if list := doctor(t, f, croft.FixNothing); len(list) != 0 {
		t.Fatalf("Doctor after the mending = %+v", list)
	}
}

func (doctorScenarios) AllIsWell(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.create(croft.CreateRequest{Name: "b"})
	f.removed("b")
	f.commitIn(w.Path, "x.txt", "x\n")
	if list := doctor(t, f, croft.FixAll); list == nil || len(list) != 0 {
		t.Errorf("Doctor = %+v, want an empty list", list)
	}
}

func (doctorScenarios) DirectoryGone(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	f.Delete(w.Path)
	// It may only be absent, so the doctor does not remove it.
	list := doctor(t, f, croft.FixAll)
	if len(list) != 1 || list[0].Code != "WORKSPACE_MISSING" || list[0].Fixed {
		t.Fatalf("Doctor = %+v", list)
	}
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce, Branch: croft.BranchKeep})
	if got := f.Git("rev-parse", w.Branch); got != tip || len(f.names()) != 0 {
		t.Errorf("the branch is at %s, the workspaces are %v", got, f.names())
	}
	if list := doctor(t, f, croft.FixNothing); len(list) != 0 {
		t.Errorf("Doctor after the removal = %+v", list)
	}
}

func (doctorScenarios) RegistrationGone(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "done.txt", "done\n")
	f.writeIn(w, "README.md", "modified\n")
	f.writeIn(w, "wip.txt", "untracked\n")
	f.Delete(f.registration(w))
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}}, croft.WorkspaceBroken)
	mended(t, f, "REGISTRATION_LOST")
	if got := f.show("a"); got.State != croft.Ready || got.Head != tip || got.Branch != w.Branch || got.IsLocked {
		t.Errorf("after the mending: %+v", got)
	}
	if st := f.status(w.ID); st.Modified != 1 || st.Untracked != 1 {
		t.Errorf("uncommitted work after the mending: %+v", st)
	}
	if f.ReadFile(filepath.Join(w.Path, "README.md")) != "modified\n" || f.ReadFile(filepath.Join(w.Path, "wip.txt")) != "untracked\n" {
		t.Error("uncommitted work did not survive")
	}
}

func (doctorScenarios) PathTaken(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Delete(w.Path)
	f.writeIn(w, "mine.txt", "mine")
	list := doctor(t, f, croft.FixAll)
	if len(list) != 1 || list[0].Code != "PATH_TAKEN" || list[0].Fixed {
		t.Errorf("Doctor = %+v", list)
	}
	f.WantFile(filepath.Join(w.Path, "mine.txt"), "mine")
}

func (doctorScenarios) PinMoved(t *testing.T, f *fixture) {
	w := f.createWith("a", "wip.txt", "wip\n")
	snap, err := f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
	must(t, err)
	ref := "refs/croft/snapshot/" + string(w.ID) + "/" + string(snap.ID)
	f.Git("update-ref", ref, "HEAD")
	// The recorded commit counts, not the ref's.
	list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Commit != snap.Commit {
		t.Errorf("Snapshots = %+v, %v", list, err)
	}
	mended(t, f, "PIN_MOVED")
	f.WantAt(ref, snap.Commit)
}

func (doctorScenarios) TouchesNothingForeign(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	f.Git("worktree", "add", "--quiet", "-b", "mine", filepath.Join(filepath.Dir(f.Dir), "own"))
	gone := filepath.Join(filepath.Dir(f.Dir), "gone")
	f.Git("worktree", "add", "--quiet", "--detach", gone)
	f.Delete(gone)
	f.Git("branch", "croft/mine")
	f.MakeDir(filepath.Join(filepath.Dir(f.Dir), "app.croft", "foreign"))
	before := f.Trace()
	doctor(t, f, croft.FixAll)
	if after := f.Trace(); after != before {
		t.Errorf("the doctor changed\n%+v\nto\n%+v", before, after)
	}
}
