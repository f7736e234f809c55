//go:build failpoints

package engine_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// paused runs a task in another process up to a failpoint. goOn lets the process continue,
// waits for its end and returns what it printed.
func paused(t *testing.T, r *gittest.Repo, job task, point string) (goOn func() (string, error)) {
	t.Helper()
	return pausedAs(t, r, func(cmd *exec.Cmd) *exec.Cmd { return cmd }, job, point)
}

// pausedAs is paused for a process that as has given to another user.
func pausedAs(t *testing.T, r *gittest.Repo, as func(*exec.Cmd) *exec.Cmd, job task, point string) (goOn func() (string, error)) {
	t.Helper()
	file := filepath.Join(r.Home, "pause-"+point)
	cmd := as(helper(t, r, job, "CROFT_FAILPOINT=pause="+file+"#"+point))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for late := time.After(pauseTime); !exists(file + ".paused"); {
		select {
		case err := <-ended:
			t.Fatalf("it ended before %s: %v: %s", point, err, out.String())
		case <-late:
			t.Fatalf("it did not come to %s in %s", point, pauseTime)
		case <-time.After(time.Millisecond):
		}
	}
	return func() (string, error) {
		t.Helper()
		if err := os.WriteFile(file+".go", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			return out.String(), err
		case <-time.After(pauseTime):
			t.Fatalf("it did not end in %s after %s", pauseTime, point)
		}
		return "", nil
	}
}

// pauseTime is longer than a task needs to reach any failpoint, and to end after it.
const pauseTime = time.Minute

// untilIn waits until a goroutine with the label, or one that it has started, waits in a
// function.
func untilIn(t *testing.T, label, function string) {
	t.Helper()
	late := time.Now().Add(pauseTime)
	for time.Now().Before(late) {
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			t.Fatal(err)
		}
		for record := range strings.SplitSeq(profile.String(), "\n\n") {
			// The frames begin with the innermost; those of the runtime are left out.
			_, frames, _ := strings.Cut(record, "\n#\t")
			innermost, _, _ := strings.Cut(frames, "\n")
			if strings.Contains(record, `:"`+label+`"`) && strings.Contains(innermost, function+"+") {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("nobody waited in %s in %s", function, pauseTime)
}

// TestWaiterLearnsThatWorkspaceIsKept: another process runs the lane, and has landed two
// merges. It has removed the workspace of the first, and not yet looked at that of the
// second, in which there is late work. A caller that waits for the second merge, since
// before or from now on, gets its answer once it is known that the workspace stays.
func TestWaiterLearnsThatWorkspaceIsKept(t *testing.T) {
	t.Parallel()
	for _, since := range []string{"before", "now"} {
		t.Run(since, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			var second croft.ID
			for _, name := range []string{"a", "b"} {
				w := create(t, e, croft.CreateRequest{Name: name})
				gittest.WriteFile(t, filepath.Join(w.Path, name), name)
				m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name})
				if err != nil {
					t.Fatal(err)
				}
				second = m.ID
			}
			gittest.WriteFile(t, filepath.Join(show(t, e, "b").Path, "late"), "late")
			point := map[string]string{"before": "lane.claimed", "now": "remove.journalled"}[since]
			goOn := paused(t, r, task{Queue: true}, point)
			got := make(chan *croft.Merge, 1)
			go pprof.Do(t.Context(), pprof.Labels("waiter", since), func(ctx context.Context) {
				m, err := e.WaitMerge(ctx, croft.WaitRequest{Merge: second})
				if err != nil {
					t.Error(err)
				}
				got <- m
			})
			untilIn(t, since, "(*Lanes).awaitEnd")
			if out, err := goOn(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if m := <-got; m == nil || m.Status != croft.MergeMerged || m.Kept == nil || m.Kept.Code != croft.WorkspaceDirty {
				t.Errorf("the merge is %+v, want it merged and its workspace kept", m)
			}
		})
	}
}

