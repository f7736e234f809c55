package rules

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/run"
)

// TrustVariable approves checks for what one process submits and lands, by their hash.
// Several hashes are separated by commas. Inside a workspace it has no effect.
const TrustVariable = "CROFT_TRUST"

// SetSubmitter sets in a merge that is about to be queued the actor that submits it, and what
// the environment of the submitting process decides about it: whose name its commit gets and
// which checks a person has approved. Another process may land the merge. It refuses an agent whose work is not to be merged.
func (svc *Rules) SetSubmitter(ctx context.Context, r *project.Project, m *journal.Merge) error {
	svc.SetActor(ctx, m)
	if m.ActorWorkspace != "" && m.Kind != croft.KindRevert {
		if rec, err := svc.Journal.Record(ctx, m.Workspace); err == nil {
			if err := run.RefuseMerge(rec.Run, m.ActorWorkspace); err != nil {
				return err
			}
		}
	}
	m.Trusts = svc.TrustedByEnviron(ctx)
	if m.Author != nil {
		return nil
	}
	id, isNamed, err := r.Git.IdentityOfEnviron(ctx)
	if isNamed && err == nil {
		m.Submitter = &journal.Identity{Author: id.Author, Committer: id.Committer}
	}
	if errors.Is(err, gitcmd.ErrNoIdentity) {
		err = nil // only one half is named; the process that lands the merge says what is missing
	}
	return err
}

// NamedByEnviron returns the hashes that TrustVariable names in the service's environment.
func (svc *Rules) NamedByEnviron() []string {
	var hashes []string
	for _, kv := range svc.Environ { // of several values the last one counts
		if value, ok := strings.CutPrefix(kv, TrustVariable+"="); ok {
			hashes = strings.Split(value, ",")
		}
	}
	return slices.DeleteFunc(hashes, func(hash string) bool { return len(hash) != hashLength })
}

// hashLength is the length of the hash of checks.
const hashLength = 64

// TrustedByEnviron returns the hashes of NamedByEnviron if a person calls. An agent approves
// nothing; if it is unknown who calls, it may be one.
func (svc *Rules) TrustedByEnviron(ctx context.Context) []string {
	hashes := svc.NamedByEnviron()
	if len(hashes) == 0 {
		return nil
	}
	if rec, err := svc.WorkspaceAround(ctx); err != nil || rec != nil {
		return nil
	}
	return hashes
}
