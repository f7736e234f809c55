package merge

import (
	"context"
	"sync"

	"github.com/croft-sh/croft"
)

// Checker runs the checks on a commit. A failure is a verdict, not an error.
// Several may run at once, as many as the gate has slots.
type Checker interface {
	Check(ctx context.Context, commit, tree string) (Verdict, error)
}

// Verdict is what the checks say of one tree.
type Verdict struct {
	Passed bool
	Checks []croft.Check
}

// Gate decides how much of a stack may be published.
type Gate struct {
	Checker Checker
	Slots   int // how many checks run at once; default: 1
}

// Decision is what a gate makes of a stack: so many steps from the bottom may
// be published together, and one may be to blame.
type Decision struct {
	Pass    int // how many steps, from the bottom
	Verdict Verdict

	// Blamed is the step that breaks what comes before it, which passes; -1 if
	// none is known.
	Blamed        int
	BlamedVerdict Verdict

	// Broken says that the target fails the checks by itself, so that no step can be
	// blamed.
	Broken bool
}

// run remembers the verdicts of one decision, by the trees that were checked.
type run struct {
	gate  *Gate
	tip   Step // with the target's commit and tree, for the stack of no steps
	steps []Step

	mu    sync.Mutex
	known map[string]Verdict
}

// Decide has a stack checked. With one slot the whole is tried first, and after
// a failure the half of it, until the first step that breaks it is found: the
// steps before it pass, it alone is blamed, and those after it wait for the
// next turn. With more slots several beginnings of the stack are tried at once,
// the whole among them, so that fewer rounds find the same.
//
// What failed is tried once more on the same tree; if it passes then, it was a
// flake, and is reported as such.
func (g *Gate) Decide(ctx context.Context, tipCommit, tipTree string, steps []Step) (Decision, error) {
	r := &run{gate: g, tip: Step{Commit: tipCommit, Tree: tipTree}, steps: steps, known: map[string]Verdict{}}
	low, high := 0, len(steps)+1 // low passes (the target is taken to), high fails (or is beyond the end)
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
	// Nothing passed, so it is not known yet that the target does.
	if err := r.checkAll(ctx, []int{0}); err != nil {
		return Decision{}, err
	}
	if d.Verdict = r.verdict(0); !d.Verdict.Passed {
		d.Broken, d.Blamed = true, -1
	}
	return d, nil
}

// chooseTries picks how many steps to try next, between low and high: the whole
// stack and parts of it as long as nothing is known to fail, else what divides
// the rest evenly.
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

func (r *run) at(n int) Step {
	if n == 0 {
		return r.tip
	}
	return r.steps[n-1]
}

func (r *run) verdict(n int) Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[r.at(n).Tree]
}

// checkAll has several beginnings checked at once. The first error ends them all.
func (r *run) checkAll(ctx context.Context, counts []int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := map[string]bool{}
	var wg sync.WaitGroup
	for _, n := range counts {
		at := r.at(n)
		r.mu.Lock()
		_, known := r.known[at.Tree]
		r.mu.Unlock()
		if known || begun[at.Tree] {
			continue // a step that brings nothing has the tree of the one before
		}
		begun[at.Tree] = true
		wg.Go(func() {
			if err := r.check(ctx, at); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (r *run) check(ctx context.Context, at Step) error {
	v, err := r.gate.Checker.Check(ctx, at.Commit, at.Tree)
	if err != nil {
		return err
	}
	if !v.Passed {
		again, err := r.gate.Checker.Check(ctx, at.Commit, at.Tree)
		if err != nil {
			return err
		}
		if again.Passed {
			markFlaky(v, &again)
			v = again
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[at.Tree] = v
	return nil
}

// markFlaky names the checks that failed first and passed then, with what they
// had to say when they failed.
func markFlaky(first Verdict, again *Verdict) {
	for _, c := range first.Checks {
		for i := range again.Checks {
			if a := &again.Checks[i]; a.Command == c.Command && !c.Passed {
				a.IsFlaky, a.Log, a.Tail = true, c.Log, c.Tail
			}
		}
	}
}
