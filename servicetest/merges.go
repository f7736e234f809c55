package servicetest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
)

type mergeScenarios struct{}

// createWith makes a workspace that has one uncommitted file.
func (f *fixture) createWith(workspace, file, content string) croft.Workspace {
	f.t.Helper()
	w := f.create(croft.CreateRequest{Name: workspace})
	f.writeIn(w, file, content)
	return w
}

// conflictingMerge makes a workspace in which the agent's merge of main stopped at a
// conflict in README.md.
func (f *fixture) conflictingMerge() croft.Workspace {
	f.t.Helper()
	w := f.createWith("a", "README.md", "theirs\n")
	f.GitIn(w.Path, "commit", "--quiet", "--all", "--message", "theirs")
	f.commitIn(f.Dir, "README.md", "ours\n")
	f.seeMain(w.Path)
	if _, err := f.TryGit(w.Path, "merge", "main"); err == nil {
		f.t.Fatal("the merge was meant to conflict")
	}
	return w
}

// merge submits a workspace's work and waits for the end.
func (f *fixture) merge(req croft.MergeRequest) croft.Merge {
	f.t.Helper()
	m, err := f.SubmitMerge(f.t.Context(), req)
	must(f.t, err)
	done, err := f.WaitMerge(f.t.Context(), croft.WaitRequest{Merge: m.ID})
	must(f.t, err)
	if done.State != croft.MergeDone || done.ID != m.ID {
		f.t.Errorf("the merge ended as %+v", done)
	}
	return *done
}

// mustMerge is merge for work that has to land.
func (f *fixture) mustMerge(req croft.MergeRequest) croft.Merge {
	f.t.Helper()
	m := f.merge(req)
	if m.Status != croft.MergeMerged || m.Reason != "" {
		f.t.Fatalf("%s is %s: %s %s", req.Workspace, m.Status, m.Reason, m.Message)
	}
	return m
}

func (mergeScenarios) Lands(t *testing.T, f *fixture) {
	w := f.createWith("a", "new.txt", "new\n")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if m.Commit != f.Git("rev-parse", "main") || f.Git("rev-parse", "main^2") != m.Head || m.Target != "main" || m.Kind != croft.KindMerge {
		t.Errorf("%+v", m)
	}
	f.WantClean(f.Dir)
	if _, err := f.Host.Stat(filepath.Join(f.Dir, "new.txt")); err != nil {
		t.Error("the checkout of the target did not go along")
	}
	if f.Exists(w.Path) {
		t.Error("the idle workspace was not put away")
	}
	if out := f.Git("for-each-ref", "refs/heads/croft"); out != "" {
		t.Errorf("its branch is still there: %s", out)
	}
	if list, err := f.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(list.Items) != 1 {
		t.Errorf("trash: %+v, %v", list, err)
	}
	if author := f.Git("log", "-1", "--format=%an %ae", "main"); author != "Ada ada@example.com" {
		t.Errorf("author %s", author)
	}
}

func (mergeScenarios) OtherTarget(t *testing.T, f *fixture) {
	f.Git("branch", "release")
	before := f.Git("rev-parse", "main")
	w := f.createWith("a", "new.txt", "new\n")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a", Target: "release", After: croft.AfterKeep})
	if f.Git("rev-parse", "release") != m.Commit || f.Git("rev-parse", "main") != before {
		t.Errorf("%+v", m)
	}
	f.WantClean(f.Dir)
	if _, err := f.Host.Stat(w.Path); err != nil {
		t.Error("a workspace that was to be kept is gone")
	}
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a", Target: "nowhere"})), croft.TargetNotFound)
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a", Target: "croft/a"})), croft.InvalidRequest)
}

