package servicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

// localSnapshotScenarios need a shared disk.
type localSnapshotScenarios struct{}

func (localSnapshotScenarios) DisturbsNothing(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	before := f.content(w.Path)
	admin := f.GitIn(w.Path, "rev-parse", "--absolute-git-dir")
	index, _ := os.Stat(filepath.Join(admin, "index"))
	branches, main := f.Git("for-each-ref", "refs/heads"), f.Git("status", "--porcelain")
	s := f.snapshot("a")
	f.same(w.Path, before)
	if now, err := os.Stat(filepath.Join(admin, "index")); err != nil || !os.SameFile(index, now) || !now.ModTime().Equal(index.ModTime()) {
		t.Errorf("the index was written: %v", err)
	}
	if f.Git("for-each-ref", "refs/heads") != branches || f.Git("status", "--porcelain") != main || f.Git("stash", "list") != "" {
		t.Error("branches, main's status or the stash changed")
	}
	if s.Workspace != w.ID || s.WorkspaceName != "a" || s.Files == 0 || s.Bytes == 0 || s.CreatedAt.IsZero() {
		t.Errorf("snapshot %+v", s)
	}
	if f.Git("rev-parse", "refs/croft/snapshot/"+string(w.ID)+"/"+string(s.ID)) != s.Commit {
		t.Error("its ref does not hold its commit")
	}
	list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != s.ID || list.Items[0].Commit != s.Commit || list.Items[0].Files != s.Files || list.Items[0].WorkspaceName != "a" {
		t.Errorf("listed %+v, %v; made %+v", list, err, s)
	}
	f.Git("fsck", "--no-dangling")
}
