package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// refuseBackground refuses a command that hands its work to a supervisor of its own and ends: claude --bg. The supervisor would
// be one of the processes that the command has left, and be ended, with all sessions that it has, also those of others.
func refuseBackground(command []string) error {
	name := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	isFlag := func(word string) bool { return word == "--bg" || word == "--background" }
	if name != "claude" || !slices.ContainsFunc(command[1:], isFlag) {
		return nil
	}
	return &croft.Error{
		Code: croft.InvalidRequest, Op: "run",
		Message: "claude --bg hands the work to a supervisor of Claude Code's own, which would end with this command",
		Hint:    "croft run --detach NAME -- claude -p …, or claude --bg in the workspace, where hooks tell what it does",
	}
}
