package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// argumentsFor are the arguments of every tool for a workspace.
func argumentsFor(tool string, ref string) object {
	in := object{"workspace": ref}
	switch tool {
	case "save":
		in["message"] = "m"
	case "report":
		in["state"] = "working"
	case "submit":
		in["outcome"] = "done"
	case "close":
		in = object{"workspaces": []string{ref}, "outcome": "discard"}
	case "list", "create":
		return nil
	}
	return in
}

// TestScopes: no tool of any kind of server answers for a workspace outside of its scope
// otherwise than for one that does not exist; and nothing is changed there.
func TestScopes(t *testing.T) {
	f := newFixture(t)
	f.write(f.b, "b.txt", "secret of b\n")
	f.write(f.other, "far.txt", "secret of far\n")
	before := f.trace()
	for kind, foreign := range map[Kind][]croft.Workspace{
		KindAgent: {f.b, f.other}, KindSession: {f.a, f.b, f.other}, KindOrchestrator: {f.other}, KindReadOnly: {f.other},
	} {
		c := f.connect(f.scopeOf(kind))
		listed, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range listed.Tools {
			properties := tool.InputSchema.(object)["properties"].(object)
			for _, ws := range foreign {
				for _, ref := range []string{string(ws.ID), "id:" + string(ws.ID), ws.Path, "path:" + ws.Path, ws.Name} {
					if ws.ID == f.other.ID && ref == ws.Name && kind != KindAgent && kind != KindSession {
						continue // a name is one of the own project
					}
					in := argumentsFor(tool.Name, ref)
					if in == nil || properties["workspace"] == nil && properties["workspaces"] == nil {
						continue
					}
					got, missing := f.describe(c, tool.Name, in, ref), f.describe(c, tool.Name, argumentsFor(tool.Name, "zzzzzzzzzzzzzzzz"), "zzzzzzzzzzzzzzzz")
					if got != missing || !strings.Contains(got, string(croft.WorktreeNotFound)) {
						t.Errorf("%s, %s of %s:\n%s\n%s", kind, tool.Name, ref, got, missing)
					}
				}
			}
		}
		if kind == KindAgent || kind == KindSession {
			for _, name := range []string{"list", "create", "merge", "close", "wait"} {
				c.refused(name, object{})
			}
		}
		if kind == KindReadOnly {
			names := []string{}
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
			}
			if slices.Sort(names); !slices.Equal(names, []string{"conflicts", "diff", "list", "status", "wait"}) {
				t.Errorf("read-only: %v", names)
			}
		}
	}
	if after := f.trace(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}

// describe calls a tool, and returns its answer without the reference.
func (f *fixture) describe(c *client, tool string, in object, ref string) string {
	out, failed := c.try(tool, in)
	text := fmt.Sprintf("%v", out)
	if failed != nil {
		text = fmt.Sprintf("%+v %v", *failed, failed.Next != nil)
		text = text[:strings.Index(text, " Next:")]
	}
	return strings.NewReplacer(fmt.Sprintf("%q", ref), "REF", "ref:"+ref+"]", "ref:REF]", "workspace:"+ref+"]", "workspace:REF]").Replace(text)
}

// trace is the state of the workspaces outside of an agent's scope.
func (f *fixture) trace() string {
	out := ""
	for _, ws := range []croft.Workspace{f.b, f.other} {
		out += f.repo.GitIn(ws.Path, "log", "--oneline") + f.repo.GitIn(ws.Path, "status", "--porcelain")
	}
	return out
}

// TestSession: a server for a session accepts a workspace that was made for it, by its meta.
func TestSession(t *testing.T) {
	f := newFixture(t)
	for ws, session := range map[string]string{"a": "s1", "b": "s2"} {
		if _, err := f.svc.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: ws, Meta: map[string]string{SessionMeta: session}}); err != nil {
			t.Fatal(err)
		}
	}
	f.write(f.a, "a.txt", "a\n")
	c := f.connect(f.scopeOf(KindSession))
	if s := c.call("save", object{"workspace": "a", "message": "m"}); s["files"] != 1.0 {
		t.Errorf("%v", s)
	}
	if _, failed := c.try("save", object{"workspace": "b", "message": "m"}); failed == nil || failed.Code != croft.WorktreeNotFound {
		t.Errorf("%+v", failed)
	}
	c.refused("save", object{"message": "m"})
	without := f.connect(Scope{Kind: KindSession, Repo: f.a.RepoID})
	if _, failed := without.try("status", object{"workspace": "a"}); failed == nil || failed.Code != croft.WorktreeNotFound {
		t.Errorf("%+v", failed)
	}
}

// TestSessionOfNobody: a server without a session accepts no workspace, also none that was made for no session; and one with a
// session none of another project.
func TestSessionOfNobody(t *testing.T) {
	f := newFixture(t)
	if _, err := f.svc.UpdateWorkspace(t.Context(), croft.UpdateRequest{Repo: f.other.Path, Workspace: f.other.Name, Meta: map[string]string{SessionMeta: "s1"}}); err != nil {
		t.Fatal(err)
	}
	for ref, session := range map[string]string{f.a.Name: "", "id:" + string(f.other.ID): "s1", f.other.Path: "s1"} {
		_, err := Scope{Kind: KindSession, Repo: f.a.RepoID, Session: session}.narrow(t.Context(), f.svc, ref)
		if !errors.Is(err, croft.WorktreeNotFound) {
			t.Errorf("%s in session %q: %v", ref, session, err)
		}
	}
}

// TestDecide: whose server it is.
func TestDecide(t *testing.T) {
	f := newFixture(t)
	for name, tt := range map[string]struct {
		start Start
		want  Scope
	}{
		"environment":  {Start{Dir: f.repo.Dir, ID: f.b.ID}, Scope{Kind: KindAgent, Workspace: f.b.ID}},
		"directory":    {Start{Dir: f.a.Path}, Scope{Kind: KindAgent, Workspace: f.a.ID}},
		"named":        {Start{Dir: f.repo.Dir, Workspace: "b", ID: f.a.ID}, Scope{Kind: KindAgent, Workspace: f.b.ID}},
		"session":      {Start{Dir: f.repo.Dir, Session: "s"}, Scope{Kind: KindSession, Repo: f.a.RepoID, Session: "s"}},
		"orchestrator": {Start{Kind: KindOrchestrator, Dir: f.repo.Dir, ID: f.a.ID}, Scope{Kind: KindOrchestrator, Repo: f.a.RepoID}},
		"read-only":    {Start{Kind: KindReadOnly, Dir: f.repo.Dir}, Scope{Kind: KindReadOnly, Repo: f.a.RepoID}},
	} {
		got, err := Decide(t.Context(), f.svc, tt.start)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, bad := range []Start{{Dir: f.repo.Dir, Workspace: "nobody"}, {Dir: t.TempDir()}} {
		if got, err := Decide(t.Context(), f.svc, bad); err == nil {
			t.Errorf("%+v: %+v", bad, got)
		}
	}
}
