package servicetest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type portScenarios struct{}

// Moved: a workspace gets other ports in the place of its own; its variables, the file that has them and its record
// agree, and a repeated request with the same key moves nothing again.
func (portScenarios) Moved(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, "croft.toml", "[ports]\nnames = [\"web\", \"api\"]\n[env]\nAPI = \"http://localhost:{port.api}\"\n")
	f.Service = f.with("ports.count", "4")
	approveSetup(t, f)
	was, other := f.create(croft.CreateRequest{Name: "a"}), f.create(croft.CreateRequest{Name: "b"})
	req := croft.UpdateRequest{Key: "k", Workspace: "a", Ports: croft.PortsMove, IfRevision: was.Revision}
	got, err := f.UpdateWorkspace(t.Context(), req)
	must(t, err)
	for _, p := range got.Ports {
		if slices.Contains(was.Ports, p) || slices.Contains(other.Ports, p) {
			t.Errorf("port %d is one that it had, or another's", p.Port)
		}
	}
	now := f.show("a")
	if len(got.Ports) != 4 || got.Ports[1].Name != "api" || !slices.Equal(now.Ports, got.Ports) || now.Revision != got.Revision {
		t.Fatalf("moved from %v to %v at %d, shown %v at %d", was.Ports, got.Ports, got.Revision, now.Ports, now.Revision)
	}
	want := map[string]string{
		"PORT": fmt.Sprint(got.Ports[0].Port), "CROFT_PORT_3": fmt.Sprint(got.Ports[3].Port), "PORT_API": fmt.Sprint(got.Ports[1].Port),
		"API": fmt.Sprintf("http://localhost:%d", got.Ports[1].Port),
	}
	file := f.ReadFile(filepath.Join(was.Path, ".croft.env"))
	for name, value := range want {
		if now.Env[name] != value || got.Env[name] != value || !strings.Contains(file, fmt.Sprintf("%s='%s'\n", name, value)) {
			t.Errorf("%s is %q in the answer, %q in the list, wanted %q; the file:\n%s", name, got.Env[name], now.Env[name], value, file)
		}
	}
	again, err := f.UpdateWorkspace(t.Context(), req)
	if err != nil || !slices.Equal(again.Ports, got.Ports) {
		t.Errorf("repeated: %v, %v, wanted %v", again, err, got.Ports)
	}
	if s := f.status(now.ID); s.Dirty() {
		t.Errorf("%+v", s)
	}
	f.last("ports", "done")
}

// MoveRefused: without ports, or with meta in the same request, nothing is moved.
func (portScenarios) MoveRefused(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "without"})
	f.Service = f.with("ports.count", "2")
	was := f.create(croft.CreateRequest{Name: "a"})
	for _, c := range []struct {
		req  croft.UpdateRequest
		want croft.Code
	}{
		{croft.UpdateRequest{Workspace: "without", Ports: croft.PortsMove}, croft.InvalidRequest},
		{croft.UpdateRequest{Workspace: "a", Ports: croft.PortsMove, Meta: map[string]string{"x": "1"}}, croft.InvalidRequest},
		{croft.UpdateRequest{Workspace: "a", Ports: "shuffle"}, croft.InvalidRequest},
		{croft.UpdateRequest{Workspace: "a", Ports: croft.PortsMove, IfRevision: was.Revision + 7}, croft.RevisionChanged},
		{croft.UpdateRequest{Workspace: "nobody", Ports: croft.PortsMove}, croft.WorktreeNotFound},
	} {
		if _, err := f.UpdateWorkspace(t.Context(), c.req); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, wanted %s", c.req, err, c.want)
		}
	}
	if now := f.show("a"); !slices.Equal(now.Ports, was.Ports) || now.Revision != was.Revision {
		t.Errorf("%v at %d, was %v at %d", now.Ports, now.Revision, was.Ports, was.Revision)
	}
}

// Restored: a workspace that comes back has the ports that it had.
func (portScenarios) Restored(t *testing.T, f *fixture) {
	f.Service = f.with("ports.count", "3")
	was := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	for i := range 5 {
		if w := f.create(croft.CreateRequest{Name: fmt.Sprint("other", i)}); slices.Contains(w.Ports, was.Ports[0]) {
			t.Errorf("%s has the ports of one that can be restored", w.Name)
		}
	}
	back, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})
	if err != nil || !slices.Equal(back.Ports, was.Ports) || back.Env["PORT"] != was.Env["PORT"] {
		t.Errorf("%v, %v, wanted %v", back, err, was.Ports)
	}
}
