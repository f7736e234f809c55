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
	l, err := f.TakeLease(f.t.Context(), croft.LeaseRequest{Workspace: string(workspace)})
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
	f.Delete(w.Path)
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
	f.Service = f.with("lease.ttl", "1s")
	w := f.create(croft.CreateRequest{Name: "a"})
	held, err := croft.Hold(t.Context(), f, croft.LeaseRequest{Workspace: string(w.ID)})
	must(t, err)
	l := held.Lease
	eventually(t, "the lease outlives its first term", func() bool {
		now := f.show("a").Lease
		if now == nil {
			t.Fatal("the lease expired while it was held")
		}
		return now.ID == l.ID && now.ExpiresAt.After(l.ExpiresAt) && time.Now().After(l.ExpiresAt)
	})
	must(t, held.Err())
	must(t, held.Release(t.Context()))
	if got := f.show("a").Lease; got != nil {
		t.Errorf("after the release: %+v", got)
	}
}

// HeldIsLost: a program that holds a lease is told that it was lost.
func (leaseScenarios) HeldIsLost(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	held, err := croft.Hold(t.Context(), f.at(f.Dir), croft.LeaseRequest{
		Workspace: "a", Repo: f.Dir, Owner: elsewhere("one"), TTL: croft.Duration(time.Second), Mode: croft.LeaseExclusive,
	})
	must(t, err)
	if held.Lease.Workspace != w.ID || held.Err() != nil {
		t.Fatalf("%+v, %v", held.Lease, held.Err())
	}
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: held.Lease.ID})))
	select {
	case <-held.Lost():
	case <-time.After(time.Minute):
		t.Fatal("the holder was not told that the lease is lost")
	}
	wantCode(t, held.Err(), croft.LeaseLost)
	must(t, held.Release(t.Context()))
}

// elsewhere returns a process on another machine.
func elsewhere(host string) croft.Owner { return croft.Owner{Host: host, PID: 7} }

func (leaseScenarios) Exclusive(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	ask := func(host string, mode croft.LeaseMode) (*croft.Lease, error) {
		return f.TakeLease(t.Context(), croft.LeaseRequest{Workspace: "a", Owner: elsewhere(host), Mode: mode})
	}
	one, err := ask("one", croft.LeaseExclusive)
	must(t, err)
	if one.Mode != croft.LeaseExclusive || one.Epoch != 1 || one.Owner != elsewhere("one") || one.TTL != croft.Duration(time.Minute) {
		t.Errorf("TakeLease = %+v", one)
	}
	if got := f.show("a").Lease; got == nil || got.ID != one.ID || got.Epoch != 1 || got.Mode != croft.LeaseExclusive {
		t.Errorf("the workspace's lease = %+v, want %+v", got, one)
	}
	for _, mode := range []croft.LeaseMode{croft.LeaseExclusive, croft.LeaseShared} {
		if again, err := ask("one", mode); err != nil || again.ID != one.ID || again.Epoch != 1 || again.Mode != croft.LeaseExclusive {
			t.Errorf("the owner got %+v, %v, want its own lease", again, err)
		}
		_, err = ask("two", mode)
		wantCode(t, err, croft.WorkspaceBusy)
		if text := err.Error(); !strings.Contains(text, "process 7 on one holds an exclusive lease until 20") {
			t.Errorf("it is not said who holds it until when: %s", text)
		}
	}
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: one.ID})))
	shared, err := ask("two", croft.LeaseShared)
	must(t, err)
	if shared.Epoch != 1 {
		t.Errorf("a shared lease has the epoch %d", shared.Epoch)
	}
	_, err = ask("one", croft.LeaseExclusive)
	wantCode(t, err, croft.WorkspaceBusy)
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: shared.ID})))
	f.removed("a")
	f.restore("a")
	if again, err := ask("two", croft.LeaseExclusive); err != nil || again.Epoch != 2 {
		t.Errorf("after the end of the first: %+v, %v", again, err)
	}
}

