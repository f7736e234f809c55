package telling

import (
	"encoding/json"
	"strings"

	"github.com/croft-sh/croft"
)

// body is the stored part of an event.
type body struct {
	Actor          string   `json:"actor,omitempty"`
	ActorWorkspace croft.ID `json:"actorWorkspace,omitempty"`
	croft.Subjects
	After *croft.Nouns `json:"after,omitempty"`
}

// envelope tells the data of an event from the data that earlier versions wrote.
type envelope struct {
	Event *body `json:"event"`
}

// Encode returns the data of an event.
func Encode(e croft.Event) (string, error) {
	b := body{e.Actor, e.ActorWorkspace, e.Subjects, e.After}
	b.Repo, b.Workspace = "", "" // they have columns
	text, err := json.Marshal(envelope{&b})
	return string(text), err
}

// Decode sets in an event what its data says. An event whose data is damaged keeps its
// kind, time, repository and workspace.
func Decode(data string, e *croft.Event) {
	var in envelope
	if json.Unmarshal([]byte(data), &in) != nil {
		return
	}
	if in.Event == nil {
		decodeOld([]byte(data), e)
		return
	}
	in.Event.Repo, in.Event.Workspace = e.Repo, e.Workspace
	e.Actor, e.ActorWorkspace, e.Subjects, e.After = in.Event.Actor, in.Event.ActorWorkspace, in.Event.Subjects, in.Event.After
}

// decodeOld decodes data that has no envelope: a whole merge or lane, or a few fields of
// a workspace, a session or a round.
func decodeOld(data []byte, e *croft.Event) {
	noun, _, _ := strings.Cut(e.Kind, ".")
	switch noun {
	case "merge":
		var m croft.Merge
		if json.Unmarshal(data, &m) == nil && m.ID != "" {
			if m.WorkspaceName == "" { // the field workspace had the name
				m.WorkspaceName, m.Workspace = string(m.Workspace), e.Workspace
			}
			e.Merge, e.Target, e.WorkspaceName, e.After = m.ID, m.Target, m.WorkspaceName, &croft.Nouns{Merge: &m}
		}
	case "target":
		var l croft.Lane
		if json.Unmarshal(data, &l) == nil {
			e.Target, e.After = l.Target, &croft.Nouns{Lane: &l}
		}
	default:
		var old struct {
			Name           string
			Session, Round croft.ID
		}
		_ = json.Unmarshal(data, &old)
		e.WorkspaceName, e.Session, e.Round = old.Name, old.Session, old.Round
	}
}
