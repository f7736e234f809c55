//go:build failpoints

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// pushedOnce returns a host without pull requests, a workspace with uncommitted work, and the
// task that pushes it and opens a pull request.
func pushedOnce(t *testing.T) (*fakeHost, croft.Workspace, task) {
	t.Helper()
	h := newFakeHost(t, "github")
	w := h.withWork("a")
	gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "wip\n")
	h.has("open", w.Branch, w.Head, "")
	if err := os.Rename(h.file("list"), h.file("opened")); err != nil { // until it is opened
		t.Fatal(err)
	}
	h.answer("list", []any{})
	return h, w, calling(t, "Push", croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
}

// wantPushedOnce fails unless the remote, the record and the events tell of the same push, and of
// one pull request.
func wantPushedOnce(t *testing.T, h *fakeHost, w croft.Workspace, pushes int) {
	t.Helper()
	now := show(t, h.e, "a")
	if now.Push == nil || now.Push.Commit != now.Head || h.there(w.Branch) != now.Head {
		t.Errorf("recorded %+v, there %s, the head is %s", now.Push, h.there(w.Branch), now.Head)
	}
	if now.PullRequest == nil || now.PullRequest.Number != 12 || now.PullRequest.State != croft.PullRequestIsOpen {
		t.Errorf("the pull request: %+v", now.PullRequest)
	}
	if posts := strings.Count(h.asked(), "--method=POST"); posts != 1 {
		t.Errorf("%d pull requests were opened", posts)
	}
	wantEvents(t, h.e, croft.EventWorkspacePushed, pushes)
	wantEvents(t, h.e, croft.EventPullRequestOpened, 1)
	wantNoted(t, h.e, "push", pushes)
	if dirty := h.GitIn(w.Path, "status", "--porcelain"); dirty != "" {
		t.Errorf("not committed: %s", dirty)
	}
}

// TestKilledPush kills a push at its failpoints, and before and after every transaction. The next push
// ends right: what is at the remote is recorded, told of once, and has one pull request.
func TestKilledPush(t *testing.T) {
	for _, kind := range []string{"", "-commits"} {
		h, _, job := pushedOnce(t)
		log := filepath.Join(h.Home, "points")
		if out, err := run(t, helper(t, h.Repo, job, "CROFT_FAILPOINT=log"+kind+"="+log)); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		points := strings.Fields(read(t, log))
		if kind == "" && (!slices.Contains(points, "push.begun") || !slices.Contains(points, "push.pushed")) {
			t.Fatalf("the points of a push are not passed: %q", points)
		}
		for n := range points {
			t.Run(fmt.Sprintf("%d%s", n+1, kind), func(t *testing.T) {
				t.Parallel()
				h, w, job := pushedOnce(t)
				killed(t, helper(t, h.Repo, job, fmt.Sprintf("CROFT_FAILPOINT=kill%s=#%d", kind, n+1)))
				if _, err := job.call(t.Context(), h.e); err != nil {
					t.Fatalf("after %s: %v", points[n], err)
				}
				wantPushedOnce(t, h, w, 1)
				if t.Failed() {
					t.Logf("killed at %s", points[n])
				}
			})
		}
	}
}

// TestKilledPushRewritten: a commit that a killed process has pushed is the workspace's own, so that one
// which was amended since takes its place; without the push of the killed process it is a
// first push.
func TestKilledPushRewritten(t *testing.T) {
	for point, want := range map[string]croft.PushOutcome{"push.begun": croft.PushCreated, "push.pushed": croft.PushRewritten} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			h, w, job := pushedOnce(t)
			killed(t, helper(t, h.Repo, job, "CROFT_FAILPOINT=kill="+point))
			if there := h.there(w.Branch); (there == "") != (point == "push.begun") || show(t, h.e, "a").Push != nil {
				t.Fatalf("there is %q, recorded %+v", there, show(t, h.e, "a").Push)
			}
			h.GitIn(w.Path, "commit", "--quiet", "--amend", "-m", "amended")
			if got := h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen}); got.Outcome != want {
				t.Errorf("%s, want %s", got.Outcome, want)
			}
			wantPushedOnce(t, h, w, 1)
			// What somebody else pushes then is theirs.
			foreign := h.Git("commit-tree", "-p", h.there(w.Branch), "-m", "theirs", "HEAD^{tree}")
			h.Git("push", "--quiet", "origin", foreign+":refs/heads/"+w.Branch)
			h.GitIn(w.Path, "commit", "--quiet", "--amend", "-m", "again")
			_, err := h.e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
			wantCode(t, err, croft.RemoteAdvanced)
		})
	}
}
