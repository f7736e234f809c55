package dashboard_test

import (
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// activityOf are the sentences of the tab, the last first, without marks and times.
func (s *site) activityOf(ws *croft.Workspace, query string) []string {
	s.t.Helper()
	var list []string
	for _, row := range regexp.MustCompile(`(?s)<li data-row>.*?</li>`).FindAllString(s.get(s.at(ws, "activity"+query)), -1) {
		text := regexp.MustCompile(`(?s)<div[^>]*>(.*?)</div>`).FindStringSubmatch(row)[1]
		text = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, ""))
		list = append(list, regexp.MustCompile(`\b\d\d:\d\d\b`).ReplaceAllString(regexp.MustCompile(`\b[0-9a-f]{7}\b`).ReplaceAllString(text, "COMMIT"), "TIME"))
	}
	return list
}

// TestActivity: the tab tells what happened to a workspace, in one sentence each: all of a merge, a lock and its
// end, a lease and its end are one.
func TestActivity(t *testing.T) {
	s := newSite(t, "test ! -e bad.txt")
	both, err := s.svc.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "fix", Agent: "claude"}, {Name: "other"}}})
	if err != nil {
		t.Fatal(err)
	}
	ws := &both.Workspaces[0]
	ref := croft.ByID(ws.ID)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	gittest.WriteFile(t, filepath.Join(ws.Path, "bad.txt"), "bad\n")
	_, err = s.svc.TakeSnapshot(ctx, croft.SnapshotRequest{Workspace: ref, Reason: "before lunch"})
	do(err)
	_, err = s.svc.Lock(ctx, croft.LockRequest{Workspace: ref, Reason: "demo at three"})
	do(err)
	_, err = s.svc.Unlock(ctx, croft.LockRequest{Workspace: ref})
	do(err)
	lease, err := s.svc.TakeLease(ctx, croft.LeaseRequest{Workspace: ref})
	do(err)
	_, err = s.svc.Release(ctx, croft.ReleaseRequest{Lease: lease.ID})
	do(err)
	s.finish(ws)
	s.merge(ws)
	s.git.GitIn(ws.Path, "rm", "--quiet", "bad.txt")
	s.commit(ws, "good", map[string]string{"good.txt": "good\n"})
	_, err = s.svc.CreateReview(ctx, croft.ReviewRequest{Workspace: ref})
	do(err)
	m, err := s.svc.SubmitMerge(ctx, croft.MergeRequest{Workspace: ref})
	do(err)
	_, err = s.svc.ChangeQueue(ctx, croft.QueueRequest{Action: croft.QueueHold, Reason: "wait"})
	do(err)
	if got := s.activityOf(ws, ""); got[1] != "ada submitted it to main, where it is held" {
		t.Errorf("a merge that waits: %q", got)
	}
	_, err = s.svc.ChangeQueue(ctx, croft.QueueRequest{Action: croft.QueueRelease})
	do(err)
	s.wait(m.ID)
	_, err = croft.Revert(ctx, s.svc, croft.RevertRequest{Merge: m.ID})
	do(err)
	_, err = s.svc.Restore(ctx, croft.RestoreRequest{Ref: ref})
	do(err)
	_, err = s.svc.Discard(ctx, croft.DiscardRequest{Workspaces: []croft.Ref{ref}})
	do(err)

	got := s.activityOf(ws, "")
	pid := regexp.MustCompile(`process \d+`)
	var told []string
	for _, line := range got {
		if !strings.HasPrefix(line, "Committed") { // their times are the repository's
			told = append(told, pid.ReplaceAllString(line, "process N"))
		}
	}
	wanted := []string{
		"ada discarded it, and its directory went to the trash",
		"ada restored it from the trash",
		"ada took its merge back from main, as COMMIT",
		"ada merged it into main as COMMIT, which 1 check passed, and its directory went to the trash",
		"ada held its merge: “wait”, and released it at TIME",
		"ada began a review of it",
		"ada submitted it to main, which was not touched: “",
		"The agent has finished",
		"claude went to work, process N, until TIME",
		"ada locked it: “demo at three”, and unlocked it at TIME",
		"ada saved it as a snapshot: “before lunch”, 1 file, 4 B",
		"ada made it from main@COMMIT, together with other",
	}
	if len(told) != len(wanted) {
		t.Errorf("%d entries, want %d:\n%s", len(told), len(wanted), strings.Join(told, "\n"))
	}
	for i := range min(len(told), len(wanted)) {
		if !strings.HasPrefix(told[i], wanted[i]) {
			t.Errorf("%d is %q, want %q", i, told[i], wanted[i])
		}
	}
	if len(got) != len(told)+2 {
		t.Errorf("%d commits: %s", len(got)-len(told), strings.Join(got, "\n"))
	}
	page := s.get(s.at(ws, "activity"))
	want(t, "the tab", page, `/checks">Show</a>`, `/snapshots">Show</a>`, "Undo…</a>")
	s.who.Access = croft.AccessRead
	if strings.Contains(s.get(s.at(ws, "activity")), "Undo…") {
		t.Error("a reader is offered an undo")
	}
}

// TestActivityPages: a long story is on pages.
func TestActivityPages(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", nil)
	for i := range 60 {
		if _, err := s.svc.Lock(t.Context(), croft.LockRequest{Workspace: croft.ByID(ws.ID), Reason: fmt.Sprintf("reason %02d", i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.svc.Unlock(t.Context(), croft.LockRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
			t.Fatal(err)
		}
	}
	one, two := s.activityOf(ws, ""), s.activityOf(ws, "?page=2")
	if len(one) != 50 || len(two) != 11 || !strings.Contains(one[0], "reason 59") || !strings.Contains(two[0], "reason 09") {
		t.Errorf("%d and %d entries: %q … %q", len(one), len(two), one[0], two)
	}
	want(t, "the second page", s.get(s.at(ws, "activity?page=2")), "51 to 61 of 61", `rel="prev"`)
	for _, query := range []string{"?page=99", "?page=-1", "?page=x"} {
		if len(s.activityOf(ws, query)) == 0 {
			t.Errorf("%s is empty", query)
		}
	}
}

// TestRepeatedActs: what was done again and again is one line of the history.
func TestRepeatedActs(t *testing.T) {
	s := newSite(t, "true")
	plan, err := s.svc.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a third approval is the site's
		if _, err := s.svc.Approve(t.Context(), croft.ApproveRequest{Hash: plan.Hash}); err != nil {
			t.Fatal(err)
		}
	}
	s.make("one", nil)
	s.make("two", nil)
	page := s.get("/history")
	if n := strings.Count(page, "allowed checks"); n != 1 || !strings.Contains(page, "3 times") || strings.Count(page, "<li data-row") != 3 {
		t.Errorf("%d lines:\n%s", n, page)
	}
}
