package journal

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// mergeSteps are the transitions of a merge, by the states that they start from.
var mergeSteps = map[string]struct {
	from func(Merge) bool
	step func(*Merge, time.Time)
}{
	"merging":     {isWaiting, func(m *Merge, _ time.Time) { m.Enter(croft.MergeMerging) }},
	"checking":    {isWaiting, func(m *Merge, _ time.Time) { m.Enter(croft.MergeChecking) }},
	"check":       {isChecking, func(m *Merge, _ time.Time) { m.EnterCheck("make test") }},
	"attempted":   {isWaiting, func(m *Merge, _ time.Time) { m.Attempt("tried") }},
	"requeued":    {isWaiting, func(m *Merge, _ time.Time) { m.Requeue() }},
	"alone":       {isWaiting, func(m *Merge, _ time.Time) { m.RequeueAlone() }},
	"resubmitted": {isPending, func(m *Merge, _ time.Time) { m.Resubmit() }},
	"rejected": {isWaiting, func(m *Merge, at time.Time) {
		m.Reject(&croft.Error{Code: croft.HostDirty, Message: "m", Details: "d", Hint: "h"}, nil, at)
	}},
	"landed":     {isWaiting, func(m *Merge, at time.Time) { m.Land(Landing{Commit: "new", Before: "old", Moved: "by 1"}, at) }},
	"in already": {isWaiting, func(m *Merge, at time.Time) { m.EndMerged("nothing to merge", at) }},
	"empty":      {isWaiting, func(m *Merge, at time.Time) { m.EndEmpty("nothing to merge", at) }},
	"canceled":   {isWaiting, func(m *Merge, at time.Time) { m.Cancel("taken out", "croft merge", at) }},
	"discarded":  {isWaiting, func(m *Merge, at time.Time) { m.Discard(at) }},
	"reverted":   {hasLanded, func(m *Merge, _ time.Time) { m.Revert() }},
	"reinstated": {func(m Merge) bool { return m.Status == croft.MergeReverted }, func(m *Merge, _ time.Time) { m.Reinstate() }},
}

func isWaiting(m Merge) bool { return m.State != croft.MergeDone }

func isChecking(m Merge) bool { return m.State == croft.MergeChecking }

func isPending(m Merge) bool {
	return m.State == croft.MergeDone && m.Status == croft.MergePending && m.Reason != croft.Canceled
}

func hasLanded(m Merge) bool { return m.State == croft.MergeDone && m.Status == croft.MergeMerged }

// TestMergeStates walks through the states of a merge at random. Whatever happened before,
// the fields of a merge agree with its state.
func TestMergeStates(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	names := make([]string, 0, len(mergeSteps))
	for name := range mergeSteps {
		names = append(names, name)
	}
	seen := map[string]bool{}
	for range 2000 {
		m := Merge{Merge: croft.Merge{Kind: croft.KindMerge, State: croft.MergeQueued, Status: croft.MergePending}, After: croft.AfterTrash}
		walk := []string{}
		for range 12 {
			name := names[rnd.IntN(len(names))]
			if !mergeSteps[name].from(m) {
				continue
			}
			walk, seen[name] = append(walk, name), true
			at := time.Unix(int64(len(walk)), 0)
			mergeSteps[name].step(&m, at)
			if wrong := wrongMerge(m); wrong != "" {
				t.Fatalf("seed %d: after %v %s: %+v", seed, walk, wrong, m)
			}
		}
	}
	for name := range mergeSteps {
		if !seen[name] {
			t.Errorf("%s never happened", name)
		}
	}
}

// wrongMerge names the fields of a merge that contradict its state.
func wrongMerge(m Merge) string {
	isDone := m.State == croft.MergeDone
	hasReason := m.Reason != "" || m.Details != "" || m.Hint != ""
	switch {
	case isDone == m.EndedAt.IsZero():
		return "it is done without an end, or has an end and is not done"
	case m.Check != "" && !isChecking(m):
		return "a check of it runs while it is not checked"
	case !isDone && (hasReason || m.Message != ""):
		return "it waits and has a reason not to"
	case m.Status == croft.MergeMerged && hasReason:
		return "it is merged and has a reason not to be"
	case isDone && m.Status == croft.MergePending && m.Reason == "":
		return "it stays pending for no reason"
	case isDone && m.Reason == croft.HostDirty && m.Tried != "":
		return "it was turned away, and something may have been published"
	case m.Commit != "" && (m.Before == "" || m.Alone || m.Tried != ""):
		return "it landed and does not know from where, or goes on"
	case m.Untidy != (isDone && m.Status == croft.MergeMerged || m.Status == croft.MergeReverted):
		return "its workspace is put away, or not, by mistake"
	}
	return ""
}
