package servicetest

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
)

type removeScenarios struct{}

func (removeScenarios) Clean(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	got := f.removed("a")
	if got.ID != w.ID || got.Name != "a" || got.Branch != w.Branch || got.Trash == "" {
		t.Errorf("Removed = %+v", got)
	}
	if f.Exists(w.Path) || strings.Contains(f.Git("worktree", "list"), w.Path) || f.Git("branch", "--list", w.Branch) != "" {
		t.Error("directory, registration or branch are still there")
	}
	if got := f.Git("for-each-ref", "refs/croft/archive/"); !strings.Contains(got, w.Base) {
		t.Errorf("the tip was not archived: %q", got)
	}
}

func (removeScenarios) Idempotent(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	for _, ref := range []string{"a", string(w.ID), w.Path} {
		res := f.remove(croft.RemoveRequest{Workspaces: []string{ref}})
		if len(res.Removed) != 0 || len(res.Kept) != 0 || !slices.Equal(res.Unknown, []string{ref}) {
			t.Errorf("Remove(%s) again = %v", ref, describe(res))
		}
	}
}

func (removeScenarios) NeverThere(t *testing.T, f *fixture) {
	res := f.remove(croft.RemoveRequest{Workspaces: []string{"never"}, Mode: croft.RemoveForce})
	if len(res.Removed)+len(res.Kept) != 0 || !slices.Equal(res.Unknown, []string{"never"}) {
		t.Errorf("Remove = %v", describe(res))
	}
	if res := f.remove(croft.RemoveRequest{All: croft.ScopeAll}); len(res.Removed)+len(res.Kept)+len(res.Unknown) != 0 {
		t.Errorf("Remove of all of nothing = %v", describe(res))
	}
}

func (removeScenarios) AnswersForEach(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"}, croft.CreateRequest{Name: "c"})
	f.writeIn(list[1], "wip", "x")
	res := f.remove(croft.RemoveRequest{Workspaces: []string{"c", "x", "b", "a", "a"}})
	if len(res.Removed) != 2 || len(res.Kept) != 1 || res.Kept[0].Name != "b" || !slices.Equal(res.Unknown, []string{"x"}) {
		t.Errorf("Remove = %v", describe(res))
	}
	f.wantNames("b")
}

func (removeScenarios) UncommittedChanges(t *testing.T, f *fixture) {
	for name, change := range map[string]func(w croft.Workspace){
		"modified":  func(w croft.Workspace) { f.writeIn(w, "README.md", "x") },
		"untracked": func(w croft.Workspace) { f.writeIn(w, "new.txt", "x") },
		"deleted":   func(w croft.Workspace) { f.Delete(filepath.Join(w.Path, "README.md")) },
		"staged":    func(w croft.Workspace) { f.GitIn(w.Path, "rm", "--quiet", "--cached", "README.md") },
	} {
		w := f.create(croft.CreateRequest{Name: name})
		change(w)
		f.kept(croft.RemoveRequest{Workspaces: []string{name}}, croft.WorkspaceDirty)
		if got := f.show(name); got.State != croft.Ready || !f.Exists(w.Path) {
			t.Errorf("%s: the kept workspace is %s", name, got.State)
		}
	}
}

func (removeScenarios) UncommittedByForce(t *testing.T, f *fixture) {
	w := f.createWith("a", "wip.txt", "precious")
	res := f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	if len(res.Removed) != 1 || f.Exists(w.Path) {
		t.Fatalf("Remove by force = %v", describe(res))
	}
	if got := f.FindFile(filepath.Dir(f.Dir), "wip.txt"); got != "precious" {
		t.Errorf("the uncommitted file is not in the trash: %q", got)
	}
}

func (removeScenarios) Locked(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	must(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a", Reason: "demo at noon"})))
	res := f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
	if len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, croft.WorkspaceLocked) || !strings.Contains(res.Kept[0].Reason.Message, "demo at noon") {
		t.Fatalf("Remove = %v", describe(res))
	}
	if res := f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); len(res.Removed) != 1 {
		t.Errorf("Remove by force = %v", describe(res))
	}
}

func (removeScenarios) KeepBranch(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	res := f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Branch: croft.BranchKeep})
	if len(res.Removed) != 1 || res.Removed[0].Branch != "" {
		t.Errorf("Remove = %+v", res)
	}
	f.WantAt(w.Branch, tip)
}

func (removeScenarios) BranchAlreadyDeleted(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "checkout", "--quiet", "--detach")
	f.Git("branch", "--quiet", "-D", w.Branch)
	f.removed("a")
	if f.Exists(w.Path) {
		t.Error("the directory is still there")
	}
}

func (removeScenarios) BranchMovedElsewhere(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "checkout", "--quiet", "--detach")
	own := filepath.Join(filepath.Dir(f.Dir), "own")
	f.Git("worktree", "add", "--quiet", own, w.Branch)
	if got := f.removed("a"); got.Branch != "" {
		t.Errorf("branch %s was deleted while somebody has it checked out", got.Branch)
	}
	if got := f.GitIn(own, "rev-parse", "--abbrev-ref", "HEAD"); got != w.Branch {
		t.Errorf("the other worktree is on %s", got)
	}
}

// NotIntegrated: a clean workspace is removed, its commits stay reachable.
func (removeScenarios) NotIntegrated(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	f.removed("a")
	f.CollectGarbage()
	f.WantCommit(tip)
}

