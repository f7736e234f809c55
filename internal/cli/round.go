package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

func newRoundCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "round",
		Short: "Let several agents attempt the same, in turns",
		Long: `A round gives every agent of a session a fresh checkout and a branch with a
random name. When it ends, what was not committed is, but for what looks like a
secret, which is named; scratch directories are
archived for everybody, and the checkouts go; the branches stay.

Nothing that an agent finds in its checkout tells which agent it is.`,
		Example: `  croft session start fix-42
  croft round start fix-42 --agents opus,codex,gemini
  croft round end fix-42
  croft round present fix-42 --winner codex
  croft review presenter
  croft session end fix-42`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRoundStart(a), newRoundEnd(a), newRoundPresent(a), newRoundPrompt(a), newRoundArchive(a))
	return cmd
}

// roundOptions are the flags of `croft round start`.
type roundOptions struct {
	req      croft.RoundRequest
	agents   string
	config   string
	homes    []string
	branches []string
	labels   []string
}

func newRoundStart(a *app) *cobra.Command {
	var opts roundOptions
	cmd := &cobra.Command{
		Use:               "start SESSION --agents N|NAME,...",
		Short:             "Give every agent a fresh checkout",
		Args:              takesOptional("session"),
		ValidArgsFunction: completeFirst(a.completeOpenSession),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := chooseSession(cmd, args, &opts.req.Session); err != nil {
				return err
			}
			req, err := opts.request(a, cmd)
			if err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runRoundStart(ctx, svc, req)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar((*string)(&opts.req.Session), "session", "", "the `session`, by name or ID")
	flags.StringVar(&opts.agents, "agents", "", "how many agents, or their `names` with commas between")
	flags.IntVar(&opts.req.Number, "number", 0, "the round's number; one that was started before is shown again (default: the next)")
	flags.StringVar((*string)(&opts.req.Mode), "mode", "", "how they are kept apart: auto, worktree, isolated or legacy")
	flags.StringVar(&opts.req.Base, "base", "", "start from this `commit`, branch or tag (default: what is checked out)")
	flags.StringArrayVarP(&opts.req.Repos, "repo", "C", nil, "a project's `directory`; may be given several times (default: the session's)")
	addWordFlag(cmd, &opts.req.Carry, croft.CarryDirty, "carry", "", "start from the project's uncommitted changes too")
	flags.StringArrayVar(&opts.homes, "home", nil, "`AGENT=DIR`: the directory that an agent's checkouts and archives lie in")
	flags.StringArrayVar(&opts.branches, "branch", nil, "`AGENT=BRANCH`: an explicit name of an agent's branch")
	flags.StringArrayVar(&opts.labels, "label", nil, "`AGENT=LABEL`: the name under which the others see an agent (default: a new one in every round)")
	flags.StringVar(&opts.config, "config", "", "take the mode from an orchestrator's configuration `file`")
	completeWords(cmd, "mode", modeWords()...)
	registerCompletion(cmd, "session", a.completeOpenSession)
	addKeyFlag(cmd, &opts.req.Key)
	return cmd
}

func (o roundOptions) request(a *app, cmd *cobra.Command) (croft.RoundRequest, error) {
	req := o.req
	if o.config != "" {
		mode, warnings, err := readWriteMode(a.absolute(o.config))
		if err != nil {
			return req, err
		}
		for _, w := range warnings {
			a.note("%s", w)
		}
		req.Mode = cmp.Or(req.Mode, mode)
	}
	if err := checkMode(cmd, req.Mode); err != nil {
		return req, err
	}
	for i, dir := range req.Repos {
		req.Repos[i] = a.absolute(dir)
	}
	var err error
	if req.Agents, err = parseAgentNames(cmd, o.agents); err != nil {
		return req, err
	}
	if req.Homes, err = parseByAgent(cmd, "--home", o.homes); err != nil {
		return req, err
	}
	for agent, dir := range req.Homes {
		req.Homes[agent] = a.absolute(dir)
	}
	if req.Labels, err = parseByAgent(cmd, "--label", o.labels); err != nil {
		return req, err
	}
	req.Branches, err = parseByAgent(cmd, "--branch", o.branches)
	return req, err
}

// parseAgentNames reads a number of agents, or their names.
func parseAgentNames(cmd *cobra.Command, text string) ([]string, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		if text == "" {
			return nil, usageError(cmd, "which agents: --agents 3, or --agents opus,codex")
		}
		return strings.Split(text, ","), nil
	}
	if n < 1 || n > 1000 {
		return nil, usageError(cmd, fmt.Sprintf("%d agents cannot be had", n))
	}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("worker%d", i+1))
	}
	return names, nil
}

