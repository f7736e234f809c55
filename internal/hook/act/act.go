// Package act does with a Service what the hooks of agents ask for: it reports states, makes
// workspaces and removes them. Which workspace a hook is about is found by a path, and the record
// of that workspace decides; nothing else of a hook's input is believed.
package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/hook"
)

// Hook is one call of a hook.
type Hook struct {
	Agent   hook.Agent
	Stdin   io.Reader
	Dir     string // where the hook runs; absolute
	Project string // the project, as the agent's environment has it; may be empty
	Process int    // the number of the agent's process; 0: not known

	// Began is when the agent called the hook. Of two hooks that run at once, the one that was called last has
	// the news, whichever is faster.
	Began time.Time

	// Home is the user's home directory; may be empty.
	Home string
	// Open opens the Service for a directory, with settings beside the configured ones.
	Open func(ctx context.Context, dir string, set map[string]string) (croft.Service, error)
	// Later has another process carry a report out, which Late takes up.
	Later func(report string) error
	// SetUp has another process set a workspace up, which SetUpNow takes up. The channel is closed when that
	// process has ended.
	SetUp func(task string) (ended <-chan struct{}, err error)
	// SettingsOf returns the settings of the project at a directory.
	SettingsOf func(dir string) Settings
	// Say tells people about trouble; agents show it only where one looks for it.
	Say func(sentence string)

	patience      time.Duration // how long a report may take before another process has it; 0: reportTime
	setUpPatience time.Duration // how long the commands of a new workspace may take; 0: setUpTime
}

// Wait says what an agent waits for that has a worktree made.
type Wait string

// What it waits for.
const (
	WaitAll   Wait = "all"
	WaitFiles Wait = "files" // the commands that set it up run on
)

// The times that a hook takes at most: an agent waits for it.
const (
	inputTime  = 2 * time.Second        // until the agent has written all of the input of a state
	reportTime = 200 * time.Millisecond // to report a state; then another process does it
	lateTime   = 30 * time.Second       // of that other process

	removeTime = 50 * time.Second
	createTime = 590 * time.Second
	setUpTime  = 540 * time.Second // of that, for the commands of a new workspace
)

// State reports what the input says of the agent. It never fails: where there is no workspace it
// does nothing, and what cannot be reported in time is left to another process.
func (h Hook) State(ctx context.Context) {
	at := h.Began
	if at.IsZero() {
		at = time.Now()
	}
	reading, cancel := context.WithTimeout(ctx, inputTime)
	defer cancel()
	value, err := hook.Read(reading, h.Stdin)
	if err != nil {
		h.sayError(err)
		return
	}
	for _, n := range hook.Decode(h.Agent, value) {
		if n.State == "" || n.State == croft.AgentUnknown {
			continue
		}
		h.reportInTime(ctx, h.request(n, at))
	}
}

// Waiting reports that the agent waits for its user. It reads nothing: standard input may be the user's
// terminal.
func (h Hook) Waiting(ctx context.Context) {
	h.reportInTime(ctx, h.request(hook.Waiting(), time.Now()))
}

func (h Hook) request(n hook.News, at time.Time) croft.ReportRequest {
	req := croft.ReportRequest{
		Repo: croft.ByPath(h.dirOf(n.Dir)), State: n.State, WaitingFor: n.Need, Note: n.Note, Source: string(h.Agent), AgentSession: n.Session, At: at,
		Process: croft.Owner{PID: h.Process},
	}
	if n.Begins && n.Session != "" {
		req.Turn = croft.SessionBegins
	}
	return req
}

// dirOf returns the directory that a hook is about: the agent's, if it is absolute and there. Something else there, such as
// a pipe, would have to be opened to find the repository.
func (h Hook) dirOf(dir string) string {
	if info, err := os.Stat(dir); filepath.IsAbs(dir) && (err != nil || info.IsDir()) {
		return filepath.Clean(dir)
	}
	return h.Dir
}

// reportInTime reports, or has another process do it if that takes too long: the state may be
// locked, or its disk slow.
func (h Hook) reportInTime(ctx context.Context, req croft.ReportRequest) {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil { // an agent obeys the exit status of a panic
				done <- fmt.Errorf("panic: %v", p)
			}
		}()
		done <- h.report(ctx, req)
	}()
	timer := time.NewTimer(cmp.Or(h.patience, reportTime))
	defer timer.Stop()
	select {
	case err := <-done:
		h.sayError(err)
	case <-timer.C:
		text, err := json.Marshal(req)
		if err == nil {
			err = h.Later(string(text))
		}
		h.sayError(err)
	}
}

// Late carries a report out that another process had no time for.
func (h Hook) Late(ctx context.Context, report string) {
	var req croft.ReportRequest
	if err := json.Unmarshal([]byte(report), &req); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lateTime)
	defer cancel()
	h.sayError(h.report(ctx, req))
}

func (h Hook) report(ctx context.Context, req croft.ReportRequest) (err error) {
	_, dir := croft.CutRef(req.Repo)
	svc, err := h.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()
	_, err = svc.ReportAgent(ctx, req)
	isWhole := req.AgentSession != "" && !strings.Contains(req.AgentSession, hook.SubagentMark)
	if req.State == croft.AgentEnded && isWhole && (err == nil || errors.Is(err, croft.WorktreeNotFound)) {
		err = endElsewhere(ctx, svc, req)
	}
	return err
}

// endElsewhere ends what a session that has ended does in other workspaces of the project: its subagents have some, and it
// may have left its own before.
func endElsewhere(ctx context.Context, svc croft.Service, req croft.ReportRequest) error {
	list, err := svc.Workspaces(ctx, croft.WorkspacesRequest{Repo: req.Repo, States: []croft.State{croft.Ready, croft.Stopped}})
	if err != nil {
		return err
	}
	for _, ws := range list.Items {
		if ws.Activity == nil || ws.Activity.State == croft.AgentEnded {
			continue
		}
		if session, _, _ := strings.Cut(ws.Activity.AgentSession, hook.SubagentMark); session != req.AgentSession {
			continue
		}
		req.Workspace = croft.ByID(ws.ID)
		_, failed := svc.ReportAgent(ctx, req)
		err = errors.Join(err, failed)
	}
	return err
}

// sayError says what went wrong, unless it is that the agent works outside of all workspaces.
func (h Hook) sayError(err error) {
	switch {
	case err == nil, errors.Is(err, croft.WorktreeNotFound), errors.Is(err, croft.NotARepo), errors.Is(err, croft.ReadOnly):
	default:
		h.Say(fmt.Sprintf("croft hook %s: %v", h.Agent, err))
	}
}
