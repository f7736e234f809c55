package merge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// work is a set of items by their numbers.
type work []int

// tree is the name of a tree that has this work.
func (w work) tree() string { return fmt.Sprint(slices.Sorted(slices.Values(w))) }

func (w work) hasAll(part work) bool {
	return !slices.ContainsFunc(part, func(i int) bool { return !slices.Contains(w, i) })
}

// fakeChecker fails trees that hold any of its bad sets.
type fakeChecker struct {
	bad    []work
	flaky  map[string]int // trees, and how often they fail first
	broken map[string]error
	meet   int // the first n checks wait for each other

	mu      sync.Mutex
	trees   map[string]work // in the order in which the stack was made
	runs    map[string]int
	running int
	most    int
	met     chan struct{}
	once    sync.Once
}

func (f *fakeChecker) Check(ctx context.Context, commit, tree string) (Verdict, error) {
	f.mu.Lock()
	if f.runs == nil {
		f.runs, f.met = map[string]int{}, make(chan struct{})
	}
	f.runs[tree]++
	run := f.runs[tree]
	f.running++
	f.most = max(f.most, f.running)
	if f.running == f.meet {
		f.once.Do(func() { close(f.met) })
	}
	w, known := f.trees[tree]
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
	}()
	if f.meet > 0 {
		select {
		case <-f.met:
		case <-ctx.Done():
			return Verdict{}, context.Cause(ctx)
		}
	}
	if err := f.broken[tree]; err != nil {
		return Verdict{}, err
	}
	if !known || commit != "commit "+tree {
		return Verdict{}, fmt.Errorf("nobody made %s, %s", commit, tree)
	}
	passed := run > f.flaky[tree]
	for _, b := range f.bad {
		passed = passed && !w.hasAll(b)
	}
	log := fmt.Sprintf("%s run %d", tree, run)
	return Verdict{passed, []croft.Check{
		{Command: "build", Tree: tree, Passed: true, Log: log},
		{Command: "test", Tree: tree, Passed: passed, Log: log},
	}}, nil
}

// stack puts items on what was landed, one on top of the other.
func (f *fakeChecker) stack(landed, items work) (tip Step, steps []Step) {
	if f.trees == nil {
		f.trees = map[string]work{}
	}
	at := slices.Clone(landed)
	f.trees[at.tree()] = at
	tip = Step{Commit: "commit " + at.tree(), Tree: at.tree()}
	for _, it := range items {
		at = append(slices.Clone(at), it)
		f.trees[at.tree()] = at
		steps = append(steps, Step{Item: Item{ID: croft.ID(fmt.Sprint(it))}, Commit: "commit " + at.tree(), Tree: at.tree()})
	}
	return tip, steps
}

func numbers(n int) work {
	w := make(work, n)
	for i := range w {
		w[i] = i
	}
	return w
}

