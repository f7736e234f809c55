//go:build unix

package battery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
)

// player is an agent of a tournament: it writes, and then records in a log what it wrote
// and what must not be lost any more.
const player = `mkdir -p "made" && echo "$CROFT_WORKSPACE" > "made/$CROFT_WORKSPACE" &&
echo "$CROFT_WORKSPACE" > .croft_scratch/notes && sync . && echo "$CROFT_WORKSPACE" >> "$PLAYED"`

// tournament is a run of examples/tournament, and another user's session on the same
// repositories.
type tournament struct {
	*project
	repos  []string
	agents []string
	rounds int
	other  string // the ID of that session
	seats  []croft.Workspace
}

// TestTournament plays examples/tournament, kills it at random moments and runs
// it again: no work is lost, no branch is left, the archives are complete, and
// the other session is as it was.
func TestTournament(t *testing.T) {
	g := newTournament(t, size(3, 8), size(2, 5), size(2, 3))
	kills, killed := size(6, 50), 0
	rnd := rand.New(rand.NewPCG(5, uint64(kills)))
	start := time.Now()
	for {
		wait := time.Duration(20+rnd.IntN(size(300, 200+220*(killed%4)))) * time.Millisecond
		r := g.runWith(func(proc *os.Process) {
			if killed < kills {
				time.AfterFunc(wait, func() { _ = syscall.Kill(-proc.Pid, syscall.SIGKILL) })
			}
		}, g.work(), filepath.Join(built, "tournament"), append([]string{
			"-key", "cup", "-rounds", fmt.Sprint(g.rounds), "-agents", strings.Join(g.agents, ","), "-run", player, "-judge", "tail -n 1",
		}, g.repos...)...)
		if r.code > 0 || r.err != nil {
			t.Fatal(r)
		}
		if r.code == 0 { // perhaps before it could be killed as often
			break
		}
		killed++
	}
	played := g.verify(t)
	report(t, "tournament", "%d agents × %d rounds × %d repositories, killed %d times at random and run again: %d pieces of work, 0 lost, 0 branches left, archives complete, another session untouched, %.0f s",
		len(g.agents), g.rounds, len(g.repos), killed, played, time.Since(start).Seconds())
	if killed < kills/3 {
		t.Errorf("killed only %d times", killed)
	}
}

func newTournament(t *testing.T, agents, rounds, repos int) *tournament {
	t.Helper()
	g := &tournament{project: smallProject(t), rounds: rounds}
	g.env = append(g.env, "PLAYED="+filepath.Join(g.top, "played"))
	g.repos = []string{g.dir}
	for i := 1; i < repos; i++ {
		dir := filepath.Join(g.work(), fmt.Sprintf("repo%d", i))
		g.git(g.work(), "clone", "--quiet", g.dir, dir)
		g.repos = append(g.repos, dir)
	}
	for i := range agents {
		g.agents = append(g.agents, fmt.Sprintf("player%d", i))
	}
	e := g.engine(t)
	ses, err := e.StartSession(t.Context(), croft.SessionRequest{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"bystander"}, Repos: g.repos})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Workspaces {
		if err := writeFile(filepath.Join(w.Path, "mine.txt"), "mine\n"); err != nil {
			t.Fatal(err)
		}
	}
	g.seats, g.other = r.Workspaces, string(ses.ID)
	return g
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func (g *tournament) engine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), g.dir, &engine.Options{Environ: g.environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// verify checks what is left after a tournament, and returns how many pieces of work the
// agents have recorded.
func (g *tournament) verify(t *testing.T) int {
	t.Helper()
	e := g.engine(t)
	played := map[string]bool{}
	log := strings.Fields(read(t, filepath.Join(g.top, "played")))
	for _, id := range log {
		played[id] = true
	}
	seats := map[string]bool{}
	var labels []string
	for _, repo := range g.repos {
		list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Repo: repo, States: []croft.State{croft.Trashed}})
		if err != nil {
			t.Fatal(err)
		}
		presenters := 0
		for _, w := range list.Items {
			if w.Round == 0 {
				presenters++
			} else {
				seats[fmt.Sprint(repo, w.Round, w.Agent)] = true
				labels = append(labels, fmt.Sprint(w.Round, w.Label))
			}
			if !played[string(w.ID)] {
				continue
			}
			at := w.Head
			if w.Round == 0 { // the presenter's work was applied
				at = "main"
			}
			if r := g.run(repo, "git", "show", at+":made/"+string(w.ID)); r.stdout != string(w.ID)+"\n" {
				t.Errorf("the work of %s in round %d: %v", w.Agent, w.Round, r)
			}
			delete(played, string(w.ID))
		}
		if presenters != 1 {
			t.Errorf("%s: %d workspaces were made for the result", repo, presenters)
		}
		g.verifyRepo(t, repo)
	}
	for id := range played {
		t.Errorf("the work of %s is lost", id)
	}
	if want := len(g.agents) * g.rounds * len(g.repos); len(seats) != want {
		t.Errorf("%d seats were taken, want %d", len(seats), want)
	}
	g.verifyArchives(t, e, labels)
	g.verifyOther(t, e)
	return len(log)
}

