package servicetest

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

type radarScenarios struct{}

func (f *fixture) conflicts() croft.Forecast {
	f.t.Helper()
	c, err := f.Conflicts(f.t.Context(), croft.ConflictsRequest{})
	must(f.t, err)
	return *c
}

// wantPairs expects these collisions, each as "a b: path, path".
func wantPairs(t *testing.T, c croft.Forecast, want ...string) {
	t.Helper()
	got := []string{}
	for _, p := range c.Pairs {
		got = append(got, p.A+" "+p.B+": "+strings.Join(p.Paths, ", "))
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("collisions:\n%s", diff)
	}
}

func (f *fixture) createNamed(names ...string) map[string]string {
	f.t.Helper()
	paths := map[string]string{}
	for _, n := range names {
		paths[n] = f.create(croft.CreateRequest{Name: n}).Path
	}
	return paths
}

// AllKindsOfWork: committed, staged, changed, added and deleted files all count.
func (radarScenarios) AllKindsOfWork(t *testing.T, f *fixture) {
	at := f.createNamed("committed", "staged", "modified", "deleted", "new1", "new2")
	f.commitIn(at["committed"], "README.md", "committed\n")
	f.WriteFile(filepath.Join(at["staged"], "README.md"), "staged\n")
	f.GitIn(at["staged"], "add", "README.md")
	f.WriteFile(filepath.Join(at["modified"], "src/main.txt"), "modified\n")
	f.Delete(filepath.Join(at["deleted"], "src/main.txt"))
	f.WriteFile(filepath.Join(at["new1"], "dir", "ünïcode"), "one\n")
	f.WriteFile(filepath.Join(at["new2"], "dir"), "a file where another has a directory\n")
	c := f.conflicts()
	wantPairs(t, c, "committed staged: README.md", "modified deleted: src/main.txt", "new1 new2: dir")
	if want := []string{"committed", "modified", "new1", "staged", "deleted", "new2"}; !slices.Equal(c.Order, want) {
		t.Errorf("order %q, want %q", c.Order, want)
	}
}

func (radarScenarios) DisturbsNothing(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	f.commitIn(f.create(croft.CreateRequest{Name: "b"}).Path, "work.txt", "other\n")
	f.conflicts() // makes the directory that temporary files lie in
	before, objects, refs := f.content(w.Path), f.Tree(filepath.Join(f.Dir, ".git"), ""), f.Git("for-each-ref")
	wantPairs(t, f.conflicts(), "a b: work.txt")
	f.same(w.Path, before)
	if diff := cmp.Diff(objects, f.Tree(filepath.Join(f.Dir, ".git"), "")); diff != "" || f.Git("for-each-ref") != refs {
		t.Errorf("the repository has changed:\n%s", diff)
	}
}

func (radarScenarios) WithTheTarget(t *testing.T, f *fixture) {
	at := f.createNamed("a", "b")
	f.commitIn(at["a"], "README.md", "a\n")
	f.commitIn(at["b"], "b.txt", "b\n")
	f.commitIn(f.Dir, "README.md", "main\n")
	c := f.conflicts()
	wantPairs(t, c, "a main: README.md")
	if !c.Pairs[0].IsTarget || !slices.Equal(c.Order, []string{"b", "a"}) {
		t.Errorf("%+v", c)
	}
}

// InTheMiddleOfAMerge: a workspace in which a conflict with the target is being resolved no
// longer collides with the target.
func (radarScenarios) InTheMiddleOfAMerge(t *testing.T, f *fixture) {
	at := f.createNamed("a")
	f.commitIn(at["a"], "README.md", "a\n")
	f.commitIn(f.Dir, "README.md", "main\n")
	f.seeMain(at["a"])
	if out, err := f.TryGit(at["a"], "merge", "main"); err == nil {
		t.Fatalf("the merge was to conflict: %s", out)
	}
	f.WriteFile(filepath.Join(at["a"], "README.md"), "both\n")
	wantPairs(t, f.conflicts())
}

