package servicetest

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/servicetest/harness"
)

// fixture is a repository with one commit and a Service that was opened in it.
type fixture struct {
	*harness.Project
	croft.Service

	t       *testing.T
	harness Harness
	others  int // repositories besides this one
}

func newFixture(t *testing.T, h Harness) *fixture {
	host := h.Start(t)
	r := harness.NewProject(t, host, host.Root())
	return &fixture{Project: r, t: t, Service: host.Open(t, r.Dir), harness: h}
}

// at opens the Service in another directory, with more variables.
func (f *fixture) at(dir string, env ...string) croft.Service {
	f.t.Helper()
	return f.Host.Open(f.t, dir, env...)
}

// with sets keys of the user's configuration, each followed by its value, and opens the
// Service again.
func (f *fixture) with(settings ...string) croft.Service {
	f.t.Helper()
	for pair := range slices.Chunk(settings, 2) {
		must(f.t, f.Host.Configure(pair[0], pair[1]))
	}
	return f.at(f.Dir)
}

// another makes another repository of the same user's.
func (f *fixture) another() *harness.Project {
	f.t.Helper()
	return harness.NewProject(f.t, f.Host, f.elsewhere())
}

// elsewhere is the path of a new directory for another repository.
func (f *fixture) elsewhere() string {
	f.others++
	return path.Join(f.Host.Root(), "more", strconv.Itoa(f.others))
}

// writeIn writes a file of a workspace.
func (f *fixture) writeIn(w croft.Workspace, name, content string) {
	f.t.Helper()
	f.WriteFile(path.Join(w.Path, name), content)
}

// create makes a workspace or ends the test.
func (f *fixture) create(req croft.CreateRequest) croft.Workspace {
	f.t.Helper()
	w, err := f.Create(f.t.Context(), req)
	must(f.t, err)
	return *w
}

// createAll makes workspaces or ends the test.
func (f *fixture) createAll(reqs ...croft.CreateRequest) []croft.Workspace {
	f.t.Helper()
	list, err := f.CreateAll(f.t.Context(), croft.CreateAllRequest{Workspaces: reqs})
	must(f.t, err)
	return list.Workspaces
}

// remove removes workspaces and returns the answer.
func (f *fixture) remove(req croft.RemoveRequest) *croft.RemoveResult {
	f.t.Helper()
	res, err := f.Remove(f.t.Context(), req)
	must(f.t, err)
	return res
}

// removed removes one workspace and ends the test if it was kept.
func (f *fixture) removed(name string) croft.Removed {
	f.t.Helper()
	res := f.remove(croft.RemoveRequest{Workspaces: []string{name}})
	if len(res.Removed) != 1 {
		f.t.Fatalf("Remove(%s) = %+v, want it removed", name, res)
	}
	return res.Removed[0]
}

// kept tries to remove one workspace, which must be kept for this reason.
func (f *fixture) kept(req croft.RemoveRequest, want croft.Code) {
	f.t.Helper()
	res := f.remove(req)
	if len(res.Removed) != 0 || len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, want) {
		f.t.Fatalf("Remove(%+v) = %+v, want it kept as %s", req, describe(res), want)
	}
	checkError(f.t, res.Kept[0].Reason)
}

func describe(res *croft.RemoveResult) []string {
	out := []string{}
	for _, r := range res.Removed {
		out = append(out, "removed "+r.Name)
	}
	for _, k := range res.Kept {
		out = append(out, "kept "+k.Name+": "+k.Reason.Error())
	}
	for _, u := range res.Unknown {
		out = append(out, "unknown "+u)
	}
	return out
}

// names lists the live workspaces' names.
func (f *fixture) names() []string {
	f.t.Helper()
	list, err := f.Workspaces(f.t.Context(), croft.WorkspacesRequest{})
	must(f.t, err)
	names := []string{}
	for _, w := range list.Items {
		names = append(names, w.Name)
	}
	return names
}

// show finds one workspace or ends the test.
func (f *fixture) show(ref string) croft.Workspace {
	f.t.Helper()
	w, err := f.Workspace(f.t.Context(), croft.WorkspaceRequest{Ref: ref})
	must(f.t, err)
	return *w
}

// status returns the status of a workspace's uncommitted work.
func (f *fixture) status(id croft.ID) croft.Status {
	f.t.Helper()
	st, err := f.Status(f.t.Context(), croft.StatusRequest{Workspace: id})
	must(f.t, err)
	return *st
}

// commitIn commits a file in a checkout and returns the commit.
func (f *fixture) commitIn(dir, file, content string) string {
	f.t.Helper()
	f.WriteFile(path.Join(dir, file), content)
	f.GitIn(dir, "add", "--all")
	f.GitIn(dir, "commit", "--quiet", "--message", "change "+file)
	f.pull(dir)
	return f.GitIn(dir, "rev-parse", "HEAD")
}

// unchanged fails the test if anything differs from before. One line may have been added to
// the shared exclude file.
func (f *fixture) unchanged(before harness.Trace) {
	f.t.Helper()
	after := f.Trace()
	before.Exclude, after.Exclude = "", ""
	if after != before {
		f.t.Errorf("something was left behind:\nbefore %+v\nafter  %+v", before, after)
	}
	if n, err := f.CountActive(f.t.Context(), croft.CountRequest{}); err != nil || n.Active != 0 {
		f.t.Errorf("CountActive = %d, %v, want 0", n.Active, err)
	}
}

// wantNames fails the test unless these are the live workspaces, in this order.
func (f *fixture) wantNames(want ...string) {
	f.t.Helper()
	if got := f.names(); !slices.Equal(got, want) {
		f.t.Errorf("workspaces %q, want %q", got, want)
	}
}
