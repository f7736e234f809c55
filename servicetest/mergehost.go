package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

func (mergeScenarios) HostDirty(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	f.writeIn(list[0], "README.md", "theirs\n")
	f.writeIn(list[1], "other.txt", "other\n")
	f.Write("README.md", "mine\n")
	before := f.Git("rev-parse", "main")
	m := f.merge(croft.MergeRequest{Workspace: "a"})
	if m.Status != croft.MergePending || m.Reason != croft.HostDirty || !strings.Contains(m.Details, "README.md") || f.Git("rev-parse", "main") != before {
		t.Errorf("%+v", m)
	}
	f.mustMerge(croft.MergeRequest{Workspace: "b"})
	if b, _ := f.Host.Read(filepath.Join(f.Dir, "README.md")); b != "mine\n" {
		t.Errorf("the user's file is %q", b)
	}
	f.Git("restore", "README.md")
	out, err := f.DriveLanes(t.Context(), croft.DriveRequest{})
	if err != nil || len(out.Merges) != 1 || out.Merges[0].Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", out, err)
	}
	f.WantClean(f.Dir)
}

// HostDirtyMeanwhile: a merge that waits for the user's checkout stays in the queue when
// the same work, or a part of it, is merged elsewhere.
func (mergeScenarios) HostDirtyMeanwhile(t *testing.T, f *fixture) {
	w := f.createWith("a", "README.md", "theirs\n")
	f.writeIn(w, "part.txt", "part\n")
	f.Git("branch", "other")
	f.Write("README.md", "mine\n")
	first := f.merge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	if first.Reason != croft.HostDirty {
		t.Fatalf("%+v", first)
	}
	f.mustMerge(croft.MergeRequest{Workspace: "a", Target: "other", After: croft.AfterKeep})
	f.mustApply(croft.ApplyRequest{Review: f.review("a").ID, Paths: []string{"part.txt"}})
	f.Git("restore", "README.md")
	out, err := f.DriveLanes(t.Context(), croft.DriveRequest{})
	if err != nil || len(out.Merges) != 1 || out.Merges[0].ID != first.ID || out.Merges[0].Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", out, err)
	}
	f.WantClean(f.Dir)
	if out, err := f.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(out.Merges) > 0 {
		t.Errorf("once more: %+v, %v", out, err)
	}
}

// HostDirtyNoMore: a merge that was discarded, or that a later one replaces, is not tried
// again.
func (mergeScenarios) HostDirtyNoMore(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	f.Write("README.md", "mine\n")
	for _, w := range list {
		f.writeIn(w, "README.md", w.Name+"\n")
		if m := f.merge(croft.MergeRequest{Workspace: w.Name}); m.Reason != croft.HostDirty {
			t.Fatalf("%+v", m)
		}
	}
	must(t, errOf(f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []string{"a"}})))
	last := f.merge(croft.MergeRequest{Workspace: "b"})
	if list, err := f.Merges(t.Context(), croft.MergesRequest{}); err != nil || len(list.Items) != 1 || list.Items[0].ID != last.ID || list.Items[0].Reason != croft.HostDirty {
		t.Errorf("what waits for the checkout is not shown: %+v, %v", list, err)
	}
	f.Git("restore", "README.md")
	out, err := f.DriveLanes(t.Context(), croft.DriveRequest{})
	if err != nil || len(out.Merges) != 1 || out.Merges[0].ID != last.ID {
		t.Fatalf("%+v, %v", out, err)
	}
}

// HostDirtyRestored: a discard that was taken back leaves a merge that waits for the user's checkout
// waiting.
func (mergeScenarios) HostDirtyRestored(t *testing.T, f *fixture) {
	f.createWith("a", "README.md", "theirs\n")
	f.Write("README.md", "mine\n")
	m := f.merge(croft.MergeRequest{Workspace: "a"})
	if m.Reason != croft.HostDirty {
		t.Fatalf("%+v", m)
	}
	must(t, errOf(f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []string{"a"}})))
	f.restore("a")
	f.Git("restore", "README.md")
	out, err := f.DriveLanes(t.Context(), croft.DriveRequest{})
	if err != nil || len(out.Merges) != 1 || out.Merges[0].ID != m.ID || out.Merges[0].Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", out, err)
	}
}

// HostNeverReverse: the user's staged, changed and untracked files are unchanged after a
// merge that does not touch them.
func (mergeScenarios) HostNeverReverse(t *testing.T, f *fixture) {
	f.createWith("a", "src/main.txt", "changed\n")
	f.Write("README.md", "staged\n")
	f.Git("add", "README.md")
	f.Write("README.md", "and changed\n")
	f.Write("untracked.txt", "untracked\n")
	before := f.Git("status", "--porcelain")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.WantStatus(f.Dir, before)
	f.WantContent(":README.md", "staged")
}
