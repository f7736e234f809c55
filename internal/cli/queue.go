package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// queuer is the part of croft.Service that `croft queue` calls.
type queuer interface {
	mergeLister
	DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error)
	ChangeQueue(ctx context.Context, req croft.QueueRequest) (*croft.QueueResult, error)
	Lanes(ctx context.Context, req croft.LanesRequest) (*croft.List[croft.Lane], error)
	AcceptTarget(ctx context.Context, req croft.AcceptRequest) (*croft.Lane, error)
}

// queueFollower is the part of croft.Service that `croft queue run --follow` calls.
type queueFollower interface {
	mergeLister
	Repo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error)
	DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error)
	croft.Events
}

func newQueueCommand(a *app) *cobra.Command {
	var req croft.MergesRequest
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the merges that wait, and drive them",
		Args:  takesNothing,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, _ []string) error {
			req.Repo = a.dir()
			return a.runQueue(ctx, svc, req)
		}),
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&req.Target, "into", "", "only the lane of this `branch`")
	flags.AddFlag(hiddenAlias(flags.Lookup("into"), "target", ""))
	addWordFlag(cmd, &req.Scope, croft.ScopeAll, "all", "", "also those that have ended")
	cmd.Flags().IntVarP(&req.Limit, "limit", "L", 0, "show at most `N`, instead of 100")
	cmd.AddCommand(
		newQueueRunCommand(a, &req.Target),
		newQueueAction(a, croft.QueueHold, "hold [NAME...]", "Keep merges waiting: all that wait, or those that are named", &req.Target),
		newQueueAction(a, croft.QueueRelease, "release [NAME...]", "Let held merges go on: all, or those that are named", &req.Target),
		newQueueAction(a, croft.QueueFirst, "first NAME...", "Put merges before all others", &req.Target),
		newQueueCancelCommand(a, &req.Target),
		newQueueAcceptCommand(a),
	)
	return cmd
}

func newQueueRunCommand(a *app, target *string) *cobra.Command {
	var isFollowing bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Merge what waits, until nothing does",
		Long: `Merge what waits, until nothing does.

With --follow it goes on until it is interrupted, and merges what is submitted meanwhile.
Then others that wait for a merge only wait: a check goes on if they leave. A second
"croft queue run --follow" waits, and takes over when the first has ended.`,
		Args: takesNothing,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, _ []string) error {
			req := croft.DriveRequest{Repo: a.dir(), Target: *target}
			if isFollowing {
				req.Until = croft.UntilStopped
				return a.runQueueFollow(ctx, svc, req)
			}
			return a.runQueueRun(ctx, svc, req)
		}),
	}
	cmd.Flags().BoolVarP(&isFollowing, "follow", "f", false, "go on until interrupted")
	return cmd
}

func newQueueAcceptCommand(a *app) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "accept TARGET",
		Short: "Accept that others moved a target",
		Long: `Show the commits that came to a target branch outside of its lane, and accept
them: from here on the lane follows. With merge.protect nothing is merged into such
a target before. Nothing is accepted from inside a workspace.

What stayed pending is tried again by "croft queue run".`,
		Args: takesOne("target", "the name of its branch"),
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runQueueAccept(ctx, svc, croft.AcceptRequest{Key: key, Repo: a.dir(), Target: args[0], From: a.env.Dir})
		}),
		ValidArgsFunction: completeFirst(a.completeLane),
	}
	addKeyFlag(cmd, &key)
	return cmd
}

func newQueueAction(a *app, action croft.QueueAction, use, short string, target *string) *cobra.Command {
	var key, reason string
	cmd := &cobra.Command{
		Use: use, Short: short, ValidArgsFunction: a.completeMany,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runQueueAction(ctx, svc, croft.QueueRequest{Key: key, Repo: a.dir(), Action: action, Merges: args, Target: *target, Reason: reason})
		}),
	}
	addKeyFlag(cmd, &key)
	if action == croft.QueueHold {
		cmd.Flags().StringVar(&reason, "reason", "", "why, for those who find the merge held")
		registerCompletion(cmd, "reason", cobra.NoFileCompletions)
	}
	return cmd
}

