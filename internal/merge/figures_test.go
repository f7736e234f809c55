package merge

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// modelChecks returns the checks per landed change of a merge queue in theory: a batch is
// checked as a whole, and a batch that fails is cut in two halves that are checked one
// after the other, until a change that fails by itself is thrown out. A check never fails
// by chance, and is never run twice.
func modelChecks(rate float64, batch, changes int, random *rand.Rand) float64 {
	checks, landed := 0, 0
	var bisect func(bad []bool)
	bisect = func(bad []bool) {
		checks++
		hasBad := false
		for _, b := range bad {
			hasBad = hasBad || b
		}
		switch half := len(bad) / 2; {
		case !hasBad:
			landed += len(bad)
		case len(bad) > 1:
			bisect(bad[:half])
			bisect(bad[half:])
		}
	}
	for n := 0; n < changes; n += batch {
		bad := make([]bool, batch)
		for i := range bad {
			bad[i] = random.Float64() < rate
		}
		bisect(bad)
	}
	return float64(checks) / float64(landed)
}

// counter is a checker that fails for a tree with a bad change in it, and counts its calls.
// The tree of a step is the list of the changes in it.
type counter struct{ checks int }

func (c *counter) Check(_ context.Context, _, tree string) (Verdict, error) {
	c.checks++
	return Verdict{Passed: !strings.Contains(tree, "bad")}, nil
}

// gateChecks returns the checks per landed change of this package's gate. Like a lane, it puts
// the steps that were neither published nor blamed before those that came later.
func gateChecks(t *testing.T, rate float64, batch, changes int, random *rand.Rand) float64 {
	t.Helper()
	queue := make([]string, changes)
	for i := range queue {
		queue[i] = "good" + strconv.Itoa(i)
		if random.Float64() < rate {
			queue[i] = "bad" + strconv.Itoa(i)
		}
	}
	var c counter
	landed := 0
	for len(queue) > 0 {
		var steps []Step
		tree := ""
		for _, change := range queue[:min(batch, len(queue))] {
			tree += " " + change
			steps = append(steps, Step{Commit: tree, Tree: tree})
		}
		g := Gate{Checker: &c}
		d, err := g.Decide(t.Context(), "tip", "tip", steps)
		if err != nil || d.Broken {
			t.Fatalf("%+v, %v", d, err)
		}
		for i, change := range queue[:d.Pass] {
			if strings.HasPrefix(change, "bad") {
				t.Fatalf("the bad change %d of %v lands", i, queue[:d.Pass])
			}
		}
		if d.Blamed >= 0 && strings.HasPrefix(queue[d.Blamed], "good") {
			t.Fatalf("the good change %s is blamed", queue[d.Blamed])
		}
		landed += d.Pass
		queue = queue[d.Pass:]
		if d.Blamed >= 0 { // it is the first step that does not pass
			queue = queue[1:]
		}
	}
	return float64(c.checks) / float64(landed)
}

// TestChecksPerLanded: a batch with bisection costs at most twice the checks of the model,
// although a check that failed is run again. The figures are in docs/figures.md.
func TestChecksPerLanded(t *testing.T) {
	t.Parallel()
	changes := 4800
	if os.Getenv("CROFT_LONG") != "" {
		changes = 480_000
	}
	for _, rate := range []float64{0, 0.01, 0.05, 0.15} {
		seed := func() *rand.Rand { return rand.New(rand.NewPCG(7, uint64(rate*1000))) }
		serial, batch, model := gateChecks(t, rate, 1, changes, seed()), gateChecks(t, rate, 16, changes, seed()), modelChecks(rate, 16, changes, seed())
		t.Logf("%2.0f %% bad: serial %.2f, batches of 16 %.3f, in theory %.3f", 100*rate, serial, batch, model)
		if batch > 2*model {
			t.Errorf("%.2f: %.3f checks per landed change, more than twice %.3f", rate, batch, model)
		}
		if batch >= serial {
			t.Errorf("%.2f: %.3f checks per landed change, and %.3f one by one", rate, batch, serial)
		}
	}
}
