package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// prompt returns the prompt for the agent of a workspace.
func (f *fixture) prompt(workspace string) *croft.Prompt {
	f.t.Helper()
	p, err := f.Prompt(f.t.Context(), croft.WorkspaceRequest{Ref: workspace})
	must(f.t, err)
	return p
}

func (roundScenarios) Prompt(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus", "codex", "gemini"}})
	for _, w := range r.Workspaces {
		p := f.prompt(w.Name)
		if p.Branch != w.Branch || len(p.Others) != 2 || !strings.Contains(p.Text, "on branch `"+w.Branch+"`") || !strings.Contains(p.Text, ".scratch_archive/") {
			t.Errorf("%+v", p)
		}
		for _, o := range r.Workspaces {
			if o.ID == w.ID {
				continue
			}
			if p.Others[o.Label] != o.Branch || !strings.Contains(p.Text, "- "+o.Label+": `"+o.Branch+"`") || !strings.Contains(p.Restart, "- "+o.Label+": `"+o.Branch+"`") {
				t.Errorf("%s is not told of %s: %+v", w.Agent, o.Label, p)
			}
		}
		for _, secret := range []string{w.Label + ":", w.Label + " ", w.Agent, string(ses.ID)} {
			if strings.Contains(p.Text+p.Restart, secret) {
				t.Errorf("the prompt of %s says %q:\n%s", w.Agent, secret, p.Text)
			}
		}
	}
	plain := f.create(croft.CreateRequest{Name: "plain"})
	wantCode(t, errOf(f.Prompt(t.Context(), croft.WorkspaceRequest{Ref: plain.Name})), croft.InvalidRequest)
}

// PromptRepositories: the prompt of an agent with checkouts of several repositories names
// all of them.
func (roundScenarios) PromptRepositories(t *testing.T, f *fixture) {
	lib := f.makeRepo("lib").Dir
	inner := filepath.Join(f.Dir, "docs")
	f.MakeDir(inner)
	ses := f.session(croft.SessionRequest{})
	ask := croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus", "codex"}, Repos: []string{f.Dir, inner, lib, f.Dir}}
	f.endRound(f.round(ask))
	r := f.round(ask)
	if len(r.Workspaces) != 4 { // a directory in a project is that project
		t.Fatalf("%d checkouts: %+v", len(r.Workspaces), r.Workspaces)
	}
	p := f.prompt(string(r.Workspaces[0].ID))
	if len(p.Elsewhere) != 1 || p.Elsewhere[0].Path != r.Workspaces[1].Path || p.Elsewhere[0].Branch != r.Workspaces[1].Branch {
		t.Fatalf("elsewhere: %+v", p.Elsewhere)
	}
	other := r.Workspaces[3]
	if diff := cmp.Diff(map[string]string{other.Label: other.Branch}, p.Elsewhere[0].Others); diff != "" {
		t.Error(diff)
	}
	if len(p.Elsewhere[0].Earlier) != 2 {
		t.Errorf("finished work there: %v", p.Elsewhere[0].Earlier)
	}
	for _, text := range []string{p.Text, p.Restart} {
		if !strings.Contains(text, "In `"+r.Workspaces[1].Path+"` you work on branch `"+r.Workspaces[1].Branch+"`") ||
			!strings.Contains(text, "- "+other.Label+": `"+other.Branch+"`") {
			t.Error(text)
		}
	}
}

// PromptEarlier: the prompt names the branches of all agents of earlier rounds, so that an
// agent cannot tell which was its own.
func (roundScenarios) PromptEarlier(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Retention: croft.RetainAll})
	one := f.endRound(f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)}))
	f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	want := map[string]string{}
	for _, w := range one.Workspaces {
		want[w.Label] = w.Branch
	}
	for _, agent := range []string{"opus", "codex"} {
		p := f.prompt(agent)
		if diff := cmp.Diff(want, p.Earlier); diff != "" {
			t.Errorf("%s: %s", agent, diff)
		}
	}
}
