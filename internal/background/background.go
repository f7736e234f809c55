// Package background has Claude Code's own supervisor run a session: it starts one by "claude --bg", follows it by
// "claude agents --json", and ends it by "claude stop". Nothing of such a session is below the process that started
// it: the supervisor is one for all sessions of its user, and lives on.
//
// The supervisor was started by whoever needed it first, and its sessions have the environment of that. So the variables of a
// workspace are in a file of settings, and the command is started without them: they would be those of all later sessions.
package background

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/pattern"
	"github.com/croft-sh/croft/internal/proc"
)

// Is reports whether a command hands its work to Claude Code's own supervisor, and ends.
func Is(command []string) bool {
	name := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	return name == "claude" && slices.ContainsFunc(flagsOf(command), func(word string) bool { return word == "--bg" || word == "--background" })
}

// flagsOf returns the words of a command that may be flags.
func flagsOf(command []string) []string {
	if i := slices.Index(command, "--"); i > 0 {
		return command[1:i]
	}
	return command[1:]
}

// Check refuses what Start cannot do.
func Check(command []string) error {
	for _, word := range flagsOf(command) {
		if word == "--settings" || strings.HasPrefix(word, "--settings=") {
			return &croft.Error{
				Code: croft.InvalidRequest, Op: "run", Message: "claude --bg gets the variables of the workspace by --settings, and takes that once",
				Hint: "put these settings into .claude/settings.local.json of the workspace",
			}
		}
	}
	return nil
}

// Session is a session of Claude Code's in the background.
type Session struct {
	Program string `json:"program"` // Claude Code
	ID      string `json:"id"`      // as "claude stop" takes it
	Dir     string `json:"dir"`     // where it works
	Mark    string `json:"mark"`    // a variable that the commands of the session have, NAME=VALUE

	environ []string // with which Claude Code is called
}

// The files of a run, in its directory.
const (
	sessionFile  = "session"
	settingsFile = "settings.json"
)

// startTime is how long a session may take to be started.
const startTime = time.Minute

var begun = pattern.New(`(?m)^backgrounded · ([0-9A-Za-z_-]{1,64})\s*$`)

// Command is how a session is started.
type Command struct {
	Dir       string            // where it works
	Words     []string          // claude --bg …
	Environ   []string          // of Claude Code
	Variables map[string]string // that the session has besides
	Mark      string            // one more, NAME=VALUE, by which the processes of the session are found
}

// Start starts a session, and writes down in the directory of its run which one it is.
func Start(ctx context.Context, runDir string, c Command) (*Session, error) {
	env := map[string]string{}
	maps.Copy(env, c.Variables)
	name, value, _ := strings.Cut(c.Mark, "=")
	env[name] = value
	text, err := json.Marshal(map[string]any{"env": env})
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(runDir, settingsFile) // not in the arguments, which all users can read
	if err := os.WriteFile(settings, text, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	args := append([]string{"--settings", settings}, c.Words[1:]...)
	res, err := proc.Run(ctx, proc.Command{Path: c.Words[0], Args: args, Env: c.Environ, Dir: c.Dir, Terminal: proc.TerminalNone})
	if err != nil {
		said := strings.TrimSpace(string(res.Stderr) + string(res.Stdout))
		return nil, &croft.Error{Code: croft.InvalidRequest, Op: "run", Message: "Claude Code did not start the session", Details: said, Err: err}
	}
	found := begun().FindSubmatch(res.Stdout)
	if found == nil {
		return nil, &croft.Error{
			Code: croft.Unsupported, Op: "run", Message: "Claude Code did not say which session it has started", Details: string(res.Stdout), Hint: "claude agents",
		}
	}
	s := &Session{Program: c.Words[0], ID: string(found[1]), Dir: c.Dir, Mark: c.Mark, environ: c.Environ}
	if text, err = json.Marshal(s); err == nil {
		err = os.WriteFile(filepath.Join(runDir, sessionFile), text, 0o600)
	}
	return s, errors.Join(err, s.stopIf(ctx, err != nil))
}

// Of returns the session of a run, if it has one.
func Of(runDir string, environ []string) (*Session, bool) {
	text, err := fsx.ReadFile(filepath.Join(runDir, sessionFile), 1<<16)
	if err != nil {
		return nil, false
	}
	s := &Session{environ: environ}
	return s, json.Unmarshal(text, s) == nil && s.ID != "" && s.Program != ""
}

func (s *Session) call(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := proc.Run(ctx, proc.Command{Path: s.Program, Args: args, Env: s.environ, Dir: s.Dir, Terminal: proc.TerminalNone})
	return res.Stdout, err
}

const (
	// callTime is how long Claude Code may take for an answer.
	callTime = 30 * time.Second
	// stopTime is how long the process of a session may live after it was stopped.
	stopTime = 10 * time.Second
	// graceful is how long processes that a session has left may take to end.
	graceful = 2 * time.Second
)

// Stop ends the session, if it has not ended, and waits for the end of its process and of those that it has left. Its conversation is kept.
func (s *Session) Stop(ctx context.Context) error {
	_, stopErr := s.call(ctx, "stop", s.ID)
	for begun := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		now, err := s.look(ctx)
		if err == nil && (now == nil || now.PID == 0 && now.hasEnded()) {
			break
		}
		if time.Since(begun) > stopTime {
			return errors.Join(stopErr, err, fmt.Errorf("the session %s goes on", s.ID))
		}
	}
	// Claude Code ends the command that runs, not what others have left.
	left := proc.EndAll(func() []proc.Identity { return proc.Left(proc.Identity{}, nil, s.Mark) }, graceful)
	if len(left) > 0 {
		return fmt.Errorf("%d processes of the session %s go on", len(left), s.ID)
	}
	return nil
}

func (s *Session) stopIf(ctx context.Context, isSo bool) error {
	if !isSo {
		return nil
	}
	return s.Stop(ctx)
}

// listed is a session in the list of "claude agents --json".
type listed struct {
	ID         string `json:"id"`
	PID        int    `json:"pid"`    // 0: it has no process
	State      string `json:"state"`  // working, blocked, done, failed, stopped
	Status     string `json:"status"` // of its process
	WaitingFor string `json:"waitingFor"`

	text json.RawMessage // all of it
}

// look returns the session as it is listed; nil: it is not.
func (s *Session) look(ctx context.Context) (*listed, error) {
	out, err := s.call(ctx, "agents", "--json", "--all")
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(bytes.TrimSpace(out), &list); err != nil {
		return nil, err
	}
	for _, text := range list {
		l := listed{text: text}
		if json.Unmarshal(text, &l) == nil && l.ID == s.ID {
			return &l, nil
		}
	}
	return nil, nil
}
