package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// News is what an agent's hook says of a session.
type News struct {
	Event   string // the hook's event, as the agent calls it
	Dir     string // where the session works; may be empty
	Session string // the agent's name for it
	Begins  bool   // the session begins with it, or is taken up again

	State   croft.AgentState // empty: it says nothing of the state
	Need    croft.AgentNeed  // with AgentWaiting
	Outcome croft.Outcome    // with AgentEnded
	Note    string

	Subagents int // how many subagents the session has more by it, or less
}

// SubagentMark stands between the name of a session and that of its subagent, in the name of the subagent's.
const SubagentMark = "/"

// maxSession is how many bytes of a session's name are taken.
const maxSession = 128

// Decode decodes the input of a state hook. A session that leaves a worktree has news for two directories. An array is a list of sessions, as `claude agents
// --json` prints it; everything else is about one. What is not known is news without a state.
func Decode(agent Agent, value json.RawMessage) []News {
	if agent == Claude && len(value) > 0 && value[0] == '[' {
		var list []News
		for _, item := range (object{"": value}).list("") {
			list = append(list, listed(asObject(item)))
		}
		return list
	}
	o := asObject(value)
	if agent == Codex && o.text("method") == "thread/status/changed" {
		return []News{threadNews(asObject(o["params"]))}
	}
	if n, ok := decodeOther(agent, o); ok {
		return []News{n}
	}
	n := News{Event: plain(o.text("hook_event_name"), maxSession), Dir: o.text("cwd"), Session: plain(o.text("session_id"), maxSession)}
	isApart := n.isApart(o)
	if isApart {
		n.Session = plain(n.Session+SubagentMark+o.text("agent_id"), maxSession)
	}
	n.decode(o, isApart)
	list := []News{n}
	if left := asObject(o["tool_response"]).text("worktreePath"); n.Event == "PostToolUse" && o.text("tool_name") == "ExitWorktree" && left != "" {
		list = append(list, News{Event: n.Event, Dir: left, Session: n.Session, State: croft.AgentIdle})
	}
	return list
}

func (n *News) decode(o object, isApart bool) {
	switch n.Event {
	case "SessionStart":
		n.Begins = true
		if o.text("source") != "compact" { // that is in the midst of a turn, or after one
			n.State = croft.AgentIdle
		}
	case "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch":
		n.State = croft.AgentWorking
	case "PermissionRequest":
		n.State, n.Need, n.Note = croft.AgentWaiting, croft.NeedPermission, toolNote(o)
		if question := asked(o); question != "" {
			n.Need, n.Note = croft.NeedAnswer, question
		}
	case "Notification":
		n.notify(o)
	case "Stop":
		n.State = croft.AgentIdle
		if running := len(o.list("background_tasks")) + len(o.list("session_crons")); running > 0 {
			n.State, n.Note = croft.AgentWorking, fmt.Sprintf("%d in background", running)
		}
	case "StopFailure":
		n.fail(o.text("error"))
	case "SubagentStart":
		n.Subagents = 1
		if isApart {
			n.State = croft.AgentWorking
		}
	case "SubagentStop":
		n.Subagents = -1
		if isApart { // it may be taken up again, and says so then
			n.State, n.Outcome = croft.AgentEnded, croft.Succeeded
		}
	case "SessionEnd":
		if reason := o.text("reason"); reason != "clear" && reason != "resume" { // another session follows these
			n.State, n.Outcome = croft.AgentEnded, croft.Succeeded
		}
	}
}

// isApart reports whether news are about a subagent that has a worktree of its own, and come from there. Others work
// where their session does.
func (n *News) isApart(o object) bool {
	id := o.text("agent_id")
	return id != "" && slices.ContainsFunc(strings.FieldsFunc(n.Dir, func(r rune) bool { return r == '/' || r == '\\' }), func(part string) bool {
		return part == subagent+id || strings.HasPrefix(part, subagent+id+"-") // a number, if something else had the name
	})
}

func (n *News) notify(o object) {
	switch o.text("notification_type") {
	case "permission_prompt": // its message names no more than the tool, which PermissionRequest did
		n.State, n.Need = croft.AgentWaiting, croft.NeedPermission
	case "elicitation_dialog", "elicitation_url_dialog", "agent_needs_input":
		n.State, n.Need, n.Note = croft.AgentWaiting, croft.NeedAnswer, note(o.text("message"))
	case "elicitation_complete", "elicitation_response":
		n.State = croft.AgentWorking
	case "idle_prompt":
		n.State = croft.AgentIdle
	}
}

// fail is about a turn that the agent's service has ended.
func (n *News) fail(word string) {
	n.State, n.Note = croft.AgentIdle, strings.ReplaceAll(note(word), "_", " ")
	switch word {
	case "rate_limit", "overloaded", "billing_error":
		n.State, n.Need = croft.AgentWaiting, croft.NeedLimit
	case "authentication_failed":
		n.State, n.Need = croft.AgentWaiting, croft.NeedCredentials
	}
}

// listed is a session in the list of `claude agents --json`.
func listed(o object) News {
	n := News{Event: "agents", Dir: o.text("cwd"), Session: plain(o.text("sessionId"), maxSession)} // as its hooks call it
	if n.Session == "" {
		n.Session = plain(o.text("id"), maxSession)
	}
	if o.text("status") == "waiting" {
		n.State = croft.AgentWaiting
		switch o.text("waitingFor") {
		case "permission prompt", "sandbox request":
			n.Need = croft.NeedPermission
		case "worker request":
			n.Need = croft.NeedResource
		default:
			n.Need = croft.NeedAnswer
		}
		return n
	}
	switch o.text("state") {
	case "working":
		n.State = croft.AgentWorking
	case "blocked":
		n.State, n.Need = croft.AgentWaiting, croft.NeedAnswer
	case "done":
		n.State, n.Outcome = croft.AgentEnded, croft.Succeeded
	case "failed":
		n.State, n.Outcome = croft.AgentEnded, croft.Failed
	case "stopped":
		n.State, n.Outcome = croft.AgentEnded, croft.Killed
	}
	return n
}

// threadNews is a notification of Codex's app server.
func threadNews(o object) News {
	n := News{Event: "thread/status/changed", Session: plain(o.text("threadId"), maxSession)}
	status := asObject(o["status"])
	switch status.text("type") {
	case "active":
		n.State = croft.AgentWorking
		for _, flag := range status.list("activeFlags") {
			switch (object{"": flag}).text("") {
			case "waitingOnApproval":
				n.State, n.Need = croft.AgentWaiting, croft.NeedPermission
			case "waitingOnUserInput":
				if n.State != croft.AgentWaiting {
					n.State, n.Need = croft.AgentWaiting, croft.NeedAnswer
				}
			}
		}
	case "idle":
		n.State = croft.AgentIdle
	case "systemError":
		n.State, n.Need = croft.AgentWaiting, croft.NeedResource
	case "notLoaded":
		n.State = croft.AgentUnknown
	}
	return n
}
