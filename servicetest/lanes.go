package servicetest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type laneScenarios struct{}

// landed makes a workspace with one file and merges it.
func (f *fixture) landed(name string) croft.Merge {
	f.t.Helper()
	w := f.create(croft.CreateRequest{Name: name})
	f.writeIn(w, name+".txt", name+"\n")
	return f.merge(croft.MergeRequest{Workspace: name})
}

// lane finds the lane of main.
func (f *fixture) lane() croft.Lane {
	f.t.Helper()
	lanes, err := f.Lanes(f.t.Context(), croft.LanesRequest{})
	if err != nil || len(lanes.Items) != 1 || lanes.Items[0].Target != "main" {
		f.t.Fatalf("Lanes = %+v, %v", lanes, err)
	}
	return lanes.Items[0]
}

// movedEvents counts the events about targets that others moved.
func (f *fixture) movedEvents() int {
	f.t.Helper()
	n := 0
	for ev, err := range f.Events(f.t.Context(), croft.EventsRequest{Kinds: []string{croft.EventTargetMoved}}) {
		must(f.t, err)
		if ev.Target != "main" || ev.After.Lane.Target != "main" {
			f.t.Errorf("the event says %+v", ev)
		}
		n++
	}
	return n
}

// MovedByOthers: the first merge after another process moved the target says so, and is
// based on the new commit.
func (laneScenarios) MovedByOthers(t *testing.T, f *fixture) {
	first := f.landed("a")
	if first.Moved != "" {
		t.Errorf("nobody moved it: %q", first.Moved)
	}
	f.commitIn(f.Dir, "one.txt", "one\n")
	tip := f.commitIn(f.Dir, "two.txt", "two\n")
	const text = "main has 2 commits that Croft did not merge, since "
	want := text + first.Commit[:7]
	l := f.lane()
	if l.Message != want || l.Added != 2 || l.Gone != 0 || l.Known != first.Commit || l.Tip != tip || len(l.Commits) != 2 || l.Commits[0].Commit != tip || l.Protect {
		t.Errorf("lane %+v", l)
	}
	if m := f.landed("b"); m.Status != croft.MergeMerged || m.Moved != want {
		t.Errorf("%s: %q, want %q", m.Status, m.Moved, want)
	}
	if n := f.movedEvents(); n != 1 {
		t.Errorf("%d events", n)
	}
	if m := f.landed("c"); m.Status != croft.MergeMerged || m.Moved != "" || f.lane().Message != "" {
		t.Errorf("it is told again: %q, %+v", m.Moved, f.lane())
	}
}

func (laneScenarios) NotMoved(t *testing.T, f *fixture) {
	if lanes, err := f.Lanes(t.Context(), croft.LanesRequest{}); err != nil || len(lanes.Items) != 0 {
		t.Errorf("before any merge: %+v, %v", lanes, err)
	}
	f.landed("a")
	f.landed("b")
	if l := f.lane(); l.Message != "" || l.Known != l.Tip {
		t.Errorf("%+v", l)
	}
	if n := f.movedEvents(); n != 0 {
		t.Errorf("%d events", n)
	}
}

// Rewritten: the target no longer contains a merge that the lane has published.
func (laneScenarios) Rewritten(t *testing.T, f *fixture) {
	base := f.Git("rev-parse", "main")
	f.landed("a")
	f.Git("reset", "--quiet", "--hard", base)
	f.commitIn(f.Dir, "other.txt", "x\n")
	l := f.lane()
	if l.Added != 1 || l.Gone != 2 || !strings.Contains(l.Message, "1 commit that Croft did not merge") || !strings.Contains(l.Message, "2 commits of before gone") {
		t.Errorf("%+v", l)
	}
}

// protectMain commits a configuration that protects main as a target.
func (f *fixture) protectMain() {
	f.t.Helper()
	f.commitIn(f.Dir, "croft.toml", "[merge]\nprotect = true\n")
}

// Protected: nothing is merged into a protected target that others have moved before a
// person has accepted their commits.
func (laneScenarios) Protected(t *testing.T, f *fixture) {
	f.protectMain()
	f.landed("a")
	tip := f.commitIn(f.Dir, "outside.txt", "x\n")
	m := f.landed("b")
	if m.Status != croft.MergePending || m.Reason != croft.TargetMoved || m.Hint != "croft queue accept main" || !strings.Contains(m.Details, tip[:7]) {
		t.Fatalf("%+v", m)
	}
	f.WantAt("main", tip)
	if l := f.lane(); !l.Protect || f.movedEvents() != 1 {
		t.Errorf("%+v, %d events", l, f.movedEvents())
	}
	if done, err := f.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(done.Merges) != 1 || done.Merges[0].Reason != croft.TargetMoved {
		t.Errorf("before it was accepted: %+v, %v", done, err)
	}
	l, err := f.AcceptTarget(t.Context(), croft.AcceptRequest{Target: "main"})
	if err != nil || l.Added != 1 || len(l.Commits) != 1 || l.Commits[0].Commit != tip || l.Commits[0].Subject == "" {
		t.Fatalf("%+v, %v", l, err)
	}
	if done, err := f.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(done.Merges) != 1 || done.Merges[0].Status != croft.MergeMerged {
		t.Errorf("after it was accepted: %+v, %v", done, err)
	}
}

