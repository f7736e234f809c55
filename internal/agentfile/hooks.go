package agentfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Hooks is a file in which an agent looks for its hooks, and what of it is Croft's.
type Hooks struct {
	Path     string // below the directory of the project, or of the user
	elements []element
	empty    string // the file without hooks, as Croft makes it; default: an empty object
}

// emptyObject is a file with nothing in it, as Croft makes it.
const emptyObject = "{\n}\n"

func (h Hooks) fresh() string { return cmp.Or(h.empty, emptyObject) }

// element is an element of an array in the file.
type element struct {
	path []string
	text string
}

// Form says how the commands of hooks are written.
type Form string

// The forms.
const (
	ExecForm  Form = ""      // with arguments, run without a shell
	ShellForm Form = "shell" // one line for a shell: Claude Code before 2.1.139 knows no other
)

// Reach says what an agent's shell may do outside of its sandbox.
type Reach string

// The reaches.
const (
	ReachNothing Reach = ""        // nothing
	ReachCroft   Reach = "outside" // run croft
)

// ClaudeHooks is the file of Claude Code's settings.
func ClaudeHooks(form Form, reach Reach) Hooks {
	h := Hooks{Path: ".claude/settings.json"}
	for _, e := range [][3]string{
		{"WorktreeCreate", "create", `"timeout": 600`},
		{"WorktreeRemove", "remove", `"timeout": 60`},
		{"SessionStart", "state", `"timeout": 5`},
		{"UserPromptSubmit", "state", `"async": true`},
		{"PermissionRequest", "state", `"async": true`},
		{"PostToolUse", "state", `"async": true`},
		{"Notification", "state", `"async": true`},
		{"Stop", "state", `"timeout": 10`},
		{"StopFailure", "state", `"async": true`},
		{"SubagentStart", "state", `"async": true`},
		{"SubagentStop", "state", `"async": true`},
		{"SessionEnd", "state", `"timeout": 5`},
	} {
		command := fmt.Sprintf(`"command": "croft", "args": ["hook", "claude", %q]`, e[1])
		if form == ShellForm {
			command = fmt.Sprintf(`"command": "croft hook claude %s"`, e[1])
		}
		h.elements = append(h.elements, element{[]string{"hooks", e[0]}, fmt.Sprintf(`{"hooks": [{"type": "command", %s, %s}]}`, command, e[2])})
	}
	if reach == ReachCroft {
		h.elements = append(h.elements, element{[]string{"sandbox", "excludedCommands"}, `"croft *"`})
	}
	return h
}

// CodexHooks is the file of Codex's hooks. Codex gives the end of a session three seconds, and complains of more.
func CodexHooks() Hooks {
	h := Hooks{Path: ".codex/hooks.json"}
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop", "SubagentStart", "SubagentStop", "SessionEnd"} {
		timeout := 5
		if event == "SessionEnd" {
			timeout = 3
		}
		h.elements = append(h.elements, element{[]string{"hooks", event}, fmt.Sprintf(`{"hooks": [{"type": "command", "command": "croft hook codex state", "timeout": %d}]}`, timeout)})
	}
	return h
}

// Text is the file where there was none.
func (h Hooks) Text() []byte {
	text, _ := h.Added([]byte(h.fresh()))
	return text
}

// Added returns the text of a file with what is Croft's, or says why that is not added. What is
// Croft's already and in another form is replaced.
func (h Hooks) Added(old []byte) (text []byte, why string) {
	text = old
	for _, e := range slices.Backward(h.elements) { // each comes before the others
		if has(text, e) {
			continue
		}
		text, _ = drop(text, e.path, isCrofts)
		if text, why = add(text, e.path, e.text); why != "" {
			return nil, why
		}
	}
	return text, ""
}

func has(text []byte, e element) bool {
	root := parse(text)
	if root == nil {
		return false
	}
	list := root.at(e.path...)
	return list != nil && list.open == '[' && slices.ContainsFunc(list.items, func(it item) bool {
		return isEqual(text[it.value.from:it.value.to], []byte(e.text))
	})
}

func isEqual(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// isCrofts reports whether an element calls a hook of Croft's and nothing else.
func isCrofts(element json.RawMessage) bool {
	type hook struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	var group struct {
		hook         // Cursor's are not in groups
		Hooks []hook `json:"hooks"`
	}
	if json.Unmarshal(element, &group) != nil || len(group.Hooks) > 1 {
		return false
	}
	if len(group.Hooks) == 1 {
		group.hook = group.Hooks[0]
	}
	words := append(strings.Fields(group.Command), group.Args...)
	return len(words) == 4 && words[0] == "croft" && words[1] == "hook"
}

// Removed returns the text of a file without what is Croft's; nil: nothing else was in it. What
// was added to other parts of it stays.
func (h Hooks) Removed(old []byte) (text []byte, why string) {
	if parse(old) == nil {
		return nil, "it is not plain JSON"
	}
	text = old
	for _, e := range h.written() {
		var isEmpty bool
		isOurs := func(is json.RawMessage) bool { return isEqual(is, []byte(e.text)) }
		if text, isEmpty = drop(text, e.path, isOurs); isEmpty {
			return nil, ""
		}
	}
	if h.empty != "" && string(text) == h.empty && !bytes.Equal(text, old) {
		return nil, ""
	}
	return text, ""
}

// written are the elements that Croft writes into the file in any form. What a user wrote in another way, such as a hook
// of Croft's with other settings, is the user's; so is "croft *" among the commands outside of the sandbox, which nobody can
// tell from Croft's own, unless the caller asks for it by ReachCroft.
func (h Hooks) written() []element {
	if h.Path != ClaudeHooks(ExecForm, ReachNothing).Path {
		return h.elements
	}
	return slices.Concat(h.elements, ClaudeHooks(ExecForm, ReachNothing).elements, ClaudeHooks(ShellForm, ReachNothing).elements)
}

// Write adds to the file what is Croft's.
func (h Hooks) Write(root *os.Root) (Outcome, string, error) {
	return change(root, h.Path, h.fresh(), h.Added)
}

// Undo takes out of the file what is Croft's, and deletes a file that has nothing else, with its
// directory if that is empty.
func (h Hooks) Undo(root *os.Root) (Outcome, string, error) {
	out, why, err := change(root, h.Path, h.fresh(), h.Removed)
	if out == Changed {
		out = Removed
	}
	return out, why, err
}

// change writes a file anew; without a text it deletes it. Where there is none, it begins with what a fresh one has.
func change(root *os.Root, name, fresh string, with func([]byte) ([]byte, string)) (Outcome, string, error) {
	dir := path.Dir(name)
	if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
		return Left, dir + " is not a directory", nil
	}
	file := File{Path: name}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, _ := with([]byte(fresh))
		if text == nil || bytes.Equal(text, []byte(fresh)) {
			return There, "", nil
		}
		return Written, "", file.write(root, text, 0o644)
	}
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return Left, "it is not a regular file, or too large", nil
	}
	old, err := readAt(root, name)
	if err != nil {
		return "", "", err
	}
	text, why := with(old)
	switch {
	case why != "":
		return Left, why, nil
	case bytes.Equal(text, old):
		return There, "", nil
	case text == nil:
		err := root.Remove(name)
		if err == nil {
			_ = root.Remove(dir) // if it is empty
		}
		return Removed, "", err
	}
	return Changed, "", file.write(root, text, info.Mode().Perm())
}