// verifyRepo checks for what a session must not leave.
func (g *tournament) verifyRepo(t *testing.T, repo string) {
	t.Helper()
	mine := map[string]bool{"main": true}
	for _, w := range g.seats {
		mine[w.Branch] = true
	}
	for _, b := range lines(g.git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads")) {
		if !mine[b] {
			t.Errorf("%s: branch %s is left", repo, b)
		}
	}
	if got := g.git(repo, "status", "--porcelain"); got != "" {
		t.Errorf("%s: the checkout shows %s", repo, got)
	}
	if n := len(lines(g.git(repo, "worktree", "list", "--porcelain"))); n == 0 || strings.Count(g.git(repo, "worktree", "list"), "\n") > 1 {
		t.Errorf("%s: worktrees\n%s", repo, g.git(repo, "worktree", "list"))
	}
	if r := g.run(repo, "git", "fsck", "--no-dangling"); r.code != 0 {
		t.Errorf("%s: %v", repo, r)
	}
	if got := lines(g.git(repo, "log", "--format=%s")); len(got) != 2 || !strings.HasPrefix(got[0], "Apply presenter") {
		t.Errorf("%s: the commits are %q, want the first and that of the presenter", repo, got)
	}
}

// verifyArchives expects the notes of every seat in every home.
func (g *tournament) verifyArchives(t *testing.T, e *engine.Engine, labels []string) {
	t.Helper()
	list, err := e.Sessions(t.Context(), croft.SessionsRequest{States: []croft.SessionState{croft.SessionEnded}})
	if err != nil || len(list.Items) != 1 || len(list.Items[0].Agents) != len(g.agents) {
		t.Fatalf("%+v, %v", list, err)
	}
	slices.Sort(labels)
	want := len(slices.Compact(labels)) * len(g.repos)
	for _, a := range list.Items[0].Agents {
		found, err := filepath.Glob(filepath.Join(a.Home, ".scratch_archive", "*", "*", "notes"))
		if err != nil || len(found) != want {
			t.Errorf("%s finds %d notes, want %d, %v", a.Name, len(found), want, err)
		}
		left, err := filepath.Glob(filepath.Join(a.Home, ".worktree", "*"))
		if err != nil || len(left) != 0 {
			t.Errorf("%s: checkouts left: %v, %v", a.Name, left, err)
		}
	}
}

// verifyOther expects the other session unchanged.
func (g *tournament) verifyOther(t *testing.T, e *engine.Engine) {
	t.Helper()
	ses, err := e.Session(t.Context(), croft.GetRequest{Ref: croft.Ref(croft.ID(g.other))})
	if err != nil || ses.State != croft.SessionOpen {
		t.Fatalf("%+v, %v", ses, err)
	}
	for _, was := range g.seats {
		now, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Repo: was.Repo, Ref: string(was.ID)})
		if err != nil {
			t.Error(err)
			continue
		}
		a, _ := json.Marshal(was)
		b, _ := json.Marshal(*now)
		if string(a) != string(b) || read(t, filepath.Join(now.Path, "mine.txt")) != "mine\n" {
			t.Errorf("the other session's workspace is\n%s\nit was\n%s", b, a)
		}
	}
}
