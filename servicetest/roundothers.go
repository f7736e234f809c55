package servicetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// gathering is a session for which the test records the last work of each agent, and its
// labels.
type gathering struct {
	*fixture
	ses    croft.Session
	agents []string
	newest map[string]croft.Workspace // of each agent, running or ended
	ended  map[string]croft.Workspace // of each agent, the last that ended
	open   map[string]croft.Round
	holder map[string]croft.ID // which agent had a label
}

func newGathering(t *testing.T, f *fixture, agents int) *gathering {
	t.Helper()
	g := &gathering{
		fixture: f, ses: f.session(croft.SessionRequest{}), newest: map[string]croft.Workspace{}, ended: map[string]croft.Workspace{},
		open: map[string]croft.Round{}, holder: map[string]croft.ID{},
	}
	for n := range agents {
		g.agents = append(g.agents, fmt.Sprintf("model%c", 'a'+n))
	}
	return g
}

// start begins a round of some agents, in which each writes a file.
func (g *gathering) start(agents ...string) {
	g.t.Helper()
	r := g.round(croft.RoundRequest{Session: croft.ByID(g.ses.ID), Agents: agents})
	for _, w := range r.Workspaces {
		if had, taken := g.holder[w.Label]; taken {
			g.t.Errorf("the label %s was that of %s before", w.Label, had)
		}
		g.holder[w.Label] = w.ID
		g.newest[w.Agent], g.open[w.Agent] = w, r
		g.writeIn(w, "by.txt", string(w.ID)+"\n")
	}
}

// end ends the round of an agent and of those that started with it.
func (g *gathering) end(agent string) {
	g.t.Helper()
	for _, w := range g.endRound(g.open[agent]).Workspaces {
		g.ended[w.Agent] = w
		delete(g.open, w.Agent)
	}
}

// wantAll checks that the prompt of an agent names the newest branch of every other agent
// that has ever started, and the branch that each has finished last.
func (g *gathering) wantAll(agent string) {
	g.t.Helper()
	p, err := g.Prompt(g.t.Context(), croft.WorkspaceRequest{Ref: string(g.newest[agent].ID)})
	if err != nil {
		g.t.Fatal(err)
	}
	want := map[string]string{}
	for other, w := range g.newest {
		if other != agent {
			want[w.Label] = w.Branch
		}
	}
	if diff := cmp.Diff(want, p.Others); diff != "" {
		g.t.Errorf("%s is not told of all others: %s", agent, diff)
	}
	for _, w := range slices.Concat(slices.Collect(maps.Values(g.newest)), slices.Collect(maps.Values(g.ended))) {
		line := fmt.Sprintf("- %s: `%s`\n", w.Label, w.Branch)
		if isOwn := w.ID == g.newest[agent].ID; strings.Contains(p.Text, line) == isOwn || strings.Contains(p.Restart, line) == isOwn {
			g.t.Errorf("the prompt of %s, about %s of %s:\n%s%s", agent, w.Label, w.Agent, p.Text, p.Restart)
		}
	}
	for other, w := range g.ended {
		if got := g.Git("show", w.Branch+":by.txt"); got != string(w.ID) {
			g.t.Errorf("what %s finished: %q", other, got)
		}
	}
	if got, want := len(g.branches()), len(g.open)+len(g.ended); got != want {
		g.t.Errorf("%d branches, want %d: one of each agent at work, and the last of each that has finished", got, want)
	}
}

// Lockstep: eight agents start and end five rounds together.
func (roundScenarios) Lockstep(t *testing.T, f *fixture) {
	g := newGathering(t, f, 8)
	for range 5 {
		g.start(g.agents...)
		for _, agent := range g.agents {
			g.wantAll(agent)
		}
		g.end(g.agents[0])
	}
}

// Staggered: eight agents start and end five rounds each, independently.
func (roundScenarios) Staggered(t *testing.T, f *fixture) {
	g := newGathering(t, f, 8)
	rnd := rand.New(rand.NewPCG(12, 3))
	left := map[string]int{}
	for _, agent := range g.agents {
		left[agent] = 5
		g.start(agent)
	}
	for len(left) > 0 {
		agent := slices.Sorted(maps.Keys(left))[rnd.IntN(len(left))]
		if _, atWork := g.open[agent]; !atWork {
			g.start(agent)
		}
		g.wantAll(agent)
		g.end(agent)
		for other := range g.open {
			g.wantAll(other)
			break
		}
		if left[agent]--; left[agent] == 0 {
			delete(left, agent)
		} else if rnd.IntN(2) == 0 {
			g.start(agent)
			g.wantAll(agent)
		}
	}
}

// RemovedSeat: a workspace that the user removed with its branch does not count as an
// agent's newest work; the branch of the round before does.
func (roundScenarios) RemovedSeat(t *testing.T, f *fixture) {
	g := newGathering(t, f, 2)
	g.start(g.agents...)
	g.end("modela")
	g.start("modelb")
	must(t, errOf(f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"modelb"}, Mode: croft.RemoveForce})))
	f.endRound(g.open["modelb"])
	delete(g.open, "modelb")
	g.newest["modelb"] = g.ended["modelb"]
	g.start("modela")
	g.wantAll("modela")
}

func (roundScenarios) Labels(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Retention: croft.RetainAll})
	labels := map[string]string{"opus": "red", "codex": "agent7"}
	ask := croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus", "codex", "qwen"}, Labels: labels}
	one := f.round(ask)
	if a, b, c := seatOf(t, one, "opus").Label, seatOf(t, one, "codex").Label, seatOf(t, one, "qwen").Label; a != "red" || b != "agent7" || c != "agent8" {
		t.Errorf("labels %s, %s, %s", a, b, c)
	}
	f.endRound(one)
	two := f.round(ask) // an agent may get the same label again
	p := f.prompt("qwen")
	want := map[string]string{"red": seatOf(t, two, "opus").Branch, "agent7": seatOf(t, two, "codex").Branch}
	if diff := cmp.Diff(want, p.Others); diff != "" {
		t.Error(diff)
	}
	want = map[string]string{"red": seatOf(t, one, "opus").Branch, "agent7": seatOf(t, one, "codex").Branch, "agent8": seatOf(t, one, "qwen").Branch}
	if diff := cmp.Diff(want, p.Earlier); diff != "" {
		t.Error(diff)
	}
	f.endRound(two)
	for _, bad := range []map[string]string{
		{"opus": "agent7"}, {"opus": "AGENT7"}, {"opus": "presenter"}, {"opus": "new", "codex": "new"}, {"nobody": "blue"},
	} {
		wantCode(t, errOf(f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus", "codex"}, Labels: bad})), croft.InvalidRequest)
	}
	_, err := f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}, Labels: map[string]string{"opus": "../x"}})
	wantCode(t, err, croft.InvalidName)
}
