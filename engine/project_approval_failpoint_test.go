//go:build failpoints

package engine_test

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledAcceptGitConfigWithKey: one event and one act tell of the approval, wherever the
// process was killed.
func TestKilledAcceptGitConfigWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := oneDirty(t)
		r.Git("config", "user.name", "Other")
		var hash string
		brief(t, r, func(e *engine.Engine) {
			now, err := e.GitConfig(t.Context(), croft.GitConfigRequest{})
			if err != nil {
				t.Fatal(err)
			}
			hash = now.Hash
		})
		return r, calling(t, "AcceptGitConfig", croft.AcceptGitConfigRequest{Key: "k", Hash: hash})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
		wantEvents(t, e, croft.EventApprovalGiven, 1)
		wantNoted(t, e, "accept", 1)
	})
}