// ProtectedFromTheFirst: a protected target's commit is recorded when a lane first reads
// it, also if nothing lands then.
func (laneScenarios) ProtectedFromTheFirst(t *testing.T, f *fixture) {
	f.protectMain()
	f.createWith("a", "same.txt", "a\n")
	f.commitIn(f.Dir, "same.txt", "main\n")
	if m := f.merge(croft.MergeRequest{Workspace: "a"}); m.Status != croft.MergePending || m.Reason != croft.TargetMoved {
		t.Fatalf("main was moved since the workspace was made: %+v", m)
	}
	_, err := f.AcceptTarget(t.Context(), croft.AcceptRequest{Target: "main"})
	must(t, err)
	if done, err := f.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(done.Merges) != 1 || done.Merges[0].Reason != croft.Conflict {
		t.Fatalf("%+v, %v", done, err)
	}
	tip := f.commitIn(f.Dir, "outside.txt", "x\n")
	if m := f.landed("b"); m.Status != croft.MergePending || m.Reason != croft.TargetMoved {
		t.Errorf("what others put there was merged into: %+v", m)
	}
	f.WantAt("main", tip)
}

// LastCommitIsLost: a target was moved back, and the commit that the lane published last
// was deleted, so that its rules cannot be read. Nothing lands before a person has accepted
// the target.
func (laneScenarios) LastCommitIsLost(t *testing.T, f *fixture) {
	base := f.Git("rev-parse", "main")
	known := f.landed("a").Commit
	f.Git("reset", "--quiet", "--hard", base)
	f.Delete(filepath.Join(f.Dir, ".git", "objects", known[:2], known[2:]))
	if l := f.lane(); !l.IsLost || !l.Protect || !strings.Contains(l.Message, "which is gone") {
		t.Errorf("%+v", l)
	}
	if m := f.landed("b"); m.Status != croft.MergePending || m.Reason != croft.TargetMoved {
		t.Errorf("%+v", m)
	}
	must(t, errOf(f.AcceptTarget(t.Context(), croft.AcceptRequest{Target: "main"})))
	if done, err := f.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(done.Merges) != 1 || done.Merges[0].Status != croft.MergeMerged {
		t.Errorf("after it was accepted: %+v, %v", done, err)
	}
}

// ProtectedByTheLastRules: a commit that another process puts on the target cannot end its
// protection.
func (laneScenarios) ProtectedByTheLastRules(t *testing.T, f *fixture) {
	f.protectMain()
	f.landed("a")
	f.commitIn(f.Dir, "croft.toml", "[merge]\nprotect = false\n")
	if m := f.landed("b"); m.Status != croft.MergePending || m.Reason != croft.TargetMoved {
		t.Errorf("%+v", m)
	}
}

func (laneScenarios) AcceptInside(t *testing.T, f *fixture) {
	f.landed("a")
	f.commitIn(f.Dir, "outside.txt", "x\n")
	w := f.create(croft.CreateRequest{Name: "b"})
	for _, req := range []croft.AcceptRequest{{Target: "main", From: w.Path}, {Target: "main", Repo: w.Path}} {
		wantCode(t, errOf(f.AcceptTarget(t.Context(), req)), croft.TargetMoved)
	}
	wantCode(t, errOf(f.at(w.Path).AcceptTarget(t.Context(), croft.AcceptRequest{Target: "main", Repo: f.Dir})), croft.TargetMoved)
	if f.lane().Message == "" {
		t.Error("it was accepted")
	}
}

func (laneScenarios) AcceptUnknown(t *testing.T, f *fixture) {
	wantCode(t, errOf(f.AcceptTarget(t.Context(), croft.AcceptRequest{Target: "nowhere"})), croft.TargetNotFound)
	wantCode(t, errOf(f.AcceptTarget(t.Context(), croft.AcceptRequest{Target: "-x"})), croft.InvalidName)
	l, err := f.AcceptTarget(t.Context(), croft.AcceptRequest{Target: "main"})
	if err != nil || l.Message != "" {
		t.Errorf("%+v, %v", l, err)
	}
}

// DrivenUntilStopped: a driver lands what is submitted after its call, into a new target too,
// and ends without an error when its context does.
func (laneScenarios) DrivenUntilStopped(t *testing.T, f *fixture) {
	f.Git("branch", "other")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	type answer struct {
		out *croft.QueueResult
		err error
	}
	ended := make(chan answer, 1)
	go func() {
		out, err := f.DriveLanes(ctx, croft.DriveRequest{Until: croft.UntilStopped})
		ended <- answer{out, err}
	}()
	left := map[croft.ID]bool{}
	events, err := f.Merges(t.Context(), croft.MergesRequest{})
	must(t, err)
	for name, target := range map[string]string{"a": "main", "b": "other"} {
		f.createWith(name, name+".txt", name+"\n")
		m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name, Target: target})
		must(t, err)
		left[m.ID] = true
	}
	for e, err := range f.Events(t.Context(), croft.EventsRequest{After: events.Cursor, Kinds: []string{croft.EventMergeMerged}, Follow: croft.FollowNew}) {
		must(t, err)
		if delete(left, e.Merge); len(left) == 0 {
			break
		}
	}
	stop()
	if got := <-ended; got.err != nil || len(got.out.Merges) != 0 {
		t.Errorf("the driver ended with %+v, %v", got.out, got.err)
	}
	// Nobody holds the lanes any more: a call that waits drives.
	if m := f.landed("c"); m.Status != croft.MergeMerged {
		t.Errorf("after the driver: %+v", m)
	}
}
