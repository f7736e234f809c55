package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
)

// sleeper starts a process, of a run if that has an ID, and returns a function that reports whether it lives. Something waits for its end.
func sleeper(t *testing.T, id croft.ID) (croft.Owner, func() bool) {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	if id != "" {
		cmd.Env = []string{"CROFT_RUN=" + string(id)}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	is, isThere := proc.Of(cmd.Process.Pid)
	if !isThere {
		t.Fatal("no process")
	}
	return owner.Of(is), func() bool { return proc.LifeOf(is) == proc.Alive }
}

// begin begins a run in a workspace, and records its process, if there is one.
func begin(t *testing.T, e *engine.Engine, name string, supervisor, process croft.Owner) croft.Run {
	t.Helper()
	run, err := e.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: croft.Ref(name), Command: []string{"agent"}, Supervisor: supervisor})
	if err == nil && process.PID != 0 {
		run, err = e.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: croft.Ref(name), Run: run.ID, Process: process, Supervisor: supervisor})
	}
	if err != nil {
		t.Fatal(err)
	}
	return *run
}

// record records something of a run.
func record(t *testing.T, e *engine.Engine, run croft.Run, req croft.RecordRunRequest) croft.Run {
	t.Helper()
	req.Workspace, req.Run = croft.ByID(run.Workspace), run.ID
	now, err := e.RecordRun(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return *now
}

func writeStatus(t *testing.T, run croft.Run, status string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(run.Dir, "status"), []byte(status+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRunBegins: a run begins in a workspace that nobody holds for himself, one at a time, with its supervisor
// known apart from later processes of its number. Its directory is the user's own, and those of the last runs are kept.
func TestRunBegins(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	lease, err := e.TakeLease(t.Context(), croft.LeaseRequest{Workspace: "a", Mode: croft.LeaseExclusive})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"agent"}}); err == nil {
		t.Error("a run began in a workspace that another process has for itself")
	}
	if _, err := e.Release(t.Context(), croft.ReleaseRequest{Lease: lease.ID}); err != nil {
		t.Fatal(err)
	}
	supervisor, _ := sleeper(t, "")
	var wg sync.WaitGroup
	var won atomic.Int32
	for range 4 {
		wg.Go(func() {
			if begun, err := e.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"agent"}, Supervisor: croft.Owner{PID: supervisor.PID}}); err == nil {
				won.Add(1)
				if begun.Supervisor != supervisor {
					t.Errorf("supervisor %+v, not %+v", begun.Supervisor, supervisor)
				}
			}
		})
	}
	if wg.Wait(); won.Load() != 1 {
		t.Errorf("%d runs began at once", won.Load())
	}
	last := *mustShow(t, e, "a").Run
	if info, err := os.Stat(last.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the run: %v, %v", info.Mode(), err)
	}
	for range 8 {
		record(t, e, last, croft.RecordRunRequest{End: croft.RunDone})
		last = begin(t, e, "a", supervisor, croft.Owner{})
	}
	if dirs, err := os.ReadDir(filepath.Dir(last.Dir)); err != nil || len(dirs) > 6 {
		t.Errorf("%d runs are kept, %v", len(dirs), err)
	}
	if _, err := os.Stat(last.Dir); err != nil {
		t.Error(err)
	}
	record(t, e, last, croft.RecordRunRequest{End: croft.RunDone})
}

func mustShow(t *testing.T, e *engine.Engine, name string) *croft.Workspace {
	t.Helper()
	w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.Ref(name)})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestRunLease: a run has one lease, however often its process is told, and renews it; one that was lost meanwhile is no failure.
