package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// expired is a time after which every lease has expired.
const expired = time.Hour

// abandoned returns a workspace whose lease-holder was killed.
func abandoned(t *testing.T, r *gittest.Repo, req croft.CreateRequest) croft.Workspace {
	t.Helper()
	w := create(t, engineIn(t, r, 0), req)
	start(t, helper(t, r, task{Hold: w.ID, Wait: true}))()
	return w
}

func reap(t *testing.T, e *engine.Engine, req croft.ReapRequest) *croft.CleanResult {
	t.Helper()
	res, err := e.Reap(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestReapDeadOwner(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "a"})
	now := engineIn(t, r, 0)
	if res := reap(t, now, croft.ReapRequest{}); len(res.Removed) != 0 {
		t.Errorf("before the lease has expired: %+v", res)
	}
	if got := show(t, now, "a"); got.Lease != nil || got.IsLocked {
		t.Errorf("the lease of a dead owner shows: %+v", got)
	}
	later := engineIn(t, r, expired)
	if res := reap(t, later, croft.ReapRequest{DryRun: croft.DryRunOn}); len(res.Removed) != 1 || !exists(w.Path) {
		t.Errorf("told only: %+v", res)
	}
	res := reap(t, later, croft.ReapRequest{})
	if len(res.Removed) != 1 || res.Removed[0].ID != w.ID || res.Removed[0].Branch != w.Branch || exists(w.Path) {
		t.Errorf("after the lease has expired: %+v", res)
	}
	var kinds []string
	for e, err := range later.Events(t.Context(), croft.EventsRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Kind)
	}
	if !slices.Contains(kinds, croft.EventWorkspaceReaped) {
		t.Errorf("events %v", kinds)
	}
}

func TestReapKeepsWork(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "x")
	later := engineIn(t, r, expired)
	res := reap(t, later, croft.ReapRequest{})
	wantKept(t, "uncommitted work", res.Removed, res.Kept, croft.WorkspaceDirty)
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
	if res := reap(t, later, croft.ReapRequest{}); len(res.Removed) != 1 || res.Removed[0].Branch != "" {
		t.Errorf("committed work: %+v, want the workspace gone and the branch kept", res)
	}
	if got := r.Git("log", "-1", "--format=%s", w.Branch); got != "work" {
		t.Errorf("the branch is at %q", got)
	}
}

// TestReapKeepsSubagents: the commits of a subagent's orphan may be known to nobody, so the workspace stays.
func TestReapKeepsSubagents(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "a", Role: croft.RoleSubagent, RoleFiles: croft.RoleFilesSkip})
	gittest.WriteFile(t, filepath.Join(w.Path, "done.txt"), "x")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
	res := reap(t, engineIn(t, r, expired), croft.ReapRequest{})
	wantKept(t, "commits of a subagent", res.Removed, res.Kept, croft.WorkspaceDirty)
}

// TestReapKeepsDetached: of commits beside the branch nothing would stay but what the trash keeps for a time.
func TestReapKeepsDetached(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "a"})
	r.GitIn(w.Path, "checkout", "--quiet", "--detach")
	gittest.WriteFile(t, filepath.Join(w.Path, "done.txt"), "x")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
	later := engineIn(t, r, expired)
	res := reap(t, later, croft.ReapRequest{})
	wantKept(t, "commits of no branch", res.Removed, res.Kept, croft.WorkspaceDirty)
	r.GitIn(w.Path, "checkout", "--quiet", "-B", w.Branch)
	if res := reap(t, later, croft.ReapRequest{}); len(res.Removed) != 1 {
		t.Errorf("once the branch has them: %+v", res)
	}
}

// TestReapLeavesPlainDirectories: a workspace that is the project itself is not taken for its age.
func TestReapLeavesPlainDirectories(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	plain := filepath.Join(filepath.Dir(r.Dir), "plain")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Repo: plain, Name: "a", Mode: croft.ModeLegacy})
	if res := reap(t, e, croft.ReapRequest{Repo: plain, OlderThan: 1}); len(res.Removed)+len(res.Kept) != 0 {
		t.Errorf("Reap = %+v", res)
	}
}

