// Package servicetest proves that an implementation of croft.Service keeps the
// contract that is written on the Service's parts. It knows no implementation:
// it is run on the engine, and later on a client of a daemon and on a fleet.
//
//	func TestService(t *testing.T) {
//		servicetest.Run(t, func(t *testing.T, dir string, env []string) croft.Service { … })
//	}
//
// Every scenario has a real repository, a home and a state directory of its
// own, and looks at the result through git and the file system, not only
// through the Service that is being tested.
package servicetest

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// Open opens the Service under test for a directory. env is the environment that
// configuration is read from and that git runs in. Several Services may be open at once;
// Run closes none of them, Open has to register that with t.Cleanup.
type Open func(t *testing.T, dir string, env []string) croft.Service

// Run tests the whole contract.
func Run(t *testing.T, open Open) { run(t, open, groups()) }

// group is a set of scenarios about one part of a Service.
type group struct {
	name      string
	scenarios []scenario
}

// groupOf is the group whose scenarios are the exported methods of a type.
func groupOf(name string, of any) group {
	g := group{name: name}
	for method, value := range reflect.ValueOf(of).Methods() {
		g.scenarios = append(g.scenarios, scenario{method.Name, value.Interface().(func(*testing.T, *fixture))})
	}
	return g
}

func groups() []group {
	return []group{
		groupOf("Repos", repoScenarios{}),
		groupOf("Create", createScenarios{}),
		{"AllOrNone", allOrNoneScenarios()},
		groupOf("Base", baseScenarios{}),
		groupOf("Places", placeScenarios{}),
		withRoles(groupOf("Swarm", swarmScenarios{})),
		groupOf("Sibling", siblingScenarios{}),
		groupOf("Agents", agentScenarios{}),
		groupOf("Roles", roleScenarios{}),
		groupOf("List", listScenarios{}),
		groupOf("Status", statusScenarios{}),
		groupOf("Conditions", conditionScenarios{}),
		groupOf("Remove", removeScenarios{}),
		groupOf("Lock", lockScenarios{}),
		groupOf("Lease", leaseScenarios{}),
		groupOf("Reap", reapScenarios{}),
		groupOf("Clean", cleanScenarios{}),
		groupOf("Trash", trashScenarios{}),
		groupOf("TrashUpkeep", trashUpkeepScenarios{}),
		groupOf("Snapshots", snapshotScenarios{}),
		groupOf("Radar", radarScenarios{}),
		groupOf("History", historyScenarios{}),
		groupOf("Merges", mergeScenarios{}),
		groupOf("Seen", seenScenarios{}),
		groupOf("Gets", getScenarios{}),
		groupOf("Commits", commitScenarios{}),
		groupOf("Resolve", resolveScenarios{}),
		groupOf("Finish", finishScenarios{}),
		groupOf("Branch", branchScenarios{}),
		groupOf("Lanes", laneScenarios{}),
		groupOf("Revert", revertScenarios{}),
		groupOf("Reviews", reviewScenarios{}),
		groupOf("Rounds", roundScenarios{}),
		groupOf("RoundModes", roundModeScenarios{}),
		groupOf("Scratch", scratchScenarios{}),
		groupOf("Presenter", presenterScenarios{}),
		groupOf("Doctor", doctorScenarios{}),
		groupOf("Keys", keyScenarios{}),
		groupOf("Events", eventScenarios{}),
		groupOf("Told", toldScenarios{}),
		groupOf("Reasons", reasonScenarios{}),
		groupOf("Limits", limitScenarios{}),
		groupOf("Actors", actorScenarios{}),
		groupOf("Revisions", revisionScenarios{}),
		groupOf("Meta", metaScenarios{}),
		groupOf("Everywhere", everywhereScenarios{}),
		groupOf("CheckLog", checkLogScenarios{}),
		groupOf("Diffs", diffScenarios{}),
	}
}

func run(t *testing.T, open Open, groups []group) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range g.scenarios {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.run(t, newFixture(t, open))
				})
			}
		})
	}
}

// scenario is one named test of a promise.
type scenario struct {
	name string
	run  func(t *testing.T, f *fixture)
}

// fixture is a repository with one commit and a Service that was opened in it.
type fixture struct {
	*gittest.Repo
	croft.Service

	t    *testing.T
	open Open
}

func newFixture(t *testing.T, open Open) *fixture {
	r := gittest.New(t)
	return &fixture{Repo: r, Service: open(t, r.Dir, r.Env), t: t, open: open}
}

// at opens the Service in another directory, with more variables.
func (f *fixture) at(dir string, env ...string) croft.Service {
	f.t.Helper()
	return f.open(f.t, dir, append(slices.Clone(f.Env), env...))
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
	gittest.WriteFile(f.t, filepath.Join(dir, file), content)
	f.GitIn(dir, "add", "--all")
	f.GitIn(dir, "commit", "--quiet", "--message", "change "+file)
	f.pull(dir)
	return f.GitIn(dir, "rev-parse", "HEAD")
}

