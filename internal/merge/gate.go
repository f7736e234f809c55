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

	// Begins is called before a tree is checked, and Ends with what came of it, unless the
	// check ended with an error. Several goroutines may call them at once. nil: nobody asks.
	Begins func(Try)
	Ends   func(context.Context, Try, Verdict)
}

// Try is one tree that a gate has checked.
type Try struct {
	Round        int // which round of the decision it is in; the first is 0
	Count        int // how many steps of the stack, from the bottom, the tree has
	Commit, Tree string
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
	once  map[string]bool // trees that failed, and were not run again yet
	round int
}

// Decide has a stack checked. With one slot the whole stack is tried first, and after a
// failure half of it, until the first step that breaks the checks is found: the steps
// below it pass, only it is blamed, and those above it wait for the next batch. With
// more slots several beginnings of the stack are tried at once, the whole among them,
// so that fewer rounds find the same step.
//
// A check that failed is run once more on the same tree before it counts: that of the first
// round, or of the target, at once, that of a bisection only if its last step is to be
// blamed. If it passes then, it is reported as a flake.
func (g *Gate) Decide(ctx context.Context, tipCommit, tipTree string, steps []Step) (Decision, error) {
	r := &run{gate: g, tip: Step{Commit: tipCommit, Tree: tipTree}, steps: steps, known: map[string]Verdict{}, once: map[string]bool{}}
	low, high := 0, len(steps)+1 // low passes (the target is assumed to), high fails (or is beyond the end)
	for {
		if low+1 == high {
			isFlake, err := r.recheck(ctx, high)
			if err != nil {
				return Decision{}, err
			}
			if !isFlake {
				break
			}
			low, high = high, r.nextFailure(high)
			continue
		}
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

// recheck has a tree checked again that failed once. isFlake says that it passes now.
func (r *run) recheck(ctx context.Context, n int) (isFlake bool, err error) {
	if n > len(r.steps) || !r.once[r.stepAfter(n).Tree] {
		return false, nil
	}
	at := r.stepAfter(n)
	first := r.known[at.Tree]
	delete(r.known, at.Tree)
	if err := r.checkAll(ctx, []int{n}); err != nil {
		return false, err
	}
	again := r.known[at.Tree]
	delete(r.once, at.Tree)
	if !again.Passed {
		r.known[at.Tree] = first
		return false, nil
	}
	markFlaky(first, &again)
	r.known[at.Tree] = again
	return true, nil
}

// nextFailure returns the smallest number of steps above low of which a failure is known, or
// one more than there are steps.
func (r *run) nextFailure(low int) int {
	for n := low + 1; n <= len(r.steps); n++ {
		if v, ok := r.known[r.stepAfter(n).Tree]; ok && !v.Passed {
			return n
		}
	}
	return len(r.steps) + 1
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
	var tries []Try
	for _, n := range counts {
		at := r.stepAfter(n)
		_, known := r.known[at.Tree]
		if !known && !slices.ContainsFunc(tries, func(t Try) bool { return t.Tree == at.Tree }) {
			// A step that brings nothing has the tree of the step below.
			tries = append(tries, Try{Round: r.round, Count: n, Commit: at.Commit, Tree: at.Tree})
		}
	}
	r.round++
	verdicts := make([]Verdict, len(tries))
	group, ctx := errgroup.WithContext(ctx)
	for i, t := range tries {
		group.Go(func() (err error) {
			if r.gate.Begins != nil {
				r.gate.Begins(t)
			}
			verdicts[i], err = r.check(ctx, t)
			if err == nil && r.gate.Ends != nil {
				r.gate.Ends(ctx, t, verdicts[i])
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, t := range tries {
		r.known[t.Tree] = verdicts[i]
		r.once[t.Tree] = !verdicts[i].Passed && !t.isDecisive()
	}
	return nil
}

// isDecisive reports whether a failure is checked again at once. If a batch fails by chance,
// that costs less than a bisection; a step of a bisection is checked again only where that
// decides who is to blame.
func (t Try) isDecisive() bool { return t.Round == 0 || t.Count == 0 }

// check has one tree checked, and once more if it fails and that is decisive.
func (r *run) check(ctx context.Context, at Try) (Verdict, error) {
	first, err := r.gate.Checker.Check(ctx, at.Commit, at.Tree)
	if err != nil || first.Passed || !at.isDecisive() {
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
