package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
)

// TestAgentIsNotToldOfOthers: the work of an agent conflicts with what another workspace merged,
// and with what a third one is about to. In no answer to the agent's token is the name, the
// branch, the path or the ID of those.
func TestAgentIsNotToldOfOthers(t *testing.T) {
	v := newVictim(t)
	ctx := t.Context()
	var others, mine croft.Workspace
	for _, name := range []string{"firstother", "secondother", "mine"} {
		ws := v.make(name, name+"\n")
		if err := os.WriteFile(filepath.Join(ws.Path, "src", "main.txt"), []byte(strings.Repeat("x", len(name))+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		mine = ws
		if name == "firstother" {
			others = ws
		}
	}
	merge := func(ws croft.Workspace) *croft.Merge {
		t.Helper()
		m, err := v.svc.SubmitMerge(ctx, croft.MergeRequest{Workspace: croft.ByID(ws.ID)})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = v.svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	merge(others)
	m := merge(mine)
	if m.Status == croft.MergeMerged {
		t.Fatalf("no conflict: %+v", m)
	}
	secret := v.token("agent", croft.AccessWorkspace, mine.ID)
	for _, c := range api.Calls() {
		if c.Name == "Finish" || c.Name == "Resolve" {
			continue // they bring the target's files and commits into the workspace, which name their authors
		}
		path := strings.NewReplacer("{merge}", string(m.ID), "{ref}", map[bool]string{true: string(m.ID), false: string(mine.ID)}[strings.Contains(c.Path, "merges")],
			"{workspace}", string(mine.ID), "{branch}", "main", "{repo}", "path:"+v.git.Dir).Replace(c.Path)
		body := ""
		if c.Method != http.MethodGet {
			body = "{}"
		}
		a := v.try(c.Method, strings.ReplaceAll(path, "path:"+v.git.Dir, "-"), secret, body)
		for _, word := range []string{"firstother", "secondother", string(others.ID)} {
			if strings.Contains(a.body, word) {
				at := strings.Index(a.body, word)
				t.Errorf("%s tells of %s: %d …%s…", c.Name, word, a.status, a.body[max(0, at-200):min(len(a.body), at+100)])
			}
		}
	}
}
