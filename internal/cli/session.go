package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

func newSessionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Group the rounds of one undertaking",
		Long: `A session groups the rounds in which several agents attempt the same. When it
ends, its branches go; their work stays in the trash for a while.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listSessions(cmd, croft.SessionsRequest{}) },
	}
	cmd.AddCommand(newSessionStart(a), newSessionEnd(a), newSessionList(a))
	return cmd
}

func newSessionStart(a *app) *cobra.Command {
	var req croft.SessionRequest
	cmd := &cobra.Command{
		Use:   "start [NAME]",
		Short: "Begin a session",
		Args:  takesOptional("session"),
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo = a.dir()
			if len(args) > 0 {
				req.Name = args[0]
			}
			return a.runSessionStart(ctx, svc, req)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	addKeyFlag(cmd, &req.Key)
	flags.StringVar((*string)(&req.Retention), "branches", "one", "how many branches of an agent are alive at once: `one|all|N`")
	formerFlag(cmd, "branches", "keep", "")
	flags.StringVar(&req.Layout, "layout", "", "how branches and scratch directories are called: rounds or massgen")
	addWordFlag(cmd, &req.Context, croft.ContextNone, "no-repo", "", "work on nothing: the session gets an empty project of its own")
	completeWords(cmd, "branches", "one", "all")
	completeWords(cmd, "layout", "rounds", "massgen")
	return cmd
}

func (a *app) runSessionStart(ctx context.Context, svc croft.Rounds, req croft.SessionRequest) error {
	ses, err := svc.StartSession(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(sessionResult{*ses})
		return nil
	}
	if a.isShown() {
		a.printOutcomes(outcome{Kind: screen.Ready, Name: sessionName(*ses), Word: "open", Detail: []screen.Span{prose("as %s", shortSession(ctx, svc, ses.ID))}})
		a.remarkNext("croft round start " + shellWord(sessionName(*ses)) + " --agents 2")
		return nil
	}
	a.printLine(string(ses.ID))
	a.note("croft round start %s --agents 3", shellWord(sessionName(*ses)))
	return nil
}

// shortSession is the shortest beginning that tells a session from all others; the whole ID if they cannot be listed.
func shortSession(ctx context.Context, svc croft.Rounds, id croft.ID) string {
	list, err := svc.Sessions(ctx, croft.SessionsRequest{Repos: croft.ScopeAll, States: []croft.SessionState{croft.SessionOpen, croft.SessionEnded}})
	if err != nil || list.Next != "" {
		return string(id)
	}
	ids := []croft.ID{id}
	for _, ses := range list.Items {
		ids = append(ids, ses.ID)
	}
	return shortIDs(ids)[id]
}

func sessionName(ses croft.Session) string { return cmp.Or(ses.Name, string(ses.ID)) }

func newSessionEnd(a *app) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "end SESSION",
		Short: "End a session and delete its branches",
		Long: `End what is still open in a session, and delete its branches. Their workspaces
can be restored while they are in the trash.`,
		Args:              takesSession,
		ValidArgsFunction: completeFirst(a.completeOpenSession),
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runSessionEnd(ctx, svc, croft.EndSessionRequest{Key: key, Session: args[0]})
		}),
	}
	addKeyFlag(cmd, &key)
	return cmd
}

// takesSession demands one session, and says which command lists them.
func takesSession(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return noSessionError(cmd)
	}
	return takesOptional("session")(cmd, args)
}

func noSessionError(cmd *cobra.Command) error {
	e := usageError(cmd, "which session? give its name")
	e.Hint = "croft session list"
	return e
}

// chooseSession takes the session of a command from its first argument, or from --session.
func chooseSession(cmd *cobra.Command, args []string, session *croft.Ref) error {
	switch {
	case len(args) == 0 && *session == "":
		return noSessionError(cmd)
	case len(args) > 0 && *session != "" && *session != args[0]:
		return usageError(cmd, "two sessions are named: "+quoted(args[0])+" and "+quoted(*session))
	case len(args) > 0:
		*session = args[0]
	}
	return nil
}

func (a *app) runSessionEnd(ctx context.Context, svc croft.Rounds, req croft.EndSessionRequest) error {
	ses, err := svc.EndSession(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(sessionResult{*ses})
		return nil
	}
	if a.isShown() {
		o := outcome{Kind: screen.Done, Name: sessionName(*ses), Word: "ended"}
		if len(ses.Rounds) > 0 {
			o.Detail = []screen.Span{prose("what it made is in the trash: "), command("croft trash")}
		}
		a.printOutcomes(o)
		return nil
	}
	if len(ses.Rounds) == 0 {
		a.note("ended")
		return nil
	}
	a.note("ended; what it made is in the trash: croft trash")
	return nil
}

func newSessionList(a *app) *cobra.Command {
	var isAll bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the sessions of the project",
		Args:  takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := croft.SessionsRequest{}
			if isAll {
				f.States = []croft.SessionState{croft.SessionOpen, croft.SessionEnded}
			}
			return a.listSessions(cmd, f)
		},
	}
	cmd.Flags().BoolVar(&isAll, "all", false, "also those that have ended")
	return cmd
}

func (a *app) listSessions(cmd *cobra.Command, f croft.SessionsRequest) error {
	f.Repo = a.dir()
	return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
		return a.runSessionList(ctx, svc, f)
	})
}

func (a *app) runSessionList(ctx context.Context, svc croft.Rounds, f croft.SessionsRequest) error {
	list, err := svc.Sessions(ctx, f)
	if errors.Is(err, croft.NotARepo) && a.repo == "" {
		f.Repo = "" // those that work on nothing
		list, err = svc.Sessions(ctx, f)
	}
	if err != nil {
		return err
	}
	if a.json {
		a.emit(sessionsResult{list.Items})
		return nil
	}
	if len(list.Items) == 0 {
		a.note("no session is open: croft session start")
		return nil
	}
	rows := [][]cell{headingRow("ID", "NAME", "STATE", "AGENTS", "LAST ROUND")}
	for _, ses := range list.Items {
		last := "no round yet"
		if n := len(ses.Rounds); n > 0 {
			last = fmt.Sprintf("round %d %s", ses.Rounds[n-1].Number, ses.Rounds[n-1].State)
		}
		rows = append(rows, plainRow(string(ses.ID), ses.Name, string(ses.State), countNoun(len(ses.Agents), "agent"), last))
	}
	a.printTable(rows)
	return nil
}
