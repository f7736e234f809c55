package servicetest

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type metaScenarios struct{}

// Recorded: what callers record with a workspace is shown, told of, changed entry by entry,
// and survives removal.
func (metaScenarios) Recorded(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a", Meta: map[string]string{"ticket": "12", "owner": "ada"}})
	if !maps.Equal(w.Meta, map[string]string{"ticket": "12", "owner": "ada"}) {
		t.Errorf("made with %v", w.Meta)
	}
	got, err := f.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: "a", Meta: map[string]string{"owner": "", "a/b.c-d_e": "line\nline"}})
	must(t, err)
	want := map[string]string{"ticket": "12", "a/b.c-d_e": "line\nline"}
	if now := f.show("a"); !maps.Equal(got.Meta, want) || !maps.Equal(now.Meta, want) || now.Revision != got.Revision {
		t.Errorf("changed to %v at %d, read %v at %d", got.Meta, got.Revision, now.Meta, now.Revision)
	}
	told := map[string]string{}
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventWorkspaceChanged}}) {
		must(t, err)
		told = ev.After.Workspace.Meta
	}
	if !maps.Equal(told, want) {
		t.Errorf("the event has %v", told)
	}
	again, err := f.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: "a", Meta: map[string]string{"ticket": "12"}})
	if err != nil || again.Revision != got.Revision {
		t.Errorf("a change of nothing: revision %d after %d, %v", again.Revision, got.Revision, err)
	}
	f.removed("a")
	back, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})
	if err != nil || !maps.Equal(back.Meta, want) {
		t.Errorf("restored with %v, %v", back, err)
	}
}

// Filters: a list has those that match all that is asked for.
func (metaScenarios) Filters(t *testing.T, f *fixture) {
	f.Git("branch", "release")
	f.create(croft.CreateRequest{Name: "a", Agent: "claude", Meta: map[string]string{"x": "1", "y": "1"}})
	f.create(croft.CreateRequest{Name: "b", Agent: "codex", Target: "release", Meta: map[string]string{"x": "1"}})
	f.create(croft.CreateRequest{Name: "c", Branch: "own"})
	for _, c := range []struct {
		req  croft.WorkspacesRequest
		want string
	}{
		{croft.WorkspacesRequest{Meta: map[string]string{"x": "1"}}, "a b"},
		{croft.WorkspacesRequest{Meta: map[string]string{"x": "1", "y": "1"}}, "a"},
		{croft.WorkspacesRequest{Meta: map[string]string{"x": "2"}}, ""},
		{croft.WorkspacesRequest{Meta: map[string]string{"z": ""}}, ""},
		{croft.WorkspacesRequest{Agent: "codex"}, "b"},
		{croft.WorkspacesRequest{Target: "release"}, "b"},
		{croft.WorkspacesRequest{Branch: "own"}, "c"},
		{croft.WorkspacesRequest{Agent: "claude", Target: "release"}, ""},
	} {
		list, err := f.Workspaces(t.Context(), c.req)
		must(t, err)
		var names []string
		for _, w := range list.Items {
			names = append(names, w.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.req, got, c.want)
		}
	}
}

// Sessions have entries too.
func (metaScenarios) Sessions(t *testing.T, f *fixture) {
	ses, err := f.StartSession(t.Context(), croft.SessionRequest{Meta: map[string]string{"x": "1"}})
	must(t, err)
	_, err = f.StartSession(t.Context(), croft.SessionRequest{})
	must(t, err)
	list, err := f.Sessions(t.Context(), croft.SessionsRequest{Meta: map[string]string{"x": "1"}})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].ID != ses.ID || list.Items[0].Meta["x"] != "1" {
		t.Errorf("%+v", list.Items)
	}
}

// Refused: what cannot be recorded changes nothing.
func (metaScenarios) Refused(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a", Meta: map[string]string{"x": "1"}})
	many := map[string]string{}
	for i := range 64 {
		many[fmt.Sprint("k", i)] = "1"
	}
	for _, bad := range []map[string]string{
		{"": "1"},
		{" x": "1"},
		{"x\n": "1"},
		{"-x": "1"},
		{"ä": "1"},
		{strings.Repeat("x", 64): "1"},
		{"x": strings.Repeat("v", 1025)},
		{"x": "a\x00"},
		{"x": "\xff"},
		many,
	} {
		_, err := f.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: "a", Meta: bad})
		if !errors.Is(err, croft.InvalidName) {
			t.Errorf("%.60v: %v", bad, err)
		}
		if len(bad) == 1 {
			if _, err := f.Create(t.Context(), croft.CreateRequest{Name: "b", Meta: bad}); !errors.Is(err, croft.InvalidName) {
				t.Errorf("create with %.60v: %v", bad, err)
			}
			if _, err := f.StartSession(t.Context(), croft.SessionRequest{Meta: bad}); !errors.Is(err, croft.InvalidName) {
				t.Errorf("a session with %.60v: %v", bad, err)
			}
		}
	}
	if w := f.show("a"); !maps.Equal(w.Meta, map[string]string{"x": "1"}) || len(f.names()) != 1 {
		t.Errorf("it has %v, beside %q", w.Meta, f.names())
	}
}
