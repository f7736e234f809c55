package agents

import (
	"context"

	"github.com/croft-sh/croft"
)

// The types of the messages of the WebSocket, beside the kinds of Croft's own events.
const (
	TypeMerged      = "agent:merged"
	TypeMergeFailed = "agent:merge-failed"
	TypeDiscarded   = "agent:discarded"
	TypeReverted    = "agent:reverted"
)

// Message is a message of the WebSocket.
type Message struct {
	Type    string       `json:"type"`
	AgentID string       `json:"agentId,omitempty"`
	Agent   *Agent       `json:"agent,omitempty"`
	Error   string       `json:"error,omitempty"` // of a merge that failed
	Code    string       `json:"code,omitempty"`
	Cursor  croft.Cursor `json:"cursor"` // to go on from: ?after=CURSOR
	Event   *croft.Event `json:"event,omitempty"`
}

// Messages returns what the WebSocket tells of an event: the application's own type, if it
// has one for it, and the event itself.
func Messages(ctx context.Context, svc croft.Service, ev croft.Event) []any {
	own := Message{Type: ev.Kind, Cursor: ev.Cursor, Event: &ev}
	kind := typeOf(ev)
	if kind == "" {
		return []any{own}
	}
	m := ev.After.Merge
	told := Message{Type: kind, Cursor: ev.Cursor, AgentID: string(m.Workspace)}
	if kind == TypeMergeFailed {
		told.Error, told.Code = m.Message, string(m.Reason)
	}
	if a, err := shown(ctx, svc, m.RepoID, m.Workspace); err == nil {
		told.Agent, told.AgentID = a, a.ID
	}
	return []any{told, own}
}

// typeOf returns the application's type of an event, or the empty string.
func typeOf(ev croft.Event) string {
	if ev.After == nil || ev.After.Merge == nil || ev.After.Merge.Workspace == "" {
		return ""
	}
	switch m := ev.After.Merge; {
	case ev.Kind == croft.EventMergeMerged && m.Kind != croft.KindRevert:
		return TypeMerged
	case ev.Kind == croft.EventMergePending && m.Reason != "" && m.Kind != croft.KindRevert:
		return TypeMergeFailed
	case ev.Kind == croft.EventMergeDiscarded:
		return TypeDiscarded
	case ev.Kind == croft.EventMergeReverted:
		return TypeReverted
	}
	return ""
}
