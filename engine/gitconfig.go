package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// showGitConfig compares the repository's git configuration with what Croft goes by.
func (e *Engine) showGitConfig(_ context.Context, s standing, _ croft.GitConfigRequest) (*croft.GitConfig, error) {
	report, err := s.git.ConfigReport()
	if err != nil {
		return nil, err
	}
	return gitConfig(report), nil
}

func gitConfig(report git.ConfigReport) *croft.GitConfig {
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
		text, _ := json.Marshal([][]croft.GitConfigChange{out.Changes, out.Filters})
		sum := sha256.Sum256(text)
		out.Hash = hex.EncodeToString(sum[:])
	}
	return out
}

// acceptGitConfig has Croft go by the repository's git configuration. An agent
// that types it in its workspace is not the person whose word is asked for.
func (e *Engine) acceptGitConfig(ctx context.Context, s standing, req croft.AcceptGitConfigRequest) error {
	if err := e.outside(ctx, req.Repo); err != nil {
		return err
	}
	report, err := s.git.ConfigReport()
	if err == nil && (req.Hash == "" || gitConfig(report).Hash != req.Hash) {
		err = &git.ConfigChangedError{Changes: append(report.Changes, report.Filters...)}
	}
	if err == nil {
		err = e.underLock(ctx, s.repo, func() error { return s.git.AcceptConfig(report) })
	}
	if err == nil {
		err = e.journal.Update(ctx, func(tx *journal.Tx) error { return e.note(tx, "accept", s.id) })
	}
	return err
}

// outside fails in a workspace.
func (e *Engine) outside(ctx context.Context, dir string) error {
	rec, err := e.workspaceAround(ctx, dir)
	if err != nil || rec == nil {
		return err
	}
	return &croft.Error{
		Code: croft.ConfigChanged, Workspace: rec.Workspace.Name, Message: "nobody can accept the configuration from inside a workspace",
		Hint: "run it in the project itself",
	}
}
