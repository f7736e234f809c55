package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// row is the row of a table that has a text.
func row(t *testing.T, page, text string) string {
	t.Helper()
	for _, r := range regexp.MustCompile(`(?s)<tr.*?</tr>`).FindAllString(page, -1) {
		if strings.Contains(r, text) {
			return r
		}
	}
	t.Fatalf("no row has %q:\n%s", text, page)
	return ""
}

// TestRevertMeets: the question before an undo says which of the later merges changed the same files.
func TestRevertMeets(t *testing.T) {
	s := newSite(t)
	first := s.make("first", map[string]string{"src/main.txt": "first\ntwo\nthree\n", "one.txt": "1\n"})
	s.merge(first)
	same := s.make("same-file", map[string]string{"one.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"})
	s.merge(same)
	s.merge(s.make("elsewhere", map[string]string{"other.txt": "o\n"}))
	page := s.get(s.at(first, "revert"))
	want(t, "a later merge of the same file", row(t, page, "same-file"), `<td class="red wide" data-label="meets">`, "one.txt")
	want(t, "another later merge", row(t, page, "elsewhere"), "nothing of it")
	want(t, "the question", page, "2 merged after this", "<bdi>same-file</bdi> changed the same place since", "would stay pending")
	if strings.Contains(row(t, page, "same-file"), "src/main.txt") {
		t.Error("a file that only the undone merge changed is said to meet")
	}
}

