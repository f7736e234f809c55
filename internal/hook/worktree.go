package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Creation is a worktree that an agent wants.
type Creation struct {
	Name       string // what the agent calls it; whether it can be a name is not looked at
	Dir        string // where the agent works; may be empty
	Session    string
	IsSubagent bool     // it is for an agent that another one started
	Remarks    []string // sentences about what was asked for and is not looked at
}

// subagent is how the names of worktrees begin that Claude Code wants for its subagents.
const subagent = "agent-"

// DecodeCreation decodes the input of Claude Code's WorktreeCreate. Earlier versions had other
// words for the name.
func DecodeCreation(value json.RawMessage) (Creation, error) {
	o := asObject(value)
	c := Creation{Dir: o.text("cwd"), Session: plain(o.text("session_id"), maxSession)}
	for _, word := range []string{"name", "worktree_name", "branch_name"} {
		if c.Name == "" {
			c.Name = o.text(word)
		}
	}
	if c.Name == "" || c.Name == "undefined" || c.Name == "null" {
		return c, invalid("the hook was given no name")
	}
	c.IsSubagent = strings.HasPrefix(c.Name, subagent)
	for _, word := range []string{"base_ref", "base_commit", "base_path"} {
		if _, ok := o[word]; ok {
			c.Remarks = append(c.Remarks, word+" is not looked at: the settings of the project say where a workspace begins")
		}
	}
	return c, nil
}

// Removal is a worktree that an agent does not need any more.
type Removal struct {
	Path    string // absolute
	Session string
}

// DecodeRemoval decodes the input of Claude Code's WorktreeRemove.
func DecodeRemoval(value json.RawMessage) (Removal, error) {
	o := asObject(value)
	r := Removal{Path: o.text("worktree_path"), Session: plain(o.text("session_id"), maxSession)}
	if !filepath.IsAbs(r.Path) {
		return r, invalid("the hook was given no absolute path")
	}
	return r, nil
}
