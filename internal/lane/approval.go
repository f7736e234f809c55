package lane

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/rules"
)

// approvalOf returns a function that fails with ChecksUntrusted unless a person has approved
// the checks of a lane, and calls it once. Who submits a merge with rules.TrustVariable
// approves them for everything that waits in the lane by now, as the merge's own landing
// needs: those before it are checked first. A merge that is taken out of the queue takes its
// approval with it.
func (svc *Lanes) approvalOf(ctx context.Context, r *project.Project, target string, checks []string) (func(context.Context) error, error) {
	approved := func(ctx context.Context) error {
		err := svc.Rules.RequireTrusted(ctx, r, target, checks)
		if !errors.Is(err, croft.ChecksUntrusted) {
			return err
		}
		waiting, werr := svc.Journal.Waiting(ctx, r.ID, target, -1)
		if werr != nil {
			return werr
		}
		hash := rules.ChecksHash(checks)
		if slices.ContainsFunc(waiting, func(m journal.Merge) bool { return !m.IsHeld && slices.Contains(m.Trusts, hash) }) {
			return nil
		}
		return err
	}
	return approved, approved(ctx)
}
