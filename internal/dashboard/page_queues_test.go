package dashboard_test

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

func TestQueues(t *testing.T) {
	s := newSite(t)
	want(t, "the page without queues", s.get("/queue"), "No queue has been used yet")
	ws := s.make("one", map[string]string{"a.txt": "a\n"})
	if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold}); err != nil {
		t.Fatal(err)
	}
	want(t, "the list of queues", s.get("/queue"), "1 merge in the queue", `href="`+s.in("queue")+`?target=main"`, "1 held")
}

// TestQueueOfRefused: a queue whose only merge was refused is there, and says why. Once the work was submitted again,
// the first try asks for nothing, and the second is where it belongs.
func TestQueueOfRefused(t *testing.T) {
	s := newSite(t, "true")
	s.git.Write("croft.toml", "[merge]\nchecks = [\"test -e allowed\"]\n")
	s.git.Commit("other checks")
	ws := s.make("one", map[string]string{"a.txt": "a\n"})
	s.merge(ws)
	want(t, "the list of queues", s.get("/queue"), `href="`+s.in("queue")+`?target=main"`, "one: the target&#39;s checks were not approved")
	page := s.get(s.in("queue") + "?target=main")
	want(t, "the queue", page, "checks to allow", "the target&#39;s checks were not approved")
	if _, err := s.svc.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		t.Fatal(err)
	}
	page = s.get(s.in("queue") + "?target=main")
	want(t, "the queue", page, "submitted again", `<h2>Queued</h2><span class="count">1</span>`)
	if _, ended, _ := strings.Cut(page, `id="ended"`); strings.Contains(ended, "checks to allow") {
		t.Error("a try that was repeated asks for something")
	}
}

// TestQueueOfBecame: merges that were refused, and whose work has come to an end since, say which, and ask for nothing.
func TestQueueOfBecame(t *testing.T) {
	s := newSite(t, "test ! -e bad")
	for _, name := range []string{"mended", "dropped", "gone"} {
		ws := s.make(name, map[string]string{name: "1\n", "bad": "1\n"})
		s.merge(ws)
		switch name {
		case "mended":
			s.git.GitIn(ws.Path, "rm", "-q", "bad")
			s.git.GitIn(ws.Path, "commit", "-qm", "mended")
			s.merge(ws)
		case "dropped":
			s.post(s.at(ws, "discard"), hidden(s.get(s.at(ws, "discard")))...)
		case "gone":
			if _, err := s.svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{croft.ByID(ws.ID)}, Mode: croft.RemoveForce}); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, ended, _ := strings.Cut(s.get(s.in("queue")+"?target=main"), `id="ended"`)
	want(t, "the queue", ended, "merged later", "discarded", "removed")
	if strings.Contains(ended, "check failed") || strings.Contains(ended, "checks failed") {
		t.Errorf("a try whose work has ended asks for something:\n%s", ended)
	}
}

// TestQueueEnded: what has ended is there in the order in which it ended, without work that was discarded; what was
// canceled needs nobody.
func TestQueueEnded(t *testing.T) {
	s := newSite(t)
	submit := func(name string) *croft.Workspace {
		ws := s.make(name, map[string]string{name + ".txt": name + "\n"})
		if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
			t.Fatal(err)
		}
		return ws
	}
	canceled, merged := submit("canceled"), submit("merged")
	if _, err := s.svc.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold, Merges: []croft.Ref{"canceled"}}); err != nil {
		t.Fatal(err)
	}
	s.merge(merged)
	s.post(s.at(canceled, "cancel"))
	dropped := s.make("dropped", map[string]string{"d.txt": "d\n"})
	s.post(s.at(dropped, "discard"), hidden(s.get(s.at(dropped, "discard")))...)
	_, ended, _ := strings.Cut(s.get(s.in("queue")), `id="ended"`)
	if c, m := strings.Index(ended, "<bdi>canceled</bdi>"), strings.Index(ended, "<bdi>merged</bdi>"); c < 0 || m < c {
		t.Errorf("the merge that ended last is not the first:\n%s", ended)
	}
	if strings.Contains(ended, "dropped") {
		t.Error("discarded work is listed among the merges")
	}
	page := s.get("/")
	want(t, "the inbox", page, "Nothing needs you")
	want(t, "a canceled merge", s.get(s.at(canceled, "")), "its merge was canceled", "Merge into main")
}