func newQueueCancelCommand(a *app, target *string) *cobra.Command {
	var agreement agreement
	var key string
	cmd := &cobra.Command{
		Use: "cancel [NAME...]", Short: "Take merges out of the queue",
		Long: `Take merges out of the queue; their workspaces stay. Without a name it is all
that wait: they are listed first, and you are asked.`,
		ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			reach := reachNamed
			if len(args) == 0 {
				reach = reachFurther
				if err := agreement.requireYes(cmd, key); err != nil {
					return err
				}
			}
			return a.serveAgreed(cmd, agreement, reach, func(ctx context.Context, svc croft.Service, agreed consent) error {
				return a.runQueueCancel(ctx, svc, croft.QueueRequest{Key: key, Repo: a.dir(), Action: croft.QueueCancel, Merges: args, Target: *target}, agreed)
			})
		},
	}
	agreement.addFlags(cmd)
	addKeyFlag(cmd, &key)
	return cmd
}

func (a *app) runQueueCancel(ctx context.Context, svc queuer, req croft.QueueRequest, agreed consent) error {
	if agreed != consentGiven {
		merges, err := mergesToCancel(ctx, svc, req)
		if err != nil {
			return err
		}
		merges = slices.DeleteFunc(merges, func(m croft.Merge) bool {
			isLate := m.State != croft.MergeQueued && m.State != croft.MergeDone // that is tried again
			if isLate {
				a.note("kept %s: it is being merged", m.WorkspaceName)
			}
			return isLate
		})
		if len(merges) == 0 && !a.json {
			a.note("nothing waits")
			return nil
		}
		if a.isShown() {
			a.printLines(listing.Queue(merges, nil, a.stdout(), a.env.Now()))
		} else {
			a.showMerges(merges)
		}
		if yes, err := a.hasAgreed(ctx, agreed, "Take "+countNoun(len(merges), "merge")+" out of the queue?"); err != nil || !yes {
			return err
		}
		if req.Merges, err = a.stillWaiting(ctx, svc, req, merges); err != nil || len(req.Merges) == 0 {
			return err
		}
	}
	return a.runQueueAction(ctx, svc, req)
}

// mergesToCancel returns the merges that a request to cancel names, or all that wait if it
// names none. It includes those that a driver is already merging, which cannot be canceled.
func mergesToCancel(ctx context.Context, svc queuer, req croft.QueueRequest) ([]croft.Merge, error) {
	req.DryRun = croft.DryRunOn
	out, err := svc.ChangeQueue(ctx, req)
	if err != nil {
		return nil, err
	}
	return out.Merges, nil
}

// stillWaiting are the IDs of the merges that were shown, without those that have
// ended meanwhile.
func (a *app) stillWaiting(ctx context.Context, svc queuer, req croft.QueueRequest, were []croft.Merge) ([]string, error) {
	req.Merges = nil
	now, err := mergesToCancel(ctx, svc, req)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range were {
		if slices.ContainsFunc(now, func(n croft.Merge) bool { return n.ID == m.ID }) {
			ids = append(ids, string(m.ID))
		} else {
			a.note("%s does not wait any more", m.WorkspaceName)
		}
	}
	return ids, nil
}

func (a *app) runQueue(ctx context.Context, svc queuer, req croft.MergesRequest) error {
	merges, err := svc.Merges(ctx, req)
	if err != nil {
		return err
	}
	lanes, err := svc.Lanes(ctx, croft.LanesRequest{Repo: req.Repo, Target: req.Target})
	if err != nil {
		return err
	}
	moved := slices.DeleteFunc(slices.Clone(lanes.Items), func(l croft.Lane) bool { return l.Message == "" })
	if a.json {
		a.emit(mergesResult{merges.Items, moved})
		return nil
	}
	switch {
	case len(merges.Items) == 0:
		a.note("nothing waits")
	case a.isShown():
		a.printQueue(ctx, lanes.Items, merges.Items)
	case req.Scope == croft.ScopeAll:
		a.showMergesWith(merges.Items, columnID)
	default:
		a.showMerges(merges.Items)
	}
	if !a.isShown() {
		a.noteWaiting(ctx, merges.Items)
	}
	for _, l := range moved {
		if a.isShown() && l.Hint == "" && !l.Protect && l.Gone == 0 {
			continue // commits of the user's own: nothing is to be done
		}
		a.note("%s", l.Message)
		switch {
		case l.Hint != "":
			a.remarkNext(l.Hint)
		case l.Protect:
			a.remarkNext("croft queue accept " + shellWord(l.Target))
		}
	}
	return nil
}