// TestRewindRefusedAfterConcurrentCommit: a workspace was saved, and another process
// commits in it before the rewind has locked its index. That commit is in no snapshot, so
// nothing is rewound.
func TestRewindRefusedAfterConcurrentCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		for _, on := range []string{"branch", "detached"} {
			t.Run(string(mode)+" "+on, func(t *testing.T) {
				t.Parallel()
				r := gittest.New(t)
				e := engineIn(t, r, 0)
				w := create(t, e, croft.CreateRequest{Name: "a", Mode: mode})
				snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
				if err != nil {
					t.Fatal(err)
				}
				commit := func(name string) string {
					gittest.WriteFile(t, filepath.Join(w.Path, name), name)
					r.GitIn(w.Path, "add", "--all")
					r.GitIn(w.Path, "commit", "--quiet", "-m", name)
					return r.GitIn(w.Path, "rev-parse", "HEAD")
				}
				if on == "detached" {
					r.GitIn(w.Path, "checkout", "--quiet", "--detach")
				}
				commit("before")
				goOn := paused(t, r, task{Restore: &croft.RestoreRequest{Ref: string(snap.ID)}}, "rewind.begun")
				late := commit("late")
				out, err := goOn()
				if err == nil || !strings.Contains(out, string(croft.WorkspaceBusy)) {
					t.Errorf("the restoration ended with %v: %s", err, out)
				}
				if got := r.GitIn(w.Path, "rev-parse", "HEAD"); got != late {
					t.Errorf("HEAD is %s, the agent committed %s", got, late)
				}
				if got := r.GitIn(w.Path, "status", "--porcelain"); got != "" {
					t.Errorf("status: %s", got)
				}
				if got := show(t, e, "a").State; got != croft.Ready {
					t.Errorf("the workspace is %s", got)
				}
				if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(snap.ID)}); err != nil || exists(filepath.Join(w.Path, "late")) {
					t.Errorf("asked again: %v", err)
				}
				if _, err := e.Undo(t.Context(), croft.UndoRequest{}); err != nil {
					t.Errorf("and back: %v", err)
				}
				if got := r.GitIn(w.Path, "rev-parse", "HEAD"); got != late {
					t.Errorf("brought back, HEAD is %s, the agent committed %s", got, late)
				}
			})
		}
	}
}

// TestAcceptBesideALane: a lane publishes after another process that accepts its target has
// read the target. The accepted state does not overwrite the newer one of the lane.
func TestAcceptBesideALane(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("croft.toml", "[merge]\nprotect = true\n")
	r.Commit("protect")
	e := engineIn(t, r, 0)
	land := func(name string) *croft.Merge {
		t.Helper()
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, name), name)
		m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name})
		if err == nil {
			m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	land("a")
	r.Write("outside", "x\n")
	r.Commit("outside")
	goOn := paused(t, r, task{Accept: &croft.AcceptRequest{Target: "main"}}, "accept.looked")
	if _, err := e.AcceptTarget(t.Context(), croft.AcceptRequest{Target: "main"}); err != nil {
		t.Fatal(err)
	}
	if m := land("b"); m.Status != croft.MergeMerged {
		t.Fatalf("%+v", m)
	}
	if out, err := goOn(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if m := land("c"); m.Status != croft.MergeMerged {
		t.Errorf("after both had accepted: %+v", m)
	}
}

// TestCreationThatCannotBeRolledBack: a creation fails, and its files cannot be deleted.
// The error says so, and the next process that can delete them rolls the creation back.
func TestCreationThatCannotBeRolledBack(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	asUser := unprivileged(t, r)
	base := filepath.Join(filepath.Dir(r.Dir), "app.croft")
	goOn := pausedAs(t, r, asUser, creation("a", "default"), "create.filled")
	if err := os.Remove(filepath.Join(base, "a", "README.md")); err != nil {
		t.Fatal(err)
	}
	readOnly(t, base)
	out, err := goOn()
	if err == nil || !strings.HasPrefix(out, string(croft.CleanupFailed)+" ") {
		t.Errorf("%v: %q, want CLEANUP_FAILED", err, out)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, asUser(helper(t, r, creation("b", "default")))); err != nil {
		t.Errorf("the next creation: %v, %s", err, out)
	}
	if got := names(t, engineIn(t, r, 0)); len(got) != 1 || got[0] != "b" || exists(filepath.Join(base, "a")) {
		t.Errorf("there are %v, and the directory is there: %v", got, exists(filepath.Join(base, "a")))
	}
}

// TestQueueOfAnEndedMerge: a merge ends while another process is about to cancel it. A call
// that is bound to the revision that it has seen is refused; one that is not changes nothing.
func TestQueueOfAnEndedMerge(t *testing.T) {
	for _, isBound := range []bool{true, false} {
		r := gittest.New(t)
		e := engineIn(t, r, 0)
		w := create(t, e, croft.CreateRequest{Name: "a"})
		gittest.WriteFile(t, filepath.Join(w.Path, "a"), "work\n")
		m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
		if err != nil {
			t.Fatal(err)
		}
		req := croft.QueueRequest{Action: croft.QueueCancel, Merges: []croft.Ref{"a"}}
		if isBound {
			req.IfRevision = m.Revision
		}
		goOn := paused(t, r, calling(t, "ChangeQueue", req), "queue.found")
		merged, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		if err != nil || merged.Status != croft.MergeMerged {
			t.Fatalf("%+v, %v", merged, err)
		}
		if out, err := goOn(); isBound != strings.Contains(out, string(croft.RevisionChanged)) || isBound != (err != nil) {
			t.Errorf("bound to a revision: %v: %v: %s", isBound, err, out)
		}
		now, err := e.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(m.ID)})
		if err != nil || now.Revision != merged.Revision {
			t.Errorf("%+v, %v", now, err)
		}
	}
}