// DetachedHead: commits that no branch has are kept, too.
func (removeScenarios) DetachedHead(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	onBranch := f.commitIn(w.Path, "1.txt", "x\n")
	f.GitIn(w.Path, "checkout", "--quiet", "--detach", "main")
	offBranch := f.commitIn(w.Path, "2.txt", "x\n")
	f.removed("a")
	f.CollectGarbage()
	for _, oid := range []string{onBranch, offBranch} {
		if got, err := f.TryGit(f.Dir, "cat-file", "-t", oid); err != nil || got != "commit" {
			t.Errorf("commit %s is gone: %v", oid, err)
		}
	}
}

func (removeScenarios) DirectoryGone(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Delete(w.Path)
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}}, croft.WorkspaceBroken) // it may only be absent
	res := f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	if len(res.Removed) != 1 || res.Removed[0].Branch != w.Branch {
		t.Errorf("Remove by force = %v", describe(res))
	}
	if got := f.Git("worktree", "list", "--porcelain"); strings.Contains(got, w.Path) {
		t.Errorf("still registered: %s", got)
	}
}

// DirectoryStripped deviates from the specification (docs/conformance.md, S43), which
// deletes a directory that is no longer a valid worktree: Croft moves it to the trash, and
// only if a record names it.
func (removeScenarios) DirectoryStripped(t *testing.T, f *fixture) {
	w := f.createWith("a", "wip.txt", "precious")
	f.Delete(filepath.Join(w.Path, ".git"))
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}}, croft.WorkspaceBroken)
	res := f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	if len(res.Removed) != 1 || f.Exists(w.Path) {
		t.Fatalf("Remove by force = %v", describe(res))
	}
	if got := f.FindFile(filepath.Dir(f.Dir), "wip.txt"); got != "precious" {
		t.Errorf("the file was deleted and not moved: %q", got)
	}
}

// PathReplaced: a repository that the user put in a workspace's place is not moved to the
// trash.
func (removeScenarios) PathReplaced(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Delete(w.Path)
	f.Git("clone", "--quiet", f.Dir, w.Path)
	f.writeIn(w, "mine.txt", "mine")
	for _, mode := range []croft.RemoveMode{croft.RemoveSafe, croft.RemoveForce} {
		f.kept(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: mode}, croft.WorkspaceBroken)
	}
	f.WantFile(filepath.Join(w.Path, "mine.txt"), "mine")
}

// TrashedWhole: the trash has the directory as it was, and git in the main checkout does
// not see it.
func (removeScenarios) TrashedWhole(t *testing.T, f *fixture) {
	for _, layout := range []string{"default", "agents", "sibling"} {
		w := f.create(croft.CreateRequest{Name: "a", Layout: layout})
		f.WriteFile(filepath.Join(w.Path, "ignored", layout+".bin"), "big")
		f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
		if got := f.FindFile(filepath.Dir(f.Dir), layout+".bin"); got != "big" {
			t.Errorf("%s: the trash lacks a file", layout)
		}
		if got := f.Git("status", "--porcelain", "--untracked-files=all"); got != "" {
			t.Errorf("%s: the trash shows up in main: %s", layout, got)
		}
	}
}

func (removeScenarios) AtOnce(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	const n = 6
	results, errs := make([]*croft.RemoveResult, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		svc := f.at(f.Dir)
		wg.Go(func() { results[i], errs[i] = svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	removed := 0
	for _, res := range results {
		removed += len(res.Removed)
		for _, k := range res.Kept {
			if !errors.Is(k.Reason, croft.WorkspaceBusy) && !errors.Is(k.Reason, croft.WorktreeNotFound) {
				t.Errorf("kept: %v", k.Reason)
			}
		}
	}
	if removed != 1 {
		t.Errorf("%d calls removed the one workspace", removed)
	}
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Trashed}})
	if err != nil || len(list.Items) != 1 || list.Items[0].Head != tip {
		t.Errorf("trashed %+v, %v, want the tip %s", list, err, tip)
	}
}

func (removeScenarios) ThroughAnyService(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	other := f.another()
	svc := f.at(other.Dir)
	res, err := svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a", string(w.ID), w.Path}, Mode: croft.RemoveForce})
	if err != nil || len(res.Unknown) != 3 || !f.Exists(w.Path) {
		t.Errorf("from another repository: %+v, %v", res, err)
	}
	res, err = svc.Remove(t.Context(), croft.RemoveRequest{Repo: f.Dir, Workspaces: []string{"a"}})
	if err != nil || len(res.Removed) != 1 {
		t.Errorf("with the repository named: %+v, %v", res, err)
	}
}

// InsideRefused: a request that names no workspace removes nothing.
func (removeScenarios) InsideRefused(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	wantCode(t, errOf(f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{""}})), croft.WorktreeNotFound)
	if res := f.remove(croft.RemoveRequest{}); len(res.Removed) != 0 {
		t.Errorf("a request without names removed %v", describe(res))
	}
	if !f.Exists(w.Path) {
		t.Error("the workspace is gone")
	}
}

func (removeScenarios) LinksAreNotFollowed(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	precious := filepath.Join(f.Home, "precious")
	f.WriteFile(filepath.Join(precious, "keep.txt"), "keep")
	f.Link(w.Path, "link", precious)
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	must(t, errOf(f.with("trash.retention", "0s").GC(t.Context(), croft.GCRequest{})))
	f.WantFile(filepath.Join(precious, "keep.txt"), "keep")
}
