package merge

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft"
)

// Checker runs the checks on a commit. A failure is a verdict, not an error. Check may
// be called several times at once, as often as the gate has slots.
type Checker interface {
	Check(ctx context.Context, commit, tree string) (Verdict, error)
}

// Verdict is the result of the checks of one tree.
type Verdict struct {
	Passed bool
	Checks []croft.Check
}

// Gate decides how much of a stack may be published.
type Gate struct {
	Checker Checker
	Slots   int // how many checks run at once; default: 1
}

// Decision is the result of a gate for a stack: how many steps from the bottom may be
// published together, and which step is to blame.
type Decision struct {
	Pass    int // how many steps, from the bottom
	Verdict Verdict

	// Blamed is the step that breaks the checks although the steps below it pass; -1 if
	// none is known.
	Blamed        int
	BlamedVerdict Verdict

	// Broken says that the target fails the checks by itself, so that no step can be
	// blamed.
	Broken bool
}

// run is one decision, with the verdicts so far by the trees that were checked.
type run struct {
	gate  *Gate
	tip   Step // with the target's commit and tree, for the stack of no steps
	steps []Step
	known map[string]Verdict
}

// Decide has a stack checked. With one slot the whole stack is tried first, and after a
// failure half of it, until the first step that breaks the checks is found: the steps
// below it pass, only it is blamed, and those above it wait for the next batch. With
// more slots several beginnings of the stack are tried at once, the whole among them,
// so that fewer rounds find the same step.
//
// A check that failed is run once more on the same tree. If it passes then, it is
// reported as a flake.
func (g *Gate) Decide(ctx context.Context, tipCommit, tipTree string, steps []Step) (Decision, error) {
	r := &run{gate: g, tip: Step{Commit: tipCommit, Tree: tipTree}, steps: steps, known: map[string]Verdict{}}
	low, high := 0, len(steps)+1 // low passes (the target is assumed to), high fails (or is beyond the end)
	for low+1 < high {
		tries := g.chooseTries(low, high, len(steps))
		if err := r.checkAll(ctx, tries); err != nil {
			return Decision{}, err
		}
		for _, n := range tries {
			if r.verdict(n).Passed {
				low = max(low, n)
			}
		}
		for _, n := range tries {
			if !r.verdict(n).Passed && n > low {
				high = min(high, n)
			}
		}
	}
	d := Decision{Pass: low, Verdict: r.verdict(low), Blamed: -1}
	if high > len(steps) {
		return d, nil
	}
	d.Blamed, d.BlamedVerdict = high-1, r.verdict(high)
	if low > 0 {
		return d, nil
	}
	// No step passed, so it is not known yet whether the target passes.
	if err := r.checkAll(ctx, []int{0}); err != nil {
		return Decision{}, err
	}
	if d.Verdict = r.verdict(0); !d.Verdict.Passed {
		d.Broken, d.Blamed = true, -1
	}
	return d, nil
}

// chooseTries picks how many steps to try next, between low and high: the whole stack
// and parts of it as long as no failure is known, otherwise numbers that divide the
// range evenly.
func (g *Gate) chooseTries(low, high, all int) []int {
	slots := max(g.Slots, 1)
	parts, gap := slots+1, high-low
	if high > all {
		parts, gap = slots, all-low
	}
	var tries []int
	for k := 1; k <= slots; k++ {
		n := low + k*gap/parts
		if n > low && n < high && (len(tries) == 0 || tries[len(tries)-1] != n) {
			tries = append(tries, n)
		}
	}
	if len(tries) == 0 {
		tries = []int{low + 1}
	}
	return tries
}

// stepAfter returns the commit and tree after the first n steps; after none, those of the
// target's tip.
func (r *run) stepAfter(n int) Step {
	if n == 0 {
		return r.tip
	}
	return r.steps[n-1]
}

func (r *run) verdict(n int) Verdict { return r.known[r.stepAfter(n).Tree] }

// checkAll has several beginnings of the stack checked at once. The first error ends
// all checks.
func (r *run) checkAll(ctx context.Context, counts []int) error {
	var steps []Step
	for _, n := range counts {
		at := r.stepAfter(n)
		_, known := r.known[at.Tree]
		if !known && !slices.ContainsFunc(steps, func(s Step) bool { return s.Tree == at.Tree }) {
			steps = append(steps, at) // a step that brings nothing has the tree of the step below
		}
	}
	verdicts := make([]Verdict, len(steps))
	group, ctx := errgroup.WithContext(ctx)
	for i, at := range steps {
		group.Go(func() (err error) {
			verdicts[i], err = r.check(ctx, at)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, at := range steps {
		r.known[at.Tree] = verdicts[i]
	}
	return nil
}

// check has one step checked, and once more if it fails.
func (r *run) check(ctx context.Context, at Step) (Verdict, error) {
	first, err := r.gate.Checker.Check(ctx, at.Commit, at.Tree)
	if err != nil || first.Passed {
		return first, err
	}
	again, err := r.gate.Checker.Check(ctx, at.Commit, at.Tree)
	if err != nil || !again.Passed {
		return first, err
	}
	markFlaky(first, &again)
	return again, nil
}

// markFlaky marks the checks that failed in first and passed in again, and gives them
// the output of the failure.
func markFlaky(first Verdict, again *Verdict) {
	for _, c := range first.Checks {
		for i := range again.Checks {
			if a := &again.Checks[i]; a.Command == c.Command && !c.Passed {
				a.IsFlaky, a.Log, a.Tail = true, c.Log, c.Tail
			}
		}
	}
}
