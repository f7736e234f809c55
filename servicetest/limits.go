package servicetest

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
)

type limitScenarios struct{}

func (limitScenarios) MaxWorkers(t *testing.T, f *fixture) {
	f.Service = f.with("limits.max_workers", "2")
	f.create(croft.CreateRequest{Name: "a"})
	before := f.Trace()
	_, err := f.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "b"}, {Name: "c"}}})
	if e := wantCode(t, err, croft.LimitReached); e.Hint == "" {
		t.Error("no hint")
	}
	if after := f.Trace(); after != before {
		t.Errorf("something was left behind: %+v", after)
	}
	f.create(croft.CreateRequest{Name: "b"})
}

// MaxWorkersRace has ten callers ask for three places at once, each through a Service of
// its own, while another goroutine checks that the limit is never exceeded.
func (limitScenarios) MaxWorkersRace(t *testing.T, f *fixture) {
	const n, limit = 10, 3
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		svc := f.at(f.Dir, "MAX_WORKERS=3")
		wg.Go(func() {
			_, errs[i] = svc.Create(t.Context(), croft.CreateRequest{})
			if active, err := svc.CountActive(t.Context(), croft.CountRequest{}); err != nil || active.Active > limit {
				t.Errorf("CountActive = %+v, %v, the limit is %d", active, err, limit)
			}
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, croft.LimitReached) {
			t.Errorf("a loser got %v", err)
		}
	}
	if won != limit || len(f.names()) != limit {
		t.Errorf("%d won, %d workspaces; want %d", won, len(f.names()), limit)
	}
	if got := strings.Count(f.Git("worktree", "list", "--porcelain"), "worktree "); got != limit+1 {
		t.Errorf("%d worktrees registered, want %d", got, limit+1)
	}
}

func (limitScenarios) MaxWorkersPerRepository(t *testing.T, f *fixture) {
	f.Service = f.with("limits.max_workers", "1")
	f.create(croft.CreateRequest{Name: "a"})
	other := f.another()
	if _, err := f.at(other.Dir).Create(t.Context(), croft.CreateRequest{Name: "a"}); err != nil {
		t.Errorf("another repository's first workspace: %v", err)
	}
}

func (limitScenarios) RepositoryMayTighten(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, "croft.toml", "[limits]\nmax_workers = 1\n")
	f.Service = f.at(f.Dir)
	f.create(croft.CreateRequest{Name: "a"})
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "b"})), croft.LimitReached)
}

func (limitScenarios) FreeBytes(t *testing.T, f *fixture) {
	noSpace(t, f, "1000000000000000", "limits.min_free_bytes")
}

func (limitScenarios) FreeInodes(t *testing.T, f *fixture) {
	noSpace(t, f, "1000000000000", "limits.min_free_inodes")
}

func noSpace(t *testing.T, f *fixture, value, key string) {
	t.Helper()
	f.names() // the repository is known before
	before := f.Trace()
	_, err := f.with(key, value).Create(t.Context(), croft.CreateRequest{Name: "a"})
	if e := wantCode(t, err, croft.NoSpace); !strings.Contains(e.Hint, key) || !strings.HasPrefix(f.Dir, filepath.Dir(e.Details)) {
		t.Errorf("error %+v does not name the setting %s and the place", e, key)
	}
	f.unchanged(before)
}
