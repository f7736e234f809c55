package run

import (
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
)

// keyPrefix begins the keys under which the work of runs is finished.
const keyPrefix = "run-"

// idLength is that of the IDs of runs.
const idLength = 16

// Key returns the idempotency key under which the work of a run is finished, once, by whoever comes first to it.
func Key(run croft.ID) string { return keyPrefix + string(run) }

// CheckFinish refuses a request that uses the key of a run and is not what finishes that one: an agent that did so would keep
// its later work from being finished. last is the last run of the workspace.
func CheckFinish(last *croft.Run, req croft.FinishRequest) error {
	id, isKey := strings.CutPrefix(req.Key, keyPrefix)
	if !isKey || len(id) != idLength {
		return nil
	}
	if last != nil && string(last.ID) == id && last.State == croft.RunEnded && req.Policy == last.Policy {
		if outcome, known := last.How.Outcome(); known && outcome == req.Outcome {
			return nil
		}
	}
	return &croft.Error{
		Code: croft.InvalidRequest, Message: fmt.Sprintf("the key %q is for the end of the run: Croft uses it once that has come", req.Key),
		Details: "Nothing was finished.", Hint: "use another key, or none",
	}
}

// PolicyFor returns how the work is merged if an agent asks for its end: one that is not to be merged is kept, unless that is asked for.
func PolicyFor(last *croft.Run, inside croft.ID, asked croft.MergePolicy) croft.MergePolicy {
	if asked == croft.MergeByLayout && isKept(last, inside) {
		return croft.MergeNever
	}
	return asked
}

// RefuseMerge refuses to merge the work of a run that is not to be merged, as long as it runs, if an agent asks for it.
func RefuseMerge(last *croft.Run, inside croft.ID) error {
	if !isKept(last, inside) {
		return nil
	}
	return &croft.Error{
		Code: croft.AccessDenied, Message: "croft run --no-merge: the work is not to be merged by its agent", Details: "Nothing was merged. Who works inside of a workspace counts as its agent.",
		Hint: "croft finish",
	}
}

func isKept(last *croft.Run, inside croft.ID) bool {
	return inside != "" && last != nil && last.State != croft.RunEnded && last.Policy == croft.MergeNever
}
