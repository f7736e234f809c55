package servicetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type actorScenarios struct{}

// ada returns a context whose calls are Ada's.
func ada(ctx context.Context) context.Context {
	return croft.WithActor(ctx, croft.Actor{Name: "ada", Author: &croft.Author{Name: "Ada Byron", Email: "ada@byron.example"}})
}

// Named: history and events name the actor of the call, and Undo takes back the last act
// of the same actor.
func (actorScenarios) Named(t *testing.T, f *fixture) {
	ctx := ada(t.Context())
	w, err := f.Create(ctx, croft.CreateRequest{Name: "a"})
	must(t, err)
	if op := f.last("create", "done"); op.Actor != "ada" || op.ActorWorkspace != "" {
		t.Errorf("the creation is by %q in %q", op.Actor, op.ActorWorkspace)
	}
	for ev, err := range f.Events(ctx, croft.EventsRequest{Kinds: []string{croft.EventWorkspaceCreated}}) {
		must(t, err)
		if ev.Workspace != w.ID || ev.Actor != "ada" {
			t.Errorf("the event is by %q", ev.Actor)
		}
	}
	f.create(croft.CreateRequest{Name: "b"})
	_, err = f.Lock(ctx, croft.LockRequest{Workspace: "b"})
	must(t, err)
	if op := f.last("lock", "done"); op.Actor != "ada" {
		t.Errorf("the lock is by %q", op.Actor)
	}
	_, err = f.Undo(ctx, croft.UndoRequest{})
	must(t, err)
	if names := f.names(); strings.Join(names, " ") != "b" {
		t.Errorf("Ada's undo left %q", names)
	}
	if op := f.last("undo", "done"); op.Actor != "ada" {
		t.Errorf("the undo is by %q", op.Actor)
	}
}

// Author: the commits of the work and of the merge are the author's, also if another
// caller drives the lane.
func (actorScenarios) Author(t *testing.T, f *fixture) {
	const want = "Ada Byron <ada@byron.example> Ada Byron <ada@byron.example>"
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "a.txt", "a\n")
	m, err := f.SubmitMerge(ada(t.Context()), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	bob := croft.WithActor(t.Context(), croft.Actor{Name: "bob", Author: &croft.Author{Name: "Bob", Email: "bob@example.com"}})
	other := f.at(f.Dir)
	done, err := other.WaitMerge(bob, croft.WaitRequest{Merge: m.ID})
	must(t, err)
	if done.Status != croft.MergeMerged || done.Actor != "ada" {
		t.Fatalf("%s by %q: %s", done.Status, done.Actor, done.Message)
	}
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventMergeMerged}}) {
		must(t, err)
		if ev.Actor == "bob" {
			t.Error("who waited is said to have merged it")
		}
	}
	for _, commit := range []string{"main", "main^2"} {
		if got := f.Git("log", "-1", "--format=%an <%ae> %cn <%ce>", commit); got != want {
			t.Errorf("%s is by %s", commit, got)
		}
	}
}

// Stands: a caller's directories say which project is meant, and who acts if the caller
// stands in a workspace, whatever else it says.
func (actorScenarios) Stands(t *testing.T, f *fixture) {
	w, other := f.create(croft.CreateRequest{Name: "a", Agent: "claude"}), f.another()
	there := croft.WithActor(t.Context(), croft.Actor{Name: "ada", Dir: other.Dir})
	b, err := f.Create(there, croft.CreateRequest{Name: "b"})
	must(t, err)
	if names := f.names(); b.Repo != other.Dir || strings.Join(names, " ") != "a" {
		t.Errorf("made in %s, beside %q", b.Repo, names)
	}
	inside := croft.WithActor(t.Context(), croft.Actor{Name: "ada", Dir: f.Dir, From: w.Path})
	locked, err := f.Lock(inside, croft.LockRequest{Workspace: "a"})
	must(t, err)
	if op := f.last("lock", "done"); locked.ID != w.ID || op.Actor != "claude in a" || op.ActorWorkspace != w.ID {
		t.Errorf("locked by %q in %q", op.Actor, op.ActorWorkspace)
	}
	wantCode(t, errOf(f.AcceptTarget(inside, croft.AcceptRequest{Target: "main"})), croft.TargetMoved)
	wantCode(t, errOf(f.Workspaces(croft.WithActor(t.Context(), croft.Actor{Dir: "src"}), croft.WorkspacesRequest{})), croft.InvalidRequest)
}

// Agent: the agent of a workspace is named, and decides nothing that is a person's.
func (actorScenarios) Agent(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a", Agent: "claude"})
	ctx := croft.WithActor(t.Context(), croft.Actor{Workspace: w.ID})
	_, err := f.Create(ctx, croft.CreateRequest{Name: "b"})
	must(t, err)
	if op := f.last("create", "done"); op.Actor != "claude in a" || op.ActorWorkspace != w.ID {
		t.Errorf("the creation is by %q in %q", op.Actor, op.ActorWorkspace)
	}
	config, err := f.GitConfig(ctx, croft.GitConfigRequest{})
	must(t, err)
	if _, err := f.AcceptGitConfig(ctx, croft.AcceptGitConfigRequest{Hash: config.Hash}); !errors.Is(err, croft.ConfigChanged) {
		t.Errorf("an agent accepts the configuration: %v", err)
	}
	if _, err := f.Approve(ctx, croft.ApproveRequest{Hash: strings.Repeat("0", 64)}); !errors.Is(err, croft.ChecksUntrusted) {
		t.Errorf("an agent approves checks: %v", err)
	}
	f.landed("c")
	if _, err := f.AcceptTarget(ctx, croft.AcceptRequest{Target: "main"}); !errors.Is(err, croft.TargetMoved) {
		t.Errorf("an agent accepts a target: %v", err)
	}
}

// StaysItself: a Service in a workspace acts for its agent, whatever the context says.
func (actorScenarios) StaysItself(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	_, err := f.at(w.Path).Create(ada(t.Context()), croft.CreateRequest{Name: "b"})
	must(t, err)
	if op := f.last("create", "done"); op.ActorWorkspace != w.ID || strings.Contains(op.Actor, "ada") {
		t.Errorf("the creation is by %q in %q", op.Actor, op.ActorWorkspace)
	}
}

// Refused: what a history or a commit cannot show, and what could be read as another
// actor, fails the call, which then did nothing.
func (actorScenarios) Refused(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	for name, bad := range map[string]croft.Actor{
		"a line":        {Name: "ada\nbob"},
		"another":       {Name: "claude in a <" + string(w.ID) + ">"},
		"long":          {Name: strings.Repeat("x", 300)},
		"bytes":         {Name: "a\xff"},
		"an agent":      {Author: &croft.Author{Name: "claude in a <" + string(w.ID) + ">", Email: "a@example.com"}},
		"no address":    {Author: &croft.Author{Name: "Ada"}},
		"no name":       {Author: &croft.Author{Email: "ada@example.com"}},
		"author's line": {Name: "ada", Author: &croft.Author{Name: "Ada", Email: "a@b>\ntree 0"}},
	} {
		_, err := f.Create(croft.WithActor(t.Context(), bad), croft.CreateRequest{Name: "b"})
		if !errors.Is(err, croft.InvalidName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := f.Create(croft.WithActor(t.Context(), croft.Actor{Workspace: "aaaaaaaaaaaaaaaa"}), croft.CreateRequest{Name: "b"})
	if !errors.Is(err, croft.WorktreeNotFound) {
		t.Errorf("an unknown workspace: %v", err)
	}
	if names := f.names(); strings.Join(names, " ") != "a" {
		t.Errorf("there are %q", names)
	}
}
