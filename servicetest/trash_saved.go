package servicetest

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// hasty returns a Service with retention and notice times of zero.
func hasty(f *fixture, more ...string) croft.Service {
	return f.with(append([]string{"trash.retention", "0s", "trash.notice", "0s"}, more...)...)
}

// reduced removes a workspace by force and has gc delete its directory.
func reduced(t *testing.T, f *fixture, id croft.ID, want croft.TrashLeft) {
	t.Helper()
	f.Service = hasty(f)
	f.removeForced(string(id))
	res := gc(t, f)
	if !slices.Equal(res.Reduced, []croft.ID{id}) || len(res.Announced) != 1 || len(res.Purged) != 0 || res.Bytes == 0 {
		t.Fatalf("GC = %+v, want its directory gone", res)
	}
	item := trashOf(t, f)
	if item.Left != want || item.Bytes != 0 || time.Until(item.ExpiresAt) < 29*24*time.Hour || f.Exists(f.inTrash(id)) {
		t.Fatalf("the trash has %+v", item)
	}
	wantNoDebris(t, f)
	f.CollectGarbage()
}

func (trashUpkeepScenarios) ExpiredWorkIsSaved(t *testing.T, f *fixture) {
	w := f.create(staffed(f))
	f.writeIn(w, ".gitignore", "*.log\n.env\nnode_modules/\n")
	f.commitIn(w.Path, "done.txt", "done\n")
	f.writeIn(w, "staged.txt", "staged\n")
	f.GitIn(w.Path, "add", "--all")
	f.writeIn(w, "staged.txt", "changed since\n")
	f.WriteFile(filepath.Join(w.Path, "untracked", "precious.txt"), "precious\n")
	f.writeIn(w, ".env", "TOKEN=x\n")
	f.MakeDir(filepath.Join(w.Path, "empty"))
	before, files := f.GitIn(w.Path, "status", "--porcelain=v2", "--branch"), f.Manifest(w.Path)
	f.writeIn(w, "debug.log", "ignored\n")
	f.WriteFile(filepath.Join(w.Path, "node_modules", "x.js"), "x\n")
	reduced(t, f, w.ID, croft.LeftSnapshot)
	back := f.restore("a")
	if back.ID != w.ID || back.Path != w.Path || back.Branch != w.Branch || back.State != croft.Ready || back.IsLocked {
		t.Errorf("came back as %+v", back)
	}
	if len(back.Notes) == 0 || !strings.Contains(strings.Join(back.Notes, "\n"), "ignores") {
		t.Errorf("notes %q do not say what did not come back", back.Notes)
	}
	if after := f.GitIn(w.Path, "status", "--porcelain=v2", "--branch"); after != before {
		t.Errorf("status was\n%s\nand is\n%s", before, after)
	}
	f.WantManifest(w.Path, files)
	if refs := f.Git("for-each-ref", "refs/croft/archive"); refs != "" {
		t.Errorf("archive refs are left: %s", refs)
	}
	f.GitIn(w.Path, "fsck", "--no-dangling")
	f.removeForced("a") // and it can be removed again
}

func (trashUpkeepScenarios) ExpiredMergeIsSaved(t *testing.T, f *fixture) {
	w := f.conflictingMerge()
	before := f.GitIn(w.Path, "status", "--porcelain=v2")
	reduced(t, f, w.ID, croft.LeftSnapshot)
	f.restore("a")
	if after := f.GitIn(w.Path, "status", "--porcelain=v2"); after != before {
		t.Errorf("status was\n%s\nand is\n%s", before, after)
	}
	f.writeIn(w, "README.md", "both\n")
	f.GitIn(w.Path, "commit", "--quiet", "--all", "--no-edit")
	if got := f.GitIn(w.Path, "rev-list", "--parents", "--max-count=1", "HEAD"); len(strings.Fields(got)) != 3 {
		t.Errorf("the commit is no merge: %s", got)
	}
}

func (trashUpkeepScenarios) CommitsNeedNoSnapshot(t *testing.T, f *fixture) {
	w := f.create(staffed(f))
	tip := f.commitIn(w.Path, "done.txt", "done\n")
	files := f.Manifest(w.Path)
	reduced(t, f, w.ID, croft.LeftCommits)
	if refs := f.Git("for-each-ref", "refs/croft/archive/*/work"); refs != "" {
		t.Errorf("a snapshot was taken of what is committed: %s", refs)
	}
	if back := f.restore("a"); back.Head != tip {
		t.Errorf("came back as %+v", back)
	}
	f.WantManifest(w.Path, files)
	wantClean(t, f, w)
}