func TestRunLease(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	process, _ := sleeper(t, "")
	supervisor, _ := sleeper(t, "")
	run := begin(t, e, "a", owner.Self(), process)
	again := record(t, e, run, croft.RecordRunRequest{Process: process, Supervisor: supervisor})
	if again.Lease != run.Lease || run.Lease == "" || again.Supervisor != supervisor {
		t.Errorf("recorded again: %+v after %+v", again, run)
	}
	if again = record(t, e, run, croft.RecordRunRequest{Supervisor: owner.Self()}); again.Supervisor != owner.Self() {
		t.Errorf("another supervisor: %+v", again.Supervisor)
	}
	before := mustShow(t, e, "a").Lease
	if before == nil {
		t.Fatal("no lease")
	}
	later := engineIn(t, r, time.Duration(before.TTL)*3/4)
	record(t, later, run, croft.RecordRunRequest{})
	if after := mustShow(t, later, "a").Lease; after == nil || !after.ExpiresAt.After(before.ExpiresAt) {
		t.Errorf("the lease %+v, after %+v", after, before)
	}
	if _, err := e.Release(t.Context(), croft.ReleaseRequest{Lease: run.Lease}); err != nil {
		t.Fatal(err)
	}
	if now := record(t, e, run, croft.RecordRunRequest{}); now.State != croft.RunRunning {
		t.Errorf("without its lease: %+v", now)
	}
	if now := record(t, e, run, croft.RecordRunRequest{End: croft.RunDone}); now.State != croft.RunEnded {
		t.Errorf("ended: %+v", now)
	}
}

// TestRunOfTheDead: a run whose process and supervisor are gone has ended as it was written down, and is lost otherwise. What is
// left of it is ended. As long as its supervisor lives, the end is that one's.
func TestRunOfTheDead(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for status, want := range map[string]croft.RunEnd{"0": croft.RunDone, "3": croft.RunFailed, "137": croft.RunKilled, "": croft.RunLost, "no number": croft.RunLost, "999": croft.RunLost} {
		name := "w" + strings.ReplaceAll(status, " ", "")
		create(t, e, croft.CreateRequest{Name: name})
		run := begin(t, e, name, owner.Self(), dead())
		if status != "" {
			writeStatus(t, run, status)
		}
		if now := record(t, e, run, croft.RecordRunRequest{}); now.State != croft.RunRunning {
			t.Errorf("%q, with a supervisor: %+v", status, now)
		}
		record(t, e, run, croft.RecordRunRequest{Supervisor: dead()})
		_, isLeft := sleeper(t, run.ID)
		if shown := mustShow(t, e, name).Activity; shown == nil || shown.State != croft.AgentWorking || !strings.Contains(shown.Note, "outlived") {
			t.Errorf("%q, with a process that is left: %+v", status, shown)
		}
		now := record(t, e, run, croft.RecordRunRequest{})
		if now.State != croft.RunEnded || now.How != want || isLeft() {
			t.Errorf("%q: %+v, left: %v", status, now, isLeft())
		}
	}

	// One that begins ends the one before.
	create(t, e, croft.CreateRequest{Name: "next"})
	run := begin(t, e, "next", dead(), dead())
	_, isLeft := sleeper(t, run.ID)
	if next := begin(t, e, "next", owner.Self(), croft.Owner{}); next.ID == run.ID || isLeft() {
		t.Errorf("the next: %+v, left: %v", next, isLeft())
	}
	told := 0
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventRunEnded}}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.WorkspaceName == "next" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told of %d ends", told)
	}
}

// TestRunIsFinishedOnce: what became of the work of a run is recorded once, in few words, and only after its end.
func TestRunIsFinishedOnce(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	run := begin(t, e, "a", owner.Self(), croft.Owner{})
	if now := record(t, e, run, croft.RecordRunRequest{Work: croft.WorkFinished}); !now.FinishedAt.IsZero() {
		t.Errorf("finished before its end: %+v", now)
	}
	record(t, e, run, croft.RecordRunRequest{End: croft.RunDone})
	if now := record(t, e, run, croft.RecordRunRequest{}); !now.FinishedAt.IsZero() {
		t.Errorf("finished by nobody: %+v", now)
	}
	first := record(t, e, run, croft.RecordRunRequest{Work: croft.WorkFailed, Why: strings.Repeat("because ", 1000)})
	if first.FinishedAt.IsZero() || !strings.HasPrefix(first.Unfinished, "because ") || len(first.Unfinished) > 600 {
		t.Errorf("not finished: %+v", first)
	}
	second := record(t, e, run, croft.RecordRunRequest{Work: croft.WorkFinished})
	if shown := mustShow(t, e, "a").Run; !second.FinishedAt.Equal(first.FinishedAt) || shown.Unfinished != first.Unfinished {
		t.Errorf("finished again: %+v, shown %+v", second, shown)
	}
}