// LeavesOutHeldBackFiles: files that are held back from commits collide with nothing.
func (radarScenarios) LeavesOutHeldBackFiles(t *testing.T, f *fixture) {
	f.Roles("tester")
	f.Commit("roles")
	for _, name := range []string{"a", "b"} {
		w := f.create(croft.CreateRequest{Name: name, Role: "tester"})
		for _, file := range []string{".env", "keys/server.pem", "STATE.json", "CLAUDE.md", "ignored.log", ".gitignore"} {
			text := "of " + name + "\n"
			if file == ".gitignore" {
				text = "*.log\n"
			}
			f.WriteFile(filepath.Join(w.Path, file), text)
		}
		f.GitIn(w.Path, "add", ".env", "keys")
		f.writeIn(w, "large", strings.Repeat(name, 6<<20))
		f.GitIn(w.Path, "init", "--quiet", "nested")
		f.WriteFile(filepath.Join(w.Path, "nested", "file"), name)
		f.GitIn(filepath.Join(w.Path, "nested"), "add", "file")
		f.GitIn(filepath.Join(w.Path, "nested"), "commit", "--quiet", "-m", name)
	}
	if c := f.conflicts(); len(c.Pairs) != 0 || len(c.Skipped) != 0 || !slices.Equal(c.Order, []string{"a", "b"}) {
		t.Errorf("%+v", c)
	}
}

func (radarScenarios) NothingToMerge(t *testing.T, f *fixture) {
	at := f.createNamed("idle", "merged", "busy")
	f.commitIn(at["merged"], "README.md", "merged\n")
	f.Git("merge", "--quiet", "--no-ff", "-m", "merge", "croft/merged")
	f.commitIn(at["busy"], "README.md", "busy\n")
	c := f.conflicts()
	wantPairs(t, c, "busy main: README.md")
	if !slices.Equal(c.Order, []string{"busy"}) || c.Effort.Pairs != 1 {
		t.Errorf("%+v", c)
	}
}

func (radarScenarios) OtherTarget(t *testing.T, f *fixture) {
	f.Git("branch", "release")
	a := f.create(croft.CreateRequest{Name: "a"})
	b := f.create(croft.CreateRequest{Name: "b", Base: "release"})
	if a.Target != "main" || b.Target != "release" {
		t.Fatalf("targets %q and %q", a.Target, b.Target)
	}
	f.commitIn(a.Path, "README.md", "a\n")
	f.commitIn(b.Path, "README.md", "b\n")
	c := f.conflicts()
	wantPairs(t, c)
	if !slices.Equal(c.Order, []string{"a", "b"}) || c.Effort.Pairs != 2 {
		t.Errorf("%+v", c)
	}
}

func (radarScenarios) TargetGone(t *testing.T, f *fixture) {
	f.Git("branch", "release")
	for _, name := range []string{"a", "b"} {
		f.commitIn(f.create(croft.CreateRequest{Name: name, Base: "release"}).Path, "README.md", name)
	}
	f.Git("branch", "-D", "release")
	wantPairs(t, f.conflicts(), "a b: README.md")
}

func (radarScenarios) Unrelated(t *testing.T, f *fixture) {
	at := f.createNamed("a", "b")
	f.commitIn(at["b"], "b.txt", "b\n")
	f.GitIn(at["a"], "checkout", "--quiet", "--orphan", "new-root")
	f.commitIn(at["a"], "a.txt", "a\n")
	c := f.conflicts()
	wantPairs(t, c, "a b: ", "a main: ")
	if c.Pairs[0].Reason != croft.Unrelated || c.Pairs[1].Reason != croft.Unrelated || !c.Pairs[1].IsTarget {
		t.Errorf("%+v", c.Pairs)
	}
}

