package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"

	"github.com/croft-sh/croft/internal/background"
	"github.com/croft-sh/croft/internal/proc"
)

// followArgument is the first argument with which this program is started in the place of an agent that has a supervisor of
// its own. The second one is the directory of the run.
const followArgument = "run-follow"

// follow follows the agent of a run, and returns what it exited with.
func follow(runDir string, environ []string) int {
	const notRunning = 126 // as shells have it
	session, ok := background.Of(runDir, environ)
	if !ok {
		_, _ = os.Stderr.WriteString("croft: only \"croft run\" starts this\n")
		return notRunning
	}
	self, err := os.Executable()
	if err != nil {
		return notRunning
	}
	// It is the agent's own hook, of which nothing is shown, whatever happens to it.
	tell := func(list json.RawMessage) {
		_, _ = proc.Run(context.Background(), proc.Command{
			Path: self, Args: []string{"hook", "claude", "state"}, Env: environ, Dir: session.Dir, Stdin: bytes.NewReader(list), Terminal: proc.TerminalNone,
		})
	}
	return background.Follower{Session: session, Output: os.Stdout, Tell: tell}.Follow(context.Background())
}
