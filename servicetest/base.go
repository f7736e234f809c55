package servicetest

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

type baseScenarios struct{}

// wantStart compares the commit at which a workspace starts, and its target.
func wantStart(t *testing.T, w croft.Workspace, base, ref, target string) {
	t.Helper()
	if w.Base != base || w.Head != base || w.BaseRef != ref || w.Target != target {
		t.Errorf("%s: base %s (%s), head %s, target %q; want base %s (%s), target %q",
			w.Name, w.Base, w.BaseRef, w.Head, w.Target, base, ref, target)
	}
}

func (baseScenarios) CurrentBranch(t *testing.T, f *fixture) {
	f.Git("checkout", "--quiet", "-b", "topic")
	tip := f.commitIn(f.Dir, "topic.txt", "x\n")
	wantStart(t, f.create(croft.CreateRequest{Name: "a"}), tip, "topic", "topic")
}

func (baseScenarios) UpstreamAhead(t *testing.T, f *fixture) {
	old := f.Git("rev-parse", "main")
	tip := f.commitIn(f.Dir, "new.txt", "x\n")
	upstream(f, tip)
	f.Git("reset", "--quiet", "--hard", old)
	wantStart(t, f.create(croft.CreateRequest{Name: "a"}), tip, "origin/main", "main")
	f.WantAt("main", old)
}

// upstream makes main track origin/main, which is at a commit.
func upstream(f *fixture, tip string) {
	f.Git("config", "remote.origin.url", filepath.Join(f.Home, "nowhere.git"))
	f.Git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	f.Git("update-ref", "refs/remotes/origin/main", tip)
	f.Git("branch", "--quiet", "--set-upstream-to=origin/main", "main")
}

func (baseScenarios) UpstreamDiverged(t *testing.T, f *fixture) {
	old := f.Git("rev-parse", "main")
	theirs := f.commitIn(f.Dir, "theirs.txt", "x\n")
	upstream(f, theirs)
	f.Git("reset", "--quiet", "--hard", old)
	ours := f.commitIn(f.Dir, "ours.txt", "x\n")
	wantStart(t, f.create(croft.CreateRequest{Name: "diverged"}), ours, "main", "main")
	f.Git("update-ref", "refs/remotes/origin/main", old)
	wantStart(t, f.create(croft.CreateRequest{Name: "behind"}), ours, "main", "main")
}

func (baseScenarios) UpstreamGone(t *testing.T, f *fixture) {
	tip := f.Git("rev-parse", "main")
	upstream(f, tip)
	f.Git("update-ref", "-d", "refs/remotes/origin/main")
	wantStart(t, f.create(croft.CreateRequest{Name: "a"}), tip, "main", "main")
}

func (baseScenarios) DetachedHead(t *testing.T, f *fixture) {
	first := f.Git("rev-parse", "main")
	f.commitIn(f.Dir, "second.txt", "x\n")
	f.Git("checkout", "--quiet", "--detach", first)
	wantStart(t, f.create(croft.CreateRequest{Name: "a"}), first, "HEAD", "")
	// An explicit target is allowed where no branch is checked out.
	wantStart(t, f.create(croft.CreateRequest{Name: "b", Target: "main"}), first, "HEAD", "main")
}

func (baseScenarios) Tag(t *testing.T, f *fixture) {
	first := f.Git("rev-parse", "main")
	f.Git("tag", "--annotate", "--message", "one", "v1")
	f.commitIn(f.Dir, "second.txt", "x\n")
	wantStart(t, f.create(croft.CreateRequest{Name: "a", Base: "v1"}), first, "v1", "main")
}

func (baseScenarios) RemoteBranch(t *testing.T, f *fixture) {
	tip := f.commitIn(f.Dir, "theirs.txt", "x\n")
	f.Git("branch", "dev", tip+"~1")
	f.Git("update-ref", "refs/remotes/origin/dev", tip)
	f.Git("update-ref", "refs/remotes/origin/other", tip)
	// The target is the local branch of the same name, if there is one.
	wantStart(t, f.create(croft.CreateRequest{Name: "a", Base: "origin/dev"}), tip, "origin/dev", "dev")
	wantStart(t, f.create(croft.CreateRequest{Name: "b", Base: "origin/other"}), tip, "origin/other", "main")
}

