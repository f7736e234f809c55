package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// keyless are the commands without --key, with the reason.
var keyless = map[string]string{
	"list": reads, "logs": reads, "repos": reads, "show": reads, "path": reads, "mounts": reads, "trash": reads, "history": reads, "events": reads, "diff": reads,
	"conflicts": reads, "queue": reads, "session": reads, "session list": reads, "round": reads, "round prompt": reads, "role": reads,
	"config": reads, "config get": reads, "config schema": reads, "schema": reads, "shell-init": reads, "completion": reads, "manual": reads, "version": reads, "help": reads,

	"run": "runs a program in a workspace, one at a time", "stop": "stopping again changes nothing",
	"sh": "runs a program in a workspace", "cd": "a function of the shell",
	"hold":       "the same process gets the same lease again",
	"queue run":  "merges what was submitted, each under the key of its own request",
	"config set": "writing the same value again changes nothing",
	"init":       "makes a file, unless it is there",

	"env": reads,

	"agent": reads, "agent report": "only the last report counts",

	"push": "pushing the same commit again changes nothing",

	"hook": "an agent calls it once for an event; a creation opens the workspace that is there",

	"mcp":   "serves calls, each of which may have a key",
	"pool":  "filling what is full changes nothing",
	"serve": "runs until it is stopped; there is one at most",
	"token": reads, "token list": reads,
	"token new":    "a secret is shown once, so it cannot be shown again",
	"token revoke": "a token that is gone is named as such",
}

const reads = "reads"

// TestChangingCommandsHaveAKey: every command that changes something can be repeated after a
// crash, and says so in the same words.
func TestChangingCommandsHaveAKey(t *testing.T) {
	root := newRootCommand(&app{})
	seen := map[string]bool{}
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			name := sub.Name()
			if path != "" {
				name = path + " " + name
			}
			flag := sub.Flags().Lookup("key")
			_, isKeyless := keyless[name]
			seen[name] = true
			switch {
			case flag == nil && !isKeyless:
				t.Errorf("croft %s has no --key", name)
			case flag != nil && isKeyless:
				t.Errorf("croft %s has --key, and is listed as one that has none", name)
			case flag != nil && !strings.HasPrefix(flag.Usage, sameCall):
				t.Errorf("croft %s: --key: %q, elsewhere %q", name, flag.Usage, sameCall)
			}
			walk(sub, name)
		}
	}
	walk(root, "")
	for name := range keyless {
		if !seen[name] {
			t.Errorf("there is no command %q", name)
		}
	}
}