// TestRunEndsOnce: of several who record the end of a run at once, one does, and the others learn what that one said.
func TestRunEndsOnce(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for i := range 3 {
		name := fmt.Sprint("w", i)
		create(t, e, croft.CreateRequest{Name: name})
		run := begin(t, e, name, owner.Self(), croft.Owner{})
		var wg sync.WaitGroup
		got := make([]croft.Run, 4)
		for n := range got {
			wg.Go(func() { got[n] = record(t, e, run, croft.RecordRunRequest{End: croft.RunFailed, Status: n + 1}) })
		}
		wg.Wait()
		for _, one := range got {
			if one.Status != got[0].Status || one.State != croft.RunEnded {
				t.Errorf("%s: %d and %d", name, one.Status, got[0].Status)
			}
		}
	}
	told := 0
	for _, err := range e.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventRunEnded}}) {
		if told++; err != nil {
			t.Fatal(err)
		}
	}
	if told != 3 {
		t.Errorf("told of %d ends", told)
	}
}

// TestStopRun: who stops an agent ends what is left of it, waits until its supervisor has recorded that and finished the work,
// and calls it killed, unless it had exited before or nobody knows. One on another machine is refused.
func TestStopRun(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for _, name := range []string{"deaf", "over", "alone", "lost", "far"} {
		create(t, e, croft.CreateRequest{Name: name})
	}
	stop := func(name string) (*croft.Run, error) {
		return e.StopRun(t.Context(), croft.StopRunRequest{Workspace: croft.Ref(name), Grace: croft.Duration(time.Second)})
	}
	for name, want := range map[string]croft.RunEnd{"deaf": croft.RunKilled, "over": croft.RunDone} {
		process, lives := sleeper(t, "")
		run := begin(t, e, name, owner.Self(), process)
		_, isLeft := sleeper(t, run.ID)
		if name == "over" {
			writeStatus(t, run, "0")
		}
		supervised := make(chan struct{})
		go func() { // this process is its supervisor
			defer close(supervised)
			for lives() || isLeft() {
				time.Sleep(5 * time.Millisecond)
			}
			record(t, e, run, croft.RecordRunRequest{End: croft.RunDone})
			time.Sleep(300 * time.Millisecond)
			record(t, e, run, croft.RecordRunRequest{Work: croft.WorkFinished})
		}()
		stopped, err := stop(name)
		if err != nil || stopped.How != want || stopped.FinishedAt.IsZero() || lives() || isLeft() {
			t.Errorf("%s: %+v, %v, lives: %v, left: %v", name, stopped, err, lives(), isLeft())
		}
		<-supervised
	}

	process, lives := sleeper(t, "")
	run := begin(t, e, "alone", dead(), process)
	if stopped, err := stop("alone"); err != nil || stopped.How != croft.RunKilled || stopped.State != croft.RunEnded || lives() {
		t.Errorf("without a supervisor: %+v, %v, lives: %v", stopped, err, lives())
	}
	if again, err := stop("alone"); err != nil || again.ID != run.ID || again.How != croft.RunKilled {
		t.Errorf("stopped again: %+v, %v", again, err)
	}

	begin(t, e, "lost", dead(), dead())
	if stopped, err := stop("lost"); err != nil || stopped.How != croft.RunLost || !stopped.StoppedAt.IsZero() {
		t.Errorf("one that had ended before: %+v, %v", stopped, err)
	}

	far := owner.Self()
	far.Host = "another"
	begin(t, e, "far", owner.Self(), far)
	_, err := stop("far")
	wantCode(t, err, croft.Unsupported)
	if now := mustShow(t, e, "far").Run; now.State != croft.RunRunning || !now.StoppedAt.IsZero() {
		t.Errorf("on another machine: %+v", now)
	}
}

