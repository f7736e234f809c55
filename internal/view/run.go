package view

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/plaintext"
	"github.com/croft-sh/croft/internal/run"
)

// startTime is how long an agent is starting, if it does not say what it does.
const startTime = 30 * time.Second

// setRun shows the last run of an agent, and what the agent does as far as that is known by its
// process alone. A run whose processes are gone is shown as it ended, although that may not be
// recorded yet.
func (v *view) setRun(w *croft.Workspace, last *croft.Run) {
	if last == nil {
		return
	}
	now := *last
	isLive := run.Lives(&now)
	if now.State != croft.RunEnded && !isLive {
		now.State, now.How = croft.RunEnded, croft.RunLost
		if status, known := run.StatusOf(&now); known {
			now.How, now.Status = run.EndOf(&now, status), status
		}
	}
	w.Run = &now
	if isLive {
		w.LastLine = lastLine(&now)
	}
	if w.Activity != nil && w.Activity.At.After(now.StartedAt) && (isLive || w.Activity.At.After(now.EndedAt) && now.How != croft.RunLost) {
		return // the agent has said more
	}
	a := croft.Activity{Source: "process", Since: now.StartedAt, At: v.now}
	switch {
	case !isLive && now.EndedAt.IsZero() && len(run.Left(&now)) > 0:
		a.State, a.Note = croft.AgentWorking, leftText(&now)
	case !isLive:
		a.State, a.Note = croft.AgentEnded, endText(&now)
		a.Since, a.At = now.EndedAt, now.EndedAt
		if now.EndedAt.IsZero() {
			a.Since, a.At = now.StartedAt, now.StartedAt // it is not known when
		}
		w.Question = nil
	case v.now.Sub(now.StartedAt) < startTime:
		a.State = croft.AgentStarting
	default:
		a.State, a.Since = croft.AgentWorking, now.StartedAt.Add(startTime)
	}
	w.Activity = &a
}

// endText says how a run ended.
func endText(r *croft.Run) string {
	return run.Program(r) + " " + r.Ending()
}

// leftText says what becomes of processes whose run nobody looks after any more: whoever records its end ends them.
func leftText(r *croft.Run) string {
	return run.Program(r) + " outlived the croft processes that looked after it, which were killed; Croft ends it"
}

// lastLine returns the last line that an agent printed, as text.
func lastLine(r *croft.Run) string {
	const most, shown = 2 << 10, 200
	p, err := run.ReadOutput(r.Dir, -most, most)
	if err != nil {
		return ""
	}
	lines := strings.Split(plaintext.Strip(strings.ToValidUTF8(string(p.Data), "\uFFFD")), "\n")
	for _, line := range slices.Backward(lines) {
		text := strings.TrimSpace(strings.Map(func(c rune) rune {
			if unicode.IsPrint(c) {
				return c
			}
			return ' '
		}, line))
		if text != "" {
			return string([]rune(text)[:min(shown, len([]rune(text)))])
		}
	}
	return ""
}
