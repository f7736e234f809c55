package servicetest

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

type pushScenarios struct{}

// upstreamRepo makes a bare repository, and a remote origin that leads to it.
func (f *fixture) upstreamRepo() (dir string) {
	dir = filepath.Join(f.Home, "up.git")
	f.Git("init", "--quiet", "--bare", dir)
	f.Git("config", "remote.origin.url", dir)
	f.Git("push", "--quiet", "origin", "main")
	return dir
}

// wantPush pushes a workspace, and compares what that did and what the remote has then.
func (f *fixture) wantPush(name string, want croft.PushOutcome) croft.Pushed {
	f.t.Helper()
	got, err := f.Push(f.t.Context(), croft.PushRequest{Workspace: name})
	if err != nil {
		f.t.Fatalf("push %s: %v", name, err)
	}
	now := f.show(name)
	if got.Outcome != want || got.Push == nil || got.Push.Commit != now.Head || got.Push.Remote != "origin" || got.Push.Branch != now.Branch {
		f.t.Errorf("push %s: %+v (%+v), want %s of %s", name, got, got.Push, want, now.Head)
	}
	if now.Push == nil || now.Push.Commit != now.Head {
		f.t.Errorf("%s: recorded %+v", name, now.Push)
	}
	if there := f.Git("ls-remote", "origin", "refs/heads/"+now.Branch); there != now.Head+"\trefs/heads/"+now.Branch {
		f.t.Errorf("%s is at %q, want %s", now.Branch, there, now.Head)
	}
	return *got
}

// Branch: the branch of a workspace is pushed with its uncommitted work, again after more
// commits and after a rewrite; nothing else at the remote is moved.
func (pushScenarios) Branch(t *testing.T, f *fixture) {
	f.upstreamRepo()
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "f.txt", "one\n")
	f.wantPush("a", croft.PushCreated)
	f.wantPush("a", croft.PushUpToDate)
	f.writeIn(w, "f.txt", "two\n")
	f.wantPush("a", croft.PushFastForward)
	f.GitIn(w.Path, "commit", "--quiet", "--amend", "-m", "another message")
	f.wantPush("a", croft.PushRewritten)
	f.Git("push", "--quiet", "origin", ":refs/heads/"+w.Branch)
	f.wantPush("a", croft.PushRecreated)
	if refs := f.Git("ls-remote", "origin", "refs/heads/main"); refs != f.Git("rev-parse", "main")+"\trefs/heads/main" {
		t.Errorf("main at the remote: %s", refs)
	}
	told := 0
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventWorkspacePushed}}) {
		must(t, err)
		if told++; ev.After.Workspace.Push == nil {
			t.Errorf("told without a push: %+v", ev)
		}
	}
	if told != 4 {
		t.Errorf("told %d times of a push", told)
	}
}

// Advanced: a branch at the remote with commits that the workspace lacks is left alone.
func (pushScenarios) Advanced(t *testing.T, f *fixture) {
	f.upstreamRepo()
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "f.txt", "one\n")
	f.wantPush("a", croft.PushCreated)
	foreign := f.Git("commit-tree", "-p", f.show("a").Head, "-m", "theirs", "HEAD^{tree}")
	f.Git("push", "--quiet", "origin", foreign+":refs/heads/"+w.Branch)
	f.writeIn(w, "f.txt", "two\n")
	wantCode(t, errOf(f.Push(t.Context(), croft.PushRequest{Workspace: "a"})), croft.RemoteAdvanced)
	if there := f.Git("ls-remote", "origin", "refs/heads/"+w.Branch); there != foreign+"\trefs/heads/"+w.Branch {
		t.Errorf("the branch was moved to %s", there)
	}
}

// Refused: agents do not push, a remote that nobody accepted is not used, and one that is not
// there has a code of its own.
func (pushScenarios) Refused(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "f.txt", "one\n")
	wantCode(t, errOf(f.Push(t.Context(), croft.PushRequest{Workspace: "a"})), croft.RemoteNotFound)
	dir := f.upstreamRepo()
	wantCode(t, errOf(f.Push(t.Context(), croft.PushRequest{Workspace: "a"})), croft.ConfigChanged)
	f.acceptConfig()
	inside := croft.WithActor(t.Context(), croft.Actor{Dir: f.Dir, From: w.Path})
	wantCode(t, errOf(f.Push(inside, croft.PushRequest{Workspace: "a"})), croft.AccessDenied)
	f.Git("config", "remote.origin.url", dir+"-of-somebody-else")
	wantCode(t, errOf(f.Push(t.Context(), croft.PushRequest{Workspace: "a"})), croft.ConfigChanged)
	f.Git("config", "remote.origin.url", dir)
	f.wantPush("a", croft.PushCreated)
	wantCode(t, errOf(f.Push(t.Context(), croft.PushRequest{Workspace: "a", Title: "t"})), croft.InvalidRequest)
	wantCode(t, errOf(f.Push(t.Context(), croft.PushRequest{Workspace: "a", Remote: "-x"})), croft.RemoteNotFound)
}

// acceptConfig accepts the repository's configuration as it is.
func (f *fixture) acceptConfig() {
	f.t.Helper()
	now, err := f.GitConfig(f.t.Context(), croft.GitConfigRequest{})
	must(f.t, err)
	must(f.t, errOf(f.AcceptGitConfig(f.t.Context(), croft.AcceptGitConfigRequest{Hash: now.Hash})))
}

// PullRequest: the commits of a pull request are fetched without a ref, and a workspace can
// begin with them.
func (pushScenarios) PullRequest(t *testing.T, f *fixture) {
	f.upstreamRepo()
	theirs := f.Git("commit-tree", "-p", "HEAD", "-m", "theirs", "HEAD^{tree}")
	f.Git("push", "--quiet", "origin", theirs+":refs/pull/7/head")
	refs := f.Git("for-each-ref")
	got, err := f.FetchPullRequest(t.Context(), croft.FetchPullRequestRequest{Number: 7})
	if err != nil || got.Commit != theirs || got.Number != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	if now := f.Git("for-each-ref"); now != refs {
		t.Errorf("refs after the fetch:\n%s\nbefore:\n%s", now, refs)
	}
	w := f.create(croft.CreateRequest{Name: "pr-7", Base: got.Commit, Target: "main"})
	wantStart(t, w, theirs, theirs, "main")
	wantCode(t, errOf(f.FetchPullRequest(t.Context(), croft.FetchPullRequestRequest{Number: 8})), croft.PullRequestNotFound)
	wantCode(t, errOf(f.FetchPullRequest(t.Context(), croft.FetchPullRequestRequest{})), croft.InvalidRequest)
	unpushed, err := f.RefreshPush(t.Context(), croft.RefreshPushRequest{Workspace: "pr-7"})
	if err != nil || unpushed.Push != nil {
		t.Errorf("never pushed: %+v, %v", unpushed, err)
	}
}