// ComparesOnlyChangedPairs: after one workspace changes, only its pairs are compared again;
// also by another process.
func (radarScenarios) ComparesOnlyChangedPairs(t *testing.T, f *fixture) {
	names := []string{"a", "b", "c", "d", "e"}
	at := f.createNamed(names...)
	for _, n := range names {
		f.WriteFile(filepath.Join(at[n], "README.md"), n+"\n")
	}
	all := len(names) * (len(names) + 1) / 2 // with the target
	first := f.conflicts()
	if e := first.Effort; e.Pairs != all || e.Remembered != 0 || e.Merged != all-len(names) || e.Pruned != len(names) {
		t.Errorf("at first: %+v", e)
	}
	f.WriteFile(filepath.Join(at["c"], "README.md"), "again\n")
	c, err := f.at(f.Dir).Conflicts(t.Context(), croft.ConflictsRequest{})
	must(t, err)
	if e := c.Effort; e.Pairs != all || e.Remembered != all-len(names) || e.Merged != len(names)-1 || e.Pruned != 1 {
		t.Errorf("after one changed: %+v", e)
	}
	if diff := cmp.Diff(first.Pairs, c.Pairs); diff != "" {
		t.Errorf("the answer is to be the same:\n%s", diff)
	}
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	if e := f.conflicts().Effort; e.Pairs != all-len(names) || e.Remembered != e.Pairs {
		t.Errorf("after one was removed: %+v", e)
	}
}

func (radarScenarios) Broken(t *testing.T, f *fixture) {
	at := f.createNamed("a", "b", "lost")
	f.commitIn(at["a"], "README.md", "a\n")
	f.commitIn(at["b"], "README.md", "b\n")
	f.Delete(at["lost"])
	c := f.conflicts()
	wantPairs(t, c, "a b: README.md")
	if len(c.Skipped) != 1 || c.Skipped[0].Name != "lost" || !errors.Is(c.Skipped[0].Reason, croft.WorkspaceBroken) {
		t.Fatalf("skipped: %+v", c.Skipped)
	}
	checkError(t, c.Skipped[0].Reason)
}

// Listed: a listing shows the last forecast, for workspaces that have not changed since.
func (radarScenarios) Listed(t *testing.T, f *fixture) {
	at := f.createNamed("a", "b", "c")
	for _, n := range []string{"a", "b", "c"} {
		f.commitIn(at[n], "README.md", n+"\n")
	}
	f.commitIn(f.Dir, "README.md", "main\n")
	listed := func(page croft.Page) map[string][]string {
		out := map[string][]string{}
		for {
			list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Page: page})
			must(t, err)
			for _, w := range list.Items {
				if w.Collides != nil {
					out[w.Name] = w.Collides
				}
			}
			if page.After = list.Next; page.After == "" {
				return out
			}
		}
	}
	want := func(when string, want map[string][]string) {
		t.Helper()
		for _, limit := range []int{0, 1} {
			if diff := cmp.Diff(want, listed(croft.Page{Limit: limit})); diff != "" {
				t.Errorf("%s, pages of %d:\n%s", when, limit, diff)
			}
		}
	}
	want("before a forecast", map[string][]string{})
	f.conflicts()
	want("after it", map[string][]string{"a": {"main", "b", "c"}, "b": {"main", "a", "c"}, "c": {"main", "a", "b"}})
	f.commitIn(at["a"], "README.md", "again\n")
	want("one has moved", map[string][]string{"b": {"main", "c"}, "c": {"main", "b"}})
	f.commitIn(f.Dir, "other.txt", "main\n")
	want("the target has moved", map[string][]string{"b": {"c"}, "c": {"b"}})
	f.removed("c")
	want("one was removed", map[string][]string{})
}

func (radarScenarios) NotARepo(t *testing.T, f *fixture) {
	wantCode(t, errOf(f.Conflicts(t.Context(), croft.ConflictsRequest{Repo: filepath.Dir(f.Dir)})), croft.NotARepo)
}
