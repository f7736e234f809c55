package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// atOnce runs helpers at the same time and returns the output of each.
func atOnce(t *testing.T, n int, job func(i int) *exec.Cmd) []string {
	t.Helper()
	out := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		cmd := job(i)
		wg.Go(func() {
			b, err := cmd.CombinedOutput()
			out[i] = strings.TrimSpace(string(b))
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				out[i] += err.Error()
			}
		})
	}
	wg.Wait()
	return out
}

func TestMaxWorkersOverProcesses(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	const n, limit = 10, 3
	out := atOnce(t, n, func(i int) *exec.Cmd {
		req := &croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: fmt.Sprint("w", i), Layout: "sibling"}}}
		return helper(t, r, task{Create: req}, "MAX_WORKERS=3")
	})
	won := 0
	for _, line := range out {
		switch {
		case strings.HasPrefix(line, "created "):
			won++
		case !strings.HasPrefix(line, string(croft.LimitReached)):
			t.Errorf("a process said %q", line)
		}
	}
	e := engineIn(t, r, 0)
	if got := names(t, e); won != limit || len(got) != limit {
		t.Errorf("%d won, workspaces %v; want %d", won, got, limit)
	}
	if got := strings.Count(r.Git("for-each-ref", "--format=%(refname)", "refs/heads"), "refs/heads/w"); got != limit {
		t.Errorf("%d branches, want %d", got, limit)
	}
}

func TestKeyOverProcesses(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	out := atOnce(t, 6, func(int) *exec.Cmd {
		return helper(t, r, task{Create: &croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a", Branch: "topic"}, {}}}})
	})
	for _, got := range out {
		if got != out[0] || !strings.HasPrefix(got, "created ") {
			t.Errorf("processes answered %q and %q", got, out[0])
		}
	}
	if got := names(t, engineIn(t, r, 0)); len(got) != 2 {
		t.Errorf("workspaces %v", got)
	}
}

// TestNamesFollowTheClock: with a known clock, the names that the preset sibling makes are
// known beforehand.
func TestNamesFollowTheClock(t *testing.T) {
	t.Parallel()
	at := time.Unix(1703849234, 0)
	for range 2 {
		r := gittest.New(t)
		e := open(t, r.Dir, &engine.Options{Environ: r.Env, Now: func() time.Time { return at }})
		w := create(t, e, croft.CreateRequest{Name: "agent/7", Layout: "sibling"})
		if want := filepath.Join(filepath.Dir(r.Dir), "app-agent-7-1703849234"); w.Path != want || !w.CreatedAt.Equal(at) {
			t.Errorf("path %s at %v, want %s", w.Path, w.CreatedAt, want)
		}
		// The same branch flattened, in the same second, is refused and not given another
		// name.
		_, err := e.Create(t.Context(), croft.CreateRequest{Name: "agent-7", Layout: "sibling"})
		wantCode(t, err, croft.WorktreeExists)
	}
}

// dead is the identity of a process that has ended.
func dead() croft.Owner {
	me := proc.Self()
	return croft.Owner{Host: me.Host, Boot: me.Boot, Space: me.Space, PID: 1 << 30, Start: "1"}
}

// TestInterruptedInAnotherRepository: an operation that cannot be rolled back in one
// repository does not stop calls in another.
func TestInterruptedInAnotherRepository(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "before"})
	update(t, database(t, r), func(tx *journal.Tx) error {
		for _, op := range []journal.Operation{
			{ID: "op-in-a-repo-that-nobody-knows", Kind: "create", Repo: "unknown"},
			{ID: "op-of-a-later-version", Kind: "merge", Repo: "unknown"},
		} {
			op.Owner, op.Input, op.StartedAt = dead(), []byte("{}"), time.Now()
			if err := tx.Begin(op); err != nil {
				return err
			}
		}
		return nil
	})
	create(t, e, croft.CreateRequest{Name: "after"})
}

