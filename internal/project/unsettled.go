package project

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// WhyUnsettled is what kept a rewind from its end, in one line.
func WhyUnsettled(cause error) string {
	told, is := errors.AsType[*croft.Error](cause)
	if !is {
		return inOneLine(cause.Error())
	}
	if details := inOneLine(told.Details); details != "" {
		return told.Message + ": " + details
	}
	return told.Message
}

// inOneLine joins the lines of an error, but for those that say nothing of its cause.
func inOneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line != oplog.ErrUnsettled.Error() && line != restore.ErrAsWas.Error() && line != ErrWorkedOn.Error() {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// NotReady says of a workspace that it cannot be used yet.
func NotReady(code croft.Code, rec journal.Record) error {
	w := rec.Workspace
	e := &croft.Error{Code: code, Workspace: w.Name, Message: "the workspace is not ready: it is " + string(w.State), Hint: "croft show " + w.Name}
	if w.State == croft.Creating {
		e.Message = "the workspace is not ready: it is being made, or its files are being put back"
	}
	return e
}

// Rewinds finds those of the workspaces that are not ready because their files are
// being put back, and what the last attempt failed by.
func (p *Projects) Rewinds(ctx context.Context, r *Project) (map[croft.ID]string, error) {
	ops, err := p.Journal.RunningAt(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	why := map[croft.ID]string{}
	for _, op := range ops {
		if op.Kind != "rewind" && op.Kind != "resolve" {
			continue
		}
		for _, id := range op.Workspaces {
			why[id] = op.Error
		}
	}
	return why, nil
}

// ErrWorkedOn says that somebody has committed in a workspace since it was saved
// for a rewind. Nothing of the rewind was done.
var ErrWorkedOn = errors.New("somebody works in it")
