package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/snapshot"
)

// whyUnsettled is what kept a rewind from its end, in one line.
func whyUnsettled(cause error) string {
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
		if line != "" && line != oplog.ErrUnsettled.Error() && line != snapshot.ErrAsWas.Error() && line != errWorkedOn.Error() {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// interrupted says what the doctor finds of an operation whose process died.
func (d *doctor) interrupted(op journal.Operation) string {
	of := ""
	if len(op.Names) > 0 {
		of = " of " + someOf(op.Names)
	}
	text := fmt.Sprintf("A %s%s was interrupted when process %d died.", op.Kind, of, op.Owner.PID)
	if op.Error != "" && !d.fix {
		text += " The last attempt to bring it to its end failed: " + op.Error + "."
	}
	return text
}

// recoverUnsettled recovers an operation, and says in one line what keeps it from that.
func (d *doctor) recoverUnsettled(ctx context.Context, op journal.Operation) error {
	err := d.ops.Recover(ctx, op)
	if errors.Is(err, oplog.ErrUnsettled) {
		return errors.New(whyUnsettled(err))
	}
	return err
}

// notReady says of a workspace that it cannot be used yet.
func notReady(code croft.Code, rec journal.Record) error {
	w := rec.Workspace
	e := &croft.Error{Code: code, Workspace: w.Name, Message: "the workspace is not ready: it is " + string(w.State), Hint: "croft show " + w.Name}
	if w.State == croft.Creating {
		e.Message = "the workspace is not ready: it is being made, or its files are being put back"
	}
	return e
}

// rewinds finds those of the workspaces that are not ready because their files are
// being put back, and what the last attempt failed by.
func (e *Engine) rewinds(ctx context.Context, r *repo) (map[croft.ID]string, error) {
	ops, err := e.journal.RunningAt(ctx, r.id)
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
