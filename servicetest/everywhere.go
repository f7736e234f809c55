package servicetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type everywhereScenarios struct{}

// namesOf returns the names of workspaces.
func namesOf(list *croft.List[croft.Workspace]) string {
	var names []string
	for _, w := range list.Items {
		names = append(names, w.Name)
	}
	return strings.Join(names, " ")
}

// AllRepos: the lists over all projects have those of each, and a project is named by its
// ID wherever the Service was opened.
func (everywhereScenarios) AllRepos(t *testing.T, f *fixture) {
	second := f.another()
	there := f.at(second.Dir)
	f.create(croft.CreateRequest{Name: "a"})
	b, err := there.Create(t.Context(), croft.CreateRequest{Name: "b"})
	must(t, err)
	f.create(croft.CreateRequest{Name: "c"})

	repos, err := f.Repos(t.Context(), croft.ReposRequest{})
	must(t, err)
	if len(repos.Items) != 2 || repos.Items[0].Path != f.Dir || repos.Items[1].Path != second.Dir || repos.Items[1].ID != b.RepoID || repos.Items[1].IsMissing {
		t.Errorf("repos %+v", repos.Items)
	}
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Repos: croft.ScopeAll})
	must(t, err)
	if got := namesOf(list); got != "a b c" {
		t.Errorf("everywhere: %q", got)
	}
	page, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Repos: croft.ScopeAll, Page: croft.Page{Limit: 2}})
	must(t, err)
	rest, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Repos: croft.ScopeAll, Page: croft.Page{After: page.Next}})
	must(t, err)
	if namesOf(page) != "a b" || namesOf(rest) != "c" {
		t.Errorf("pages: %q, %q", namesOf(page), namesOf(rest))
	}
	one, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Repo: croft.ByID(b.RepoID)})
	must(t, err)
	if got := namesOf(one); got != "b" {
		t.Errorf("by its ID: %q", got)
	}
	f.writeIn(*b, "b.txt", "b\n")
	m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Repo: croft.ByID(b.RepoID), Workspace: croft.ByName("b")})
	must(t, err)
	merges, err := f.Merges(t.Context(), croft.MergesRequest{Repos: croft.ScopeAll})
	must(t, err)
	if len(merges.Items) != 1 || merges.Items[0].ID != m.ID {
		t.Errorf("merges everywhere: %+v", merges.Items)
	}
	made, err := f.Create(t.Context(), croft.CreateRequest{Repo: croft.ByID(b.RepoID), Name: "d"})
	if err != nil || made.RepoID != b.RepoID {
		t.Errorf("made %+v, %v", made, err)
	}
	ses, err := there.StartSession(t.Context(), croft.SessionRequest{})
	must(t, err)
	sessions, err := f.Sessions(t.Context(), croft.SessionsRequest{Repos: croft.ScopeAll})
	must(t, err)
	if len(sessions.Items) != 1 || sessions.Items[0].ID != ses.ID {
		t.Errorf("sessions everywhere: %+v", sessions.Items)
	}
	for _, bad := range []struct {
		repo croft.Ref
		want croft.Code
	}{{croft.ByID("aaaaaaaaaaaaaaaa"), croft.NotARepo}, {croft.ByName("app"), croft.InvalidRequest}} {
		if _, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Repo: bad.repo}); !errors.Is(err, bad.want) {
			t.Errorf("%s: %v", bad.repo, err)
		}
	}
}

// Refs: a Ref that says how it names a workspace finds nothing else.
func (everywhereScenarios) Refs(t *testing.T, f *fixture) {
	a := f.create(croft.CreateRequest{Name: "a"})
	for _, ref := range []croft.Ref{"a", string(a.ID), a.Path, croft.ByID(a.ID), croft.ByName("a"), croft.ByPath(a.Path), croft.ByPath(a.Path + "/README.md")} {
		if w, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: ref}); err != nil || w.ID != a.ID {
			t.Errorf("%s: %v", ref, err)
		}
		if _, err := f.Lock(t.Context(), croft.LockRequest{Workspace: ref}); err != nil {
			t.Errorf("lock %s: %v", ref, err)
		}
	}
	for _, ref := range []croft.Ref{croft.ByID("a"), croft.ByName(string(a.ID)), croft.ByName(a.Path), croft.ByPath("a"), croft.ByID(croft.ID(a.Path))} {
		if w, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: ref}); !errors.Is(err, croft.WorktreeNotFound) {
			t.Errorf("%s finds %+v, %v", ref, w, err)
		}
	}
	_, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{croft.ByName("a")}, Mode: croft.RemoveForce})
	must(t, err)
	for ref, want := range map[croft.Ref]bool{croft.ByID("a"): false, croft.ByName(string(a.ID)): false, croft.ByName("a"): true, croft.ByID(a.ID): true} {
		w, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: ref, Scope: croft.ScopeAll})
		if (err == nil && w.ID == a.ID) != want {
			t.Errorf("removed, %s: %v", ref, err)
		}
	}
	if _, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: croft.ByID("a")}); !errors.Is(err, croft.WorktreeNotFound) {
		t.Errorf("restored by a wrong ID: %v", err)
	}
	if _, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: croft.ByName("a")}); err != nil {
		t.Errorf("restored by name: %v", err)
	}
}
