package workspace

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// reportPause is how long news that change nothing are not written again.
const reportPause = time.Minute

// ReportAgent records what the agent of a workspace does.
func (svc *Workspaces) ReportAgent(ctx context.Context, _ project.Location, rec journal.Record, req croft.ReportRequest) (*croft.Activity, error) {
	if err := checkReport(req); err != nil {
		return nil, err
	}
	now := croft.Activity{State: req.State, WaitingFor: req.WaitingFor, Note: req.Note, Source: cmp.Or(req.Source, "report"), At: svc.Now()}
	if now.State == croft.AgentWaiting {
		now.WaitingFor = cmp.Or(now.WaitingFor, croft.NeedAnswer)
	}
	now.Since = now.At
	return &now, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		present, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		if was := present.Activity; was != nil && was.State == now.State && was.WaitingFor == now.WaitingFor {
			now.Since = was.Since
			if was.Note == now.Note && was.Source == now.Source && now.At.Sub(was.At) < reportPause {
				now.At = was.At
				return nil
			}
		}
		return tx.Report(rec.Workspace.ID, now, svc.WorkspaceEvent(croft.EventWorkspaceReported, rec))
	})
}

// maxSource is how long the name of a source may be.
const maxSource = 32

func checkReport(req croft.ReportRequest) error {
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
	}
	return nil
}
