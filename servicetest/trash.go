package servicetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

type trashScenarios struct{}

func (trashScenarios) RestoreWhole(t *testing.T, f *fixture) {
	w := f.createWith("a", "committed.txt", "c\n")
	f.GitIn(w.Path, "add", "--all")
	f.GitIn(w.Path, "commit", "--quiet", "--message", "work")
	f.writeIn(w, "staged.txt", "s\n")
	f.GitIn(w.Path, "add", "--all")
	f.writeIn(w, "untracked.txt", "u\n")
	before, head := f.GitIn(w.Path, "status", "--porcelain=v2", "--branch"), f.GitIn(w.Path, "rev-parse", "HEAD")
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	items, err := f.Trash(context.Background(), croft.TrashRequest{})
	if err != nil || len(items.Items) != 1 || items.Items[0].ID != w.ID || items.Items[0].Bytes == 0 || !items.Items[0].ExpiresAt.After(items.Items[0].RemovedAt) {
		t.Fatalf("trash: %+v, %v", items, err)
	}
	back, err := f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"})
	must(t, err)
	if back.ID != w.ID || back.Path != w.Path || back.Branch != w.Branch || back.Head != head || back.State != croft.Ready {
		t.Errorf("came back as %+v", back)
	}
	if after := f.GitIn(w.Path, "status", "--porcelain=v2", "--branch"); after != before {
		t.Errorf("status was\n%s\nand is\n%s", before, after)
	}
	if refs := f.Git("for-each-ref", "refs/croft/archive"); refs != "" {
		t.Errorf("archive refs are left: %s", refs)
	}
	f.Git("fsck", "--no-dangling")
}

func (trashScenarios) RestoreTwice(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	for range 3 {
		f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
		back, err := f.Restore(context.Background(), croft.RestoreRequest{Ref: string(w.ID)})
		if err != nil || back.ID != w.ID {
			t.Fatalf("%+v, %v", back, err)
		}
	}
	if entries := f.GitIn(w.Path, "status", "--porcelain"); entries != "" {
		t.Errorf("status: %s", entries)
	}
}

func (trashScenarios) LastOfAName(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
	second := f.create(croft.CreateRequest{Name: "a"})
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
	back, err := f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"})
	if err != nil || back.ID != second.ID {
		t.Fatalf("%+v, %v; want the last one, %s", back, err, second.ID)
	}
}

func (trashScenarios) Occupied(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
	f.writeIn(w, "foreign.txt", "mine\n")
	wantCode(t, errOf(f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"})), croft.WorktreeExists)
	if b, err := f.Host.Read(filepath.Join(w.Path, "foreign.txt")); err != nil || b != "mine\n" {
		t.Errorf("the foreign file: %q, %v", b, err)
	}
	f.Delete(w.Path)
	if _, err := f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Errorf("once the path is free: %v", err)
	}
}

func (trashScenarios) DirectoryWasGone(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "work.txt", "w\n")
	f.Delete(w.Path)
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	back, err := f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"})
	if err != nil || len(back.Notes) != 1 {
		t.Fatalf("%+v, %v; want a note that the directory was gone", back, err)
	}
	if b, err := f.Host.Read(filepath.Join(w.Path, "work.txt")); err != nil || b != "w\n" {
		t.Errorf("the committed work: %q, %v", b, err)
	}
}

// DirectoryWasGoneWithRole: a workspace whose directory is made again gets its role files
// again.
func (trashScenarios) DirectoryWasGoneWithRole(t *testing.T, f *fixture) {
	f.Write("CLAUDE.md", "the project's own\n")
	f.Write("roles/worker/AGENTS.md", "agents\n")
	w := f.create(staffed(f))
	f.Delete(w.Path)
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	f.restore("a")
	for name, want := range map[string]string{"CLAUDE.md": "You are the worker.\n", "AGENTS.md": "agents\n"} {
		if got := f.ReadFile(filepath.Join(w.Path, name)); got != want {
			t.Errorf("%s = %q, want the role's", name, got)
		}
	}
	wantClean(t, f, w)
}

func (trashScenarios) RegistrationWasGone(t *testing.T, f *fixture) {
	w := f.createWith("a", "wip.txt", "not committed\n")
	f.Delete(filepath.Join(f.Dir, ".git", "worktrees", "croft-"+string(w.ID)))
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	back, err := f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"})
	if err != nil || back.State != croft.Ready {
		t.Fatalf("%+v, %v", back, err)
	}
	f.WantStatus(w.Path, "?? wip.txt")
}

func (trashScenarios) AtOnce(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
	const n = 6
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"})
			errs <- err
		}()
	}
	won := 0
	for range n {
		if err := <-errs; err == nil {
			won++
		}
	}
	if won == 0 {
		t.Error("nobody brought it back")
	}
	f.WantClean(w.Path)
}

func (trashScenarios) InMidMerge(t *testing.T, f *fixture) {
	w := f.conflictingMerge()
	f.writeIn(w, "staged.txt", "only the index has this\n")
	f.GitIn(w.Path, "add", "staged.txt")
	f.writeIn(w, "staged.txt", "changed since\n")
	before := f.GitIn(w.Path, "status", "--porcelain=v2")
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	f.CollectGarbage() // objects that only the index and the merge need must survive it
	f.restore("a")
	f.GitIn(w.Path, "fsck", "--no-dangling")
	if after := f.GitIn(w.Path, "status", "--porcelain=v2"); after != before {
		t.Errorf("status was\n%s\nand is\n%s", before, after)
	}
	if got := f.GitIn(w.Path, "show", ":staged.txt"); got != "only the index has this" {
		t.Errorf("what was staged is %q", got)
	}
	f.writeIn(w, "README.md", "both\n")
	f.GitIn(w.Path, "commit", "--quiet", "--all", "--no-edit")
}

func (trashScenarios) NotFound(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	wantCode(t, errOf(f.Restore(context.Background(), croft.RestoreRequest{Ref: "a"})), croft.WorktreeNotFound)
}
