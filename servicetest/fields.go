package servicetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// Fields: what a message says in words is in the fields of its error, for programs.
func (limitScenarios) Fields(t *testing.T, f *fixture) {
	a := f.create(croft.CreateRequest{Name: "a", Key: "k"})
	f.Git("branch", "taken")
	f.Git("branch", "croft/b")
	for name, c := range map[string]struct {
		err  error
		want map[string]string
	}{
		"exists":    {errOf(f.Create(t.Context(), croft.CreateRequest{Name: "a"})), map[string]string{"path": a.Path, "workspace": string(a.ID), "made": a.CreatedAt.UTC().Format(time.RFC3339)}},
		"not found": {errOf(f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.ByName("x")})), map[string]string{"ref": "name:x"}},
		"branch":    {errOf(f.Create(t.Context(), croft.CreateRequest{Name: "b"})), map[string]string{"branch": "croft/b"}},
		"key":       {errOf(f.Create(t.Context(), croft.CreateRequest{Name: "c", Key: "k"})), map[string]string{"key": "k"}},
		"revision": {
			errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a", IfRevision: 99})),
			map[string]string{"revision": fmt.Sprint(f.show("a").Revision), "wanted": "99"},
		},
	} {
		e := croft.AsError("", c.err)
		if e == nil || fmt.Sprint(e.Fields) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %v", name, e, c.want)
		}
	}
	one := f.with("limits.max_workers", "1")
	e := croft.AsError("", errOf(one.Create(t.Context(), croft.CreateRequest{Name: "d"})))
	if e == nil || e.Fields["limit"] != "1" || e.Fields["active"] != "1" {
		t.Errorf("the limit: %+v", e)
	}
}
