package lane

import (
	"context"
	"errors"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
)

// settleBlocked rejects, before minutes are spent on checks, the first step that the user's checkout of the target could
// not follow as it is now, requeues the steps above it, and returns those below. What the look cannot tell, and
// what changes meanwhile, the publication finds out.
func (svc *Lanes) settleBlocked(ctx context.Context, r *project.Project, l landing, attempts *mergetree.Session, steps []merge.Step) ([]merge.Step, error) {
	hosts := r.Git.Hosts(l.target)
	if len(hosts) == 0 {
		return steps, nil
	}
	look := func(to string) error { // with the steps below: one may remove what another one needs to be gone
		if err := requireOneHost(hosts); err != nil {
			return err
		}
		changes, err := attempts.Diff(ctx, l.tip, to)
		if err != nil {
			return err
		}
		return hosts[0].Look(ctx, l.tip, changes)
	}
	if isDirty, _ := asDirty(look(steps[len(steps)-1].Commit)); !isDirty {
		return steps, ctx.Err()
	}
	for i, step := range steps {
		isDirty, cause := asDirty(look(step.Commit))
		if !isDirty {
			continue
		}
		m := itemOf(l.items, step.ID)
		if err := svc.rejectMerge(ctx, m, nil, hostError(l.target, cause)); err != nil {
			return nil, err
		}
		return steps[:i], svc.requeueRest(ctx, steps[i+1:], -1)
	}
	return steps, ctx.Err()
}

func asDirty(err error) (bool, *git.HostDirtyError) {
	dirty, ok := errors.AsType[*git.HostDirtyError](err)
	return ok, dirty
}

// requireOneHost refuses a target that several checkouts have.
func requireOneHost(hosts []*git.BranchCheckout) error {
	if len(hosts) > 1 {
		return &git.HostDirtyError{Path: hosts[1].Path, Cause: "the branch is checked out in several places"}
	}
	return nil
}