// collectGarbage has git delete every object that no ref keeps.
func (f *fixture) collectGarbage() {
	f.t.Helper()
	f.Git("reflog", "expire", "--expire=now", "--all")
	f.Git("gc", "--quiet", "--prune=now")
}

// trace is everything that a repository and its surroundings hold besides objects: it must
// be the same before and after an act that failed.
type trace struct {
	Refs, Worktrees, Exclude, Status, Beside string
}

func (f *fixture) trace() trace {
	f.t.Helper()
	exclude, _ := os.ReadFile(filepath.Join(f.Dir, ".git", "info", "exclude"))
	return trace{
		Refs:      f.Git("for-each-ref", "--format=%(refname) %(objectname)"),
		Worktrees: f.Git("worktree", "list", "--porcelain"),
		Exclude:   string(exclude),
		Status:    f.Git("status", "--porcelain", "--untracked-files=all"),
		Beside:    strings.Join(tree(f.t, filepath.Dir(f.Dir), f.Dir), "\n") + "\n" + strings.Join(tree(f.t, filepath.Join(f.Dir, ".worktrees"), ""), "\n"),
	}
}

// tree lists the files below a directory, except for one directory in it.
func tree(t *testing.T, dir, except string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == except:
			return filepath.SkipDir
		}
		list = append(list, path)
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return list
}

// unchanged fails the test if anything differs from before. One line may have been added to
// the shared exclude file.
func (f *fixture) unchanged(before trace) {
	f.t.Helper()
	after := f.trace()
	before.Exclude, after.Exclude = "", ""
	if after != before {
		f.t.Errorf("something was left behind:\nbefore %+v\nafter  %+v", before, after)
	}
	if n, err := f.CountActive(f.t.Context(), croft.CountRequest{}); err != nil || n.Active != 0 {
		f.t.Errorf("CountActive = %d, %v, want 0", n.Active, err)
	}
}

// must ends the test if a call failed that the scenario needs.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf drops the result of a call of which the scenario needs only the error.
func errOf[T any](_ T, err error) error { return err }

// wantCode ends the test unless err has the code, and returns the error.
func wantCode(t *testing.T, err error, want croft.Code) *croft.Error {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %s", err, want)
	}
	var e *croft.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %T is not a *croft.Error", err)
	}
	checkError(t, e)
	return e
}

// checkError checks the properties that every error has.
func checkError(t *testing.T, e *croft.Error) {
	t.Helper()
	switch {
	case e.Op == "":
		t.Errorf("%s: no operation", e.Code)
	case e.Message == "" || strings.ContainsAny(e.Message, "\n"):
		t.Errorf("%s: message %q is not one line", e.Code, e.Message)
	case strings.HasSuffix(e.Message, "."):
		t.Errorf("%s: message %q ends with a period", e.Code, e.Message)
	}
}

// wantNames fails the test unless these are the live workspaces, in this order.
func (f *fixture) wantNames(want ...string) {
	f.t.Helper()
	if got := f.names(); !slices.Equal(got, want) {
		f.t.Errorf("workspaces %q, want %q", got, want)
	}
}

// wantAt fails the test unless a revision is this commit.
func (f *fixture) wantAt(rev, commit string) {
	f.t.Helper()
	if got := f.Git("rev-parse", rev); got != commit {
		f.t.Errorf("%s is at %s, want %s", rev, got, commit)
	}
}

// wantCommit fails the test unless the repository still has a commit.
func (f *fixture) wantCommit(commit string) {
	f.t.Helper()
	if got := f.Git("cat-file", "-t", commit); got != "commit" {
		f.t.Errorf("%s is %q, want a commit", commit, got)
	}
}

// wantContent fails the test unless a file, as "revision:path", has this content.
func (f *fixture) wantContent(file, want string) {
	f.t.Helper()
	if got := f.Git("show", file); got != want {
		f.t.Errorf("%s is %q, want %q", file, got, want)
	}
}

// wantTree fails the test unless a revision has these files, a line each.
func (f *fixture) wantTree(rev, want string) {
	f.t.Helper()
	if got := f.Git("ls-tree", "-r", "--name-only", rev); got != want {
		f.t.Errorf("%s has the files\n%s\nwant\n%s", rev, got, want)
	}
}

// wantStatus fails the test unless git status prints this in a checkout.
func (f *fixture) wantStatus(dir, want string) {
	f.t.Helper()
	if got := f.GitIn(dir, "status", "--porcelain"); got != want {
		f.t.Errorf("status of %s: %q, want %q", dir, got, want)
	}
}

// clean fails the test unless git finds nothing changed and nothing new in a checkout.
func (f *fixture) clean(dir string) {
	f.t.Helper()
	f.wantStatus(dir, "")
}

// wantFile fails the test unless a file on disk has this content.
func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got := read(t, path); got != want {
		t.Errorf("%s is %q, want %q", path, got, want)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// eventually polls until the answer is true, and ends the test if it never is.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("never happened: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