func (baseScenarios) Commit(t *testing.T, f *fixture) {
	first := f.Git("rev-parse", "main")
	f.commitIn(f.Dir, "second.txt", "x\n")
	wantStart(t, f.create(croft.CreateRequest{Name: "a", Base: first}), first, first, "main")
	wantStart(t, f.create(croft.CreateRequest{Name: "b", Base: first[:10]}), first, first[:10], "main")
}

func (baseScenarios) Relative(t *testing.T, f *fixture) {
	first := f.Git("rev-parse", "main")
	f.commitIn(f.Dir, "second.txt", "x\n")
	wantStart(t, f.create(croft.CreateRequest{Name: "a", Base: "HEAD~1"}), first, "HEAD~1", "main")
}

func (baseScenarios) LocalBranch(t *testing.T, f *fixture) {
	first := f.Git("rev-parse", "main")
	f.Git("branch", "release/1")
	f.commitIn(f.Dir, "second.txt", "x\n")
	wantStart(t, f.create(croft.CreateRequest{Name: "a", Base: "release/1"}), first, "release/1", "release/1")
}

func (baseScenarios) InsideAnotherWorkspace(t *testing.T, f *fixture) {
	outer := f.create(croft.CreateRequest{Name: "outer"})
	tip := f.commitIn(outer.Path, "outer.txt", "x\n")
	inside := f.at(outer.Path)
	w, err := inside.Create(t.Context(), croft.CreateRequest{Name: "inner"})
	must(t, err)
	wantStart(t, *w, tip, outer.Branch, outer.Branch)
	if filepath.Dir(w.Path) != filepath.Dir(outer.Path) {
		t.Errorf("the inner workspace lies at %s, not beside the outer one", w.Path)
	}
	// HEAD means that of the checkout in which the Service was opened.
	w, err = inside.Create(t.Context(), croft.CreateRequest{Name: "from-head", Base: "HEAD"})
	must(t, err)
	wantStart(t, *w, tip, "HEAD", outer.Branch)
}

func (baseScenarios) TargetGiven(t *testing.T, f *fixture) {
	tip := f.Git("rev-parse", "main")
	f.Git("branch", "release")
	wantStart(t, f.create(croft.CreateRequest{Name: "a", Target: "release"}), tip, "main", "release")
	wantStart(t, f.create(croft.CreateRequest{Name: "b", Base: "main", Target: "release"}), tip, "main", "release")
}

func (baseScenarios) FetchFirst(t *testing.T, f *fixture) {
	server := filepath.Join(f.Home, "server.git")
	f.Git("clone", "--quiet", "--bare", f.Dir, server)
	f.Git("remote", "add", "origin", server)
	f.Git("fetch", "--quiet", "origin")
	f.Git("branch", "--quiet", "--set-upstream-to=origin/main", "main")
	old := f.Git("rev-parse", "main")
	other := filepath.Join(f.Home, "other")
	f.Git("clone", "--quiet", server, other)
	tip := f.commitIn(other, "theirs.txt", "x\n")
	f.GitIn(other, "push", "--quiet", "origin", "HEAD:main")

	wantStart(t, f.create(croft.CreateRequest{Name: "offline"}), old, "main", "main")
	wantStart(t, f.create(croft.CreateRequest{Name: "fresh", Fetch: croft.FetchFirst}), tip, "origin/main", "main")
}

// IsPinned deletes every other ref to the base and runs git gc.
func (baseScenarios) IsPinned(t *testing.T, f *fixture) {
	f.Git("checkout", "--quiet", "-b", "topic")
	tip := f.commitIn(f.Dir, "topic.txt", "x\n")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Git("checkout", "--quiet", "main")
	f.Git("branch", "--quiet", "-D", "topic")
	f.seeMain(w.Path)
	f.GitIn(w.Path, "checkout", "--quiet", "--detach", "main")
	f.Git("branch", "--quiet", "-D", w.Branch)
	f.CollectGarbage()
	f.WantCommit(tip)
}
