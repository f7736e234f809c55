//go:build failpoints

package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/google/go-cmp/cmp"
)

// contest is a session on two repositories, and what its agents write.
type contest struct {
	repo *gittest.Repo
	lib  string
	ses  croft.Session
}

func newContest(t *testing.T) contest {
	t.Helper()
	r := gittest.New(t)
	c := contest{repo: r, lib: filepath.Join(filepath.Dir(r.Dir), "lib")}
	r.Git("clone", "--quiet", r.Dir, c.lib)
	e := engineIn(t, r, 0)
	ses, err := e.StartSession(t.Context(), croft.SessionRequest{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	c.ses = *ses
	return c
}

func (c contest) ask(number int) croft.RoundRequest {
	return croft.RoundRequest{Session: croft.ByID(c.ses.ID), Number: number, Agents: []string{"a", "b"}, Repos: []string{c.repo.Dir, c.lib}}
}

// play starts a round and has its agents write.
func (c contest) play(t *testing.T, e *engine.Engine, number int) croft.Round {
	t.Helper()
	r, err := e.StartRound(t.Context(), c.ask(number))
	if err != nil || len(r.Workspaces) != 4 {
		t.Fatalf("round %d: %+v, %v", number, r, err)
	}
	for _, w := range r.Workspaces {
		gittest.WriteFile(t, filepath.Join(w.Path, "by.txt"), fmt.Sprintln(number, w.Agent))
		gittest.WriteFile(t, filepath.Join(w.Scratch, "notes"), fmt.Sprintln(number, w.Agent))
		gittest.WriteFile(t, filepath.Join(w.Path, "held.key"), fmt.Sprintln(number, w.Agent))
	}
	return *r
}

func (c contest) end(t *testing.T, e *engine.Engine, id croft.ID) croft.Round {
	t.Helper()
	r, err := e.EndRound(t.Context(), croft.EndRoundRequest{Round: id})
	if err != nil || len(r.Failed) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	return *r
}

// branches lists the branches of both repositories but main.
func (c contest) branches() (list []string) {
	for _, dir := range []string{c.repo.Dir, c.lib} {
		for b := range strings.FieldsSeq(c.repo.GitIn(dir, "for-each-ref", "--format=%(refname:short)", "refs/heads")) {
			if b != "main" {
				list = append(list, filepath.Base(dir)+" "+b)
			}
		}
	}
	return list
}

// wantWhole checks that the work of an ended round is on its branches, that every home has
// the scratch files of all, and that files which were held back are named and kept.
func (c contest) wantWhole(t *testing.T, r croft.Round) {
	t.Helper()
	if len(r.HeldBack) != len(r.Workspaces) {
		t.Errorf("held back: %+v", r.HeldBack)
	}
	for _, h := range r.HeldBack {
		if got := read(t, filepath.Join(h.Archive, "held.key")); got != fmt.Sprintln(r.Number, h.Agent) {
			t.Errorf("what was held back of %s in round %d: %q", h.Agent, r.Number, got)
		}
	}
	for _, w := range r.Workspaces {
		if w.State != croft.Trashed {
			t.Errorf("%s is %s", w.Agent, w.State)
		}
		if got, err := c.repo.TryGit(w.Repo, "show", w.Head+":by.txt"); err != nil || strings.TrimSpace(got) != fmt.Sprint(r.Number, " ", w.Agent) {
			t.Errorf("the work of %s in round %d: %q, %v", w.Agent, r.Number, got, err)
		}
		if got := read(t, filepath.Join(filepath.Dir(filepath.Dir(w.Path)), ".scratch_archive", w.Label, filepath.Base(w.Path), "notes")); got != fmt.Sprintln(r.Number, w.Agent) {
			t.Errorf("the notes of %s in round %d: %q", w.Agent, r.Number, got)
		}
	}
}

// TestKilledRoundStart: after a kill at any point a round is there as a whole or not at
// all, and the same call makes it.
func TestKilledRoundStart(t *testing.T) {
	starts := func(t *testing.T) (*gittest.Repo, task) {
		c := newContest(t)
		e := engineIn(t, c.repo, 0)
		c.end(t, e, c.play(t, e, 1).ID)
		ask := c.ask(2)
		return c.repo, task{Round: &ask}
	}
	fewPoints(t, starts, func(t *testing.T, r *gittest.Repo, job task, n int) {
		c := contest{repo: r, lib: job.Round.Repos[1]}
		before := c.branches()
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		gc(t, e)
		if _, err := e.GC(t.Context(), croft.GCRequest{Repo: c.lib}); err != nil {
			t.Fatal(err)
		}
		ses, err := e.Session(t.Context(), croft.GetRequest{Ref: croft.Ref(job.Round.Session)})
		if err != nil {
			t.Fatal(err)
		}
		live := len(names(t, e))
		if got := len(ses.Rounds) - 1; live != 2*got {
			t.Errorf("%d rounds, %d workspaces", got, live)
		}
		if live == 0 && fmt.Sprint(c.branches()) != fmt.Sprint(before) {
			t.Errorf("branches %v, want %v", c.branches(), before)
		}
		round, err := e.StartRound(t.Context(), *job.Round)
		if err != nil || len(round.Workspaces) != 4 || len(names(t, e)) != 2 {
			t.Fatalf("again: %+v, %v", round, err)
		}
		if got := c.branches(); len(got) != 8 { // two for each agent and repository: its last result, and its current work
			t.Errorf("branches %v", got)
		}
	})
}

// TestFailedRoundStart has every step fail instead.
func TestFailedRoundStart(t *testing.T) {
	starts := func(t *testing.T) (*gittest.Repo, task) {
		c := newContest(t)
		ask := c.ask(1)
		return c.repo, task{Round: &ask}
	}
	fewPoints(t, starts, func(t *testing.T, r *gittest.Repo, job task, n int) {
		c := contest{repo: r, lib: job.Round.Repos[1]}
		if out, err := run(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=fail=#%d", n))); err == nil || strings.Contains(out, untyped) {
			t.Fatalf("the helper was to fail: %s", out)
		}
		e := engineIn(t, r, 0)
		round, err := e.StartRound(t.Context(), *job.Round)
		if err != nil || len(round.Workspaces) != 4 || len(c.branches()) != 4 {
			t.Fatalf("again: %+v, %v, %v", round, err, c.branches())
		}
	})
}

// TestKilledRoundEnd: the same call ends the round, and no work is lost.
func TestKilledRoundEnd(t *testing.T) {
	ends := func(t *testing.T) (*gittest.Repo, task) {
		c := newContest(t)
		e := engineIn(t, c.repo, 0)
		c.end(t, e, c.play(t, e, 1).ID)
		return c.repo, task{EndRound: c.play(t, e, 2).ID}
	}
	fewPoints(t, ends, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		c, e := contest{repo: r, lib: filepath.Join(filepath.Dir(r.Dir), "lib")}, engineIn(t, r, 0)
		c.wantWhole(t, c.end(t, e, job.EndRound))
		if got := c.branches(); len(got) != 4 { // the branches of round 1 are gone
			t.Errorf("branches %v", got)
		}
		if got := names(t, e); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
	})
}

// TestKilledPresenter: the same call makes one presenter.
func TestKilledPresenter(t *testing.T) {
	presents := func(t *testing.T) (*gittest.Repo, task) {
		c := newContest(t)
		e := engineIn(t, c.repo, 0)
		c.end(t, e, c.play(t, e, 1).ID)
		return c.repo, task{Present: &croft.PresentRequest{Session: croft.ByID(c.ses.ID), Winner: "b"}}
	}
	fewPoints(t, presents, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		fin, err := e.Present(t.Context(), *job.Present)
		if err != nil || fin.Branch != "presenter" || read(t, filepath.Join(fin.Path, "by.txt")) != "1 b\n" {
			t.Fatalf("%+v, %v", fin, err)
		}
		if got := names(t, e); len(got) != 1 {
			t.Errorf("workspaces %v", got)
		}
	})
}