func (trashUpkeepScenarios) SavedWorkExpires(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "done.txt", "done\n")
	f.writeIn(w, "wip.txt", "w\n")
	f.Service = hasty(f, "trash.saved_for", "0s")
	f.removeForced("a")
	if res := gc(t, f); len(res.Reduced) != 1 || len(res.Purged) != 0 {
		t.Fatalf("GC = %+v", res)
	}
	res := gc(t, f)
	if !slices.Equal(res.Purged, []croft.ID{w.ID}) || len(res.Announced) != 1 || res.Announced[0].Left != croft.LeftSnapshot {
		t.Errorf("GC again = %+v", res)
	}
	if items := trash(t, f); len(items) != 0 {
		t.Errorf("trash %+v", items)
	}
	wantCode(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})), croft.WorktreeNotFound)
	if refs := f.Git("for-each-ref", "refs/croft/archive/*/work"); refs != "" {
		t.Errorf("the snapshot is left: %s", refs)
	}
	f.Git("gc", "--quiet", "--prune=now")
	f.WantCommit(tip)
}

func (trashUpkeepScenarios) SavedAndOccupied(t *testing.T, f *fixture) {
	w := f.createWith("a", "wip.txt", "w\n")
	reduced(t, f, w.ID, croft.LeftSnapshot)
	f.writeIn(w, "foreign.txt", "mine\n")
	if e := wantCode(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})), croft.WorktreeExists); !strings.Contains(e.Details, w.Path) {
		t.Errorf("error %+v does not say what is in the way", e)
	}
	if got := f.ReadFile(filepath.Join(w.Path, "foreign.txt")); got != "mine\n" || trashOf(t, f).Left != croft.LeftSnapshot {
		t.Errorf("the foreign file is %q, the trash %+v", got, trash(t, f))
	}
	f.Delete(w.Path)
	f.restore("a")
	f.WantFile(filepath.Join(w.Path, "wip.txt"), "w\n")
}

func (trashUpkeepScenarios) RegistrationWasGone(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "done.txt", "done\n")
	f.writeIn(w, "done.txt", "changed\n")
	f.writeIn(w, "wip.txt", "w\n")
	f.Delete(filepath.Join(f.Dir, ".git", "worktrees", "croft-"+string(w.ID)))
	reduced(t, f, w.ID, croft.LeftSnapshot)
	if back := f.restore("a"); back.State != croft.Ready || back.Head != tip {
		t.Errorf("came back as %+v", back)
	}
	f.WantStatus(w.Path, " M done.txt\n?? wip.txt")
}

// DeletedByHand: after the user deleted the trash with rm, the commits are left.
func (trashUpkeepScenarios) DeletedByHand(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "done.txt", "done\n")
	f.removed("a")
	f.Delete(f.inTrash(w.ID))
	if item := trashOf(t, f); item.Left != croft.LeftCommits {
		t.Errorf("the trash has %+v", item)
	}
	if res := gc(t, f); !slices.Equal(res.Reduced, []croft.ID{w.ID}) {
		t.Errorf("GC = %+v", res)
	}
	if back := f.restore("a"); back.Head != tip {
		t.Errorf("came back as %+v", back)
	}
}

// AtOnce removes, restores and runs gc at the same time. Whichever call wins, the work is
// in one place, as a whole.
func (trashUpkeepScenarios) AtOnce(t *testing.T, f *fixture) {
	f.Service = hasty(f, "trash.regenerable_after", "0s")
	w := f.createWith("a", ".gitignore", "node_modules/\n")
	f.commitIn(w.Path, "done.txt", "done\n")
	f.writeIn(w, "precious.txt", "precious\n")
	for range 6 {
		for i := range 20 {
			f.WriteFile(filepath.Join(w.Path, "node_modules", decimal(int64(i)), "x.js"), "x\n")
		}
		f.removeForced("a")
		others := []croft.Service{hasty(f, "trash.regenerable_after", ""), hasty(f, "trash.regenerable_after", "0s")}
		var wg sync.WaitGroup
		for _, svc := range others {
			wg.Go(func() {
				if _, err := svc.GC(t.Context(), croft.GCRequest{}); err != nil {
					t.Errorf("GC: %v", err)
				}
			})
		}
		wg.Go(func() {
			if _, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
				t.Errorf("Restore: %v", err)
			}
		})
		wg.Wait()
		f.WantStatus(w.Path, "?? precious.txt")
		f.WantFile(filepath.Join(w.Path, "precious.txt"), "precious\n")
		gc(t, f)
		wantNoDebris(t, f)
		if refs := f.Git("for-each-ref", "refs/croft/archive"); refs != "" {
			t.Errorf("archive refs are left: %s", refs)
		}
	}
	f.Git("fsck", "--no-dangling")
}
