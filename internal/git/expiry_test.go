package git

import (
	"errors"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestIdleGitsEnd: a git that nobody asks ends by itself, one that is asked does
// not, and the next question starts another.
func TestIdleGitsEnd(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	const idle = 2 * time.Second
	repo.git.opts.Idle = idle
	has := func() (objects, refs, attempts bool) {
		repo.objects.mu.Lock()
		defer repo.objects.mu.Unlock()
		repo.refs.mu.Lock()
		defer repo.refs.mu.Unlock()
		repo.idle.mu.Lock()
		defer repo.idle.mu.Unlock()
		return repo.objects.p != nil, repo.refs.p != nil, repo.idle.a != nil
	}
	use := func() {
		t.Helper()
		_, err := repo.Info(t.Context(), head)
		err = errors.Join(err, repo.moveByGit(t.Context(), nil, []RefUpdate{{Ref: "refs/heads/none"}}))
		a, aerr := repo.OpenMergeTree(InMemory)
		if err = errors.Join(err, aerr); err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if _, err := a.MergeOver(t.Context(), head, head, head); err != nil {
			t.Fatal(err)
		}
	}
	for range 6 { // longer than it takes to expire, all in all
		use()
		if objects, refs, attempts := has(); !objects || !refs || !attempts {
			t.Fatalf("gits that are kept: %v, %v, %v", objects, refs, attempts)
		}
		time.Sleep(idle / 4)
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
