//go:build failpoints

package engine_test

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledWithdrawalWithKey: one event and one act tell of an approval that was withdrawn,
// wherever the process was killed.
func TestKilledWithdrawalWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := oneDirty(t)
		r.Write("croft.toml", "[merge]\nchecks = [\"true\"]\n")
		r.Git("add", "croft.toml")
		r.Git("commit", "-q", "-m", "checks")
		var hash string
		brief(t, r, func(e *engine.Engine) {
			plan, err := e.Checks(t.Context(), croft.ChecksRequest{Target: "main"})
			if err != nil {
				t.Fatal(err)
			}
			if hash = plan.Hash; hash == "" {
				t.Fatalf("%+v", plan)
			}
			if _, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Hash: hash}); err != nil {
				t.Fatal(err)
			}
		})
		return r, calling(t, "Approve", croft.ApproveRequest{Key: "k", Target: "main", Hash: hash, Mode: croft.ApproveWithdraw})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
		wantEvents(t, e, croft.EventApprovalWithdrawn, 1)
		wantNoted(t, e, "withdraw trust", 1)
		if plan, err := e.Checks(t.Context(), croft.ChecksRequest{Target: "main"}); err != nil || plan.IsApproved {
			t.Errorf("%+v, %v", plan, err)
		}
	})
}

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