// TestReapOwners writes leases of all kinds of owners into the database. An owner that
// cannot be examined counts as alive.
func TestReapOwners(t *testing.T) {
	t.Parallel()
	me := proc.Self()
	owner := func(change func(*croft.Owner)) croft.Owner {
		o := croft.Owner{Host: me.Host, Boot: me.Boot, Space: me.Space, PID: me.PID, Start: me.Start}
		change(&o)
		return o
	}
	for _, c := range []struct {
		name   string
		owner  croft.Owner
		reaped bool
		linux  bool // only there can it be known
	}{
		{"OtherHost", owner(func(o *croft.Owner) { o.Host = "another-machine" }), false, false},
		{"OtherHostRestarted", owner(func(o *croft.Owner) { o.Host, o.Boot = "another-machine", "another-start" }), false, false},
		{"OtherProcessNamespace", owner(func(o *croft.Owner) { o.Space = "pid:[1]" }), false, false},
		{"NoPID", owner(func(o *croft.Owner) { o.PID = 0 }), false, false},
		{"Alive", owner(func(*croft.Owner) {}), false, false},
		{"BeforeTheRestart", owner(func(o *croft.Owner) { o.Boot = "an-earlier-start" }), true, true},
		{"PIDUsedAgain", owner(func(o *croft.Owner) { o.Start = "1" }), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.linux && runtime.GOOS != "linux" {
				t.Skip("not known on this platform")
			}
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			w := create(t, e, croft.CreateRequest{Name: "a"})
			update(t, database(t, r), func(tx *journal.Tx) error {
				return tx.PutLease(croft.Lease{ID: "lease", Workspace: w.ID, Owner: c.owner, ExpiresAt: time.Now().Add(-time.Minute)})
			})
			res := reap(t, e, croft.ReapRequest{Mode: croft.RemoveForce})
			if got := len(res.Removed) == 1; got != c.reaped {
				t.Errorf("reaped: %v, want %v", got, c.reaped)
			}
			if c.reaped {
				return
			}
			res = reap(t, e, croft.ReapRequest{OlderThan: 1, Mode: croft.RemoveForce})
			wantKept(t, "by age", res.Removed, res.Kept, croft.WorkspaceBusy)
		})
	}
}

// TestReapExpiredButAlive: a process that was stopped for an hour counts as alive.
func TestReapExpiredButAlive(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a"})
	stop := start(t, helper(t, r, task{Hold: w.ID, Wait: true}))
	later := engineIn(t, r, expired)
	if res := reap(t, later, croft.ReapRequest{Mode: croft.RemoveForce}); len(res.Removed) != 0 {
		t.Errorf("the owner is alive: %+v", res)
	}
	stop()
	if res := reap(t, later, croft.ReapRequest{}); len(res.Removed) != 1 {
		t.Errorf("the owner is dead: %+v", res)
	}
}

func TestReapOneOfSeveralOwnersAlive(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "a"})
	start(t, helper(t, r, task{Hold: w.ID, Wait: true}))
	if res := reap(t, engineIn(t, r, expired), croft.ReapRequest{Mode: croft.RemoveForce}); len(res.Removed) != 0 {
		t.Errorf("one owner is alive: %+v", res)
	}
}

func TestReapKeepsLocked(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "a"})
	later := engineIn(t, r, expired)
	if _, err := later.Lock(t.Context(), croft.LockRequest{Workspace: "a", Reason: "mine"}); err != nil {
		t.Fatal(err)
	}
	res := reap(t, later, croft.ReapRequest{Mode: croft.RemoveForce})
	wantKept(t, "a person's lock", res.Removed, res.Kept, croft.WorkspaceLocked)
	if !exists(w.Path) {
		t.Error("the workspace is gone")
	}
}

// TestBusyWriter: a process that works elsewhere and has a file of the workspace open for
// writing keeps the workspace from every kind of removal.
func TestBusyWriter(t *testing.T) {
	t.Parallel()
	if _, known := proc.Occupants(t.TempDir()); !known {
		t.Skip("this platform does not tell")
	}
	r := gittest.New(t)
	e := open(t, r.Dir, &engine.Options{Environ: r.Env})
	if _, err := e.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(w.Path, "README.md"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []croft.RemoveMode{croft.RemoveSafe, croft.RemoveForce} {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		wantKept(t, "Remove", res.Removed, res.Kept, croft.WorkspaceBusy)
		if len(res.Kept) != 1 || !strings.Contains(res.Kept[0].Reason.Details, log.Name()) {
			t.Fatalf("the file is not named: %+v", res.Kept)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}})
	if err != nil || len(res.Removed) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestBusyGit: a removal waits a moment for a git process that works in the workspace.
func TestBusyGit(t *testing.T) {
	t.Parallel()
	if _, known := proc.Occupants(t.TempDir()); !known {
		t.Skip("this platform does not tell")
	}
	r := gittest.New(t)
	e := open(t, r.Dir, &engine.Options{Environ: r.Env})
	for _, c := range []struct {
		name   string
		stays  time.Duration
		isKept bool
	}{{"short", 400 * time.Millisecond, false}, {"long", time.Minute, true}} {
		w := create(t, e, croft.CreateRequest{Name: c.name})
		git := exec.Command("git", "cat-file", "--batch")
		git.Dir, git.Env = w.Path, r.Env
		in, err := git.StdinPipe()
		if err == nil {
			err = git.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		ends := time.AfterFunc(c.stays, func() { _ = in.Close() })
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{c.name}})
		if err != nil || len(res.Kept) == 0 == c.isKept {
			t.Errorf("%s: %+v, %v", c.name, res, err)
		}
		if ends.Stop() {
			_ = in.Close()
		}
		_ = git.Wait()
	}
}