func (mergeScenarios) Nothing(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	before := f.Git("rev-parse", "main")
	m := f.merge(croft.MergeRequest{Workspace: "a", Key: "once"})
	if m.Commit != "" || m.Status != "" || m.Reason != "" || m.Message != "nothing to merge; the workspace stays" || f.Git("rev-parse", "main") != before {
		t.Errorf("%+v", m)
	}
	if again := f.merge(croft.MergeRequest{Workspace: "a", Key: "once"}); again.ID != m.ID {
		t.Errorf("asked again: %+v", again)
	}
	if now := f.show("a"); now.State != croft.Ready || now.MergeStatus != "" {
		t.Errorf("the workspace is %+v", now)
	}
	f.writeIn(w, "work.txt", "work\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
}

// TargetHasTheWork: a merge of work that landed before is the merge by which it landed. The workspace
// is removed, and one undo takes back both.
func (mergeScenarios) TargetHasTheWork(t *testing.T, f *fixture) {
	w := f.createWith("a", "work.txt", "work\n")
	first := f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	if m.ID != first.ID || m.Commit != first.Commit || m.Status != croft.MergeMerged || m.Kept != nil {
		t.Errorf("%+v, then %+v", first, m)
	}
	if _, err := f.Host.Stat(w.Path); err == nil {
		t.Error("the workspace is still there")
	}
	must(t, errOf(f.Undo(t.Context(), croft.UndoRequest{})))
	if f.show("a").State != croft.Ready || f.Git("ls-tree", "--name-only", "main", "work.txt") != "" {
		t.Errorf("after the undo: %+v, and main has\n%s", f.show("a"), f.Git("ls-tree", "main"))
	}
	again := f.mustMerge(croft.MergeRequest{Workspace: "a"}) // what was taken back has not landed
	if again.ID == first.ID || f.Git("ls-tree", "--name-only", "main", "work.txt") == "" {
		t.Errorf("%+v", again)
	}
}

// TargetHasTheWorkOfMany: the same of several workspaces in one call, of which one is kept by its lock.
func (mergeScenarios) TargetHasTheWorkOfMany(t *testing.T, f *fixture) {
	var first []croft.Merge
	for _, name := range []string{"a", "b"} {
		f.createWith(name, name+".txt", "work\n")
		first = append(first, f.mustMerge(croft.MergeRequest{Workspace: name, After: croft.AfterKeep}))
	}
	must(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "b", Reason: "mine"})))
	res, err := f.SubmitMerges(t.Context(), croft.SubmitMergesRequest{Workspaces: []croft.Ref{"a", "b"}})
	must(t, err)
	if res.Merges[0].ID != first[0].ID || res.Merges[0].Kept != nil || res.Merges[1].ID != first[1].ID || res.Merges[1].Kept == nil {
		t.Errorf("%+v", res.Merges)
	}
}

// Late: work that an agent adds while its merge is checked is neither merged nor removed.
func (mergeScenarios) Late(t *testing.T, f *fixture) {
	for _, kind := range []string{"commit", "file", "detached"} {
		w := f.createWith(kind, kind+".txt", "work\n")
		m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: kind})
		must(t, err)
		f.writeIn(w, "late.txt", kind+"\n")
		if kind == "detached" {
			f.GitIn(w.Path, "checkout", "--quiet", "--detach")
		}
		if kind != "file" {
			f.GitIn(w.Path, "add", "--all")
			f.GitIn(w.Path, "commit", "--quiet", "-m", "late")
		}
		done, err := f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		if err != nil || done.Status != croft.MergeMerged {
			t.Fatalf("%+v, %v", done, err)
		}
		if f.has("late.txt") {
			t.Errorf("%s: what came late was merged", kind)
		}
		if b, err := f.Host.Read(filepath.Join(w.Path, "late.txt")); err != nil || b != kind+"\n" {
			t.Errorf("%s: %q, %v", kind, b, err)
		}
		want := "1 commit came after what was merged"
		if kind == "file" {
			want = "1 file is not committed"
		}
		if done.Kept == nil || done.Kept.Code != croft.WorkspaceDirty || done.Kept.Message != want {
			t.Errorf("%s: the user is told %+v", kind, done.Kept)
		}
		if now := f.show(kind); now.State != croft.Ready {
			t.Errorf("%s: the workspace is %s", kind, now.State)
		}
	}
	f.mustMerge(croft.MergeRequest{Workspace: "commit"})
	if !f.has("late.txt") {
		t.Error("merged again, it is not there")
	}
}

