package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newEventsCommand(a *app) *cobra.Command {
	var req croft.EventsRequest
	var after string
	var isFollowing, isNow, isAll bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List what happened, the first first, and follow what happens",
		Long: `List the events of the repository, the oldest first: what was made, merged, removed
and so on, whoever did it. With --json each line is one object, and its cursor is
where a program goes on later: --after CURSOR lists what happened since. If that is not
kept any more, the code is CURSOR_EXPIRED; "croft list --json" has a cursor, too.`,
		Example: `  croft events --follow
  croft events --json --after "$cursor" --kinds merge.merged`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if after != "" && isNow {
				return usageError(cmd, "either --after a cursor, or from --now on")
			}
			req.After = croft.Cursor(after)
			if isFollowing {
				req.Follow = croft.FollowNew
			}
			if isNow {
				req.From = croft.FromNow
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if !isAll {
					repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
					if err != nil {
						return err
					}
					req.Repo = repo.ID
				}
				return a.runEvents(ctx, svc, req)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&isFollowing, "follow", "f", false, "wait for more until interrupted")
	flags.StringVar(&after, "after", "", "begin after this `cursor`")
	flags.BoolVar(&isNow, "now", false, "begin with what happens from now on")
	flags.StringSliceVar(&req.Kinds, "kinds", nil, "only these `kinds`, such as merge.merged")
	flags.BoolVarP(&isAll, "all-repos", "A", false, "of all repositories")
	registerCompletion(cmd, "after", cobra.NoFileCompletions)
	completeWords(cmd, "kinds", croft.EventKinds()...)
	return cmd
}

func (a *app) runEvents(ctx context.Context, svc croft.Events, req croft.EventsRequest) error {
	for e, err := range svc.Events(ctx, req) {
		if err != nil {
			return err
		}
		if a.json {
			a.emit(eventResult{e})
		} else {
			a.printLine(printable(e.Time.UTC().Format(time.RFC3339) + "  " + e.Kind + "  " + subjectOf(e)))
		}
		if a.out.err != nil {
			return nil // the reader has gone; output says so
		}
	}
	return nil
}

// subjectOf returns the name of what an event tells of.
func subjectOf(e croft.Event) string {
	return cmp.Or(e.WorkspaceName, e.Target, string(e.Workspace), string(e.Round), string(e.Session), string(e.Repo))
}
