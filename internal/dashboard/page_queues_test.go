package dashboard_test

import (
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
