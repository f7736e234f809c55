// Package activity decides what reports of agents change: which are news, which are older than
// what is known, and what stays of the last ones. It reads and writes nothing.
package activity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/croft-sh/croft"
)

// Record is what the agent of a workspace does, and the sessions that it had before the present
// one.
type Record struct {
	croft.Activity
	Past []string `json:"past,omitempty"` // the latest last
}

// Noun returns what an agent does, as callers see it.
func (r *Record) Noun() *croft.Activity {
	if r == nil {
		return nil
	}
	now := r.Activity
	return &now
}

// pause is how long news that change nothing are not written again.
const pause = time.Minute

// After returns what is to be recorded after a report, and whether that differs from what was
// recorded before; nil: nothing was.
func After(was *Record, req croft.ReportRequest, at time.Time) (next *Record, isNews bool) {
	now := croft.Activity{
		State: req.State, WaitingFor: req.WaitingFor, Note: req.Note, Source: cmp.Or(req.Source, "report"), At: at, AgentSession: req.AgentSession, Process: req.Process,
	}
	if !req.At.IsZero() && req.At.Before(at) {
		now.At = req.At.UTC()
	}
	if now.State == croft.AgentWaiting {
		now.WaitingFor = cmp.Or(now.WaitingFor, croft.NeedAnswer)
	}
	now.Since = now.At
	if was == nil {
		return &Record{Activity: now}, true
	}
	if isOld(was, req, at) { // that a session left is told all the same: its workspace was kept
		return was, req.Turn == croft.SessionLeaves
	}
	next = follow(*was, now)
	if isRepeated(was.Activity, next.Activity) && req.Turn != croft.SessionLeaves {
		next.At = was.At
		return next, false
	}
	return next, true
}

// isOld reports whether a report is from before the last one, or of a session that another one
// has followed. A session that goes on beside one that has ended is not, and neither is anything if the clock was
// set back since the last one.
func isOld(was *Record, req croft.ReportRequest, now time.Time) bool {
	if !req.At.IsZero() && req.At.Before(was.At) && !was.At.After(now) {
		return true
	}
	return slices.Contains(was.Past, req.AgentSession) && req.Turn != croft.SessionBegins && was.State != croft.AgentEnded
}

// maxPast is how many sessions before the present one are known.
const maxPast = 8

// follow returns news with what stays of the last ones: the sessions before, the time since when
// it is so, and the reason of an agent that waits on.
func follow(was Record, now croft.Activity) *Record {
	next := &Record{Activity: now, Past: slices.Clone(was.Past)}
	switch {
	case now.AgentSession == "":
		next.AgentSession = was.AgentSession
	case was.AgentSession != "" && was.AgentSession != now.AgentSession:
		next.Past = append(next.Past, was.AgentSession)
	}
	next.Past = slices.DeleteFunc(next.Past, func(s string) bool { return s == next.AgentSession })
	next.Past = next.Past[max(0, len(next.Past)-maxPast):]
	if was.State == now.State && was.WaitingFor == now.WaitingFor {
		next.Since = was.Since
		if now.State == croft.AgentWaiting && was.AgentSession == next.AgentSession {
			next.Note = cmp.Or(now.Note, was.Note)
		}
	}
	return next
}

// isRepeated reports whether news say what is recorded, and were recorded a moment ago.
func isRepeated(was, now croft.Activity) bool {
	return was.State == now.State && was.WaitingFor == now.WaitingFor && was.Note == now.Note && was.Source == now.Source &&
		was.AgentSession == now.AgentSession && was.Process == now.Process && now.At.Sub(was.At) < pause
}

// maxSource and maxSession are how long the name of a source, and that of a session, may be.
const (
	maxSource  = 32
	maxSession = 128
)

// Check refuses reports that say nothing, or too much.
func Check(req croft.ReportRequest) error {
	invalid := func(format string, args ...any) error {
		return &croft.Error{Code: croft.InvalidRequest, Op: "report", Message: fmt.Sprintf(format, args...)}
	}
	isNameless := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLower(r) && !unicode.IsDigit(r) && r != '-'
	}
	switch {
	case req.State == "":
		return invalid("the report has no state: starting, working, waiting, idle or ended")
	case req.State == croft.AgentUnknown:
		return invalid("unknown is no state to report: it is what is shown without news")
	case req.WaitingFor != "" && req.State != croft.AgentWaiting:
		return invalid("an agent that is %s waits for nothing; its state is waiting", req.State)
	case len(req.Note) > croft.MaxNote:
		return invalid("the note has %d bytes, over %d", len(req.Note), croft.MaxNote)
	case len(req.Source) > maxSource || strings.ContainsFunc(req.Source, isNameless):
		return invalid("the source %q is no name of lower-case letters, digits and hyphens", req.Source)
	case len(req.AgentSession) > maxSession || strings.ContainsFunc(req.AgentSession, func(r rune) bool { return !unicode.IsPrint(r) }):
		return invalid("the name of the session has over %d bytes, or characters that cannot be printed", maxSession)
	case req.Turn == croft.SessionBegins && req.AgentSession == "":
		return invalid("a session that begins has a name")
	}
	return nil
}