// conflicting makes two workspaces that conflict; the first has landed.
func conflicting(t *testing.T, f *fixture) (a, b croft.Workspace) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	f.writeIn(list[0], "src/main.txt", "one\nA\nthree\n")
	f.writeIn(list[1], "src/main.txt", "one\nB\nthree\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	return list[0], list[1]
}

func (mergeScenarios) Conflict(t *testing.T, f *fixture) {
	_, b := conflicting(t, f)
	before, objects := f.Git("rev-parse", "main"), ""
	m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b"})
	must(t, err)
	objects = f.Git("count-objects")
	done, err := f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
	must(t, err)
	if done.Status != croft.MergePending || done.Reason != croft.Conflict || done.Hint != "croft merge --resolve b" {
		t.Errorf("%+v", done)
	}
	if len(done.Conflicts) != 1 || done.Conflicts[0].Path != "src/main.txt" || done.Conflicts[0].Against != "a" ||
		len(done.Conflicts[0].Hunks) != 1 || done.Conflicts[0].Hunks[0].Ours != "A\n" || done.Conflicts[0].Hunks[0].Theirs != "B\n" {
		t.Errorf("conflicts %+v", done.Conflicts)
	}
	f.WantAt("main", before)
	// Only the record of the workspace was written.
	var loose, now int
	must(t, errOf(fmt.Sscan(objects, &loose)))
	must(t, errOf(fmt.Sscan(f.Git("count-objects"), &now)))
	if now > loose+1 {
		t.Errorf("%d objects before, %d after an attempt that failed", loose, now)
	}
	if got, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "b"}); err != nil || got.MergeStatus != croft.MergePending {
		t.Errorf("%+v, %v", got, err)
	}
	f.WantClean(b.Path)
}

func (mergeScenarios) Resolve(t *testing.T, f *fixture) {
	_, b := conflicting(t, f)
	f.merge(croft.MergeRequest{Workspace: "b"})
	f.writeIn(b, "late.txt", "uncommitted\n")
	res, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "b"})
	must(t, err)
	if len(res.Conflicts) != 1 || res.Conflicts[0].Path != "src/main.txt" || res.Target != "main" {
		t.Errorf("%+v", res)
	}
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b"})), croft.InProgress)
	f.writeIn(b, "src/main.txt", "one\nA and B\nthree\n")
	f.GitIn(b.Path, "add", "src/main.txt")
	m := f.mustMerge(croft.MergeRequest{Workspace: "b"})
	f.WantContent(m.Commit+":src/main.txt", "one\nA and B\nthree")
	f.Git("show", m.Commit+":late.txt")
}

func (mergeScenarios) InProgress(t *testing.T, f *fixture) {
	a := f.createWith("a", "src/main.txt", "A\n")
	f.GitIn(a.Path, "commit", "--quiet", "--all", "-m", "A")
	f.commitIn(f.Dir, "src/main.txt", "M\n")
	f.seeMain(a.Path)
	if _, err := f.TryGit(a.Path, "rebase", "main"); err == nil {
		t.Fatal("the rebase did not stop")
	}
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})), croft.InProgress)
}

func (mergeScenarios) Key(t *testing.T, f *fixture) {
	f.createWith("a", "new.txt", "new\n")
	req := croft.MergeRequest{Key: "k1", Workspace: "a", After: croft.AfterKeep}
	first := f.mustMerge(req)
	again := f.mustMerge(req)
	if first.ID != again.ID || first.Commit != again.Commit {
		t.Errorf("%+v, then %+v", first, again)
	}
	req.Target = "other"
	wantCode(t, errOf(f.SubmitMerge(t.Context(), req)), croft.KeyConflict)
}

