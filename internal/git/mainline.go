package git

import (
	"context"
	"strings"
)

// OnMainline reports whether a commit that a tip has in its history was once
// the tip itself: by first parents it is an ancestor, not only by what was
// merged.
func (a *Attempts) OnMainline(ctx context.Context, commit, tip string) (bool, error) {
	if commit == tip {
		return true, nil
	}
	// The walk ends at the first commit that the other has in its history, so
	// it is as long as what came since.
	out, err := a.q.run(ctx, "rev-list", "--first-parent", "--parents", tip, "^"+commit)
	if err != nil || out == "" {
		return false, err
	}
	oldest := strings.Fields(out[strings.LastIndexByte(out, '\n')+1:])
	return len(oldest) > 1 && oldest[1] == commit, nil
}