// parseByAgent reads a flag that was given as AGENT=VALUE, any number of times.
func parseByAgent(cmd *cobra.Command, flag string, texts []string) (map[string]string, error) {
	var out map[string]string
	for _, text := range texts {
		agent, value, ok := strings.Cut(text, "=")
		if !ok || value == "" {
			return nil, usageError(cmd, flag+" takes AGENT=VALUE, not "+quoted(text))
		}
		if out == nil {
			out = map[string]string{}
		}
		out[agent] = value
	}
	return out, nil
}

func (a *app) runRoundStart(ctx context.Context, svc croft.Rounds, req croft.RoundRequest) error {
	stop := a.startProgress("making " + countNoun(len(req.Agents), "checkout"))
	round, err := svc.StartRound(ctx, req)
	stop()
	if err != nil {
		return err
	}
	a.showRound(string(req.Session), round)
	a.noteWorkspaceNotes(round.Workspaces...)
	return nil
}

func (a *app) showRound(session string, round *croft.Round) {
	if a.json {
		shown := *round
		shown.Workspaces = nil // they stand beside it
		a.emit(roundResult{shown, round.Workspaces})
		return
	}
	if a.isShown() {
		a.printRound(session, round)
		return
	}
	var rows [][]cell
	for _, ws := range round.Workspaces {
		where := a.shownPath(ws.Path)
		if ws.State == croft.Trashed {
			where = shortCommit(ws.Head)
		}
		rows = append(rows, plainRow(ws.Agent, ws.Label, ws.Branch, where))
	}
	a.note("round %d", round.Number)
	a.printTable(rows)
}

func newRoundEnd(a *app) *cobra.Command {
	var session croft.Ref
	var number int
	var req croft.EndRoundRequest
	cmd := &cobra.Command{
		Use:               "end SESSION",
		Short:             "Commit, archive and put away what agents left",
		Args:              takesOptional("session"),
		ValidArgsFunction: completeFirst(a.completeOpenSession),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := chooseSession(cmd, args, &session); err != nil {
				return err
			}
			if req.Key != "" && number == 0 { // a repeated call would mean a later round
				return usageError(cmd, "with --key name the round: --number")
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runRoundEnd(ctx, svc, session, number, req)
			})
		},
	}
	cmd.Flags().StringVar((*string)(&session), "session", "", "the `session`, by name or ID")
	cmd.Flags().IntVar(&number, "number", 0, "the round's number (default: the last)")
	addWordFlag(cmd, &req.Mode, croft.EndForce, "force", "f", "do not wait for processes that are still in a checkout, which go on in the trash, nor for a checkout that is not found")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runRoundEnd(ctx context.Context, svc croft.Rounds, session croft.Ref, number int, req croft.EndRoundRequest) error {
	ses, err := svc.Session(ctx, croft.GetRequest{Ref: session})
	if err != nil {
		return err
	}
	for _, r := range ses.Rounds {
		if number == 0 || r.Number == number {
			req.Round = r.ID
		}
	}
	if req.Round == "" {
		return &croft.Error{Code: croft.RoundNotFound, Op: "round", Message: "the session has no such round", Hint: "croft session list"}
	}
	round, err := svc.EndRound(ctx, req)
	if err != nil {
		return err
	}
	name := cmp.Or(ses.Name, string(ses.ID))
	a.showRound(name, round)
	for _, held := range round.HeldBack {
		a.note("%s: not committed: %s", held.Agent, strings.Join(held.Paths, ", "))
		if held.Archive != "" {
			a.note("  copies: %s", a.shownPath(held.Archive))
		}
	}
	a.noteAbsent(round)
	if len(round.Failed) == 0 {
		a.remarkPresenting(name, round)
		return nil
	}
	for _, f := range round.Failed {
		a.note("%s is left as it was: %s", f.Name, f.Reason.Message)
	}
	return round.Failed[0].Reason
}

// noteAbsent says of each checkout that was not found what is kept of it, and how
// to get at the rest.
func (a *app) noteAbsent(round *croft.Round) {
	for _, absent := range round.Absent {
		i := slices.IndexFunc(round.Workspaces, func(ws croft.Workspace) bool { return ws.ID == absent.Workspace })
		if i < 0 || round.Workspaces[i].State != croft.Trashed {
			continue // it is back, or gone from the trash too
		}
		ws := round.Workspaces[i]
		a.note("%s: ended without its checkout, which is not at %s", absent.Agent, a.shownPath(absent.Path))
		a.note("  kept: %s", keptWithoutText(ws))
		a.note("  hint: put it back at its path, then croft restore %s; without it, that makes a checkout of what is kept", ws.ID)
	}
}

