package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// movePorts gives a workspace other ports.
func movePorts(t *testing.T, e croft.Service, name string) (*croft.Workspace, error) {
	t.Helper()
	return e.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: name, Ports: croft.PortsMove})
}

func removeNamed(t *testing.T, e croft.Service, name string) {
	t.Helper()
	got, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{name}})
	if err != nil || len(got.Kept) > 0 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// envPort returns the PORT that the file of a workspace has.
func envPort(t *testing.T, w croft.Workspace) string {
	t.Helper()
	for line := range strings.Lines(read(t, filepath.Join(w.Path, ".croft.env"))) {
		if value, ok := strings.CutPrefix(line, "PORT='"); ok {
			return strings.TrimSuffix(strings.TrimSpace(value), "'")
		}
	}
	return ""
}

// TestMovedPortsWriteThroughNothing: an agent that replaced the file with variables by a link does not get the link's
// target written, one that put a directory there keeps the ports that it had, and its croft.toml counts for nothing.
func TestMovedPortsWriteThroughNothing(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	r.Write("croft.toml", "[ports]\ncount = 2\n[env]\nWHERE = \"{port}\"\n")
	r.Commit("settings")
	e := engineIn(t, r, 0)
	approveSetup(t, e)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	file, victim := filepath.Join(w.Path, ".croft.env"), filepath.Join(t.TempDir(), "victim")
	gittest.WriteFile(t, victim, "mine\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "croft.toml"), "[ports]\ncount = 2\n[env]\nWHERE = \"evil\"\nMORE = \"evil\"\n")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, file); err != nil {
		t.Fatal(err)
	}
	moved, err := movePorts(t, e, "a")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(moved.Ports[0].Port)
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 || envPort(t, *moved) != port {
		t.Errorf("%v, %v: %s", info, err, read(t, file))
	}
	if read(t, victim) != "mine\n" {
		t.Error("the target of a link was written")
	}
	if moved.Env["WHERE"] != port || moved.Env["MORE"] != "" {
		t.Errorf("an agent chose variables: %v", moved.Env)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := movePorts(t, e, "a"); err == nil {
		t.Error("the ports were moved, though the file with them cannot be written")
	}
	if now := show(t, e, "a"); !slices.Equal(now.Ports, moved.Ports) || !maps.Equal(now.Env, moved.Env) {
		t.Errorf("%v, wanted %v", now.Ports, moved.Ports)
	}
}