// TestBusy: a process that has its working directory in a workspace keeps it from every
// kind of removal.
func TestBusy(t *testing.T) {
	t.Parallel()
	if _, known := proc.Occupants(t.TempDir()); !known {
		t.Skip("this platform does not tell")
	}
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "a"})
	later := engineIn(t, r, expired)
	stop := start(t, helper(t, r, task{Dir: filepath.Join(w.Path, "src"), Wait: true}))
	for _, mode := range []croft.RemoveMode{croft.RemoveSafe, croft.RemoveForce} {
		removed, err := later.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		wantKept(t, "Remove", removed.Removed, removed.Kept, croft.WorkspaceBusy)
		res := reap(t, later, croft.ReapRequest{Mode: mode})
		wantKept(t, "Reap", res.Removed, res.Kept, croft.WorkspaceBusy)
		res = reap(t, later, croft.ReapRequest{Mode: mode, OlderThan: 1})
		wantKept(t, "Reap by age", res.Removed, res.Kept, croft.WorkspaceBusy)
	}
	all, err := later.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})
	if err != nil {
		t.Fatal(err)
	}
	wantKept(t, "Clean", all.Removed, all.Kept, croft.WorkspaceBusy)
	stop()
	if res := reap(t, later, croft.ReapRequest{}); len(res.Removed) != 1 {
		t.Errorf("after the process has left: %+v", res)
	}
}

func TestRemoveLeasedByAnotherProcess(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	stop := start(t, helper(t, r, task{Hold: w.ID, Wait: true}))
	for _, mode := range []croft.RemoveMode{croft.RemoveSafe, croft.RemoveForce} {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		wantKept(t, "Remove", res.Removed, res.Kept, croft.WorkspaceBusy)
	}
	stop()
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err != nil || len(res.Removed) != 1 {
		t.Errorf("after its death: %+v, %v", res, err)
	}
}

// TestSiblingReapsFirst: a director is started again. The workspaces of its dead workers
// are removed before the limit of new ones is checked.
func TestSiblingReapsFirst(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	w := abandoned(t, r, croft.CreateRequest{Name: "worker-1", Layout: "sibling"})
	later := engineIn(t, r, expired, "limits.max_workers", "1")
	create(t, later, croft.CreateRequest{Name: "worker-2", Layout: "sibling"})
	if got := names(t, later); !slices.Equal(got, []string{"worker-2"}) || exists(w.Path) {
		t.Errorf("workspaces %v", got)
	}
	// With other layouts, gc does that.
	_, err := later.Create(t.Context(), croft.CreateRequest{Name: "worker-3"})
	wantCode(t, err, croft.LimitReached)
}

// TestStoppedAfterRestart gives records the boot ID of an earlier start of the machine: the
// workspaces show as stopped, and reap removes those that are merged and whose lease expired.
func TestStoppedAfterRestart(t *testing.T) {
	t.Parallel()
	if proc.Here().Boot == "" {
		t.Skip("this platform does not tell one start from another")
	}
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	j := database(t, r)
	me := proc.Self()
	for _, name := range []string{"merged", "ahead", "free"} {
		w := create(t, e, croft.CreateRequest{Name: name})
		if name == "ahead" {
			gittest.WriteFile(t, filepath.Join(w.Path, "x.txt"), "x")
			r.GitIn(w.Path, "add", "--all")
			r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
		}
		rec, err := j.Record(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		rec.Boot = "an-earlier-start"
		update(t, j, func(tx *journal.Tx) error {
			if name != "free" {
				dead := croft.Owner{Host: me.Host, Boot: "an-earlier-start", Space: me.Space, PID: me.PID, Start: me.Start}
				if err := tx.PutLease(croft.Lease{ID: croft.ID(name), Workspace: w.ID, Owner: dead, ExpiresAt: time.Now().Add(-time.Minute)}); err != nil {
					return err
				}
			}
			return tx.PutRecord(rec)
		})
		if got := show(t, e, name); got.State != croft.Stopped || got.Path != w.Path || got.Head == "" {
			t.Errorf("%s after a restart: %+v", name, got)
		}
	}
	res := reap(t, e, croft.ReapRequest{})
	if len(res.Removed) != 1 || res.Removed[0].Name != "merged" || len(res.Kept) != 1 || res.Kept[0].Name != "ahead" {
		t.Errorf("Reap = %+v, want only what is integrated and clean", res)
	}
	// An agent works in it again.
	if _, err := e.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(show(t, e, "free").ID)}); err != nil {
		t.Fatal(err)
	}
	if got := show(t, e, "free"); got.State != croft.Ready {
		t.Errorf("held again: %s", got.State)
	}
}

// TestDeadHolderOfExclusiveLease: another process need not wait until the lease of a holder
// that was killed has expired. Records written by a process that read them before do not take
// the epoch back.
func TestDeadHolderOfExclusiveLease(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	ask := croft.LeaseRequest{Workspace: "a", Mode: croft.LeaseExclusive}
	j := database(t, r)
	stale, err := j.Record(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t, helper(t, r, task{Lease: &ask, Wait: true}))
	_, err = e.TakeLease(t.Context(), ask)
	wantCode(t, err, croft.WorkspaceBusy)
	stop()
	update(t, j, func(tx *journal.Tx) error { return tx.PutRecord(stale) })
	if l, err := e.TakeLease(t.Context(), ask); err != nil || l.Epoch != 2 {
		t.Errorf("after the death of the holder: %+v, %v", l, err)
	}
}
