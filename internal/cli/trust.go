package cli

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newTrustCommand(a *app) *cobra.Command {
	var target, key string
	var isYes, isDry, isOff bool
	var of croft.CommandSet
	cmd := &cobra.Command{
		Use:   "trust [NAME]",
		Short: "Show and approve the checks that a target asks for",
		Long: `Show the commands that the tip of a target wants to be run on a merged result
before it is published (merge.checks in its croft.toml), and ask whether they may
run. They run as you. The approval holds for this repository and for these very
commands, until one of them is changed.

A command runs what it finds in the merged files. Whoever approves "make test"
approves whatever a candidate puts behind it: its Makefile, its tests, its build
scripts all run as you, before anything is merged.

With --setup it is about the commands that set new workspaces up ([[provision.step]],
[[provision.probe]] and [teardown], or another tool's file), the links that such a
file asks for, and the variables of [env] that shells and agents get. With the NAME of a workspace it is about those of its own.
--withdraw takes back all that were approved for this repository.

Nothing is approved from inside a workspace. Without a terminal nobody is asked:
CROFT_TRUST=HASH in the environment, with the very hash that -n prints, approves
these commands for good; the same variable approves them for one croft merge.

With --withdraw they may not run any more, until they are approved again: a merge
that comes to them is refused. One that is being checked goes on.`,
		Args: takesOptional("workspace"),
		RunE: a.withService(func(ctx context.Context, svc croft.Service, names []string) error {
			req := croft.ChecksRequest{Repo: a.dir(), Target: target, Of: of}
			if len(names) > 0 {
				req.Workspace = a.workspaceRef(names[0])
			}
			if isOff {
				return a.withdrawTrust(ctx, svc, req, key)
			}
			agreed := consentNone
			switch {
			case isDry:
				agreed = consentDryRun
			case isYes && a.env.Terminal == TerminalInteractive:
				agreed = consentGiven
			case a.canAsk():
				agreed = consentAsk
			}
			return a.runTrust(ctx, svc, req, key, agreed)
		}),
	}
	addWordFlag(cmd, &of, croft.OfSetup, "setup", "", "the commands and links that set new workspaces up, and their teardown, instead of the checks")
	cmd.Flags().StringVar(&target, "target", "", "the `branch` whose checks are meant")
	cmd.Flags().BoolVarP(&isYes, "yes", "y", false, "approve without asking, at a terminal")
	cmd.Flags().BoolVarP(&isDry, "dry-run", "n", false, "show the commands and their hash, and approve nothing")
	cmd.Flags().BoolVar(&isOff, "withdraw", false, "do not let them run any more")
	cmd.MarkFlagsMutuallyExclusive("withdraw", "yes")
	cmd.MarkFlagsMutuallyExclusive("withdraw", "dry-run")
	addKeyFlag(cmd, &key)
	cmd.ValidArgsFunction = a.completeOne
	return cmd
}

// What is said of each set of commands.
var (
	commandNouns   = map[croft.CommandSet]string{croft.OfChecks: "checks", croft.OfSetup: "commands to set workspaces up"}
	trustQuestions = map[croft.CommandSet]string{
		croft.OfChecks: "May they, and whatever merged files put behind them, run as you in this repository?",
		croft.OfSetup:  "May they, and whatever a workspace's files put behind them, run as you in new workspaces of this repository?",
	}
	trustWarnings = map[croft.CommandSet]string{
		croft.OfChecks: "They run as you, with whatever a merged result puts behind them.",
		croft.OfSetup:  "They run as you, with whatever the files of a workspace put behind them.",
	}
)

// approvalOf approves the commands that a plan shows.
func (a *app) approvalOf(req croft.ChecksRequest, plan *croft.CheckPlan, key string) croft.ApproveRequest {
	approval := croft.ApproveRequest{Key: key, Repo: req.Repo, Target: plan.Target, Workspace: req.Workspace, Of: req.Of, Hash: plan.Hash, From: a.env.Dir}
	if req.Workspace != "" {
		approval.Target = ""
	}
	return approval
}

// withdrawTrust takes the approval of the checks of a target back.
func (a *app) withdrawTrust(ctx context.Context, svc croft.Trust, req croft.ChecksRequest, key string) error {
	plan, err := svc.Checks(ctx, req)
	if err != nil {
		return err
	}
	if plan.Refusal != nil {
		return plan.Refusal
	}
	was := plan.ApprovedBy != ""
	if plan.Hash != "" || plan.Of == croft.OfSetup {
		withdrawal := a.approvalOf(req, plan, key)
		withdrawal.Mode = croft.ApproveWithdraw
		plan, err = svc.Approve(ctx, withdrawal)
		if err != nil {
			return err
		}
	}
	if a.json {
		a.emit(trustResult{*plan})
	}
	switch {
	case plan.Hash == "" && plan.Of != croft.OfSetup:
		a.note("%s asks for no %s", plan.Target, commandNouns[plan.Of])
	case plan.IsApproved && plan.Hash != "":
		a.note("withdrawn; CROFT_TRUST still approves them here")
	case plan.Of == croft.OfSetup:
		a.note("withdrawn: no commands that set workspaces of this repository up may run")
	case was:
		a.note("withdrawn")
	default:
		a.note("they were not approved")
	}
	return nil
}

