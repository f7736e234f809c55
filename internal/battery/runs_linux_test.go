package battery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// habit is what a hostile little agent does, and how its run has to end. MARK and NUMBER are replaced.
type habit struct {
	name, script string
	how          croft.RunEnd
	status       int
	isStopped    bool // it ends by croft stop only
	intrudes     bool // it makes the branch evil-NUMBER in the project
	killsParent  bool // of its status nobody may know, if the supervisor is killed, too
}

func habits() []habit {
	pause := "sleep 0.$((1+NUMBER%8)); sleep 0.3; "
	daemon := `sh -c 'while true; do sleep 0.2; done' MARK`
	return []habit{
		{name: "edits", script: pause + "echo NUMBER >edited.txt", how: croft.RunDone},
		{name: "commits", script: "echo NUMBER >own.txt; git add own.txt; git commit -qm own; " + pause, how: croft.RunDone},
		{name: "breaks", script: pause + "echo half >half.txt; exit 3", how: croft.RunFailed, status: 3},
		{name: "hangs", script: "echo NUMBER >hung.txt; trap '' TERM INT HUP; while true; do sleep 0.2; done", how: croft.RunKilled, isStopped: true},
		{name: "forks", script: daemon + " & setsid " + daemon + " & (cd /; setsid env -i PATH=$PATH " + daemon + " &) ; " + pause + "sleep 1.2", how: croft.RunDone},
		{name: "leaves", script: "cd /; " + pause + "cd $CROFT_REPO/..; exit 7", how: croft.RunFailed, status: 7},
		{name: "intrudes", script: "git -C $CROFT_REPO branch evil-NUMBER; " + pause, how: croft.RunDone, intrudes: true},
		{name: "kills", script: pause + daemon + " & kill -9 $PPID; sleep 30", how: croft.RunKilled, killsParent: true},
	}
}

// TestRuns runs hostile little agents, many at a time, while their supervisors are killed. Every run
// ends as its agent did, nothing is left of any, what changed outside is reported, and every lease
// was taken and released once.
func TestRuns(t *testing.T) {
	p := newProjectIn(t, t.TempDir())
	p.plant()
	runs, atOnce, kills := size(24, 200), size(8, 20), size(6, 50)
	rnd := rand.New(rand.NewPCG(17, 1))
	// A supervisor that has ended, or has not begun, cannot be killed: more are tried.
	isKilled := map[int]bool{}
	for _, i := range rnd.Perm(runs)[:runs*3/4] {
		isKilled[i] = true
	}
	var budget atomic.Int64
	budget.Store(int64(kills))
	var killed, lost atomic.Int64
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range runs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			a := &hostileRun{project: p, habit: habits()[i%len(habits())], n: i, name: fmt.Sprintf("agent-%d", i), isKilled: isKilled[i], budget: &budget}
			a.run()
			killed.Add(int64(a.kills))
			lost.Add(int64(a.lost))
		})
	}
	all.Wait()
	left := p.marked()
	if len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	p.endMarked(left)
	if own := p.processesWith("--settle="); len(own) > 0 {
		t.Errorf("processes of Croft's are left: %v", own)
		p.endMarked(own)
	}
	p.requireLeases(runs)
	report(t, "runs", "%d runs of hostile agents, %d at a time, %d supervisors killed: every end as it was (%d whose status nobody could know), %d processes left, every intrusion reported, every lease taken and released once",
		runs, atOnce, killed.Load(), lost.Load(), len(left))
}

// mark is in the arguments of every process that an agent leaves behind.
func (p *project) mark() string { return filepath.Join(p.top, "left-behind") }

// marked returns the processes that agents have left behind.
func (p *project) marked() []string { return p.processesWith(p.mark()) }

