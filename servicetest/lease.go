package servicetest

import (
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

type lockScenarios struct{}

// hold acquires a lease on a workspace.
func (f *fixture) hold(workspace croft.ID) *croft.Lease {
	f.t.Helper()
	l, err := f.Hold(f.t.Context(), croft.HoldRequest{Workspace: workspace})
	must(f.t, err)
	return l
}

func lock(t *testing.T, f *fixture, name, reason string) croft.Workspace {
	t.Helper()
	w, err := f.Lock(t.Context(), croft.LockRequest{Workspace: name, Reason: reason})
	must(t, err)
	return *w
}

func (lockScenarios) LockAndUnlock(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	if w := lock(t, f, "a", "mine"); !w.IsLocked || w.LockReason != "mine" {
		t.Errorf("Lock = %+v", w)
	}
	if w := f.show("a"); !w.IsLocked || w.LockReason != "mine" {
		t.Errorf("Workspace = %+v", w)
	}
	for range 2 {
		w, err := f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})
		if err != nil || w.IsLocked || w.LockReason != "" {
			t.Errorf("Unlock = %+v, %v", w, err)
		}
	}
	f.removed("a")
}

func (lockScenarios) ReasonIsReplaced(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	lock(t, f, "a", "one")
	if w := lock(t, f, "a", "two: with spaces\tand more"); w.LockReason != "two: with spaces\tand more" {
		t.Errorf("reason %q", w.LockReason)
	}
}

func (lockScenarios) WithoutReason(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	if w := lock(t, f, "a", ""); !w.IsLocked || w.LockReason != "" {
		t.Errorf("Lock = %+v", w)
	}
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}}, croft.WorkspaceLocked)
}

func (lockScenarios) ByGit(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Git("worktree", "lock", "--reason", "by hand", w.Path)
	if got := f.show("a"); !got.IsLocked || got.LockReason != "by hand" {
		t.Errorf("Workspace = %+v", got)
	}
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}}, croft.WorkspaceLocked)
	f.Git("worktree", "unlock", w.Path)
	if got := f.show("a"); got.IsLocked {
		t.Errorf("Workspace = %+v", got)
	}
	// The other direction.
	lock(t, f, "a", "mine")
	f.Git("worktree", "unlock", w.Path)
	f.removed("a")
}

func (lockScenarios) GitHonoursIt(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	lock(t, f, "a", "mine")
	if out, err := f.TryGit(f.Dir, "worktree", "remove", w.Path); err == nil {
		t.Errorf("git removed a locked workspace: %s", out)
	}
	if got := f.Git("worktree", "list", "--porcelain"); !strings.Contains(got, "locked mine") {
		t.Errorf("git lists %s", got)
	}
}

// OwnLocksDoNotCount: git's lock on a worktree, which Croft sets while a lease is held,
// does not count as a person's lock.
func (lockScenarios) OwnLocksDoNotCount(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	if w.IsLocked || f.show("a").IsLocked {
		t.Error("a fresh workspace is locked")
	}
	l := f.hold(w.ID)
	if got := f.show("a"); got.IsLocked || got.LockReason != "" {
		t.Errorf("while a lease is held: %+v", got)
	}
	for _, tree := range worktrees(t, f) {
		if tree.IsLocked {
			t.Errorf("Worktrees shows Croft's own lock: %+v", tree)
		}
	}
	if out, err := f.TryGit(f.Dir, "worktree", "remove", w.Path); err == nil {
		t.Errorf("git removed a workspace in use: %s", out)
	}
	// A person's lock stays when the lease ends.
	lock(t, f, "a", "mine")
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID})))
	if got := f.show("a"); !got.IsLocked || got.LockReason != "mine" {
		t.Errorf("after the release: %+v", got)
	}
	// A lease stays when the lock is removed.
	l = f.hold(w.ID)
	must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})))
	if got := f.show("a"); got.IsLocked || got.Lease == nil {
		t.Errorf("after the unlocking: %+v", got)
	}
	if out, err := f.TryGit(f.Dir, "worktree", "remove", w.Path); err == nil {
		t.Errorf("git removed a workspace in use: %s", out)
	}
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID})))
	f.Git("worktree", "remove", w.Path)
}

func worktrees(t *testing.T, f *fixture) []croft.Worktree {
	t.Helper()
	list, err := f.Worktrees(t.Context(), croft.WorktreesRequest{})
	must(t, err)
	return list.Items
}

