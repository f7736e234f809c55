package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newAcceptCommand(a *app) *cobra.Command {
	var isYes bool
	var key string
	cmd := &cobra.Command{
		Use:   "accept",
		Short: "Show and accept what changed in the repository's git configuration",
		Long: `Show how the repository's own git configuration differs from what Croft goes by,
and ask whether it counts. Agents can write that configuration, so Croft takes
what decides about commits and remotes when it first sees a repository, and runs
a content filter only after its very command was accepted here.

Without a terminal nobody is asked: the differences are shown, and --yes accepts
them. Inside of a workspace nothing is accepted.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			agreed := consentAsk
			switch {
			case isYes:
				agreed = consentGiven
			case !a.canAsk():
				agreed = consentDryRun
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error { return a.runAccept(ctx, svc, key, agreed) })
		},
	}
	cmd.Flags().BoolVarP(&isYes, "yes", "y", false, "accept without asking")
	addKeyFlag(cmd, &key)
	return cmd
}

func (a *app) runAccept(ctx context.Context, svc croft.GitConfigs, key string, agreed consent) error {
	c, err := svc.GitConfig(ctx, croft.GitConfigRequest{Repo: a.dir()})
	if err != nil {
		return err
	}
	if !a.json {
		a.showGitConfig(c)
	}
	isNews := c.Hash != ""
	accepted := false
	if isNews {
		if accepted, err = a.hasAgreed(ctx, agreed, "Accept these changes?"); err != nil {
			return err
		}
	}
	if accepted {
		if _, err := svc.AcceptGitConfig(ctx, croft.AcceptGitConfigRequest{Key: key, Repo: a.dir(), Hash: c.Hash}); err != nil {
			return err
		}
	}
	if a.json {
		a.emit(gitConfigResult{*c, accepted})
	}
	switch {
	case accepted:
		a.note("accepted")
	case isNews:
		a.note("not accepted; %s config accept --yes accepts it", a.env.Program)
		return statusError(croft.ConfigChanged.ExitCode())
	}
	return nil
}

// showGitConfig prints the differences, one a line.
func (a *app) showGitConfig(c *croft.GitConfig) {
	if c.Hash == "" {
		a.note("nothing to accept")
	}
	for _, d := range c.Changes {
		a.printLine(printable(d.Key) + ": " + settingText(d.Was) + " → " + settingText(d.Now))
	}
	for _, d := range c.Filters {
		a.printLine(printable(d.Key) + ": runs " + settingText(d.Now))
	}
	if len(c.Ignored) > 0 {
		a.note("Croft's git never sees: %s", printable(strings.Join(c.Ignored, ", ")))
	}
}

// settingText quotes values, so that control characters in them are shown.
func settingText(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = strconv.Quote(v)
	}
	return strings.Join(list, ", ")
}