// TestIntrusionsAreOfAgents: of what changes outside of a workspace while its agent runs, all is told that nobody is known to be at
// work on: a branch, a tag, HEAD, a file of the project's checkout, each time it changes. What other workspaces do that are at work,
// are made or removed, or what Croft does for them, is not.
func TestIntrusionsAreOfAgents(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	r.Git("branch", "same")
	paths := map[string]string{}
	for _, name := range []string{"a", "held", "running", "ran", "saved", "idle", "gone"} {
		paths[name] = create(t, e, croft.CreateRequest{Name: name}).Path
	}
	r.Write("before.txt", "before")
	run := begin(t, e, "a", owner.Self(), croft.Owner{})
	commit := func(name string) {
		r.Git("-C", paths[name], "commit", "--allow-empty", "--quiet", "-m", "of "+name)
	}
	seen := 0
	wantNext := func(what string, req croft.RecordRunRequest, want ...string) {
		t.Helper()
		got := []string{}
		now := record(t, e, run, req)
		for _, i := range now.Intrusions[seen:] {
			got = append(got, string(i.What)+" "+i.Name)
		}
		if seen = len(now.Intrusions); strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("%s: %q, not %q", what, got, want)
		}
	}

	if _, err := e.TakeLease(t.Context(), croft.LeaseRequest{Workspace: "held"}); err != nil {
		t.Fatal(err)
	}
	begin(t, e, "running", owner.Self(), croft.Owner{})
	record(t, e, begin(t, e, "ran", owner.Self(), croft.Owner{}), croft.RecordRunRequest{End: croft.RunDone})
	paths["new"] = create(t, e, croft.CreateRequest{Name: "new"}).Path
	for _, name := range []string{"held", "running", "ran", "new"} {
		commit(name)
	}
	if err := os.WriteFile(filepath.Join(paths["saved"], "w.txt"), []byte("w"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Save(t.Context(), croft.SaveRequest{Workspace: "saved", Message: "w"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{"gone"}}); err != nil {
		t.Fatal(err)
	}
	wantNext("of others at work, and of Croft", croft.RecordRunRequest{})

	commit("idle")
	r.Git("tag", "v1")
	wantNext("a branch and a tag", croft.RecordRunRequest{}, "branch refs/heads/croft/idle", "branch refs/tags/v1")
	r.Git("symbolic-ref", "HEAD", "refs/heads/same")
	wantNext("another branch of the same commit", croft.RecordRunRequest{}, "head HEAD")
	r.Git("symbolic-ref", "HEAD", "refs/heads/main")
	wantNext("and back", croft.RecordRunRequest{}, "head HEAD")
	r.Write("stray.txt", "stray")
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(50 * time.Millisecond) { // files are looked at now and then
		if now := record(t, e, run, croft.RecordRunRequest{}); len(now.Intrusions) > seen {
			break
		}
	}
	wantNext("a file", croft.RecordRunRequest{}, "file stray.txt")
	r.Write("stray.txt", "strayed")
	wantNext("the same file, at the end", croft.RecordRunRequest{End: croft.RunDone}, "file stray.txt")
}

// TestMovedCheckoutNamesNoFiles: files that differed before from what the project's checkout was at say nothing when that has moved.
func TestMovedCheckoutNamesNoFiles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	r.Write("work.txt", "of the user")
	run := begin(t, e, "a", owner.Self(), croft.Owner{})
	r.Git("add", "work.txt")
	r.Git("commit", "--quiet", "-m", "of the user")
	now := record(t, e, run, croft.RecordRunRequest{End: croft.RunDone})
	if len(now.Intrusions) != 1 || now.Intrusions[0].Name != "refs/heads/main" {
		t.Errorf("%+v", now.Intrusions)
	}
}

// TestOutputGoesWithItsWorkspace: what is kept of the runs of a removed workspace goes when that leaves the trash, and not before; that
// of others stays.
func TestOutputGoesWithItsWorkspace(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	dirs := map[string]string{}
	for _, name := range []string{"gone", "stays"} {
		create(t, e, croft.CreateRequest{Name: name})
		run := begin(t, e, name, owner.Self(), croft.Owner{})
		record(t, e, run, croft.RecordRunRequest{End: croft.RunDone})
		dirs[name] = run.Dir
	}
	if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{"gone"}}); err != nil {
		t.Fatal(err)
	}
	for _, later := range []time.Duration{0, 1000 * 24 * time.Hour} {
		if _, err := engineIn(t, r, later).GC(t.Context(), croft.GCRequest{}); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(filepath.Dir(dirs["gone"]))
		if isThere := err == nil; isThere != (later == 0) {
			t.Errorf("after %s: %v", later, err)
		}
		if _, err := os.Stat(dirs["stays"]); err != nil {
			t.Error(err)
		}
	}
}
