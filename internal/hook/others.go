package hook

import (
	"strings"

	"github.com/croft-sh/croft"
)

// More agents whose hooks are understood.
const (
	Cursor   Agent = "cursor"
	Gemini   Agent = "gemini"
	Opencode Agent = "opencode"
	Aider    Agent = "aider"
)

// Waiting is the news of an agent that waits for its user, of which it says nothing else: aider has no other hook.
func Waiting() News {
	return News{Event: "waiting", State: croft.AgentWaiting, Need: croft.NeedAnswer}
}

// decodeOther decodes the input of an agent that has words of its own for its events; false: it has those of Claude Code.
func decodeOther(agent Agent, o object) (n News, ok bool) {
	switch agent {
	case Cursor:
		return cursorNews(o), true
	case Gemini:
		return geminiNews(o), true
	case Opencode:
		return opencodeNews(o), true
	}
	return News{}, false
}

func geminiNews(o object) News {
	n := News{Event: plain(o.text("hook_event_name"), maxSession), Dir: o.text("cwd"), Session: plain(o.text("session_id"), maxSession)}
	switch n.Event {
	case "SessionStart":
		n.Begins, n.State = true, croft.AgentIdle
	case "BeforeAgent", "BeforeTool", "AfterTool":
		n.State = croft.AgentWorking
	case "Notification":
		if o.text("notification_type") == "ToolPermission" {
			n.State, n.Need, n.Note = croft.AgentWaiting, croft.NeedPermission, geminiNote(o)
		}
	case "AfterAgent":
		n.State = croft.AgentIdle
	case "SessionEnd":
		if o.text("reason") != "clear" { // another session follows
			n.State, n.Outcome = croft.AgentEnded, croft.Succeeded
		}
	}
	return n
}

// geminiNote is the command that a permission is asked for, or else the words of the question.
func geminiNote(o object) string {
	details := asObject(o["details"])
	for _, word := range []string{"command", "filePath", "toolName"} {
		if text := details.text(word); text != "" {
			return shortened(note(text), maxArgument)
		}
	}
	return note(o.text("message"))
}

// cursorNews is about a conversation, whose directory is the first that the window has open.
func cursorNews(o object) News {
	n := News{Event: plain(o.text("hook_event_name"), maxSession), Session: plain(o.text("conversation_id"), maxSession)}
	if roots := o.list("workspace_roots"); len(roots) > 0 {
		n.Dir = (object{"": roots[0]}).text("")
	}
	switch n.Event {
	case "sessionStart":
		n.Begins, n.State = n.Session != "", croft.AgentIdle
	case "beforeSubmitPrompt", "beforeShellExecution", "afterShellExecution", "afterFileEdit":
		n.State = croft.AgentWorking
	case "stop":
		n.State = croft.AgentIdle
		if status := o.text("status"); status == "error" || status == "aborted" {
			n.Note = status
		}
	case "sessionEnd":
		n.State, n.Outcome = croft.AgentEnded, croft.Succeeded
	}
	return n
}

// opencodeNews is an event of opencode's, to which Croft's plugin adds the directory.
func opencodeNews(o object) News {
	p := asObject(o["properties"])
	n := News{Event: plain(o.text("type"), maxSession), Dir: o.text("cwd"), Session: plain(p.text("sessionID"), maxSession)}
	if n.Session == "" {
		n.Session = plain(asObject(p["info"]).text("id"), maxSession)
	}
	switch n.Event {
	case "session.created":
		n.Begins, n.State = n.Session != "", croft.AgentIdle
	case "session.status":
		switch asObject(p["status"]).text("type") {
		case "busy":
			n.State = croft.AgentWorking
		case "retry":
			n.State, n.Need = croft.AgentWaiting, croft.NeedLimit
		case "idle":
			n.State = croft.AgentIdle
		}
	case "session.idle":
		n.State = croft.AgentIdle
	case "permission.asked":
		n.State, n.Need, n.Note = croft.AgentWaiting, croft.NeedPermission, opencodeNote(p)
	case "question.asked":
		n.State, n.Need = croft.AgentWaiting, croft.NeedAnswer
		if questions := p.list("questions"); len(questions) > 0 {
			n.Note = note(asObject(questions[0]).text("question"))
		}
	case "permission.replied", "question.replied", "question.rejected":
		n.State = croft.AgentWorking
	case "session.error":
		n.State, n.Note = croft.AgentIdle, note(asObject(p["error"]).text("name"))
	case "session.deleted":
		n.State, n.Outcome = croft.AgentEnded, croft.Succeeded
	}
	return n
}

// opencodeNote names the tool that a permission is asked for, and what it would do.
func opencodeNote(p object) string {
	what := asObject(p["metadata"]).text("command")
	if what == "" {
		what = argument(p, "patterns")
	}
	return cut(strings.TrimPrefix(plain(p.text("permission"), 64)+": "+shortened(note(what), maxArgument), ": "), croft.MaxNote)
}
