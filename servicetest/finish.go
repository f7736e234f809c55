package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type finishScenarios struct{}

func (finishScenarios) FinishByLayout(t *testing.T, f *fixture) {
	for _, tt := range []struct {
		layout string
		policy croft.MergePolicy
		want   croft.MergeStatus
	}{
		{"agents", croft.MergeByLayout, croft.MergeMerged},
		{"agents", croft.MergeNever, croft.MergePending},
		{"default", croft.MergeByLayout, croft.MergePending},
		{"default", croft.MergeAlways, croft.MergeMerged},
	} {
		name := tt.layout + string(tt.policy)
		w := f.create(croft.CreateRequest{Name: name, Layout: tt.layout})
		f.writeIn(w, name+".txt", "x\n")
		lease := f.hold(w.ID)
		m, err := f.Finish(t.Context(), croft.FinishRequest{Lease: lease, Policy: tt.policy})
		must(t, err)
		if m, err = f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID}); err != nil || m.Status != tt.want {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func (finishScenarios) FinishFailed(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a", Layout: "agents"})
	f.writeIn(w, "half.txt", "half\n")
	before := f.Git("rev-parse", "main")
	m, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", Outcome: croft.Killed, Key: "end"})
	if err != nil || m.Status != croft.MergePending || m.State != croft.MergeDone || !strings.Contains(m.Message, "killed") {
		t.Fatalf("%+v, %v", m, err)
	}
	if f.Git("rev-parse", "main") != before || f.GitIn(w.Path, "status", "--porcelain") != "" {
		t.Error("the work was merged, or not committed")
	}
	again, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", Outcome: croft.Killed, Key: "end"})
	if err != nil || again.ID != m.ID {
		t.Errorf("the same call: %+v, %v", again, err)
	}
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	wantCode(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", Outcome: "lost"})), croft.InvalidRequest)
}

func (finishScenarios) FinishPlainDirectory(t *testing.T, f *fixture) {
	dir := filepath.Join(filepath.Dir(f.Dir), "plain")
	f.MakeDir(dir)
	svc := f.at(dir)
	w, err := svc.Create(t.Context(), croft.CreateRequest{Name: "a", Layout: "agents"})
	if err != nil || w.Path != dir || w.Mode != croft.ModeLegacy || w.Branch != "" {
		t.Fatalf("%+v, %v, want the project itself", w, err)
	}
	f.writeIn(*w, "work.txt", "work\n")
	m, err := svc.Finish(t.Context(), croft.FinishRequest{Workspace: "a"})
	if err != nil || m.Status != "" || m.State != croft.MergeDone || m.Commit != "" {
		t.Errorf("%+v, %v", m, err)
	}
	now, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
	if err != nil || now.Path != dir || now.MergeStatus != "" {
		t.Errorf("%+v, %v", now, err)
	}
	if entries := f.Tree(dir, ""); len(entries) != 2 || f.ReadFile(filepath.Join(dir, "work.txt")) != "work\n" {
		t.Errorf("the project holds %v", entries)
	}
	if list := f.Match(filepath.Dir(dir), filepath.Base(dir)+"?*"); len(list) != 0 {
		t.Errorf("beside it there are %v", list)
	}
}

func (finishScenarios) Discard(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"}, croft.CreateRequest{Name: "c"})
	for _, w := range list[:2] {
		f.writeIn(w, w.Name+".txt", "x\n")
		must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: w.Name})))
	}
	f.writeIn(list[0], "late.txt", "uncommitted\n")
	out, err := f.Discard(t.Context(), croft.DiscardRequest{All: croft.ScopeAll})
	if err != nil || len(out.Merges) != 2 || out.Merges[0].Status != croft.MergeDiscarded {
		t.Fatalf("%+v, %v", out, err)
	}
	f.wantNames("c")
	must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})))
	if b, err := f.Host.Read(filepath.Join(list[0].Path, "late.txt")); err != nil || b != "uncommitted\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func (finishScenarios) Queue(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"}, croft.CreateRequest{Name: "c"})
	for i, w := range list {
		f.writeIn(w, w.Name+".txt", "x\n")
		must(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: w.Name, Priority: i % 2})))
	}
	f.wantQueue("b", "a", "c")
	f.queue(croft.QueueFirst, "c")
	f.wantQueue("c", "b", "a")
	f.queue(croft.QueueHold, "b")
	f.queue(croft.QueueCancel, "a")
	out, err := f.DriveLanes(t.Context(), croft.DriveRequest{})
	if err != nil || len(out.Merges) != 1 || out.Merges[0].WorkspaceName != "c" {
		t.Fatalf("%+v, %v", out, err)
	}
	f.wantQueue("b")
	f.queue(croft.QueueRelease)
	if out, err = f.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(out.Merges) != 1 || out.Merges[0].Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", out, err)
	}
	f.wantQueue()
}

func (f *fixture) queue(action croft.QueueAction, names ...string) {
	f.t.Helper()
	must(f.t, errOf(f.ChangeQueue(f.t.Context(), croft.QueueRequest{Action: action, Merges: names})))
}

func (f *fixture) wantQueue(names ...string) {
	f.t.Helper()
	list, err := f.Merges(f.t.Context(), croft.MergesRequest{})
	must(f.t, err)
	var got []string
	for _, m := range list.Items {
		got = append(got, m.WorkspaceName)
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		f.t.Errorf("waiting: %v, want %v", got, names)
	}
}
