package agentfile

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/croft-sh/croft/internal/pattern"
)

// GeminiHooks is the file of Gemini CLI's settings, which counts the time of hooks in milliseconds.
func GeminiHooks() Hooks {
	h := Hooks{Path: ".gemini/settings.json"}
	for _, event := range []string{"SessionStart", "BeforeAgent", "AfterTool", "Notification", "AfterAgent", "SessionEnd"} {
		h.elements = append(h.elements, element{[]string{"hooks", event}, `{"hooks": [{"name": "croft", "type": "command", "command": "croft hook gemini state", "timeout": 5000}]}`})
	}
	return h
}

// CursorHooks is the file of Cursor's hooks. Those before an act are left out: Cursor waits for their decision.
func CursorHooks() Hooks {
	h := Hooks{Path: ".cursor/hooks.json", empty: "{\n  \"version\": 1\n}\n"}
	for _, event := range []string{"sessionStart", "afterShellExecution", "afterFileEdit", "stop", "sessionEnd"} {
		h.elements = append(h.elements, element{[]string{"hooks", event}, `{"command": "croft hook cursor state"}`})
	}
	return h
}

// CursorWorktrees is the file of what Cursor runs in worktrees that it has made.
func CursorWorktrees() Hooks {
	return Hooks{Path: ".cursor/worktrees.json", elements: []element{{[]string{"setup-worktree-unix"}, `"croft adopt --provision ."`}}}
}

// Text is a file that is Croft's as a whole, or a block of lines in one.
type Text struct {
	Path  string // below the directory of the project, or of the user
	text  string
	other func(old []byte) (why string) // why the text is not added to a file; nil: it is never added to one
}

// opencodePlugin tells Croft of the events of opencode's sessions. Those of subagents are not told: they
// have sessions of their own, with a parent.
const opencodePlugin = `// Written by "croft init --opencode"; "croft init --opencode --undo" deletes it if it is as it was written.
import { spawnSync } from "node:child_process"

const told = new Set(["session.created", "session.status", "session.error", "session.deleted", "permission.asked", "permission.replied", "question.asked", "question.replied", "question.rejected"])

export const Croft = async ({ directory }) => {
  const children = new Set()
  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created" && event.properties?.info?.parentID) children.add(session)
      if (!told.has(event.type) || children.has(session)) return
      const input = JSON.stringify({ cwd: directory, ...event })
      // One after the other, and before opencode ends; about 20 ms each.
      spawnSync("croft", ["hook", "opencode", "state"], { cwd: directory, input, stdio: ["pipe", "ignore", "ignore"], timeout: 2000 })
    },
  }
}
`

// OpencodePlugin is a plugin of opencode.
func OpencodePlugin() Text { return Text{Path: ".opencode/plugins/croft.js", text: opencodePlugin} }

// aiderLines has aider run a command when it waits for its user.
const aiderLines = `# croft: begin
notifications: true
notifications-command: croft hook aider waiting
# croft: end
`

var aiderKeys = pattern.New(`(?m)^[ \t]*["']?notifications(-command)?["']?[ \t]*:`)

// AiderSettings is the file of aider's settings.
func AiderSettings() Text {
	return Text{Path: ".aider.conf.yml", text: aiderLines, other: func(old []byte) string {
		if aiderKeys().Match(old) {
			return "it has notifications of its own"
		}
		return ""
	}}
}

// Text is the file where there was none.
func (f Text) Text() []byte { return []byte(f.text) }

// Write makes the file, or adds the lines to it.
func (f Text) Write(root *os.Root) (Outcome, string, error) { return f.change(root, f.added) }

// Undo takes the lines out of the file, and deletes one that has nothing else. What was edited stays.
func (f Text) Undo(root *os.Root) (Outcome, string, error) {
	out, why, err := f.change(root, f.removed)
	if out == Changed {
		out = Removed
	}
	return out, why, err
}

// change is like that of hooks, for a file whose directories are deleted with it if they are empty.
func (f Text) change(root *os.Root, with func([]byte) ([]byte, string)) (Outcome, string, error) {
	for dir := path.Dir(path.Dir(f.Path)); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return Left, dir + " is not a directory", nil
		}
	}
	out, why, err := change(root, f.Path, "", with)
	if out == Removed && err == nil {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			_ = root.Remove(dir) // if it is empty
		}
	}
	return out, why, err
}

func (f Text) added(old []byte) (text []byte, why string) {
	switch {
	case len(old) == 0, string(old) == f.text:
		return []byte(f.text), ""
	case f.other == nil:
		return nil, "it is not as croft init writes it"
	case strings.Contains("\n"+string(old), "\n"+f.text):
		return old, ""
	}
	if why := f.other(old); why != "" {
		return nil, why
	}
	return fmt.Appendf(bytes.Clone(old), "\n%s", f.text), "" // so Undo finds the bytes of before, whether they ended with a line or not
}

func (f Text) removed(old []byte) (text []byte, why string) {
	rest, isFirst := strings.CutPrefix(string(old), f.text)
	switch {
	case len(old) == 0, isFirst && rest == "":
		return nil, ""
	case f.other == nil:
		return nil, "it is not as croft init writes it: delete it by hand"
	case !isFirst:
		rest = strings.Replace(string(old), "\n"+f.text, "", 1)
	}
	return []byte(rest), ""
}