// TestUndoIsShownAsUndo: the merge of an undo is no merge to a reader, on its way and afterwards.
func TestUndoIsShownAsUndo(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	m := s.merge(ws)
	undo, err := s.svc.SubmitRevert(t.Context(), croft.RevertRequest{Merge: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	page := s.get(s.at(ws, ""))
	want(t, "a workspace whose merge is being taken back", page, "Its merge is being taken back from main", "The undo is queued", "Look at the queue")
	if strings.Contains(page, "Undo merge…") {
		t.Error("a second undo is offered")
	}
	undo = s.wait(undo.ID)
	queue := s.get(s.in("queue"))
	want(t, "the undo in the queue", row(t, queue, undo.Commit[:7]), `<span class="tag">undo</span>`, "taken back")
	want(t, "the merge in the queue", row(t, queue, m.Commit[:7]), "reverted")
	want(t, "the last of the queue", queue, "undo · <code>"+undo.Commit[:7])
	if strings.Contains(row(t, queue, undo.Commit[:7]), ">merged<") {
		t.Error("the undo is shown as merged")
	}
	want(t, "the history", s.get("/history"), "</b> took back")
	s.merge(s.make("later", map[string]string{"b.txt": "b\n"}))
	other := s.make("other", map[string]string{"c.txt": "c\n"})
	s.merge(other)
	last := s.make("last", map[string]string{"c.txt": "d\n"})
	lm := s.merge(last)
	if _, err := croft.Revert(t.Context(), s.svc, croft.RevertRequest{Merge: lm.ID}); err != nil {
		t.Fatal(err)
	}
	want(t, "an undo after a merge", row(t, s.get(s.at(other, "revert")), "Undo of"), "<bdi>last</bdi>", "c.txt")
}

// TestGone: who asks for a workspace that is not there is told what became of it, by its name, too.
func TestGone(t *testing.T) {
	s := newSite(t)
	merged, dropped, live := s.make("merged", map[string]string{"a.txt": "a\n"}), s.make("dropped", map[string]string{"b.txt": "b\n"}), s.make("live", nil)
	m := s.merge(merged)
	if _, err := s.svc.Discard(t.Context(), croft.DiscardRequest{Workspaces: []croft.Ref{croft.ByID(dropped.ID)}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"merged", []string{"No workspace is called merged now", "It was merged into main as " + m.Commit[:7], "WORKTREE_NOT_FOUND", s.at(merged, "restore"), s.at(merged, "revert"), s.at(merged, "")}},
		{"dropped", []string{"No workspace is called dropped now", "It was discarded", s.at(dropped, "restore")}},
		{"live", []string{"has another address", s.at(live, "")}},
		{"nobody", []string{"It was never made, or nothing is left of it"}},
		{"..%2f..%2fetc", []string{"It was never made"}},
	} {
		a := s.do(http.MethodGet, s.in("w/"+c.name), nil)
		if a.status != http.StatusNotFound {
			t.Errorf("%s: %d", c.name, a.status)
		}
		want(t, c.name, a.body, c.want...)
	}
	if a := s.send(s.at(merged, "snapshot")); a.status != http.StatusNotFound {
		t.Errorf("a snapshot of a merged workspace: %d", a.status)
	} else {
		want(t, "an act on a merged workspace", a.body, "It was merged into main", "Restore workspace")
	}
	s.who.Access = croft.AccessRead
	if a := s.do(http.MethodGet, s.in("w/merged"), nil); strings.Contains(a.body, `method="post" action="/r/`) || strings.Contains(a.body, "/revert") {
		t.Error("a reader is offered what a reader may not")
	}
	s.who.Access = croft.AccessAll
	if to := s.post(s.at(dropped, "restore")); !strings.HasPrefix(to, "/") {
		t.Errorf("the restoration leads to %q", to)
	}
}

// TestRevertListsLater: the question before an undo lists every later merge, or says how many more there are. A merge of
// work that the target already had brought no commit: it takes no place in the list.
func TestRevertListsLater(t *testing.T) {
	s := newSite(t)
	first := s.make("first", map[string]string{"one.txt": "1\n"})
	s.merge(first)
	s.merge(s.make("same-file", map[string]string{"one.txt": "2\n"}))
	s.mergeNothing("nothing")
	page := s.get(s.at(first, "revert"))
	want(t, "the question", page, "1 merged after this")
	want(t, "the later merge", row(t, page, "same-file"), "one.txt")
	if strings.Contains(page, "<bdi>nothing</bdi>") || strings.Contains(page, "more before these") {
		t.Errorf("the list has more than the later merge:\n%s", page)
	}
	for i := range 20 {
		name := fmt.Sprintf("later-%d", i)
		s.merge(s.make(name, map[string]string{name + ".txt": "l\n"}))
	}
	page = s.get(s.at(first, "revert"))
	want(t, "the question about many", page, "21 merged after this", "and 1 more before these")
}

// TestMergeOfNothingHasNoUndo: a merge that brought no commit is not offered to be taken back, and whoever asks for it is
// told why. An earlier merge of the workspace that brought its work is taken back instead.
func TestMergeOfNothingHasNoUndo(t *testing.T) {
	s := newSite(t)
	ws, m := s.mergeNothing("nothing")
	want(t, "its row of the queue", row(t, s.get(s.in("queue")), "<bdi>nothing</bdi>"), "merged")
	for _, path := range []string{s.in("queue"), s.at(ws, ""), s.in("history")} {
		if page := s.get(path); strings.Contains(page, "/revert\"") {
			t.Errorf("%s offers to take it back", path)
		}
	}
	if a := s.do(http.MethodGet, s.in("w/nothing"), nil); strings.Contains(a.body, "/revert\"") {
		t.Error("the page of what is gone offers to take it back")
	}
	for _, path := range []string{s.at(ws, "revert"), s.in("m/" + string(m.ID) + "/revert")} {
		a := s.do(http.MethodGet, path, nil)
		if a.status != http.StatusConflict {
			t.Errorf("%s: %d", path, a.status)
		}
		want(t, path, a.body, "brought no commit to main, so there is nothing to take back")
	}

	work := s.make("work", map[string]string{"w.txt": "w\n"})
	brought := s.merge(work)
	if _, err := s.svc.Restore(t.Context(), croft.RestoreRequest{Ref: croft.ByID(work.ID)}); err != nil {
		t.Fatal(err)
	}
	if again := s.merge(work); again.ID != brought.ID {
		t.Fatalf("the second merge is %s, not %s", again.ID, brought.ID)
	}
	want(t, "a workspace whose work was submitted again", s.get(s.at(work, "")), "Undo merge…")
	want(t, "the question", s.get(s.at(work, "revert")), "/m/"+string(brought.ID)+"/revert")
}

// mergeNothing merges a workspace whose work main already has by another way.
func (s *site) mergeNothing(name string) (*croft.Workspace, *croft.Merge) {
	s.t.Helper()
	ws := s.make(name, map[string]string{name + ".txt": "n\n"})
	s.git.Git("merge", "--quiet", "--no-ff", "-m", "by hand", ws.Branch)
	m := s.merge(ws)
	if m.Status != croft.MergeMerged || m.Commit != "" {
		s.t.Fatalf("it is %s, with the commit %q", m.Status, m.Commit)
	}
	return ws, m
}
