package scope_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/scope"
)

// TestWithEngine: two agents on the real engine. One token works for its own workspace in each
// of the usual calls, and sees nothing of the other's.
func TestWithEngine(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	svc, err := engine.Open(ctx, repo.Dir, &engine.Options{Environ: append(repo.Env, "CROFT_STATE_DIR="+filepath.Join(t.TempDir(), "state"))})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	made, err := svc.CreateAll(ctx, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "mine"}, {Name: "other"}}})
	if err != nil {
		t.Fatal(err)
	}
	mine, other := made.Workspaces[0], made.Workspaces[1]
	for _, ws := range made.Workspaces {
		if err := os.WriteFile(filepath.Join(ws.Path, ws.Name+".txt"), []byte("work\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	theirs, err := svc.SubmitMerge(ctx, croft.MergeRequest{Workspace: croft.ByID(other.ID)})
	if err != nil {
		t.Fatal(err)
	}
	agent := scope.New(svc).For(croft.AccessWorkspace, mine.ID)

	list, err := agent.Workspaces(ctx, croft.WorkspacesRequest{Repos: croft.ScopeAll})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != mine.ID {
		t.Errorf("workspaces %+v, %v", list, err)
	}
	for _, ref := range []croft.Ref{"other", croft.ByID(other.ID), other.Path} {
		if _, err := agent.Workspace(ctx, croft.WorkspaceRequest{Ref: ref}); !errors.Is(err, croft.WorktreeNotFound) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := agent.Merge(ctx, croft.GetRequest{Ref: croft.ByID(theirs.ID)}); !errors.Is(err, croft.MergeNotFound) {
		t.Errorf("another's merge: %v", err)
	}
	if _, err := agent.Diff(ctx, croft.DiffRequest{Merge: theirs.ID}); !errors.Is(err, croft.MergeNotFound) {
		t.Errorf("another's merge: %v", err)
	}
	for _, ref := range []croft.Ref{"other", croft.ByID(other.ID), other.Path} {
		if _, err := agent.Commits(ctx, croft.CommitsRequest{Workspace: ref}); !errors.Is(err, croft.WorktreeNotFound) {
			t.Errorf("commits of %s: %v", ref, err)
		}
	}
	if list, err := agent.Commits(ctx, croft.CommitsRequest{}); err != nil || list.Workspace != mine.ID {
		t.Errorf("commits %+v, %v", list, err)
	}
	for e, err := range agent.Events(ctx, croft.EventsRequest{Workspace: other.ID}) {
		t.Errorf("an event of another's workspace: %+v, %v", e, err)
	}
	lease, err := svc.TakeLease(ctx, croft.LeaseRequest{Workspace: croft.ByID(other.ID)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Release(ctx, croft.ReleaseRequest{Lease: lease.ID}); err != nil {
		t.Errorf("release: %v", err)
	}
	if _, err := agent.Renew(ctx, croft.RenewRequest{Lease: lease.ID}); !errors.Is(err, croft.LeaseLost) {
		t.Errorf("renew: %v", err)
	}
	if held, err := svc.Workspace(ctx, croft.WorkspaceRequest{Ref: croft.ByID(other.ID)}); err != nil || held.Lease == nil || !held.Lease.ExpiresAt.Equal(lease.ExpiresAt) {
		t.Errorf("another's lease was prolonged: %+v, %+v, %v", lease, held.Lease, err)
	}
	if _, err := svc.Renew(ctx, croft.RenewRequest{Lease: lease.ID}); err != nil {
		t.Errorf("another's lease was released: %v", err)
	}

	saved, err := agent.TakeSnapshot(ctx, croft.SnapshotRequest{})
	if err != nil || saved.Workspace != mine.ID {
		t.Fatalf("snapshot %+v, %v", saved, err)
	}
	diff, err := agent.Diff(ctx, croft.DiffRequest{})
	if err != nil || len(diff.Files) != 1 || diff.Files[0].Path != "mine.txt" {
		t.Errorf("diff %+v, %v", diff, err)
	}
	m, err := agent.SubmitMerge(ctx, croft.MergeRequest{After: croft.AfterKeep})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = agent.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("merge %+v, %v", m, err)
	}
	if m.ActorWorkspace != mine.ID {
		t.Errorf("submitted by %q", m.ActorWorkspace)
	}
	kinds := map[string]bool{}
	for e, err := range agent.Events(ctx, croft.EventsRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Workspace != mine.ID {
			t.Errorf("an event of another: %+v", e)
		}
		kinds[e.Kind] = true
	}
	for _, kind := range []string{croft.EventWorkspaceCreated, croft.EventWorkspaceSaved, croft.EventMergeMerged} {
		if !kinds[kind] {
			t.Errorf("no event %s", kind)
		}
	}
	if _, err := agent.Approve(ctx, croft.ApproveRequest{Hash: "x"}); !errors.Is(err, croft.AccessDenied) {
		t.Errorf("approve: %v", err)
	}
}
