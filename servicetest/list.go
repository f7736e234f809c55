package servicetest

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
)

type listScenarios struct{}

func (listScenarios) None(t *testing.T, f *fixture) {
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil || list.Items == nil || len(list.Items) != 0 {
		t.Errorf("Workspaces = %v, %v, want an empty list", list, err)
	}
	// Croft does not list the main checkout and worktrees that it did not make.
	f.Git("worktree", "add", "--quiet", filepath.Join(f.Dir, ".worktrees", "mine"))
	f.wantNames()
}

func (listScenarios) OldestFirst(t *testing.T, f *fixture) {
	for _, name := range []string{"c", "a", "b"} {
		f.create(croft.CreateRequest{Name: name})
	}
	f.createAll(croft.CreateRequest{Name: "z"}, croft.CreateRequest{Name: "y"})
	f.wantNames("c", "a", "b", "z", "y")
}

// Mine: those that the caller made are found; the record says who did.
func (listScenarios) Mine(t *testing.T, f *fixture) {
	ada, bob := croft.WithActor(t.Context(), croft.Actor{Name: "ada"}), croft.WithActor(t.Context(), croft.Actor{Name: "bob"})
	a, err := f.CreateAll(ada, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "a"}}})
	must(t, err)
	_, err = f.CreateAll(bob, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "b"}}})
	must(t, err)
	inA := croft.WithActor(t.Context(), croft.Actor{Name: "ada", Workspace: a.Workspaces[0].ID})
	_, err = f.CreateAll(inA, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "c"}}})
	must(t, err)
	for _, c := range []struct {
		by   context.Context
		want []string
	}{{ada, []string{"a"}}, {bob, []string{"b"}}, {inA, []string{"c"}}, {croft.WithActor(t.Context(), croft.Actor{Name: "eve"}), nil}} {
		list, err := f.Workspaces(c.by, croft.WorkspacesRequest{Maker: croft.MakerCaller})
		must(t, err)
		var got []string
		for _, w := range list.Items {
			got = append(got, w.Name)
			if w.Name != "c" && w.Actor != croft.ActorFrom(c.by).Name || w.Name == "c" && w.ActorWorkspace != a.Workspaces[0].ID {
				t.Errorf("%s was made by %q in %q", w.Name, w.Actor, w.ActorWorkspace)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", croft.ActorFrom(c.by), got, c.want)
		}
	}
	wantCode(t, errOf(f.Workspaces(ada, croft.WorkspacesRequest{Maker: "me"})), croft.InvalidRequest)
}

func (listScenarios) Filter(t *testing.T, f *fixture) {
	f.createAll(
		croft.CreateRequest{Name: "a", Session: "1", Role: "x", RoleFiles: croft.RoleFilesSkip},
		croft.CreateRequest{Name: "b", Session: "1", Role: "y", RoleFiles: croft.RoleFilesSkip},
		croft.CreateRequest{Name: "c", Session: "2", Role: "x", RoleFiles: croft.RoleFilesSkip},
	)
	f.removed("c")
	for _, c := range []struct {
		filter croft.WorkspacesRequest
		want   []string
	}{
		{croft.WorkspacesRequest{Session: "1"}, []string{"a", "b"}},
		{croft.WorkspacesRequest{Role: "x"}, []string{"a"}},
		{croft.WorkspacesRequest{Session: "1", Role: "y"}, []string{"b"}},
		{croft.WorkspacesRequest{Session: "3"}, nil},
		{croft.WorkspacesRequest{States: []croft.State{croft.Trashed}}, []string{"c"}},
		{croft.WorkspacesRequest{States: []croft.State{croft.Trashed, croft.Ready}, Role: "x"}, []string{"a", "c"}},
	} {
		list, err := f.Workspaces(t.Context(), c.filter)
		var got []string
		for _, w := range list.Items {
			got = append(got, w.Name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v, want %v", c.filter, got, err, c.want)
		}
	}
}

func (listScenarios) Find(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "feat/x"})
	rel, err := filepath.Rel(f.Dir, w.Path)
	must(t, err)
	for _, ref := range []string{"feat/x", string(w.ID), w.Path, filepath.Join(w.Path, "src"), rel} {
		if got := f.show(ref); got.ID != w.ID {
			t.Errorf("%s finds %s", ref, got.ID)
		}
	}
	// Without a name it is the workspace that contains the working directory.
	got, err := f.at(filepath.Join(w.Path, "src")).Workspace(t.Context(), croft.WorkspaceRequest{})
	if err != nil || got.ID != w.ID {
		t.Errorf("from inside: %+v, %v", got, err)
	}
	got, err = f.Workspace(t.Context(), croft.WorkspaceRequest{Repo: w.Path})
	if err != nil || got.ID != w.ID {
		t.Errorf("by the place of the request: %+v, %v", got, err)
	}
}

