package cli

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/plaintext"
)

// runLogReader is the part of croft.Service that `croft logs --agent` calls.
type runLogReader interface {
	RunLog(ctx context.Context, req croft.RunLogRequest) (*croft.RunLog, error)
}

// runAgentLogs prints what the last agent of a workspace printed, and what it prints from now on.
func (a *app) runAgentLogs(ctx context.Context, svc runLogReader, ref croft.Ref, follow bool) error {
	req := croft.RunLogRequest{Repo: a.dir(), Workspace: ref}
	if a.json {
		req.Offset = -(1 << 20)
		log, err := svc.RunLog(ctx, req)
		if err == nil {
			a.emit(logResult{Log: croft.CheckLog{Workspace: log.Run.Workspace, Data: log.Data, Offset: log.Offset, Next: log.Next, Size: log.Size}, Run: &log.Run})
		}
		return err
	}
	const pause = 200 * time.Millisecond
	var terminal plaintext.Filter
	for isFirst := true; ; isFirst = false {
		log, err := svc.RunLog(ctx, req)
		if err != nil {
			return err
		}
		if isFirst {
			a.note("%s", a.endText(log.Run))
		}
		if !follow {
			a.page()
		}
		if log.Offset > req.Offset && !isFirst {
			a.note("%s are not kept", sizeText(log.Offset-req.Offset))
		}
		whole, isLast := log.Data, log.Run.State == croft.RunEnded && log.Next == log.Size
		if !isLast {
			whole = wholeRunes(whole)
		}
		if _, err := a.out.Write([]byte(printableLines(string(terminal.Strip(whole))))); err != nil {
			return nil // output remembers the error
		}
		if req.Offset = log.Next - int64(len(log.Data)-len(whole)); len(whole) > 0 {
			continue
		}
		if !follow || log.Run.State == croft.RunEnded {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// wholeRunes returns a part of an output without a character of which only the beginning is there.
func wholeRunes(data []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if b := data[len(data)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(data[len(data)-n:]) {
				return data[:len(data)-n]
			}
			break
		}
	}
	return data
}
