package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// moreRepos makes n repositories beside that of a test.
func moreRepos(t *testing.T, r *gittest.Repo, n int) []string {
	t.Helper()
	dirs := make([]string, n)
	for i := range dirs {
		dirs[i] = filepath.Join(filepath.Dir(r.Dir), fmt.Sprint("more", i))
		r.GitIn(filepath.Dir(r.Dir), "clone", "--quiet", r.Dir, dirs[i])
	}
	return dirs
}

// TestFirstTouchBesideRenewals: repositories are opened for the first time, which writes to
// the database, while lost leases are renewed, which writes to it, too. Neither waits for
// the other while it holds a lock that the other needs.
func TestFirstTouchBesideRenewals(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	dirs := moreRepos(t, r, 12)
	e := engineIn(t, r, 0)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = e.Renew(ctx, croft.RenewRequest{Lease: "0000000000000000"})
			}
		})
	}
	for _, dir := range dirs {
		began := time.Now()
		if _, err := e.Repo(ctx, croft.RepoRequest{Repo: dir}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("to look at a repository took %v", took)
		}
	}
}

// TestBlockedRepositoryDoesNotBlockOthers: the first call in a repository has to write to
// the database, and cannot. A call that reads in another repository does not wait for it,
// and neither does a call whose context ends.
func TestBlockedRepositoryDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	other := moreRepos(t, r, 1)[0]
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	lease, err := e.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})
	if err != nil {
		t.Fatal(err)
	}
	release := holdDatabase(t, r)
	defer release()

	var wg sync.WaitGroup
	defer wg.Wait()
	calls := map[string]func(context.Context) error{
		"the first look at a repository": func(ctx context.Context) error { _, err := e.Repo(ctx, croft.RepoRequest{Repo: other}); return err },
		"a renewal": func(ctx context.Context) error {
			_, err := e.Renew(ctx, croft.RenewRequest{Lease: lease.ID})
			return err
		},
		"a creation": func(ctx context.Context) error { _, err := e.Create(ctx, croft.CreateRequest{Name: "b"}); return err },
	}
	for name, call := range calls {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			began := time.Now()
			err := call(ctx)
			if croft.AsError("", err) == nil || croft.AsError("", err).Code != croft.Canceled {
				t.Errorf("%s: %v, want %s", name, err, croft.Canceled)
			}
			if took := time.Since(began); took > 12*time.Second {
				t.Errorf("%s waited %v with a context of 4 seconds", name, took)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	for range 3 {
		began := time.Now()
		if _, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("a list of a repository that is known took %v", took)
		}
	}
}

// holdDatabase keeps a write transaction open until release is called.
func holdDatabase(t *testing.T, r *gittest.Repo) (release func()) {
	t.Helper()
	j := database(t, r)
	held, done := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = j.Update(context.Background(), func(*journal.Tx) error {
			once.Do(func() { close(held) })
			<-done
			return nil
		})
	})
	<-held
	return func() { close(done); wg.Wait() }
}
