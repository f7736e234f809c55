package dashboard_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestQueue(t *testing.T) {
	s := newSite(t)
	done := s.make("done", map[string]string{"d.txt": "d\n"})
	s.merge(done)
	one, two := s.make("one", map[string]string{"1.txt": "1\n"}), s.make("two", map[string]string{"2.txt": "2\n"})
	for _, ws := range []*croft.Workspace{one, two} {
		if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
			t.Fatal(err)
		}
	}
	page := s.get(s.in("queue") + "?target=main")
	want(t, "the queue", page, "Queue of <bdi>main</bdi>", "Waiting", "Hold all that wait", "/first", "<bdi>done</bdi>", "/revert")
	order := func() []string {
		_, rows, _ := strings.Cut(s.get(s.in("queue")), `id="waiting"`)
		rows, _, _ = strings.Cut(rows, `id="ended"`)
		var names []string
		for _, m := range regexp.MustCompile(`title="(one|two)"`).FindAllStringSubmatch(rows, -1) {
			names = append(names, m[1])
		}
		return names
	}
	if got := order(); len(got) != 2 || got[0] != "one" {
		t.Fatalf("they wait as %v", got)
	}
	first := regexp.MustCompile(`action="([^"]*/first)"`).FindStringSubmatch(page)
	s.post(first[1], "back", s.in("queue"))
	if got := order(); got[0] != "two" {
		t.Errorf("First leaves %v", got)
	}
	s.post(s.in("queue/hold"), "target", "main", "reason", "freeze")
	want(t, "a held queue", s.get(s.in("queue")), "Release all", "freeze")
	s.post(s.in("queue/release"), "target", "main")
	cancel := regexp.MustCompile(`action="([^"]*/cancel)"`).FindStringSubmatch(s.get(s.in("queue")))
	s.post(cancel[1])
	if got := order(); len(got) != 1 {
		t.Errorf("Cancel leaves %v", got)
	}
	if a := s.do(http.MethodGet, s.in("queue")+"?target=nosuch", nil); a.status != http.StatusNotFound {
		t.Errorf("a queue that there is not: %d", a.status)
	}
}

func TestHistoryAndUndo(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	if _, err := s.svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{croft.ByID(ws.ID)}}); err != nil {
		t.Fatal(err)
	}
	page := s.get("/history")
	want(t, "the history", page, "Today", "removed", "made", "Undo…")
	if found := s.get("/history?q=removed"); strings.Contains(found, "</b> made") {
		t.Error("the filter leaves the wrong acts")
	}
	ask := regexp.MustCompile(`href="([^"]*/undo/[a-z0-9]+)"`).FindStringSubmatch(page)
	want(t, "the question", s.get(ask[1]), "Undo would", "restore", "Leave it")
	if to := s.post(ask[1]); to != s.in("history") {
		t.Errorf("the undo leads to %q", to)
	}
	if _, err := s.svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.ByID(ws.ID)}); err != nil {
		t.Errorf("it was not undone: %v", err)
	}

	gittest.WriteFile(t, filepath.Join(ws.Path, "dirty.txt"), "d\n")
	made := regexp.MustCompile(`href="([^"]*/undo/[a-z0-9]+)">Undo…<span class="sr"> made`).FindStringSubmatch(s.get("/history"))
	want(t, "the question for uncommitted work", s.get(made[1]), "would be refused", "move the uncommitted work to the trash")
	if a := s.send(made[1]); a.status != http.StatusConflict {
		t.Errorf("uncommitted work goes: %d", a.status)
	}
	s.post(made[1], "work", "yes")
}

func TestTrash(t *testing.T) {
	s := newSite(t)
	want(t, "the empty trash", s.get("/trash"), "Nothing was removed")
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	if _, err := s.svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{croft.ByID(ws.ID)}}); err != nil {
		t.Fatal(err)
	}
	page := s.get("/trash")
	want(t, "the trash", page, "1 workspace", "everything", "removed")
	restore := regexp.MustCompile(`action="(/r/[^"]*/trash/[a-z0-9]+)"`).FindStringSubmatch(page)
	if to := s.post(restore[1]); to != s.at(ws, "") {
		t.Errorf("the restoration leads to %q", to)
	}
	if a := s.send(restore[1]); a.status != http.StatusNotFound {
		t.Errorf("restored again: %d", a.status)
	}
}