// TestRepositoryMadeAnew: a creation was interrupted, then the whole repository was deleted
// and made again at the same path.
func TestRepositoryMadeAnew(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	j := database(t, r)
	rec, err := j.Record(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	rec.Workspace.State = croft.Creating
	update(t, j, func(tx *journal.Tx) error {
		if err := tx.PutRecord(rec); err != nil {
			return err
		}
		return tx.Begin(journal.Operation{
			ID: "interrupted", Kind: "create", Repo: rec.RepoID, Workspaces: []croft.ID{w.ID}, Owner: dead(), Input: []byte("{}"), StartedAt: time.Now(),
		})
	})
	if err := os.RemoveAll(filepath.Dir(r.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "--quiet", "--initial-branch=main")
	r.Git("commit", "--quiet", "--allow-empty", "--message", "again")
	anew := engineIn(t, r, 0)
	create(t, anew, croft.CreateRequest{Name: "a"})
	if got := names(t, anew); !slices.Equal(got, []string{"a"}) {
		t.Errorf("workspaces %v", got)
	}
}

func TestOpenRefused(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	_, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env, Settings: map[string]string{"limits.max_workers": "many"}})
	wantCode(t, err, croft.ConfigInvalid)
	gittest.WriteFile(t, filepath.Join(r.Home, "file"), "x")
	_, err = engine.Open(t.Context(), r.Dir, &engine.Options{Environ: append(r.Env, "CROFT_STATE_DIR="+filepath.Join(r.Home, "file", "state"))})
	wantCode(t, err, croft.StateUnavailable)
}

// TestKilledDuringCheckout kills a process with SIGKILL while its git writes files.
func TestKilledDuringCheckout(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	for i := range 1500 {
		r.Write(fmt.Sprintf("many/%02d/%d.txt", i%50, i), strings.Repeat("x", 500))
	}
	r.Commit("many files")
	before := r.Git("for-each-ref")
	req := croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	cmd := helper(t, r, task{Create: &req})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(filepath.Dir(r.Dir), "app.croft", "a", "many")
	for deadline := time.Now().Add(20 * time.Second); !exists(first) && time.Now().Before(deadline); {
		select {
		case <-t.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	e := engineIn(t, r, 0)
	if _, err := e.GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("for-each-ref"); got != before || exists(filepath.Join(filepath.Dir(r.Dir), "app.croft")) {
		t.Errorf("left behind: refs %q, directory %v", got, exists(filepath.Join(filepath.Dir(r.Dir), "app.croft")))
	}
	list, err := e.CreateAll(t.Context(), req)
	if err != nil || len(list.Workspaces) != 3 {
		t.Errorf("the second attempt: %+v, %v", list, err)
	}
}

// TestRoundEndsWhileAgentsLeave: the agent was told to stop and takes a moment to end. A
// process at work would keep its checkout, but this one ends in time.
func TestRoundEndsWhileAgentsLeave(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	ses, err := e.StartSession(t.Context(), croft.SessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	round, err := e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}})
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(t.Context(), "git", "hash-object", "--stdin")
	agent.Dir = round.Workspaces[0].Path
	stdin, err := agent.StdinPipe()
	if err == nil {
		err = agent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(400*time.Millisecond, func() { _ = stdin.Close() })
	defer stop.Stop()
	if done, err := e.EndRound(t.Context(), croft.EndRoundRequest{Round: round.ID}); err != nil || len(done.Failed) > 0 {
		t.Errorf("EndRound: %v, %+v", err, done)
	}
	if exists(agent.Dir) {
		t.Errorf("%s is still there", agent.Dir)
	}
	if err := agent.Wait(); err != nil {
		t.Error(err)
	}
}

// TestRepositoryReplacedWhileOpen: an open engine identifies a repository by its inode and
// time of birth. Another one at the same path gets nothing that belonged to the first.
func TestRepositoryReplacedWhileOpen(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	was, err := e.Repo(t.Context(), croft.RepoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // the inode may be the same; the time of birth is not
	r.Git("init", "--quiet", "--initial-branch=main")
	r.Git("commit", "--quiet", "--allow-empty", "--message", "again")
	now, err := e.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || now.ID == was.ID {
		t.Errorf("another repository is %+v, %v; the first was %s", now, err, was.ID)
	}
	if got := names(t, e); len(got) != 0 {
		t.Errorf("another repository has the workspaces %v", got)
	}
}
