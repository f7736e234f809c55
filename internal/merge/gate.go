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

	// Broken says that the target fails the checks by itself, so that nobody
	// can be blamed.
	Broken bool
}

// run remembers the verdicts of one decision, by how many steps were checked.
type run struct {
	gate  *Gate
	tip   Step // with the target's commit and tree, for the stack of no steps
	steps []Step

	mu    sync.Mutex
	known map[int]Verdict
}

// Decide has a stack checked. With one slot the whole is tried first, and after
// a failure the half of it, until the first step that breaks it is found: the
// steps before it pass, it alone is blamed, and those after it wait for the
// next turn. With more slots several beginnings of the stack are tried at once.
//
// What failed is tried once more on the same tree; if it passes then, it was a
// flake, and is reported as such.
func (g *Gate) Decide(ctx context.Context, tipCommit, tipTree string, steps []Step) (Decision, error) {
	r := &run{gate: g, tip: Step{Commit: tipCommit, Tree: tipTree}, steps: steps, known: map[int]Verdict{}}
	low, high := 0, len(steps)+1 // low passes (the target is taken to), high fails (or is beyond the end)
	for low+1 < high {
		tries := g.choose(low, high, len(steps))
		if err := r.try(ctx, tries); err != nil {
			return Decision{}, err
		}
		for _, n := range tries {
			if r.known[n].Passed {
				low = max(low, n)
			}
		}
		for _, n := range tries {
			if !r.known[n].Passed && n > low {
				high = min(high, n)
			}
		}
		if low > 0 && high > len(steps) && g.Slots > 1 {
			break // what passed lands now; the rest follows on top of it
		}
	}
	d := Decision{Pass: low, Verdict: r.known[low], Blamed: -1}
	if high > len(steps) {
		return d, nil
	}
	d.Blamed, d.BlamedVerdict = high-1, r.known[high]
	if low > 0 {
		return d, nil
	}
	// Nothing passed, so it is not known yet that the target does.
	if err := r.try(ctx, []int{0}); err != nil {
		return Decision{}, err
	}
	if !r.known[0].Passed {
		d.Broken, d.Blamed = true, -1
	}
	return d, nil
}

// choose picks how many steps to try next, between low and high: the whole
// stack as long as nothing is known to fail, else what divides the rest evenly.
func (g *Gate) choose(low, high, all int) []int {
	slots := max(g.Slots, 1)
	if high > all && slots == 1 {
		return []int{all}
	}
	if high > all { // a window from the bottom: each beginning that passes can land
		var tries []int
		for n := low + 1; n <= all && len(tries) < slots; n++ {
			tries = append(tries, n)
		}
		return tries
	}
	gap := high - low
	var tries []int
	for k := 1; k <= slots; k++ {
		n := low + k*gap/(slots+1)
		if n > low && n < high && (len(tries) == 0 || tries[len(tries)-1] != n) {
			tries = append(tries, n)
		}
	}
	if len(tries) == 0 {
		tries = []int{low + 1}
	}
	return tries
}

// try has several beginnings checked at once.
func (r *run) try(ctx context.Context, counts []int) error {
	errs := make([]error, len(counts))
	var wg sync.WaitGroup
	for i, n := range counts {
		r.mu.Lock()
		_, known := r.known[n]
		r.mu.Unlock()
		if !known {
			wg.Go(func() { errs[i] = r.check(ctx, n) })
		}
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) check(ctx context.Context, n int) error {
	at := r.tip
	if n > 0 {
		at = r.steps[n-1]
	}
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
	r.known[n] = v
	return nil
}

// markFlaky names the checks that failed first and passed then.
func markFlaky(first Verdict, again *Verdict) {
	for _, c := range first.Checks {
		for i := range again.Checks {
			if again.Checks[i].Command == c.Command && !c.Passed {
				again.Checks[i].IsFlaky = true
			}
		}
	}
}
