package pool

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCopiedFrom: a new spare is copied only from one of its commit that no other process uses.
func TestCopiedFrom(t *testing.T) {
	t.Parallel()
	s := newStock(t, 2)
	taken, copied := s.wantWhole(2)[0], s.wantWhole(2)[1]
	exclusive, err := flock.TryExisting(taken.own(lockFile))
	s.must(err)
	defer func() { _ = exclusive.Unlock() }()
	shared, err := flock.TryShared(copied.own(lockFile))
	s.must(err)
	defer func() { _ = shared.Unlock() }()
	gittest.WriteFile(t, filepath.Join(taken.tree.Path, "dir/a"), "of whoever has it\n") // a copy of it would fail
	s.r.Config.Pool.Size = 4
	for _, commit := range []string{s.commit, s.next("next\n")} {
		u, err := s.begin(t.Context(), s.stamp, commit, 0)
		s.must(err)
		defer func() { _ = u.lock.Unlock() }() // so that it is not brought to the next commit
		s.must(u.finish(t.Context()))
	}
	got := map[string]int{}
	for _, i := range s.wantWhole(4) {
		got[i.Commit]++
		if i.id == taken.id {
			continue
		}
		if text := s.compare(&Taken{Ready: readyOf(i)}, i.Commit); text != "" {
			t.Errorf("the files are not those of the commit: %s", text)
		}
	}
	if got[s.commit] != 3 {
		t.Errorf("%v", got)
	}
}

// asking is a context that calls a function when it is asked for its end.
type asking struct {
	context.Context
	when func()
}

func (a asking) Done() <-chan struct{} {
	a.when()
	return a.Context.Done()
}

// TestLockedWhileCopied: a spare is copied under the lock on it.
func TestLockedWhileCopied(t *testing.T) {
	t.Parallel()
	s := newStock(t, 1)
	from, lock := shareOf(s.wantWhole(1))
	times := 0
	ctx := asking{t.Context(), func() {
		times++
		if _, err := flock.TryExisting(from.own(lockFile)); !errors.Is(err, flock.ErrHeld) {
			t.Errorf("it could be taken meanwhile: %v", err)
		}
	}}
	taken, err := s.copyOf(ctx, from, lock)
	s.must(err)
	taken.Ready = readyOf(taken.item)
	if text := s.compare(taken, s.commit); text != "" || times == 0 {
		t.Errorf("%q, the context was asked %d times", text, times)
	}
	taken.Done()
	s.wantTaken(s.commit, croft.MadeByCopy).Done()
}
