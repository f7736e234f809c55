package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type snapshotScenarios struct{}

// dirty makes every kind of uncommitted work in a workspace.
func (f *fixture) dirty(w croft.Workspace) {
	f.t.Helper()
	f.commitIn(w.Path, ".gitignore", "*.log\n.env\n")
	f.commitIn(w.Path, "work.txt", "committed\n")
	for _, c := range []struct{ file, content string }{{"staged.txt", "staged\n"}, {"work.txt", "staged\n"}} {
		f.WriteFile(filepath.Join(w.Path, c.file), c.content)
	}
	f.GitIn(w.Path, "add", "--all")
	for file, content := range map[string]string{
		"work.txt": "changed\n", "untracked.txt": "untracked\n", "debug.log": "ignored\n", ".env": "TOKEN=first\n",
	} {
		f.WriteFile(filepath.Join(w.Path, file), content)
	}
}

// content is the state of a checkout: git's view of it, and every file.
func (f *fixture) content(dir string) map[string]string {
	f.t.Helper()
	out := map[string]string{
		"(status)": f.GitIn(dir, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=all"),
		"(index)":  f.GitIn(dir, "ls-files", "--stage", "-v"),
		"(head)":   f.GitIn(dir, "rev-parse", "--symbolic-full-name", "HEAD"),
	}
	for _, path := range f.Tree(dir, f.privateGit(dir)) {
		if mode, err := f.Host.Stat(path); err == nil && mode.IsRegular() {
			out[strings.TrimPrefix(path, dir)] = mode.String() + " " + f.ReadFile(path)
		}
	}
	return out
}

// same fails the test unless a checkout has this content.
func (f *fixture) same(dir string, before map[string]string) {
	f.t.Helper()
	after := f.content(dir)
	for name, was := range before {
		if after[name] != was {
			f.t.Errorf("%s was\n%s\nand is\n%s", name, was, after[name])
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			f.t.Errorf("%s is new", name)
		}
	}
}

func (f *fixture) snapshot(name string) croft.Snapshot {
	f.t.Helper()
	s, err := f.TakeSnapshot(f.t.Context(), croft.SnapshotRequest{Workspace: name})
	must(f.t, err)
	return *s
}

// restore restores a removed workspace, or the state of a snapshot.
func (f *fixture) restore(ref string) croft.Workspace {
	f.t.Helper()
	w, err := f.Restore(f.t.Context(), croft.RestoreRequest{Ref: ref})
	must(f.t, err)
	return *w
}

func (snapshotScenarios) RestoreInPlace(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	before := f.content(w.Path)
	s := f.snapshot("a")
	f.GitIn(w.Path, "add", "--all")
	f.GitIn(w.Path, "commit", "--quiet", "--message", "on")
	f.commitIn(w.Path, "later.txt", "later\n")
	f.writeIn(w, "debug.log", "written since\n")
	f.writeIn(w, "another.txt", "untracked since\n")
	later := f.content(w.Path)
	back := f.restore(string(s.ID))
	if back.ID != w.ID || back.State != croft.Ready || back.Branch != w.Branch {
		t.Errorf("came back as %+v", back)
	}
	before["/debug.log"] = later["/debug.log"] // ignored files stay
	f.same(w.Path, before)
	list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("snapshots %+v, %v; want another one of what it was", list, err)
	}
	for _, other := range list.Items {
		if other.ID != s.ID {
			f.restore(string(other.ID))
		}
	}
	f.same(w.Path, later)
	f.Git("fsck", "--no-dangling")
}

func (snapshotScenarios) RestoreRemoved(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	before := f.content(w.Path)
	s := f.snapshot("a")
	f.GitIn(w.Path, "reset", "--quiet", "--hard", "HEAD~2")
	f.GitIn(w.Path, "clean", "-fdq")
	delete(before, "/debug.log") // it was ignored, so the snapshot does not have it
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	f.CollectGarbage()
	back := f.restore(string(s.ID))
	if back.ID != w.ID || back.Path != w.Path {
		t.Errorf("came back as %+v", back)
	}
	f.same(w.Path, before)
	f.Git("fsck", "--no-dangling")
}

func (snapshotScenarios) Secrets(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	const secret = "TOKEN=hunter2-4711\n"
	env := filepath.Join(w.Path, ".env")
	f.WriteFile(env, secret)
	name := f.GitIn(w.Path, "hash-object", "--no-filters", ".env")
	s := f.snapshot("a")
	if _, err := f.TryGit(f.Dir, "cat-file", "-e", name); err == nil {
		t.Error("the secret is an object of the repository")
	}
	for path := range strings.Lines(f.Git("ls-tree", "-r", "--name-only", s.Commit)) {
		if strings.Contains(path, ".env") {
			t.Errorf("the snapshot's tree names %s", path)
		}
	}
	f.Delete(env)
	f.restore(string(s.ID))
	f.WantFile(env, secret)
}

func (snapshotScenarios) Locked(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	s := f.snapshot("a")
	f.writeIn(w, "work.txt", "since\n")
	before := f.content(w.Path)
	must(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a", Reason: "mine"})))
	wantCode(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: string(s.ID)})), croft.WorkspaceLocked)
	f.same(w.Path, before)
	if list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{}); err != nil || len(list.Items) != 1 {
		t.Errorf("snapshots %+v, %v; a refusal makes none", list, err)
	}
	must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})))
	f.restore(string(s.ID))
}

// OtherBranchMoved: a branch that is not checked out now and has moved since the snapshot
// is not moved back, because no ref would keep its commits.
func (snapshotScenarios) OtherBranchMoved(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "one.txt", "one\n")
	s := f.snapshot("a")
	tip := f.commitIn(w.Path, "two.txt", "two\n")
	f.GitIn(w.Path, "switch", "--quiet", "--detach", "HEAD~1")
	before := f.content(w.Path)
	wantCode(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: string(s.ID)})), croft.BranchExists)
	f.same(w.Path, before)
	f.WantAt(w.Branch, tip)
	f.GitIn(w.Path, "switch", "--quiet", w.Branch)
	f.restore(string(s.ID))
}

func (snapshotScenarios) Here(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	s, err := f.at(w.Path).TakeSnapshot(t.Context(), croft.SnapshotRequest{})
	if err != nil || s.Workspace != w.ID {
		t.Errorf("from inside: %+v, %v", s, err)
	}
	wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{})), croft.WorktreeNotFound)
}

func (snapshotScenarios) NotFound(t *testing.T, f *fixture) {
	wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "nobody"})), croft.WorktreeNotFound)
	if list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{}); err != nil || list.Items == nil || len(list.Items) != 0 {
		t.Errorf("snapshots %#v, %v; want an empty list", list, err)
	}
}

func (snapshotScenarios) WithoutIsolation(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a", Mode: croft.ModeLegacy})
	wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})), croft.Unsupported)
}
