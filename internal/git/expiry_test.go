package git

import (
	"errors"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/writers"
)

// TestIdleGitsEnd: an idle git process ends by itself, one that is in use does not, and the
// next request starts another.
func TestIdleGitsEnd(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	const idle = 2 * time.Second
	repo.Git.Options.Idle = idle
	has := func() (objects, refs, attempts bool) {
		return repo.ObjectProcess() != nil, repo.RefProcess() != nil, repo.HasIdleMergeTree()
	}
	use := func() {
		t.Helper()
		_, err := repo.Info(t.Context(), head)
		err = errors.Join(err, repo.UpdateByGit(t.Context(), nil, []refs.Update{{Ref: "refs/heads/none"}}))
		a, aerr := repo.OpenMergeTree(writers.InMemory)
		if err = errors.Join(err, aerr); err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if _, err := a.MergeOver(t.Context(), head, head, head); err != nil {
			t.Fatal(err)
		}
	}
	for judged, began := 0, time.Now(); judged < 6; time.Sleep(idle / 4) { // longer than the expiry, all in all
		asked := time.Now()
		use()
		objects, refs, attempts := has()
		switch isLate := time.Since(asked) > idle/2; { // a machine that stood still lets them end rightly
		case !isLate && (!objects || !refs || !attempts):
			t.Fatalf("gits that are kept: %v, %v, %v", objects, refs, attempts)
		case !isLate:
			judged++
		case time.Since(began) > time.Minute:
			t.Fatal("the machine stands still all the time")
		}
	}
	for round := range 2 {
		deadline := time.Now().Add(10 * idle)
		for {
			objects, refs, attempts := has()
			if !objects && !refs && !attempts {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("gits that nobody asks are still there in round %d: %v, %v, %v", round, objects, refs, attempts)
			}
			time.Sleep(idle / 10)
		}
		use()
	}
}
