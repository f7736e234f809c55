package dashboard

import (
	"testing"

	"github.com/croft-sh/croft"
)

// TestReasonIsThePresentOne: a page quotes the last merge only while that is still why the work
// waits.
func TestReasonIsThePresentOne(t *testing.T) {
	for _, row := range []struct {
		status        croft.Condition
		reason        croft.Code
		finished      *croft.Finished
		title, quoted string
	}{
		{croft.ConditionConflict, croft.Conflict, nil, noteTitles[croft.ConditionConflict], "of the merge"},
		{croft.ConditionResolving, croft.Conflict, nil, noteTitles[croft.ConditionResolving], "of the list"},
		{croft.ConditionUnapproved, croft.ChecksUntrusted, nil, noteTitles[croft.ConditionUnapproved], "of the merge"},
		{croft.ConditionPending, croft.ChecksUntrusted, nil, "Its work was submitted", "of the list"},
		{croft.ConditionPending, croft.ChecksUntrusted, &croft.Finished{}, "The agent has finished", "of the list"},
	} {
		ws := &croft.Workspace{Status: row.status, Why: "of the list", Finished: row.finished}
		v := &workspaceView{WS: ws, State: stateOf(ws), Merge: &croft.Merge{
			State: croft.MergeDone, Status: croft.MergePending, Reason: row.reason, Message: "of the merge",
		}}
		if n := v.describe(); n.Quote != row.quoted || n.Title != row.title {
			t.Errorf("%s: %q, %q", row.status, n.Title, n.Quote)
		}
	}
}

// TestUnseenWork: what nobody has looked at is not said to be no work.
func TestUnseenWork(t *testing.T) {
	ws := &croft.Workspace{Status: croft.ConditionEmpty, Why: "not looked at", Work: &croft.Work{Seen: []croft.Aspect{croft.AspectCommits}}}
	if word, text := stateOf(ws).Word, reasonText(ws); word != "not looked at" || text != "Not looked at." {
		t.Errorf("unseen work is %q: %q", word, text)
	}
	ws.Why, ws.Work.Seen = "", append(ws.Work.Seen, croft.AspectFiles)
	if word, text := stateOf(ws).Word, reasonText(ws); word != "no work yet" || text != "No work yet." {
		t.Errorf("no work is %q: %q", word, text)
	}
}