// processesWith returns the processes of the project with a word in their arguments that do not end within a while.
func (p *project) processesWith(word string) (left []string) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = nil
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), word) && strings.Contains(string(text), p.top) {
				left = append(left, filepath.Base(filepath.Dir(file))+": "+strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// endMarked ends processes that agents have left behind.
func (p *project) endMarked(left []string) {
	for _, process := range left {
		number, _, _ := strings.Cut(process, ":")
		if pid, err := strconv.Atoi(number); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// requireLeases requires that each workspace had one lease, which was released.
func (p *project) requireLeases(runs int) {
	p.t.Helper()
	r := p.run(p.dir, "croft", "events", "--json", "--kinds", croft.EventLeaseTaken+","+croft.EventLeaseReleased)
	taken, released := map[croft.ID]int{}, map[croft.ID]int{}
	for _, line := range lines(strings.TrimSpace(r.stdout)) {
		var e struct {
			Event croft.Event `json:"event"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		if e.Event.Kind == croft.EventLeaseTaken {
			taken[e.Event.Workspace]++
		} else {
			released[e.Event.Workspace]++
		}
	}
	for id, n := range taken {
		if n != 1 || released[id] != 1 {
			p.t.Errorf("the workspace %s had %d leases, and %d were released", id, n, released[id])
		}
	}
	if len(taken) != runs {
		p.t.Errorf("%d of %d workspaces had a lease", len(taken), runs)
	}
}

// hostileRun is one run.
type hostileRun struct {
	*project
	habit
	n           int
	name        string
	isKilled    bool
	budget      *atomic.Int64 // supervisors that are still to be killed
	kills, lost int
}

func (a *hostileRun) run() {
	script := strings.NewReplacer("MARK", a.mark(), "NUMBER", strconv.Itoa(a.n)).Replace(a.script)
	if r := a.croft("run", "--detach", a.name, "--", "sh", "-c", script); r.code != 0 || r.err != nil {
		a.t.Errorf("%s: %v", a.habit.name, r)
		return
	}
	if a.isKilled {
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		if w := a.show(); w.Run.State == croft.RunRunning && w.Run.Supervisor.PID > 1 && a.budget.Add(-1) >= 0 && syscall.Kill(w.Run.Supervisor.PID, syscall.SIGKILL) == nil {
			a.kills++
		}
	}
	if a.isStopped {
		time.Sleep(300 * time.Millisecond)
		if r := a.croft("stop", "--grace", "300ms", a.name); r.code != 0 {
			a.t.Errorf("stop: %v", r)
		}
	}
	a.await()
}

// await waits for the end of the run, and compares it with what the agent does.
func (a *hostileRun) await() {
	var w croft.Workspace
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		w = a.show()
		if isOver := w.Run.State == croft.RunEnded && !w.Run.EndedAt.IsZero() && (w.Finished != nil || w.Run.How == croft.RunLost); isOver {
			break
		}
		if w.Run.State == croft.RunEnded && w.Run.EndedAt.IsZero() && a.kills > 0 && a.killsParent {
			if r := a.croft("stop", a.name); r.code != 0 { // nobody is there to settle it
				a.t.Errorf("stop: %v", r)
			}
		}
		if time.Now().After(deadline) {
			a.t.Errorf("%s (%s, killed %d times) does not end: %+v, finished %+v", a.name, a.habit.name, a.kills, w.Run, w.Finished)
			return
		}
	}
	how := a.how
	if a.killsParent && a.kills > 0 && (w.Run.How == croft.RunLost || w.Run.How == croft.RunKilled) {
		how = w.Run.How
		a.lost++
	}
	if w.Run.How != how || a.status != 0 && w.Run.Status != a.status {
		a.t.Errorf("%s (%s, killed %d times): ended %s with %d, want %s with %d", a.name, a.habit.name, a.kills, w.Run.How, w.Run.Status, how, a.status)
	}
	want, _ := how.Outcome()
	if how != croft.RunLost && (w.Finished == nil || w.Finished.Outcome != want) {
		a.t.Errorf("%s (%s, killed %d times): finished %+v, want %s", a.name, a.habit.name, a.kills, w.Finished, want)
	}
	if w.Lease != nil {
		a.t.Errorf("%s (%s): it has a lease: %+v", a.name, a.habit.name, w.Lease)
	}
	isReported := slices.ContainsFunc(w.Run.Intrusions, func(i croft.Intrusion) bool { return i.Name == "refs/heads/evil-"+strconv.Itoa(a.n) })
	if a.intrudes && !isReported {
		a.t.Errorf("%s: its branch is not reported: %+v", a.name, w.Run.Intrusions)
	}
}

func (a *hostileRun) show() croft.Workspace {
	r := a.croft("show", a.name)
	var got struct {
		Workspace croft.Workspace `json:"workspace"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got.Workspace.Run == nil {
		a.t.Errorf("show %s: %v, %v", a.name, err, r)
		return croft.Workspace{Run: &croft.Run{}}
	}
	return got.Workspace
}