func TestConflicts(t *testing.T) {
	s := newSite(t)
	want(t, "the forecast of nothing", s.get("/conflicts"), "There is nothing to merge")
	s.make("a", map[string]string{"src/main.txt": "A\ntwo\nthree\n"})
	s.make("b", map[string]string{"src/main.txt": "B\ntwo\nthree\n"})
	free := s.make("free", map[string]string{"free.txt": "f\n"})
	page := s.get(s.in("conflicts"))
	want(t, "the forecast", page, "1 pair will collide", "Who meets whom", `<code><bdi>src/main.txt</bdi></code>`, "Suggested order", "will meet", `class="h1"`, "Merge the first 2")
	failed := s.make("failed", map[string]string{"failed.txt": "f\n"}) // it meets nobody, and is not for a merge as it is
	if _, err := s.svc.Finish(t.Context(), croft.FinishRequest{Workspace: croft.ByID(failed.ID), Outcome: croft.Failed}); err != nil {
		t.Fatal(err)
	}
	want(t, "the forecast with one that failed", s.get(s.in("conflicts")), "<bdi>failed</bdi>", "Merge the first 2")
	s.post("/bulk", "do", "merge", "w", string(s.repo)+"/"+string(free.ID))
	want(t, "the queue", s.get(s.in("queue")), "<bdi>free</bdi>")
}

// TestHistoryOfMerges: a discard is called so, and a merge that was taken back is not offered to be taken back again.
func TestHistoryOfMerges(t *testing.T) {
	s := newSite(t)
	dropped, fix := s.make("dropped", map[string]string{"d.txt": "d\n"}), s.make("fix", map[string]string{"a.txt": "a\n"})
	if _, err := s.svc.Discard(t.Context(), croft.DiscardRequest{Workspaces: []croft.Ref{croft.ByID(dropped.ID)}}); err != nil {
		t.Fatal(err)
	}
	m := s.merge(fix)
	const undo = `Undo…<span class="sr"> merged`
	page := s.get("/history")
	want(t, "the history", page, "</b> discarded", undo)
	if strings.Contains(page, "</b> removed") {
		t.Error("a discard is called a removal")
	}
	if _, err := croft.Revert(t.Context(), s.svc, croft.RevertRequest{Merge: m.ID}); err != nil {
		t.Fatal(err)
	}
	page = s.get("/history")
	want(t, "the history of an undone merge", page, "</b> took back", "</b> merged")
	if strings.Contains(page, undo) {
		t.Error("a merge that was taken back is offered to be undone")
	}
}

// TestUndoOfOtherWork: what an agent wrote after the question was asked does not go along with its answer.
func TestUndoOfOtherWork(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	undo := regexp.MustCompile(`href="(/r/[^"]*/undo/[^"]*)"`).FindStringSubmatch(s.get(s.in("history")))
	if undo == nil {
		t.Fatal("the making cannot be undone")
	}
	ask := s.get(undo[1])
	want(t, "the question", ask, "1 commit that main lacks")
	s.commit(ws, "later", map[string]string{"b.txt": "b\n"})
	again := s.send(undo[1], hidden(ask)...)
	if again.status != http.StatusConflict {
		t.Fatalf("a commit that was not shown went: %d\n%s", again.status, again.body)
	}
	want(t, "the question that is asked again", again.body, "The work in fix has changed since you were asked", "2 commits that main lacks")
	s.post(undo[1], hidden(again.body)...)
	if _, err := s.svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.ByID(ws.ID)}); !errors.Is(err, croft.WorktreeNotFound) {
		t.Errorf("the making was not undone: %v", err)
	}
}

// TestErrorHasNavigation: who is signed in goes on from the page of an error, and nothing follows that page.
func TestErrorHasNavigation(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/nosuch", s.in("w/nosuch"), "/r/nosuch/"} {
		a := s.do(http.MethodGet, path, nil)
		want(t, path, a.body, `aria-label="Main"`, "What happened")
		if a.status != http.StatusNotFound || strings.Contains(a.body, "data-events") {
			t.Errorf("%s: %d\n%s", path, a.status, a.body)
		}
	}
	s.who.Access = croft.AccessWorkspace
	if a := s.do(http.MethodGet, "/", nil); a.status != http.StatusForbidden || strings.Contains(a.body, `aria-label="Main"`) {
		t.Errorf("an agent sees the navigation: %d", a.status)
	}
}
