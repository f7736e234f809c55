package cli

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/live"
)

// leaveMerges says what becomes of merges that the user does not wait for any more: who goes on with them, or that they wait
// for the next one who does.
func (a *app) leaveMerges(ctx context.Context, svc live.Getter, merges []croft.Merge, err error) error {
	if ctx.Err() == nil || a.json {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	hasDaemon := a.hasDaemon(ctx)
	var goOn, stay, cancelable []string
	for _, m := range merges {
		now, err := svc.Merge(ctx, croft.GetRequest{Repo: a.dir(), Ref: string(m.ID)})
		if err != nil || now.State == croft.MergeDone {
			continue
		}
		name := shellWord(m.WorkspaceName)
		switch {
		case now.State != croft.MergeQueued:
			goOn = append(goOn, name)
		case hasDaemon && !now.IsHeld:
			goOn, cancelable = append(goOn, name), append(cancelable, name)
		default:
			stay = append(stay, name)
		}
	}
	if len(goOn) > 0 {
		who := "another croft process"
		if hasDaemon {
			who = "the daemon"
		}
		a.note("no longer waiting; %s goes on with %s: %s", who, strings.Join(goOn, ", "), howToCancel(goOn, cancelable))
	}
	switch {
	case len(stay) > 0:
		verb := "stays"
		if len(stay) > 1 {
			verb = "stay"
		}
		a.note("no longer waiting; %s %s queued, and the next merge takes %s along: %s, or croft queue cancel %s", strings.Join(stay, ", "), verb, itOrThem(stay), driveCommand, strings.Join(stay, " "))
	case len(goOn) == 0:
		a.note("no longer waiting; nothing is queued any more: croft list")
	}
	return statusError(croft.ExitCanceled)
}

// howToCancel is the command that takes those of the names out of the queue that still wait there. What is being merged or
// checked cannot be taken out.
func howToCancel(goOn, cancelable []string) string {
	switch len(cancelable) {
	case 0:
		return "croft queue shows how far; what is being checked cannot be canceled"
	case len(goOn):
		return "croft queue cancel " + strings.Join(cancelable, " ") + " takes " + itOrThem(cancelable) + " out"
	}
	return "croft queue cancel " + strings.Join(cancelable, " ") + " takes out what is not being checked"
}

func itOrThem(names []string) string {
	if len(names) > 1 {
		return "them"
	}
	return "it"
}