func (mergeScenarios) SubmittedTwice(t *testing.T, f *fixture) {
	w := f.createWith("a", "one.txt", "one\n")
	first, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	f.writeIn(w, "two.txt", "two\n")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if m.ID != first.ID {
		t.Errorf("two merges of one workspace wait: %s and %s", first.ID, m.ID)
	}
	f.Git("cat-file", "-e", m.Commit+":two.txt")
}

// ManyAtOnce: many processes submit and wait at once: each workspace is merged exactly
// once.
func (mergeScenarios) ManyAtOnce(t *testing.T, f *fixture) {
	const n = 12
	var reqs []croft.CreateRequest
	for i := range n {
		reqs = append(reqs, croft.CreateRequest{Name: fmt.Sprint("w", i)})
	}
	var wg sync.WaitGroup
	for i, w := range f.createAll(reqs...) {
		f.writeIn(w, fmt.Sprint("dir/", i, ".txt"), "x\n")
		svc := f.at(f.Dir)
		wg.Go(func() {
			m, err := svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: w.Name})
			if err == nil {
				m, err = svc.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
			}
			if err != nil || m.Status != croft.MergeMerged {
				t.Errorf("%s: %+v, %v", w.Name, m, err)
			}
		})
	}
	wg.Wait()
	if got := f.Git("rev-list", "--count", "--first-parent", "main"); got != fmt.Sprint(n+1) {
		t.Errorf("%s commits on main, want %d", got, n+1)
	}
	if got := strings.Count(f.Git("ls-tree", "--name-only", "main:dir"), "\n") + 1; got != n {
		t.Errorf("%d files landed", got)
	}
	f.WantClean(f.Dir)
	f.Git("fsck", "--strict")
}

// OutsiderMoves: the user commits to the target between submitting and merging.
func (mergeScenarios) OutsiderMoves(t *testing.T, f *fixture) {
	f.createWith("a", "new.txt", "new\n")
	m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	outside := f.commitIn(f.Dir, "outside.txt", "outside\n")
	done, err := f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
	if err != nil || done.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", done, err)
	}
	f.WantAt("main^1", outside)
}

func (mergeScenarios) Occupied(t *testing.T, f *fixture) {
	f.createWith("a", "new.txt", "new\n")
	other := f.at(f.Dir)
	must(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a", Reason: "mine"})))
	m, err := other.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	if m, err = other.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	got, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
	if err != nil || got.MergeStatus != croft.MergeMerged || got.MergeCommit != m.Commit || got.State != croft.Ready {
		t.Errorf("a locked workspace after its merge: %+v, %v", got, err)
	}
}

func (mergeScenarios) Events(t *testing.T, f *fixture) {
	w := f.createWith("a", "new.txt", "new\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.wantMergeEvents("merge.queued merge.started merge.merged")
	// A merge that failed, one that is discarded, and one that is reverted.
	late := f.createAll(croft.CreateRequest{Name: "b", Base: w.Base}, croft.CreateRequest{Name: "c"})
	f.writeIn(late[0], "new.txt", "another\n")
	if m := f.merge(croft.MergeRequest{Workspace: "b"}); m.Reason != croft.Conflict {
		t.Fatalf("%+v", m)
	}
	f.wantMergeEvents("merge.queued merge.started merge.merged merge.queued merge.pending")
	must(t, errOf(f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []string{"b"}})))
	f.wantMergeEvents("merge.queued merge.started merge.merged merge.queued merge.pending merge.discarded")
	must(t, errOf(croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"})))
	f.wantMergeEvents("merge.queued merge.started merge.merged merge.queued merge.pending merge.discarded merge.queued merge.started merge.reverted merge.changed")
	// A merge that waits for a person.
	must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: "c", Policy: croft.MergeNever})))
	f.wantMergeEvents("merge.queued merge.started merge.merged merge.queued merge.pending merge.discarded merge.queued merge.started merge.reverted merge.changed merge.pending")
}