// trustee is the part of croft.Service that approves commands, and says what they are for.
type trustee interface {
	croft.Trust
	planner
}

func (a *app) runTrust(ctx context.Context, svc trustee, req croft.ChecksRequest, key string, agreed consent) error {
	plan, err := svc.Checks(ctx, req)
	if err != nil {
		return err
	}
	isNews := !plan.IsApproved || plan.IsNamed
	if isNews && agreed != consentDryRun && plan.Refusal != nil { // before the user is asked
		return plan.Refusal
	}
	if !a.json {
		a.showChecks(plan)
		a.noteSetupRemarks(ctx, svc, plan)
		a.noteUncommitted(plan)
	}
	isAgreed := false
	switch {
	case isNews && plan.IsNamed: // by its hash
		isAgreed = agreed != consentDryRun
	case isNews:
		isAgreed, err = a.hasAgreed(ctx, agreed, trustQuestions[req.Of])
		if err != nil {
			return err
		}
	}
	if isAgreed {
		plan, err = svc.Approve(ctx, a.approvalOf(req, plan, key))
		if err != nil {
			return err
		}
	}
	if a.json {
		a.emit(trustResult{*plan})
	}
	switch {
	case agreed == consentDryRun:
		if len(plan.Checks) > 0 && !a.json {
			a.note("CROFT_TRUST=%s", plan.Hash)
		}
	case !plan.IsApproved && agreed != consentNone: // a person said no, and needs no hash
		a.note("not approved")
		return statusError(croft.ChecksUntrusted.ExitCode())
	case !plan.IsApproved:
		of := " --target " + shellWord(plan.Target)
		switch {
		case plan.Of == croft.OfSetup && nameOf(req.Workspace) != "":
			of = " --setup" + nameOf(req.Workspace)
		case plan.Of == croft.OfSetup:
			of = " --setup" + of
		}
		a.note("not approved; CROFT_TRUST=%s %s config trust%s approves them where there is no terminal", plan.Hash, a.env.Program, of)
		return statusError(croft.ChecksUntrusted.ExitCode())
	case isNews:
		a.note("approved")
	}
	return nil
}

// noteSetupRemarks remarks what of the set-up is not used, if new workspaces begin with the commit whose commands are shown.
func (a *app) noteSetupRemarks(ctx context.Context, svc planner, plan *croft.CheckPlan) {
	if plan.Of != croft.OfSetup {
		return
	}
	setup, err := svc.PlanProvision(ctx, croft.PlanProvisionRequest{Repo: a.dir()})
	if err != nil || setup.Commit != plan.Commit {
		return
	}
	for _, remark := range setup.Remarks {
		a.note("%s", printable(remark))
	}
}

// noteUncommitted says that the checks of the file in the project are not those of its target, which are approved and run.
func (a *app) noteUncommitted(plan *croft.CheckPlan) {
	if plan.Of == croft.OfSetup || plan.IsNamed {
		return
	}
	view, err := a.configView(string(a.dir()))
	if err != nil {
		return // it is a remark only
	}
	for _, v := range view.Values {
		file, _, _ := strings.Cut(v.Source, ":")
		if v.Key != "merge.checks" || v.Value == "" || filepath.Base(file) != rulesFile || v.Value == strings.Join(plan.Checks, "\n") {
			continue
		}
		a.note("the checks in %s are not in %s yet: commit it there, then croft config trust", printable(v.Source), plan.Target)
	}
}

// rulesFile is the file of the project's settings.
const rulesFile = "croft.toml"

// showChecks prints the commands, one a line, with everything in them that a
// terminal would not show as it is.
func (a *app) showChecks(plan *croft.CheckPlan) {
	if len(plan.Checks) == 0 {
		a.note("%s asks for no %s", plan.Target, commandNouns[plan.Of])
		return
	}
	state := "not approved yet"
	if plan.IsApproved {
		state = "approved"
	}
	a.note("%s at %.7s asks for these %s (%s):", plan.Target, plan.Commit, commandNouns[plan.Of], state)
	for _, c := range plan.Checks {
		if printable(c) != c {
			c = strconv.Quote(c)
		}
		a.printLine(c)
	}
	a.note("%s", trustWarnings[plan.Of])
}