func decide(t *testing.T, f *fakeChecker, slots int, landed, items work) Decision {
	t.Helper()
	tip, steps := f.stack(landed, items)
	g := Gate{Checker: f, Slots: slots}
	d, err := g.Decide(t.Context(), tip.Commit, tip.Tree, steps)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Two of sixteen items fail only together. The later one is found, wherever the two are, in
// at most six trees; the items before it pass.
func TestBrokenPairIsFoundInSixTrees(t *testing.T) {
	const n, limit = 16, 6
	most := 0
	for a := range n {
		for b := a + 1; b < n; b++ {
			f := &fakeChecker{bad: []work{{a, b}}}
			d := decide(t, f, 1, nil, numbers(n))
			if d.Pass != b || d.Blamed != b || d.Broken || d.BlamedVerdict.Passed || b > 0 && !d.Verdict.Passed {
				t.Errorf("%d and %d: %+v", a, b, d)
			}
			if len(f.runs) > limit {
				t.Errorf("%d and %d: %d trees: %v", a, b, len(f.runs), slices.Sorted(maps.Keys(f.runs)))
			}
			most = max(most, len(f.runs))
		}
	}
	if most < 5 { // a halving of sixteen cannot do with less
		t.Errorf("at most %d trees were checked: is every tree counted?", most)
	}
}

func TestWhatPassesTakesOneTree(t *testing.T) {
	f := &fakeChecker{}
	d := decide(t, f, 1, nil, numbers(16))
	if d.Pass != 16 || d.Blamed != -1 || !d.Verdict.Passed || len(f.runs) != 1 {
		t.Errorf("%+v after %v", d, f.runs)
	}
	if d := decide(t, f, 1, nil, nil); d.Pass != 0 || d.Blamed != -1 || d.Broken {
		t.Errorf("of nothing: %+v", d)
	}
}

// A failure that does not repeat is no failure, and is reported as flaky, with the output
// of the run that failed. One that repeats is tried twice, not more.
func TestFlakeIsRetriedOnceAndNamed(t *testing.T) {
	items := numbers(4)
	whole := items.tree()
	f := &fakeChecker{flaky: map[string]int{whole: 1}}
	d := decide(t, f, 1, nil, items)
	if d.Pass != 4 || d.Blamed != -1 || f.runs[whole] != 2 {
		t.Errorf("%+v after %v", d, f.runs)
	}
	want := []croft.Check{
		{Command: "build", Tree: whole, Passed: true, Log: whole + " run 2"},
		{Command: "test", Tree: whole, Passed: true, IsFlaky: true, Log: whole + " run 1"},
	}
	if diff := cmp.Diff(want, d.Verdict.Checks); diff != "" {
		t.Error(diff)
	}
	f = &fakeChecker{bad: []work{{2}}}
	if d := decide(t, f, 1, nil, items); d.Blamed != 2 {
		t.Errorf("%+v", d)
	}
	for tree, runs := range f.runs {
		if want := map[bool]int{true: 2, false: 1}[f.trees[tree].hasAll(work{2})]; runs != want {
			t.Errorf("%s was checked %d times, want %d", tree, runs, want)
		}
	}
}

func TestBrokenTargetBlamesNobody(t *testing.T) {
	for slots := 1; slots <= 5; slots++ {
		f := &fakeChecker{bad: []work{{99}}}
		d := decide(t, f, slots, work{99}, numbers(16))
		if !d.Broken || d.Blamed != -1 || d.Pass != 0 || d.Verdict.Passed {
			t.Errorf("%d slots: %+v", slots, d)
		}
		if slots == 1 && len(f.runs) > 6 {
			t.Errorf("%d trees", len(f.runs))
		}
	}
	// An item that mends the target lands with all items before it.
	for slots := 1; slots <= 4; slots++ {
		f := &fakeChecker{}
		tip, steps := f.stack(nil, numbers(3))
		mending := mendingChecker{f, steps[2].Tree}
		d, err := (&Gate{Checker: mending, Slots: slots}).Decide(t.Context(), tip.Commit, tip.Tree, steps)
		if err != nil || d.Pass != 3 || d.Broken || d.Blamed != -1 {
			t.Errorf("%d slots: %+v, %v", slots, d, err)
		}
	}
}

// mendingChecker passes one tree only.
type mendingChecker struct {
	*fakeChecker
	good string
}

func (m mendingChecker) Check(ctx context.Context, commit, tree string) (Verdict, error) {
	v, err := m.fakeChecker.Check(ctx, commit, tree)
	v.Passed = tree == m.good
	return v, err
}

// With slots, prefixes of the stack are checked at once, never more than there are slots.
func TestSlotsAreUsedAndNotExceeded(t *testing.T) {
	for slots := 1; slots <= 16; slots++ {
		f := &fakeChecker{bad: []work{{3, 11}}, meet: slots}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		tip, steps := f.stack(nil, numbers(16))
		d, err := (&Gate{Checker: f, Slots: slots}).Decide(ctx, tip.Commit, tip.Tree, steps)
		cancel()
		if err != nil || d.Pass != 11 || d.Blamed != 11 || f.most != slots {
			t.Errorf("%d slots: %+v, %v, %d at once", slots, d, err, f.most)
		}
	}
}

// A step without changes, because of a conflict or because the target has them already, is
// neither checked again nor blamed.
func TestStepThatBringsNothingIsNotChecked(t *testing.T) {
	for slots := 1; slots <= 4; slots++ {
		f := &fakeChecker{bad: []work{{1}}}
		tip, some := f.stack(nil, numbers(2))
		steps := []Step{tip, some[0], some[0], some[0], some[1], some[1], some[1]}
		d, err := (&Gate{Checker: f, Slots: slots}).Decide(t.Context(), tip.Commit, tip.Tree, steps)
		if err != nil || d.Pass != 4 || d.Blamed != 4 {
			t.Errorf("%d slots: %+v, %v", slots, d, err)
		}
		for tree, runs := range f.runs {
			if want := map[bool]int{true: 2, false: 1}[tree == some[1].Tree]; runs != want {
				t.Errorf("%d slots: %s was checked %d times", slots, tree, runs)
			}
		}
	}
}

// An error is no verdict, and cancels the other checks.
func TestErrorEndsTheChecks(t *testing.T) {
	why := errors.New("no space")
	f := &fakeChecker{broken: map[string]error{numbers(8).tree(): why}}
	tip, steps := f.stack(nil, numbers(16))
	if d, err := (&Gate{Checker: waiting{f}, Slots: 4}).Decide(t.Context(), tip.Commit, tip.Tree, steps); !errors.Is(err, why) || d.Pass != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if d, err := (&Gate{Checker: waiting{f}, Slots: 1}).Decide(ctx, tip.Commit, tip.Tree, steps); !errors.Is(err, why) || d.Pass != 0 {
		t.Errorf("canceled: %+v, %v", d, err)
	}
}

// waiting runs until it is canceled, except for broken trees.
type waiting struct{ *fakeChecker }

func (w waiting) Check(ctx context.Context, commit, tree string) (Verdict, error) {
	if v, err := w.fakeChecker.Check(ctx, commit, tree); err != nil {
		return v, err
	}
	<-ctx.Done()
	return Verdict{}, context.Cause(ctx)
}

// lane lands items that pass and rejects those that are blamed, until none is left.
func lane(t *testing.T, f *fakeChecker, slots, batch int, items work) (landed, ejected work) {
	t.Helper()
	for len(items) > 0 {
		now := items[:min(batch, len(items))]
		d := decide(t, f, slots, landed, now)
		if d.Broken || d.Pass == 0 && d.Blamed < 0 {
			t.Fatalf("%v on %v: %+v", now, landed, d)
		}
		landed = append(landed, now[:d.Pass]...)
		rest := slices.Clone(items[d.Pass:])
		if d.Blamed >= 0 {
			who := now[d.Blamed]
			guilty := slices.ContainsFunc(f.bad, func(b work) bool {
				return slices.Contains(b, who) && append(slices.Clone(landed), who).hasAll(b)
			})
			if !guilty || d.BlamedVerdict.Passed || len(d.BlamedVerdict.Checks) == 0 {
				t.Errorf("%d was blamed on %v, bad are %v: %+v", who, landed, f.bad, d.BlamedVerdict)
			}
			ejected = append(ejected, who)
			rest = slices.DeleteFunc(rest, func(i int) bool { return i == who })
		}
		items = rest
	}
	return landed, ejected
}

// An item that is not at fault is never rejected, what is landed passes, and the answers
// are the same however many checks run at once.
func TestInnocentAreNeverBlamed(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		n := 1 + rnd.IntN(24)
		var bad []work
		for range rnd.IntN(5) {
			bad = append(bad, rnd.Perm(n)[:min(n, 1+rnd.IntN(3))])
		}
		items := work(rnd.Perm(n))
		var first string
		for _, slots := range []int{1, 2, 3, 7, 32} {
			f := &fakeChecker{bad: bad}
			landed, ejected := lane(t, f, slots, 1+rnd.IntN(16), items)
			for _, b := range bad {
				if landed.hasAll(b) {
					t.Errorf("seed %d: %v landed", seed, b)
				}
			}
			if len(landed)+len(ejected) != n {
				t.Errorf("seed %d: %v landed, %v did not", seed, landed, ejected)
			}
			slices.Sort(ejected)
			answer := strings.Join([]string{landed.tree(), ejected.tree()}, " ")
			if first == "" {
				first = answer
			}
			if answer != first || f.most > slots {
				t.Errorf("seed %d, %d slots: %s, with one %s; %d at once", seed, slots, answer, first, f.most)
			}
		}
	}
}

// TestFlakesBlameNobody: of random trees the first check fails by chance. All steps pass
// nevertheless, or the bad one is blamed.
func TestFlakesBlameNobody(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		n := 2 + rnd.IntN(15)
		f := &fakeChecker{flaky: map[string]int{}}
		for i := range n {
			if rnd.IntN(3) == 0 {
				f.flaky[numbers(i+1).tree()] = 1
			}
		}
		want, bad := n, -1
		if rnd.IntN(2) == 0 {
			bad = rnd.IntN(n)
			f.bad, want = []work{{bad}}, bad
		}
		d := decide(t, f, 1+rnd.IntN(4), nil, numbers(n))
		if d.Broken || d.Pass != want || d.Blamed != bad {
			t.Errorf("seed %d: of %d steps %d is bad, flaky are %v: %+v", seed, n, bad, f.flaky, d)
		}
	}
}