// wantMergeEvents compares the kinds of all events about merges. Each event has the merge
// as it was then.
func (f *fixture) wantMergeEvents(want string) {
	f.t.Helper()
	var kinds []string
	for ev, err := range f.Events(f.t.Context(), croft.EventsRequest{}) {
		must(f.t, err)
		if strings.HasPrefix(ev.Kind, "merge.") {
			kinds = append(kinds, ev.Kind)
			if m := ev.After.Merge; m.ID != ev.Merge || m.Target == "" || m.Target != ev.Target || m.Workspace != ev.Workspace || m.WorkspaceName != ev.WorkspaceName {
				f.t.Errorf("%s has %+v", ev.Kind, m)
			}
		}
	}
	if got := strings.Join(kinds, " "); got != want {
		f.t.Errorf("events: %s, want %s", got, want)
	}
}

func (mergeScenarios) Unknown(t *testing.T, f *fixture) {
	wantCode(t, errOf(f.WaitMerge(t.Context(), croft.WaitRequest{Merge: "nothing"})), croft.MergeNotFound)
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "nothing"})), croft.WorktreeNotFound)
	wantCode(t, errOf(croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "nothing"})), croft.MergeNotFound)
}

// DatabaseLost: merges are known without the database, and can be reverted.
func (mergeScenarios) DatabaseLost(t *testing.T, f *fixture) {
	for _, name := range []string{"a", "b"} {
		f.createWith(name, name+".txt", name+"\n")
	}
	a := f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	f.mustMerge(croft.MergeRequest{Workspace: "b"})
	f.LoseState()
	svc := f.at(f.Dir)
	got, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
	if err != nil || got.MergeStatus != croft.MergeMerged || got.MergeCommit != a.Commit {
		t.Fatalf("%+v, %v", got, err)
	}
	plan, err := svc.PlanRevert(t.Context(), croft.RevertRequest{Ref: "a"})
	if err != nil || plan.Later != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if m, err := croft.Revert(t.Context(), svc, croft.RevertRequest{Ref: "b"}); err != nil || m.Status != croft.MergeMerged {
		t.Errorf("%+v, %v", m, err)
	}
}

// ConflictOfDirectories: one side replaced a directory by a file, the other renamed its
// parent. git names a path in conflict that has no contents; the merge is pending like any
// other in conflict, and can be resolved.
func (mergeScenarios) ConflictOfDirectories(t *testing.T, f *fixture) {
	for _, name := range []string{"one", "two"} {
		f.Write("b/c/"+name, name+"\n1\n2\n3\n4\n5\n")
	}
	f.commitIn(f.Dir, "b/x", "x\n1\n2\n3\n4\n5\n")
	list := f.createAll(croft.CreateRequest{Name: "file"}, croft.CreateRequest{Name: "rename"})
	f.GitIn(list[0].Path, "rm", "-r", "--quiet", "b/c")
	f.writeIn(list[0], "b/c", "a file\n")
	f.mustMerge(croft.MergeRequest{Workspace: "file"})
	f.GitIn(list[1].Path, "mv", "b", "e")
	m := f.merge(croft.MergeRequest{Workspace: "rename"})
	if m.Status != croft.MergePending || m.Reason != croft.Conflict || len(m.Conflicts) == 0 {
		t.Fatalf("%+v", m)
	}
	res, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "rename"})
	if err != nil || !slices.ContainsFunc(res.Conflicts, func(c croft.ConflictedPath) bool { return c.Path == "e/c/one" }) {
		t.Fatalf("%+v, %v", res, err)
	}
	f.GitIn(list[1].Path, "rm", "-r", "--quiet", "--force", "e/c")
	aside := f.Match(list[1].Path, "e/c~*")
	if len(aside) != 1 {
		t.Fatal(aside)
	}
	f.Delete(filepath.Join(list[1].Path, "e", "c"))
	f.writeIn(list[1], "e/c", f.ReadFile(aside[0]))
	f.Delete(aside[0])
	f.GitIn(list[1].Path, "add", "--all")
	m = f.mustMerge(croft.MergeRequest{Workspace: "rename"})
	if got := f.Git("ls-tree", "-r", "--name-only", m.Commit, "b", "e"); got != "e/c\ne/x" {
		t.Errorf("landed %q", got)
	}
}
