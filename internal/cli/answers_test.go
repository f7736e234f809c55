package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// withoutAnswer are the commands that print no JSON: what they print is for a shell, or help.
var withoutAnswer = []string{"sh", "cd", "shell-init", "completion", "help", "role", "round", "agent", "mcp", "hook", "manual"}

// TestEveryCommandHasAnAnswer: what a command prints with --json has a schema.
func TestEveryCommandHasAnAnswer(t *testing.T) {
	var commands []string
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, c := range cmd.Commands() {
			if c.Runnable() && !slices.Contains(withoutAnswer, path+c.Name()) {
				commands = append(commands, path+c.Name())
			}
			walk(c, path+c.Name()+" ")
		}
	}
	walk(newRootCommand(&app{}), "")
	var answers []string
	for _, a := range Answers() {
		answers = append(answers, a.Command)
	}
	for _, c := range commands {
		if !slices.Contains(answers, c) {
			t.Errorf("croft %s has no answer", c)
		}
	}
	for _, a := range answers {
		if !slices.Contains(commands, a) {
			t.Errorf("there is no croft %s", a)
		}
	}
}
