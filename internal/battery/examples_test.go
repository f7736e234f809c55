//go:build unix

package battery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
)

// killer kills a program at random moments: the process alone, so that what it has started
// goes on, or its whole group.
type killer struct {
	*rand.Rand
	most time.Duration // that it lets a program run
}

func (k killer) began(proc *os.Process) {
	target := proc.Pid
	if k.IntN(2) == 0 {
		target = -target
	}
	time.AfterFunc(10*time.Millisecond+time.Duration(k.Int64N(int64(k.most))), func() { _ = syscall.Kill(target, syscall.SIGKILL) })
}

// TestPool kills examples/pool at random moments and runs it again, with more tasks every
// time: each task has one workspace, and its work lands once.
func TestPool(t *testing.T) {
	p := smallProject(t)
	kills, killed := size(10, 50), 0
	k := killer{rand.New(rand.NewPCG(11, uint64(kills))), 400 * time.Millisecond}
	var tasks []string
	start := time.Now()
	pool := func(began func(*os.Process)) result {
		return p.runWith(began, p.dir, filepath.Join(built, "pool"), append([]string{
			"-run", `sleep 0.0$(($$ % 5)) && mkdir -p made && echo $CROFT_WORKSPACE > made/$(basename "$PWD")`,
		}, tasks...)...)
	}
	for killed < kills {
		tasks = append(tasks, fmt.Sprintf("task%d", len(tasks)), fmt.Sprintf("task%d", len(tasks)+1))
		r := pool(k.began)
		switch {
		case r.code > 0 || r.err != nil:
			t.Fatal(r)
		case r.code < 0:
			killed++
		}
		k.most += 10 * time.Millisecond // it looks at all tasks again
	}
	if r := pool(nil); r.code != 0 {
		t.Fatal(r)
	}
	verifyLanded(t, p, tasks)
	report(t, "pool", "examples/pool killed %d times at random and run again, %d tasks: one workspace each, each landed once, %.0f s", killed, len(tasks), time.Since(start).Seconds())
}

// TestLandingService kills examples/landing at random moments and runs it again, while agents
// finish: what each made lands once.
func TestLandingService(t *testing.T) {
	p := smallProject(t)
	e := p.open(t)
	kills := size(10, 50)
	k := killer{rand.New(rand.NewPCG(12, uint64(kills))), 500 * time.Millisecond}
	place := filepath.Join(p.top, "place")
	start := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	type outcome struct {
		tasks []string
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		for ctx.Err() == nil && o.err == nil {
			name := fmt.Sprintf("task%d", len(o.tasks))
			if o.err = finishTask(context.WithoutCancel(ctx), e, name); o.err == nil {
				o.tasks = append(o.tasks, name)
			}
			time.Sleep(60 * time.Millisecond) // an agent takes its time
		}
		done <- o
	}()
	for range kills {
		if r := p.runWith(k.began, p.dir, filepath.Join(built, "landing"), "-place", place); r.code >= 0 || r.err != nil {
			t.Error(r) // it follows until it is killed
			break
		}
	}
	stop()
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	if r := p.run(p.dir, filepath.Join(built, "landing"), "-place", place, "-once"); r.code != 0 {
		t.Fatal(r)
	}
	verifyLanded(t, p, o.tasks)
	if err := os.WriteFile(place, []byte("ANOTHER.1"), 0o600); err != nil { // a cursor of a state that was lost
		t.Fatal(err)
	}
	if r := p.run(p.dir, filepath.Join(built, "landing"), "-place", place, "-once"); r.code != 0 {
		t.Error(r)
	}
	verifyLanded(t, p, o.tasks)
	report(t, "landing", "examples/landing killed %d times at random and run again, %d agents finished meanwhile: each landed once, %.0f s", kills, len(o.tasks), time.Since(start).Seconds())
	if len(o.tasks) < kills/2 {
		t.Errorf("only %d agents finished", len(o.tasks))
	}
}

// finishTask is an agent that makes a file and says that it has ended.
func finishTask(ctx context.Context, e *engine.Engine, name string) error {
	ws, err := e.Create(ctx, croft.CreateRequest{Name: name})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(ws.Path, "made"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(ws.Path, "made", name), []byte(string(ws.ID)+"\n"), 0o600); err != nil {
		return err
	}
	_, err = e.Finish(ctx, croft.FinishRequest{Workspace: string(ws.ID), Policy: croft.MergeNever})
	return err
}

// verifyLanded expects one workspace for each task, and one merge of it in main.
func verifyLanded(t *testing.T, p *project, tasks []string) {
	t.Helper()
	e := p.open(t)
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{
		States: []croft.State{croft.Creating, croft.Ready, croft.Stopped, croft.Broken, croft.Trashed},
	})
	if err != nil {
		t.Fatal(err)
	}
	workspaces := map[string][]croft.ID{}
	for _, w := range list.Items {
		workspaces[w.Name] = append(workspaces[w.Name], w.ID)
	}
	merges, err := e.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll, Page: croft.Page{Limit: 100_000}})
	if err != nil {
		t.Fatal(err)
	}
	landed := map[croft.ID]int{}
	for _, m := range merges.Items {
		if m.Status == croft.MergeMerged {
			landed[m.Workspace]++
		}
	}
	for _, task := range tasks {
		ids := workspaces[task]
		if len(ids) != 1 {
			t.Errorf("%s has %d workspaces", task, len(ids))
			continue
		}
		if landed[ids[0]] != 1 {
			t.Errorf("%s landed %d times", task, landed[ids[0]])
		}
		if got := p.git(p.dir, "show", "main:made/"+task); strings.TrimSpace(got) != string(ids[0]) {
			t.Errorf("main has of %s %q, want %s", task, got, ids[0])
		}
	}
	if len(list.Items) != len(tasks) {
		t.Errorf("%d workspaces for %d tasks", len(list.Items), len(tasks))
	}
	if got := len(lines(p.git(p.dir, "rev-list", "--first-parent", "main"))); got != 1+len(tasks) {
		t.Errorf("main has %d commits, want one for each of %d tasks after the first", got, len(tasks))
	}
	if got := p.git(p.dir, "status", "--porcelain"); got != "" {
		t.Errorf("the checkout shows %s", got)
	}
}