// printQueue shows on a terminal which merges wait for each target, and which have ended.
func (a *app) printQueue(ctx context.Context, lanes []croft.Lane, merges []croft.Merge) {
	tips := map[string]string{}
	for _, l := range lanes {
		tips[l.Target] = l.Tip
	}
	a.printLines(listing.Queue(merges, tips, a.stdout(), a.env.Now()))
	if isWaiting, isDriven := listing.IsDriven(merges); isWaiting && !isDriven && !a.hasDaemon(ctx) {
		a.remark(screen.Span{Text: "  nobody drives this queue: ", Style: styleYellow}, command(driveCommand))
	}
}

func (a *app) runQueueAccept(ctx context.Context, svc queuer, req croft.AcceptRequest) error {
	l, err := svc.AcceptTarget(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(laneResult{*l})
		return nil
	}
	if l.Message == "" {
		a.note("%s is where its lane left it", l.Target)
		return nil
	}
	a.note("%s", l.Message)
	for _, c := range l.Commits {
		a.printLine(printable(shortCommit(c.Commit) + " " + c.Author + ": " + c.Subject))
	}
	if more := l.Added - len(l.Commits); more > 0 {
		a.note("and %d more", more)
	}
	a.note("accepted: %s at %s", l.Target, shortCommit(l.Tip))
	return nil
}

func (a *app) runQueueRun(ctx context.Context, svc queuer, req croft.DriveRequest) error {
	stop := a.startMergeProgress(ctx, svc, func(now croft.Merge) bool { return now.State != croft.MergeQueued })
	merges, err := svc.DriveLanes(ctx, req)
	stop()
	if err != nil {
		return err
	}
	if len(merges.Merges) == 0 && a.isShown() {
		a.note("nothing waits")
	}
	a.tellMerges(merges.Merges, nil)
	return mergesExitStatus(merges.Merges, croft.MergeMerged)
}

// runQueueFollow drives the queue until it is interrupted, and shows each merge that ends.
func (a *app) runQueueFollow(ctx context.Context, svc queueFollower, req croft.DriveRequest) error {
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: req.Repo})
	if err != nil {
		return err
	}
	waiting, err := svc.Merges(ctx, croft.MergesRequest{Repo: req.Repo, Target: req.Target, Page: croft.Page{Limit: 1}})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer a.tellNoticesWhile(ctx, svc)()
	defer stop()
	driven := make(chan error, 1)
	go func() {
		defer stop()
		_, err := svc.DriveLanes(ctx, req)
		driven <- err
	}()
	ends := croft.EventsRequest{
		Repo: repo.ID, After: waiting.Cursor, Follow: croft.FollowNew,
		Kinds: []string{croft.EventMergeMerged, croft.EventMergePending, croft.EventMergeReverted},
	}
	for e, err := range svc.Events(ctx, ends) {
		if err != nil {
			stop()
			return cmp.Or(<-driven, err)
		}
		if (req.Target == "" || e.Target == req.Target) && e.After != nil && e.After.Merge != nil {
			a.tellMerges([]croft.Merge{*e.After.Merge}, nil)
		}
		if a.out.err != nil {
			break // the reader has gone; output says so
		}
	}
	stop()
	return <-driven
}

func (a *app) runQueueAction(ctx context.Context, svc queuer, req croft.QueueRequest) error {
	merges, err := svc.ChangeQueue(ctx, req)
	if err != nil {
		return err
	}
	switch {
	case len(merges.Merges) > 0 || a.json:
		a.tellMerges(merges.Merges, nil)
		a.noteWaiting(ctx, merges.Merges)
	case req.Action == croft.QueueRelease:
		a.note("nothing is held")
	case req.Action == croft.QueueHold:
		a.note("nothing waits, and nothing is held: what is submitted later is merged")
	default:
		a.note("nothing waits")
	}
	if req.Action != croft.QueueHold && req.Action != croft.QueueCancel {
		return nil
	}
	return a.tellTooLate(merges.Merges)
}

// tellTooLate says which merges could not be held or canceled, because they are being merged or checked.
func (a *app) tellTooLate(merges []croft.Merge) error {
	var err error
	for _, m := range merges {
		if m.State != croft.MergeQueued && m.State != croft.MergeDone {
			a.note("%s is being merged or checked, and goes on", results.Subject(m))
			err = statusError(croft.ExitRefused)
		}
	}
	return err
}