func (lockScenarios) Refused(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	wantCode(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "b"})), croft.WorktreeNotFound)
	wantCode(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a", Reason: "croft: in use"})), croft.InvalidRequest)
	wantCode(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "b"})), croft.WorktreeNotFound)
	removeAll(t, w.Path)
	wantCode(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a"})), croft.WorkspaceBroken)
}

type leaseScenarios struct{}

func (leaseScenarios) HoldAndRelease(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	l := f.hold(w.ID)
	if l.Workspace != w.ID || l.ID == "" || l.Owner.PID == 0 || !l.ExpiresAt.After(time.Now()) {
		t.Errorf("Hold = %+v", l)
	}
	if got := f.show("a").Lease; got == nil || got.ID != l.ID || got.Owner != l.Owner {
		t.Errorf("the workspace's lease = %+v, want %+v", got, l)
	}
	for range 2 {
		if _, err := f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID}); err != nil {
			t.Errorf("Release: %v", err)
		}
	}
	if got := f.show("a").Lease; got != nil {
		t.Errorf("after the release: %+v", got)
	}
}

func (leaseScenarios) RenewsItself(t *testing.T, f *fixture) {
	f.Service = f.at(f.Dir, "CROFT_LEASE_TTL=1s")
	w := f.create(croft.CreateRequest{Name: "a"})
	l := f.hold(w.ID)
	eventually(t, "the lease outlives its first term", func() bool {
		now := f.show("a").Lease
		if now == nil {
			t.Fatal("the lease expired while it was held")
		}
		return now.ID == l.ID && now.ExpiresAt.After(l.ExpiresAt) && time.Now().After(l.ExpiresAt)
	})
}

func (leaseScenarios) Renew(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	l := f.hold(w.ID)
	again, err := f.at(f.Dir).Renew(t.Context(), croft.RenewRequest{Lease: l.ID})
	if err != nil || again.ID != l.ID || again.ExpiresAt.Before(l.ExpiresAt) || again.Owner != l.Owner {
		t.Errorf("Renew = %+v, %v, want %+v for longer", again, err, l)
	}
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID})))
	wantCode(t, errOf(f.Renew(t.Context(), croft.RenewRequest{Lease: l.ID})), croft.LeaseLost)
}

func (leaseScenarios) Several(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	one := f.hold(w.ID)
	two, err := f.Hold(t.Context(), croft.HoldRequest{Workspace: w.ID})
	if err != nil || two.ID == one.ID {
		t.Fatalf("Hold again = %+v, %v", two, err)
	}
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: one.ID})))
	if got := f.show("a").Lease; got == nil || got.ID != two.ID {
		t.Errorf("the workspace's lease = %+v, want %+v", got, two)
	}
	if out, err := f.TryGit(f.Dir, "worktree", "remove", w.Path); err == nil {
		t.Errorf("git removed a workspace in use: %s", out)
	}
}

func (leaseScenarios) CloseReleases(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	svc := f.at(f.Dir)
	must(t, errOf(svc.Hold(t.Context(), croft.HoldRequest{Workspace: w.ID})))
	must(t, svc.Close())
	if got := f.show("a").Lease; got != nil {
		t.Errorf("after the closing: %+v", got)
	}
	f.Git("worktree", "remove", w.Path) // git's lock is gone too
}

func (leaseScenarios) NotFound(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	for _, id := range []croft.ID{w.ID, "0000000000000000", ""} {
		wantCode(t, errOf(f.Hold(t.Context(), croft.HoldRequest{Workspace: id})), croft.WorktreeNotFound)
	}
	if _, err := f.Release(t.Context(), croft.ReleaseRequest{Lease: "0000000000000000"}); err != nil {
		t.Errorf("releasing what is not there: %v", err)
	}
	wantCode(t, errOf(f.Renew(t.Context(), croft.RenewRequest{Lease: "0000000000000000"})), croft.LeaseLost)
}

// GoesWithTheWorkspace: the holder of a lease may remove the workspace; the lease is then
// lost.
func (leaseScenarios) GoesWithTheWorkspace(t *testing.T, f *fixture) {
	w := f.createWith("a", "STATE.json", "{}")
	l := f.hold(w.ID)
	f.removed("a")
	wantCode(t, errOf(f.Renew(t.Context(), croft.RenewRequest{Lease: l.ID})), croft.LeaseLost)
	if _, err := f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID}); err != nil {
		t.Errorf("Release: %v", err)
	}
}