func (listScenarios) NotFound(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	for _, ref := range []string{"b", "0000000000000000", f.Dir, "/", "", "croft/a"} {
		wantCode(t, errOf(f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: ref})), croft.WorktreeNotFound)
	}
	// A workspace of another repository is not found.
	other := f.another()
	w, err := f.at(other.Dir).Create(t.Context(), croft.CreateRequest{Name: "theirs"})
	must(t, err)
	for _, ref := range []string{"theirs", string(w.ID), w.Path} {
		wantCode(t, errOf(f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: ref})), croft.WorktreeNotFound)
	}
}

func (listScenarios) DetachedIsIncluded(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "checkout", "--quiet", "--detach")
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Branch != "" || list.Items[0].Head != w.Base || list.Items[0].State != croft.Ready {
		t.Errorf("Workspaces = %+v, %v, want it without a branch", list, err)
	}
}

func (listScenarios) HeadFollows(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	if got := f.show("a"); got.Head != tip || got.Base != w.Base {
		t.Errorf("head %s, base %s, want %s and %s", got.Head, got.Base, tip, w.Base)
	}
	f.GitIn(w.Path, "checkout", "--quiet", "-b", "other")
	if got := f.show("a"); got.Branch != "other" {
		t.Errorf("branch %s, want the one that is checked out", got.Branch)
	}
}

func (listScenarios) BrokenIsShown(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "gone"}, croft.CreateRequest{Name: "stripped"}, croft.CreateRequest{Name: "replaced"})
	f.Delete(list[0].Path)
	f.Delete(filepath.Join(list[1].Path, ".git"))
	f.Delete(list[2].Path)
	f.Git("clone", "--quiet", f.Dir, list[2].Path)
	for _, w := range list {
		if got := f.show(w.Name); got.State != croft.Broken || got.Path != w.Path {
			t.Errorf("%s is %s, want broken", w.Name, got.State)
		}
		if e := wantCode(t, errOf(f.Status(t.Context(), croft.StatusRequest{Workspace: w.ID})), croft.WorkspaceBroken); e.Hint == "" {
			t.Error("no hint")
		}
		wantCode(t, errOf(f.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})), croft.WorkspaceBroken)
	}
}

func (listScenarios) Trashed(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	f.removed("a")
	f.wantNames()
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Trashed}})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != w.ID || list.Items[0].Head != tip {
		t.Errorf("trashed %+v, %v, want the head %s", list, err, tip)
	}
}

func (listScenarios) Worktrees(t *testing.T, f *fixture) {
	own := filepath.Join(filepath.Dir(f.Dir), "own tree")
	f.Git("worktree", "add", "--quiet", "-b", "mine", own)
	f.Git("worktree", "lock", "--reason", "my reason", own)
	w := f.create(croft.CreateRequest{Name: "a"})
	detached := filepath.Join(filepath.Dir(f.Dir), "detached")
	f.Git("worktree", "add", "--quiet", "--detach", detached)
	head := f.Git("rev-parse", "main")
	list, err := f.Worktrees(t.Context(), croft.WorktreesRequest{})
	must(t, err)
	want := map[string]croft.Worktree{
		f.Dir:    {Path: f.Dir, Branch: "main", Head: head, IsMain: true},
		own:      {Path: own, Branch: "mine", Head: head, IsLocked: true, LockReason: "my reason"},
		w.Path:   {Path: w.Path, Branch: w.Branch, Head: head, Workspace: w.ID},
		detached: {Path: detached, Head: head},
	}
	if len(list.Items) != len(want) || !list.Items[0].IsMain {
		t.Errorf("Worktrees = %+v", list)
	}
	for _, got := range list.Items {
		if got != want[got.Path] {
			t.Errorf("%s: %+v, want %+v", got.Path, got, want[got.Path])
		}
	}
}

const failingGit = "#!/bin/sh\n[ \"$1\" = version ] && exec echo git version 2.40.0\necho fatal: out of order >&2\nexit 128\n"

// SurvivesGitsOwnUpkeep runs git's own prune, pack-refs and gc.
func (listScenarios) SurvivesGitsOwnUpkeep(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	tip := f.commitIn(w.Path, "x.txt", "x\n")
	f.Git("worktree", "prune", "--expire=now")
	f.Git("pack-refs", "--all", "--prune")
	f.CollectGarbage()
	if got := f.show("a"); got.State != croft.Ready || got.Head != tip || got.Branch != w.Branch {
		t.Errorf("after git gc: %+v", got)
	}
	if list := doctor(t, f, croft.FixNothing); len(list) != 0 {
		t.Errorf("Doctor = %+v", list)
	}
	f.removed("a")
}

// RemovedWhileRead lists while others remove: a workspace that is removed meanwhile is left
// out, and the listing does not fail.
func (listScenarios) RemovedWhileRead(t *testing.T, f *fixture) {
	const n = 6
	for range n {
		f.create(croft.CreateRequest{})
	}
	names := f.names()
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, name := range names {
			f.removed(name)
		}
	})
	reader := f.at(f.Dir)
	for last := n; last > 0 && !t.Failed(); {
		list, err := reader.Workspaces(t.Context(), croft.WorkspacesRequest{})
		must(t, err)
		if len(list.Items) > last {
			t.Errorf("%d workspaces after %d", len(list.Items), last)
		}
		last = len(list.Items)
	}
	wg.Wait()
}