// TakenOver: a lease that was not renewed is taken over. Its former holder can do nothing
// with it any more.
func (leaseScenarios) TakenOver(t *testing.T, f *fixture) {
	w := f.createWith("a", "f", "work")
	first, second := f.at(f.Dir), f.at(f.Dir)
	ask := croft.LeaseRequest{Workspace: "a", Owner: elsewhere("one"), TTL: croft.Duration(time.Second), Mode: croft.LeaseExclusive}
	old, err := first.TakeLease(t.Context(), ask)
	must(t, err)
	ask.Owner = elsewhere("two")
	var taken *croft.Lease
	eventually(t, "the lease expires and is taken over", func() bool {
		if taken, err = second.TakeLease(t.Context(), ask); err != nil {
			wantCode(t, err, croft.WorkspaceBusy)
		}
		return err == nil
	})
	if taken.Epoch != old.Epoch+1 || taken.ID == old.ID {
		t.Errorf("taken over: %+v after %+v", taken, old)
	}
	head := f.GitIn(w.Path, "rev-parse", "HEAD")
	named := *taken
	named.Epoch = old.Epoch
	for _, lease := range []*croft.Lease{old, {ID: old.ID, Workspace: w.ID}, &named} {
		wantCode(t, errOf(first.Finish(t.Context(), croft.FinishRequest{Key: "k", Lease: lease, Policy: croft.MergeAlways})), croft.LeaseLost)
	}
	wantCode(t, errOf(first.Renew(t.Context(), croft.RenewRequest{Lease: old.ID})), croft.LeaseLost)
	if now := f.GitIn(w.Path, "rev-parse", "HEAD"); now != head || f.show("a").MergeStatus != "" {
		t.Errorf("the former holder committed %s", now)
	}
	must(t, errOf(first.Release(t.Context(), croft.ReleaseRequest{Lease: old.ID})))
	if now := f.show("a").Lease; now == nil || now.ID != taken.ID {
		t.Errorf("the former holder released it: %+v", now)
	}
	must(t, errOf(second.Finish(t.Context(), croft.FinishRequest{Key: "k", Lease: taken, Policy: croft.MergeNever})))
	if now := f.show("a"); now.Lease != nil || now.MergeStatus != croft.MergePending {
		t.Errorf("finished: %+v", now)
	}
}

// Elsewhere: the lease of a process that cannot be seen lives by its TTL. Its workspace is
// not reaped even after that, because the process may live.
func (leaseScenarios) Elsewhere(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	l, err := f.TakeLease(t.Context(), croft.LeaseRequest{Workspace: "a", Owner: elsewhere("one"), TTL: croft.Duration(time.Second)})
	must(t, err)
	reap := func() {
		t.Helper()
		if res, err := f.Reap(t.Context(), croft.ReapRequest{}); err != nil || len(res.Removed) > 0 {
			t.Fatalf("Reap = %+v, %v", res, err)
		}
	}
	reap()
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}, croft.WorkspaceBusy)
	eventually(t, "the lease expires", func() bool { return time.Now().After(l.ExpiresAt) })
	reap()
	if now, err := f.Renew(t.Context(), croft.RenewRequest{Lease: l.ID}); err != nil || now.TTL != l.TTL || now.ExpiresAt.Sub(l.ExpiresAt) > 30*time.Second {
		t.Errorf("Renew = %+v, %v", now, err)
	}
}

func (leaseScenarios) OddRequests(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	for _, req := range []croft.LeaseRequest{
		{TTL: croft.Duration(time.Millisecond)},
		{TTL: -1},
		{TTL: croft.Duration(61 * time.Minute)},
		{Owner: croft.Owner{PID: 999_999_999}},
		{Owner: croft.Owner{Boot: "x"}},
		{Owner: elsewhere("one"), Term: croft.TermProcess},
		{Owner: elsewhere("a\nb")},
		{Owner: elsewhere(strings.Repeat("a", 256))},
		{Mode: "exclusiv"},
		{Term: "proces"},
	} {
		req.Workspace = "a"
		wantCode(t, errOf(f.TakeLease(t.Context(), req)), croft.InvalidRequest)
	}
	if l, err := f.TakeLease(t.Context(), croft.LeaseRequest{Workspace: "a", TTL: croft.Duration(time.Hour)}); err != nil || l.TTL != croft.Duration(time.Hour) {
		t.Errorf("TakeLease = %+v, %v", l, err)
	}
}

// Key: the same request under the same key has one lease, whatever becomes of it.
func (leaseScenarios) Key(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	req := croft.LeaseRequest{Key: "k", Workspace: "a"}
	l, err := f.TakeLease(t.Context(), req)
	must(t, err)
	if again, err := f.at(f.Dir).TakeLease(t.Context(), req); err != nil || again.ID != l.ID || again.ExpiresAt.Before(l.ExpiresAt) {
		t.Errorf("again: %+v, %v, want %+v", again, err, l)
	}
	other := req
	other.Mode = croft.LeaseExclusive
	wantCode(t, errOf(f.TakeLease(t.Context(), other)), croft.KeyConflict)
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID})))
	wantCode(t, errOf(f.TakeLease(t.Context(), req)), croft.LeaseLost)
	if got := f.show("a").Lease; got != nil {
		t.Errorf("it was taken again: %+v", got)
	}
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
	two, err := f.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})
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
	must(t, errOf(svc.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})))
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
		wantCode(t, errOf(f.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(id)})), croft.WorktreeNotFound)
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
