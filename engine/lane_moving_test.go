//go:build unix

package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// movedByItsCheck returns a repository whose check commits to the target, as if another
// process did so during every merge. The file stop ends that.
func movedByItsCheck(t *testing.T) (r *gittest.Repo, stop string) {
	t.Helper()
	r = gittest.New(t)
	stop = filepath.Join(t.TempDir(), "stop")
	script := filepath.Join(t.TempDir(), "check.sh")
	gittest.WriteFile(t, script, `test -e '`+stop+`' && exit 0
cd '`+r.Dir+`' && c=$(git -c user.name=a -c user.email=a@b commit-tree -p main -m moved main^{tree}) && git update-ref refs/heads/main $c
`)
	r.Write("croft.toml", "[merge]\nchecks = [\"sh "+script+"\"]\n")
	r.Commit("checks")
	return r, stop
}

// TestTargetKeepsMoving: other processes move the target during every attempt. The lane
// gives up after some attempts and says so, and the merges that wait land once the target
// no longer moves.
func TestTargetKeepsMoving(t *testing.T) {
	t.Parallel()
	r, stop := movedByItsCheck(t)
	var ticks atomic.Int64
	now := time.Now()
	clock := func() time.Time { return now.Add(time.Duration(ticks.Add(1)) * time.Second) }
	e := open(t, r.Dir, &engine.Options{Environ: r.Env})
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	e = open(t, r.Dir, &engine.Options{Environ: append(r.Env, "CROFT_TRUST="+plan.Hash), Now: clock})
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := e.SubmitMerge(ctx, croft.MergeRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = e.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID}); err != nil {
		t.Fatal(err)
	}
	if m.Status != croft.MergePending || m.Reason != croft.TargetMoved || !strings.HasPrefix(m.Message, "main keeps moving: others committed to it during each of ") || m.Hint == "" {
		t.Errorf("%s, %s: %s (hint: %s)", m.Status, m.Reason, m.Message, m.Hint)
	}
	if n := strings.Count(r.Git("log", "--format=%s", "main"), "moved"); n < 5 {
		t.Errorf("given up after %d tries", n)
	}
	if err := os.WriteFile(stop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	merges, err := e.DriveLanes(ctx, croft.DriveRequest{})
	if err != nil || len(merges.Merges) != 1 || merges.Merges[0].Status != croft.MergeMerged {
		t.Errorf("once it is at rest: %+v, %v", merges, err)
	}
}

// TestWorkspaceKeepsMoving: an agent commits to its workspace all the time. Its merge lands
// the commit that was submitted, the merges of others land after it, and the workspace
// stays, with its later commits.
func TestWorkspaceKeepsMoving(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	a, b := create(t, e, croft.CreateRequest{Name: "a"}), create(t, e, croft.CreateRequest{Name: "b"})
	for _, w := range []croft.Workspace{a, b} {
		gittest.WriteFile(t, filepath.Join(w.Path, w.Name+".txt"), "work\n")
		r.GitIn(w.Path, "add", "--all")
		r.GitIn(w.Path, "commit", "--quiet", "-m", w.Name)
	}
	var commits atomic.Int64
	ended := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if _, err := r.TryGit(a.Path, "commit", "--quiet", "--allow-empty", "-m", "more"); err == nil {
				commits.Add(1)
			}
		}
	}()
	defer func() { cancel(); <-ended }()
	for _, name := range []string{"a", "b"} {
		m, err := e.SubmitMerge(ctx, croft.MergeRequest{Workspace: name})
		if err != nil {
			t.Fatal(err)
		}
		before := commits.Load()
		for ctx.Err() == nil && commits.Load() < before+2 { // the merge waits while the agent goes on
			time.Sleep(time.Millisecond)
		}
		if m, err = e.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID}); err != nil || m.Status != croft.MergeMerged {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		if r.Git("show", "main:"+name+".txt") != "work" {
			t.Errorf("the work of %s is not in main", name)
		}
	}
	if ahead := r.Git("rev-list", "--count", "main..croft/a"); ahead == "0" {
		t.Error("what the agent committed since is gone")
	}
}

// TestWorkThatMovedIsNotTriedAgain: a merge was refused because of the user's checkout, and
// the agent has committed since. Once nothing is in the way, the lane does not land the
// work by itself: the new commits were never submitted.
func TestWorkThatMovedIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "theirs\n")
	r.Write("README.md", "mine\n")
	m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID}); err != nil || m.Reason != croft.HostDirty {
		t.Fatalf("%+v, %v", m, err)
	}
	commitIn(t, r, w.Path, "more")
	r.Git("restore", "README.md")
	before := r.Git("rev-parse", "main")
	if done, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(done.Merges) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if got := r.Git("rev-parse", "main"); got != before {
		t.Errorf("main is at %s, was at %s", got, before)
	}
}
