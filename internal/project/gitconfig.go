package project

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
)

// ShowConfig compares the repository's git configuration with the accepted one, which
// Croft uses.
func (p *Projects) ShowConfig(_ context.Context, s Location, _ croft.GitConfigRequest) (*croft.GitConfig, error) {
	report, err := s.Git.ConfigReport()
	if err != nil {
		return nil, err
	}
	return gitConfig(report), nil
}

func gitConfig(report gitcmd.ConfigReport) *croft.GitConfig {
	out := &croft.GitConfig{
		Changes: []croft.GitConfigChange{}, Filters: []croft.GitConfigChange{}, Ignored: append([]string{}, report.Ignored...),
	}
	for _, c := range report.Changes {
		out.Changes = append(out.Changes, croft.GitConfigChange(c))
	}
	for _, c := range report.Filters {
		out.Filters = append(out.Filters, croft.GitConfigChange(c))
	}
	if len(out.Changes)+len(out.Filters) > 0 {
		out.Hash = once.DigestOf([][]croft.GitConfigChange{out.Changes, out.Filters})
	}
	return out
}

// AcceptConfig makes Croft use the repository's git configuration from now on, if
// req.Hash is the one that ShowConfig gave for it. It refuses inside a workspace: only
// the user may accept it, not an agent.
func (p *Projects) AcceptConfig(ctx context.Context, s Location, req croft.AcceptGitConfigRequest) (*croft.GitConfig, error) {
	if err := p.requireOutside(ctx, req.Repo); err != nil {
		return nil, err
	}
	report, err := s.Git.ConfigReport()
	if err != nil {
		return nil, err
	}
	now := gitConfig(report).Hash
	_, err = once.Pin(ctx, "hash", func() (string, error) {
		if req.Hash == "" || now != req.Hash {
			return "", &gitcmd.ConfigChangedError{Changes: append(report.Changes, report.Filters...)}
		}
		return now, nil
	})
	if err == nil && now != "" && now != req.Hash { // if it is empty, an earlier call with the key has accepted all
		err = &gitcmd.ConfigChangedError{Changes: append(report.Changes, report.Filters...)}
	}
	if err == nil && now != "" {
		err = p.UnderLock(ctx, s.Project, func() error { return s.Git.AcceptConfig(report) })
	}
	if err != nil {
		return nil, err
	}
	out, err := p.ShowConfig(ctx, s, croft.GitConfigRequest{Repo: req.Repo})
	if err != nil {
		return nil, err
	}
	given := croft.Approval{Kind: croft.ApprovalGitConfig, Hash: req.Hash}
	for _, c := range slices.Concat(report.Changes, report.Filters) {
		given.Keys = append(given.Keys, c.Key)
	}
	return out, p.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(p.Note(tx, "accept", s.ID), tx.Approve(s.ID, given), once.Answer(ctx, tx, out))
	})
}

// requireOutside refuses a request that was made inside a workspace.
func (p *Projects) requireOutside(ctx context.Context, dir string) error {
	rec, err := p.WorkspaceAround(ctx, dir)
	if err != nil || rec == nil {
		return err
	}
	return &croft.Error{
		Code: croft.ConfigChanged, Workspace: rec.Workspace.Name, Message: "the configuration cannot be accepted from inside a workspace",
		Hint: "run it in the project itself",
	}
}