// TestKilledSessionEnd: the same call ends the session. No branch is left, and all work can
// be restored.
func TestKilledSessionEnd(t *testing.T) {
	ends := func(t *testing.T) (*gittest.Repo, task) {
		c := newContest(t)
		e := engineIn(t, c.repo, 0)
		c.end(t, e, c.play(t, e, 1).ID)
		if _, err := e.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(c.ses.ID), Winner: "b"}); err != nil {
			t.Fatal(err)
		}
		c.play(t, e, 2)
		return c.repo, task{EndAll: c.ses.ID}
	}
	fewPoints(t, ends, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		if _, err := e.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(job.EndAll)}); err != nil {
			t.Fatal(err)
		}
		c := contest{repo: r, lib: filepath.Join(filepath.Dir(r.Dir), "lib")}
		if got := c.branches(); len(got) != 0 {
			t.Errorf("branches left: %v", got)
		}
		list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{States: []croft.State{croft.Trashed}})
		if err != nil || len(list.Items) != 5 {
			t.Fatalf("%d in the trash, %v", len(list.Items), err)
		}
		for _, w := range list.Items {
			if w.Round == 0 {
				continue
			}
			if got, err := r.TryGit(r.Dir, "show", w.Head+":by.txt"); err != nil || strings.TrimSpace(got) != fmt.Sprint(w.Round, " ", w.Agent) {
				t.Errorf("the work of %s in round %d: %q, %v", w.Agent, w.Round, got, err)
			}
		}
	})
}

// TestRoundStateLost: without the database everything is known from the second copy: which
// agent took part, and under which label.
func TestRoundStateLost(t *testing.T) {
	c := newContest(t)
	e := engineIn(t, c.repo, 0)
	c.play(t, e, 1)
	before, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil || len(before.Items) != 2 || before.Items[0].Label == "" {
		t.Fatalf("%+v, %v", before, err)
	}
	if err := errors.Join(e.Close(), os.RemoveAll(stateDir(c.repo))); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, c.repo, 0)
	after, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if diff := cmp.Diff(before.Items, after.Items); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, w := range after.Items {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{w.Name}, Mode: croft.RemoveForce})
		if err != nil || len(res.Removed) != 1 {
			t.Errorf("%+v, %v", res, err)
		}
	}
}