// keptWithoutText says what is kept of a workspace that ended without its checkout. What is
// committed in an isolated one is in its own git directory until Croft brings it.
func keptWithoutText(ws croft.Workspace) string {
	switch {
	case ws.Mode != croft.ModeIsolated:
		return fmt.Sprintf("what is committed, %s on %s, and what was staged; the rest is in that directory alone", shortCommit(ws.Head), ws.Branch)
	case ws.Head == ws.Base:
		return fmt.Sprintf("%s on %s, where it began; what was committed since, if anything, is not known, and is in that directory alone", shortCommit(ws.Head), ws.Branch)
	}
	return fmt.Sprintf("%s on %s, and what was staged, as Croft last saw them; what was committed since is not known, and is in that directory alone", shortCommit(ws.Head), ws.Branch)
}

func newRoundPresent(a *app) *cobra.Command {
	var req croft.PresentRequest
	cmd := &cobra.Command{
		Use:               "present SESSION --winner AGENT",
		Short:             "Make the workspace in which the winner's work is finished",
		Args:              takesOptional("session"),
		ValidArgsFunction: completeFirst(a.completeOpenSession),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := chooseSession(cmd, args, &req.Session); err != nil {
				return err
			}
			if req.Winner == "" {
				return usageError(cmd, "which winner: --winner")
			}
			if a.repo != "" {
				req.Repo = a.dir()
			}
			if req.Home != "" {
				req.Home = a.absolute(req.Home)
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runRoundPresent(ctx, svc, req)
			})
		},
	}
	cmd.Flags().StringVar((*string)(&req.Session), "session", "", "the `session`, by name or ID")
	cmd.Flags().StringVar(&req.Winner, "winner", "", "the `agent`, or the ID of its workspace")
	cmd.Flags().StringVar(&req.Home, "home", "", "the `directory` that its checkout and the archives lie in (default: one of its own)")
	cmd.Flags().StringVar((*string)(&req.Mode), "mode", "", "how it is kept apart: auto, worktree, isolated or legacy")
	completeWords(cmd, "mode", modeWords()...)
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runRoundPresent(ctx context.Context, svc croft.Rounds, req croft.PresentRequest) error {
	ws, err := svc.Present(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(workspacesResult{Workspaces: []croft.Workspace{*ws}})
		return nil
	}
	a.printNew([]croft.Workspace{*ws})
	if a.isShown() {
		a.remarkShell([]croft.Workspace{*ws})
	}
	a.note("then: croft review %s", shellWord(ws.Name))
	return nil
}

// orchestratorFile is the part of an orchestrator's configuration that says how
// agents write.
type orchestratorFile struct {
	Orchestrator struct {
		Coordination coordination `yaml:"coordination"`
	} `yaml:"orchestrator"`
	// Older files have it at the top.
	Coordination coordination `yaml:"coordination"`
}

type coordination struct {
	WriteMode           string `yaml:"write_mode"`
	UseTwoTierWorkspace *bool  `yaml:"use_two_tier_workspace"`
}

// readWriteMode reads how agents write from an orchestrator's configuration. The
// option that write_mode has replaced means auto, and is warned about.
func readWriteMode(path string) (croft.Mode, []string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", nil, &croft.Error{Code: croft.ConfigInvalid, Op: "round", Message: "the configuration cannot be read", Details: err.Error()}
	}
	var file orchestratorFile
	if err := yaml.Unmarshal(data, &file); err != nil {
		return "", nil, &croft.Error{Code: croft.ConfigInvalid, Op: "round", Message: fmt.Sprintf("%s is not YAML", path), Details: err.Error()}
	}
	var mode croft.Mode
	var warnings []string
	for _, c := range []coordination{file.Coordination, file.Orchestrator.Coordination} {
		if c.UseTwoTierWorkspace != nil {
			if *c.UseTwoTierWorkspace {
				mode = croft.ModeAuto
			}
			warnings = []string{"use_two_tier_workspace is deprecated; replace it by\n  coordination:\n    write_mode: auto"}
		}
	}
	for _, c := range []coordination{file.Coordination, file.Orchestrator.Coordination} {
		if c.WriteMode != "" {
			mode = croft.Mode(c.WriteMode)
		}
	}
	return mode, warnings, nil
}
