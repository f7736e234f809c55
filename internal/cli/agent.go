package cli

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// activityResult is the answer of `croft agent report`.
type activityResult struct {
	Activity croft.Activity `json:"activity"`
}

func newAgentCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "What agents say of themselves",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "which of its commands?")
			}
			return unknownCommandError(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(newAgentReportCommand(a))
	return cmd
}

func newAgentReportCommand(a *app) *cobra.Command {
	var name, state, need string
	req := croft.ReportRequest{}
	cmd := &cobra.Command{
		Use:   "report STATE",
		Short: "Tell what the agent of a workspace does",
		Long: `Tell what the agent of a workspace does, or that it waits and for what. "croft list"
shows it, and "croft events" tells of it. STATE is starting, working, waiting, idle or
ended. An agent that is idle has ended its turn, not its task: "croft finish" ends that.

Run it in the workspace, or name one with --workspace.`,
		Example: `  croft agent report working
  croft agent report waiting --for permission -m "npm install"
  croft agent report waiting -m "Postgres or SQLite?"`,
		ValidArgs: []string{"starting", "working", "waiting", "idle", "ended"},
		Args:      takesOne("state", "starting, working, waiting, idle or ended"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if state = args[0]; !slices.Contains(cmd.ValidArgs, state) {
				return usageError(cmd, "no state of an agent is "+quoted(state)+": starting, working, waiting, idle or ended")
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				req.Repo, req.State, req.WaitingFor = a.dir(), croft.AgentState(state), croft.AgentNeed(need)
				if name != "" {
					req.Workspace = a.workspaceRef(name)
				}
				return a.runAgentReport(ctx, svc, req)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&name, "workspace", "w", "", "the `workspace`; default: the one here")
	flags.StringVar(&need, "for", "", "what it waits for: `answer`, permission, credentials, resource or limit")
	flags.StringVarP(&req.Note, "message", "m", "", "a `note` for the people who watch")
	completeWords(cmd, "for", "answer", "permission", "credentials", "resource", "limit")
	registerCompletion(cmd, "workspace", a.completeOne)
	registerCompletion(cmd, "message", cobra.NoFileCompletions)
	return cmd
}

// reporter is the part of croft.Service that `croft agent report` calls.
type reporter interface {
	ReportAgent(ctx context.Context, req croft.ReportRequest) (*croft.Activity, error)
}

func (a *app) runAgentReport(ctx context.Context, svc reporter, req croft.ReportRequest) error {
	now, err := svc.ReportAgent(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(activityResult{*now})
	}
	return nil
}

// activityText says what an agent does, and since when.
func (a *app) activityText(now *croft.Activity) string {
	if now == nil {
		return ""
	}
	text := string(now.State)
	if now.WaitingFor != "" {
		text += " for " + string(now.WaitingFor)
	}
	if now.State == croft.AgentEnded {
		text += " " + whenText(a.env.Now(), now.Since)
	} else {
		text += ", " + ageText(a.env.Now(), now.Since)
	}
	if now.Note != "" {
		text += ": " + printable(now.Note)
	}
	return text
}