// TestCommitChoosesNoVariables: variables of a commit that the project's own checkout does not have are ignored and named, also
// without commands; those that a workspace has stay when the checkout has them no more.
func TestCommitChoosesNoVariables(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	r.Write("croft.toml", "[ports]\ncount = 2\n[env]\nMODE = \"test\"\nWHERE = \"{port}\"\n")
	r.Commit("settings")
	e := engineIn(t, r, 0)
	approveSetup(t, e)
	r.Git("checkout", "--quiet", "-b", "agent")
	r.Write("croft.toml", "[ports]\ncount = 2\n[env]\nMODE = \"evil\"\nWHERE = \"{port}\"\nEXTRA = \"+!touch x\"\n")
	r.Commit("an agent's")
	r.Git("checkout", "--quiet", "main")
	w := create(t, e, croft.CreateRequest{Name: "a", Base: "agent"})
	if w.Env["WHERE"] != "" {
		t.Errorf("the approval of another set-up: %v", w.Env)
	}
	own, err := e.Checks(t.Context(), croft.ChecksRequest{Workspace: "a", Of: croft.OfSetup})
	if err == nil {
		_, err = e.Approve(t.Context(), croft.ApproveRequest{Workspace: "a", Of: croft.OfSetup, Hash: own.Hash})
	}
	if err != nil {
		t.Fatal(err)
	}
	notes := w.Notes
	w = show(t, e, "a")
	if w.Env["MODE"] != "" || w.Env["EXTRA"] != "" || w.Env["WHERE"] != fmt.Sprint(w.Ports[0].Port) {
		t.Errorf("%v", w.Env)
	}
	if notes := strings.Join(notes, "\n"); !strings.Contains(notes, "EXTRA in [env] is ignored") || !strings.Contains(notes, "MODE in [env] is ignored") {
		t.Errorf("notes: %s", notes)
	}
	plan, err := e.PlanProvision(t.Context(), croft.PlanProvisionRequest{Workspace: "a"})
	if err != nil || slices.ContainsFunc(plan.Items, func(i croft.ProvisionItem) bool { return i.What == "variable EXTRA" }) {
		t.Errorf("%+v, %v", plan, err)
	}
	b := create(t, e, croft.CreateRequest{Name: "b"})
	if b.Env["MODE"] != "test" || len(b.Notes) > 0 {
		t.Errorf("of the project's own commit: %v, %v", b.Env, b.Notes)
	}
	r.Write("croft.toml", "[ports]\ncount = 2\n")
	for _, name := range []string{"a", "b"} {
		moved, err := movePorts(t, e, name)
		if err != nil {
			t.Fatal(err)
		}
		if moved.Env["WHERE"] != fmt.Sprint(moved.Ports[0].Port) || moved.Env["EXTRA"] != "" || name == "b" && moved.Env["MODE"] != "test" {
			t.Errorf("%s after a move: %v", name, moved.Env)
		}
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.Git("clone", "--quiet", "--bare", r.Dir, bare)
	if w := create(t, open(t, bare, &engine.Options{Environ: r.Env}), croft.CreateRequest{Name: "c", Base: "agent"}); w.Env["MODE"] != "" {
		t.Errorf("of a bare repository: %v", w.Env)
	}
}

// TestMovedPortsKeepTheirShape: a move gives a workspace as many ports as it had, with the names that they had, whatever the
// settings say by now.
func TestMovedPortsKeepTheirShape(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	w := create(t, engineIn(t, r, 0, "ports.count", "2", "ports.names", "web,api", "ports.range", "31500-31599"), croft.CreateRequest{Name: "a"})
	if len(w.Ports) != 2 || w.Ports[1].Name != "api" {
		t.Fatalf("%+v", w.Ports)
	}
	moved, err := movePorts(t, engineIn(t, r, 0, "ports.count", "3", "ports.names", "db", "ports.range", "31500-31599"), "a")
	if err != nil {
		t.Fatal(err)
	}
	if p := moved.Ports; len(p) != 2 || p[0].Name != "web" || p[1].Name != "api" || p[0].Port == w.Ports[0].Port || p[1].Port != p[0].Port+1 {
		t.Errorf("from %+v to %+v", w.Ports, p)
	}
}

// TestReservedPortsOfAnotherProject: the ports of a removed workspace are not for one of its name in another project.
func TestReservedPortsOfAnotherProject(t *testing.T) {
	t.Parallel()
	r, other := provisioned(t), provisioned(t)
	other.Env = r.Env                                                       // one state
	settings := []string{"ports.count", "60", "ports.range", "31600-31699"} // one block that no other test looks at
	e := engineIn(t, r, 0, settings...)
	was := create(t, e, croft.CreateRequest{Name: "a"})
	removeNamed(t, e, "a")
	if w, err := engineIn(t, other, 0, settings...).Create(t.Context(), croft.CreateRequest{Name: "a"}); !errors.Is(err, croft.LimitReached) {
		t.Errorf("%+v, %v", w, err)
	}
	if now := create(t, e, croft.CreateRequest{Name: "a"}); !slices.Equal(now.Ports, was.Ports) {
		t.Errorf("%v, had %v", now.Ports, was.Ports)
	}
}

// TestReservedPorts: the ports of a removed workspace are nobody's for a week, but for a new one of its name; after
// that another may get them, and a restoration then takes others.
func TestReservedPorts(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	settings := []string{"ports.count", "50", "ports.range", "30100-30299", "trash.retention", "1000h"} // four blocks that no other test looks at
	e := engineIn(t, r, 0, settings...)
	was := map[string]croft.Workspace{}
	for _, name := range []string{"a", "b", "c", "d"} {
		was[name] = create(t, e, croft.CreateRequest{Name: name})
	}
	if _, err := e.Create(t.Context(), croft.CreateRequest{Name: "e"}); err == nil {
		t.Fatal("a fifth workspace has ports")
	}
	if w, err := movePorts(t, e, "a"); !errors.Is(err, croft.LimitReached) {
		t.Fatalf("moved to %+v, %v; only its own are free", w, err)
	}
	for name := range was {
		removeNamed(t, e, name)
	}
	if w, err := e.Create(t.Context(), croft.CreateRequest{Name: "e"}); err == nil {
		t.Fatalf("%v is reserved", w.Ports)
	}
	again := create(t, e, croft.CreateRequest{Name: "a"})
	if !slices.Equal(again.Ports, was["a"].Ports) {
		t.Errorf("the second a has %v, the first had %v", again.Ports, was["a"].Ports)
	}
	early := engineIn(t, r, 7*24*time.Hour-time.Minute, settings...)
	if w, err := early.Create(t.Context(), croft.CreateRequest{Name: "e"}); err == nil {
		t.Fatalf("%v is reserved for a minute more", w.Ports)
	}
	late := engineIn(t, r, 7*24*time.Hour+time.Minute, settings...)
	b, err := late.Restore(t.Context(), croft.RestoreRequest{Ref: "b"})
	if err != nil || !slices.Equal(b.Ports, was["b"].Ports) || envPort(t, *b) != b.Env["PORT"] {
		t.Fatalf("b came back with %v, %v, wanted %v", b, err, was["b"].Ports)
	}
	for _, name := range []string{"e", "f"} {
		w := create(t, late, croft.CreateRequest{Name: name})
		if slices.Equal(w.Ports, again.Ports) || slices.Equal(w.Ports, b.Ports) {
			t.Errorf("%s has the ports of a live workspace", name)
		}
	}
	removeNamed(t, late, "a") // makes room only for workspaces of that name
	c, err := late.Restore(t.Context(), croft.RestoreRequest{Ref: "c"})
	if err != nil || len(c.Ports) != 0 || c.Env["PORT"] != "" {
		t.Fatalf("c came back with %v, %v; no block is free", c, err)
	}
	later := engineIn(t, r, 15*24*time.Hour, settings...)
	d, err := later.Restore(t.Context(), croft.RestoreRequest{Ref: "d"})
	if err != nil || !slices.Equal(d.Ports, was["a"].Ports) || envPort(t, *d) != fmt.Sprint(d.Ports[0].Port) || d.Env["PORT"] != fmt.Sprint(d.Ports[0].Port) {
		t.Fatalf("d came back with %v, %v; a's were free", d, err)
	}
}

// TestDoctorNamesListeners: a process that listens at a port of a workspace in which it is not at work is named, one that
// is at work there is not.
func TestDoctorNamesListeners(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("listening processes are found on Linux")
	}
	r := provisioned(t)
	e := engineIn(t, r, 0, "ports.count", "3", "ports.range", "30300-30499")
	w := create(t, e, croft.CreateRequest{Name: "a"})
	findings := func() (list []string) {
		t.Helper()
		got, err := e.Doctor(t.Context(), croft.DoctorRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Findings {
			list = append(list, f.Code+" "+f.Subject+" "+f.Message)
		}
		return list
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", w.Ports[1].Port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := findings()
	if len(got) != 1 || !strings.HasPrefix(got[0], "PORT_TAKEN a ") || !strings.Contains(got[0], fmt.Sprintf("process %d,", os.Getpid())) ||
		!strings.Contains(got[0], fmt.Sprint(w.Ports[1].Port)) || !strings.Contains(got[0], "croft ports --move a") {
		t.Errorf("%q", got)
	}
	moved, err := movePorts(t, e, "a")
	if err != nil {
		t.Fatal(err)
	}
	if got := findings(); len(got) != 0 {
		t.Errorf("after the move: %q", got)
	}
	_ = l.Close()
	own := helper(t, r, task{Dir: w.Path, Serve: moved.Ports[0].Port, Wait: true})
	start(t, own)
	if got := findings(); len(got) != 0 {
		t.Errorf("its own server: %q", got)
	}
}

// TestPortsOfManyProcesses: 20 processes make 50 workspaces of two projects at once, with 10 ports each. No port
// is given twice, and a process that starts later, or makes a
// workspace of the same name again, finds the same ports.
func TestPortsOfManyProcesses(t *testing.T) {
	t.Parallel()
	r, other := provisioned(t), provisioned(t)
	other.Env = r.Env                                            // one state
	settings := "[ports]\ncount = 10\nrange = \"30500-31499\"\n" // no other test looks at them
	for _, at := range []*gittest.Repo{r, other} {
		at.Write("croft.toml", settings)
		at.Commit("settings")
	}
	repos, names := []*gittest.Repo{r, other}, [2][]string{}
	var cmds []*exec.Cmd
	for i := range 20 {
		job := task{Create: &croft.CreateAllRequest{}}
		for n := range 2 + i%2 {
			name := fmt.Sprintf("w%d-%d", i, n)
			job.Create.Workspaces = append(job.Create.Workspaces, croft.CreateRequest{Name: name})
			names[i/10] = append(names[i/10], name)
		}
		cmds = append(cmds, helper(t, repos[i/10], job))
	}
	var wg sync.WaitGroup
	for _, cmd := range cmds {
		wg.Go(func() {
			if out, err := run(t, cmd); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	seen := map[int]string{}
	for i, at := range repos {
		e := engineIn(t, at, 0)
		for _, name := range names[i] {
			w := show(t, e, name)
			for _, p := range w.Ports {
				if was := seen[p.Port]; was != "" {
					t.Errorf("%s and %s have port %d", was, w.Name, p.Port)
				}
				seen[p.Port] = w.Name
			}
			if envPort(t, w) != fmt.Sprint(w.Ports[0].Port) {
				t.Errorf("%s has %v, its file %s", name, w.Ports, envPort(t, w))
			}
		}
	}
	if len(seen) != 500 {
		t.Errorf("%d ports, want 500", len(seen))
	}
	again := engineIn(t, r, 0)
	was := show(t, again, names[0][0])
	removeNamed(t, again, was.Name)
	if out, err := run(t, helper(t, r, task{Create: &croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: was.Name}}}})); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if now := show(t, again, was.Name); now.ID == was.ID || !slices.Equal(now.Ports, was.Ports) {
		t.Errorf("made again with %v, had %v", now.Ports, was.Ports)
	}
}
