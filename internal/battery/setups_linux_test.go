package battery

import (
	"bytes"
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

// The steps count their runs outside of the workspace: one is quick, one leaves a process behind, one fails in the first
// and every third run after it.
const setupSteps = `
[[provision.step]]
name = "quick"
run = "echo x >>$CROFT_REPO/../ran/$CROFT_WORKSPACE.quick"

[[provision.step]]
name = "forks"
run = "echo x >>$CROFT_REPO/../ran/$CROFT_WORKSPACE.forks; sleep 600 & sleep 0.3"

[[provision.step]]
name = "flaky"
run = "echo x >>$CROFT_REPO/../ran/$CROFT_WORKSPACE.flaky; test $(($(wc -l <$CROFT_REPO/../ran/$CROFT_WORKSPACE.flaky) % 3)) -ne 1"

[[provision.probe]]
inside = "pwd"
`

const userSecrets = "TOKEN=the user's\n"

// TestSetups runs random histories of creations, set-ups, removals, restorations and upkeep, many of them killed, some two at
// a time. After each act no process of it is left, no step that had succeeded has run again, neither the user's .env nor the
// agent's is changed, and the next command works.
func TestSetups(t *testing.T) {
	const most = 200
	begun := time.Now()
	var histories, acts, kills atomic.Int64
	t.Run("histories", func(t *testing.T) {
		for worker := range 2 {
			t.Run(strconv.Itoa(worker), func(t *testing.T) {
				t.Parallel()
				for seed := worker; seed < most && (isLong() || time.Since(begun) < 15*time.Second); seed += 2 {
					h := newSetupHistory(t, uint64(seed))
					h.run()
					if t.Failed() {
						t.Fatalf("seed %d:\n%s", seed, strings.Join(h.log, "\n"))
					}
					histories.Add(1)
					acts.Add(int64(len(h.log)))
					kills.Add(int64(h.kills))
				}
			})
		}
	})
	report(t, "set-ups", "%d histories of %d acts, %d of which were killed: no process left, nothing that had succeeded done twice, .env unchanged, the next command worked",
		histories.Load(), acts.Load(), kills.Load())
}

// setupHistory is one history, with what has to hold after each act.
type setupHistory struct {
	*project
	rnd   *rand.Rand
	log   []string
	kills int
	names []string

	isUnsettled bool // the last act was killed: the next command finishes it before it begins

	done  map[string]int      // how often a step had run when it was seen to be done, by workspace and step
	edits map[croft.ID]string // the .env of workspaces whose agents have edited it
}

func newSetupHistory(t *testing.T, seed uint64) *setupHistory {
	t.Helper()
	p := newProjectIn(t, t.TempDir())
	p.plant()
	p.write("croft.toml", setupSteps)
	p.write(".gitignore", ".env\n")
	p.write(".worktreeinclude", ".env\n")
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "--message", "settings")
	p.write(".env", userSecrets)
	mustDo(t, os.Mkdir(filepath.Join(p.work(), "ran"), 0o755))
	var shown struct {
		Trust struct {
			Hash string `json:"hash"`
		} `json:"trust"`
	}
	r := p.run(p.dir, "croft", "config", "trust", "--setup", "--dry-run", "--json")
	mustDo(t, json.Unmarshal([]byte(r.stdout), &shown))
	plain := p.env
	p.env = append(slices.Clip(plain), "CROFT_TRUST="+shown.Trust.Hash)
	if r := p.run(p.dir, "croft", "config", "trust", "--setup"); r.code != 0 {
		t.Fatal(r)
	}
	p.env = plain
	return &setupHistory{
		project: p, rnd: rand.New(rand.NewPCG(16, seed)), names: []string{"a", "b"},
		done: map[string]int{}, edits: map[croft.ID]string{},
	}
}

// run makes a history, and then has everything done that was interrupted.
func (h *setupHistory) run() {
	h.t.Helper()
	for range 6 + h.rnd.IntN(5) {
		first, second := h.choose(), h.choose()
		if h.rnd.IntN(4) == 0 {
			h.both(first, second)
		} else {
			h.alone(first)
		}
		h.check()
		if h.t.Failed() {
			return
		}
	}
	h.finish()
}

// act is a command with the time after which it is killed; 0: it is not.
type act struct {
	args []string
	kill time.Duration
}

// choose returns an act that fits what there is.
func (h *setupHistory) choose() act {
	h.t.Helper()
	name := h.names[h.rnd.IntN(len(h.names))]
	live := h.live()
	isLive := slices.ContainsFunc(live, func(w croft.Workspace) bool { return w.Name == name })
	var args []string
	limit := 120 * time.Millisecond
	switch pick := h.rnd.IntN(6); {
	case pick == 0:
		args = []string{"gc"}
	case !isLive && h.isTrashed(name) && pick < 5:
		args = []string{"restore", name}
	case !isLive:
		args, limit = []string{"new", name}, 900*time.Millisecond
	case pick < 4:
		args, limit = []string{"provision", name}, 600*time.Millisecond
	default:
		args = []string{"remove", "--force", "--missing-ok", name}
	}
	a := act{args: args}
	if h.rnd.IntN(3) > 0 {
		a.kill = 1 + time.Duration(h.rnd.Int64N(int64(limit)))
	}
	return a
}

// do runs an act, and returns what became of it. It is for several goroutines at a time.
func (h *setupHistory) do(a act) result {
	if a.kill > 0 {
		return h.signalled(syscall.SIGKILL, a.kill, a.args)
	}
	return h.croft(a.args...)
}

func (h *setupHistory) note(a act, r result) {
	if h.isUnsettled = r.code == -1; h.isUnsettled {
		h.kills++
	}
	h.log = append(h.log, fmt.Sprintf("%v kill %v: exit %d %v %s", a.args, a.kill, r.code, r.err, lastLine(r.stderr)))
}

func lastLine(text string) string {
	all := lines(strings.TrimSpace(text))
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// alone runs an act beside which nothing else runs: if it is not killed it must work. After a killed act
// the workspace may be there or be gone once that is finished, which is told by a code.
func (h *setupHistory) alone(a act) {
	h.t.Helper()
	wasUnsettled := h.isUnsettled
	r := h.do(a)
	h.note(a, r)
	isUnready := a.args[0] == "provision" && r.code == 1 && strings.Contains(r.stdout, `"state":"failed"`)
	if r.err == nil && (r.code == 0 || isUnready || r.code == -1 && a.kill > 0) {
		return
	}
	settled := []croft.Code{croft.WorktreeExists, croft.WorktreeNotFound}
	if r.err != nil || !wasUnsettled || !slices.Contains(settled, croft.Code(h.answer(r).code())) {
		h.t.Errorf("%v: %v", a.args, r)
	}
}

// both runs two acts at once. One may be refused because of the other.
func (h *setupHistory) both(acts ...act) {
	h.t.Helper()
	results := make([]result, len(acts))
	wasKilled := false
	var wait sync.WaitGroup
	for i, a := range acts {
		wait.Go(func() { results[i] = h.do(a) })
	}
	wait.Wait()
	allowed := []croft.Code{croft.WorkspaceBusy, croft.WorktreeExists, croft.WorktreeNotFound, croft.BranchExists}
	defer func() { h.isUnsettled = wasKilled }()
	for i, r := range results {
		h.note(acts[i], r)
		wasKilled = wasKilled || h.isUnsettled
		isUnready := acts[i].args[0] == "provision" && r.code == 1 && strings.Contains(r.stdout, `"state":`)
		if r.code == 0 || isUnready || r.code == -1 && acts[i].kill > 0 && r.err == nil {
			continue
		}
		got := h.answer(r)
		code := got.code()
		if len(got.Kept) > 0 { // a removal names what it left
			code = string(got.Kept[0].Reason.Code)
		}
		if r.err != nil || !slices.Contains(allowed, croft.Code(code)) {
			h.t.Errorf("%v beside %v: %v", acts[i].args, acts[1-i].args, r)
		}
	}
}

// live returns the workspaces that there are.
func (h *setupHistory) live() []croft.Workspace {
	h.t.Helper()
	var list struct {
		Workspaces []croft.Workspace `json:"workspaces"`
	}
	r := h.croft("list")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || r.code != 0 {
		h.t.Fatalf("%v: %v\n%s", err, r, strings.Join(h.log, "\n"))
	}
	return list.Workspaces
}

func (h *setupHistory) isTrashed(name string) bool {
	h.t.Helper()
	var list struct {
		Trash []croft.Workspace `json:"trash"`
	}
	r := h.croft("trash")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || r.code != 0 {
		h.t.Fatalf("%v: %v", err, r)
	}
	return slices.ContainsFunc(list.Trash, func(w croft.Workspace) bool { return w.Name == name })
}

// check requires what holds after each act.
func (h *setupHistory) check() {
	h.t.Helper()
	h.requireNoProcess()
	if text, err := os.ReadFile(filepath.Join(h.dir, ".env")); err != nil || string(text) != userSecrets {
		h.t.Errorf("the user's .env is %q, %v", text, err)
	}
	if changes := h.git(h.dir, "status", "--porcelain"); changes != "" {
		h.t.Errorf("the main checkout has changes: %s", changes)
	}
	for _, w := range h.live() {
		if w.State == croft.Ready { // not one whose creation was killed
			h.checkSteps(w)
			h.checkSecrets(w)
		}
	}
}

// checkSteps requires that a step which was done before has not run since.
func (h *setupHistory) checkSteps(w croft.Workspace) {
	h.t.Helper()
	if w.Provision == nil {
		h.t.Errorf("%s has no steps", w.Name)
		return
	}
	for _, step := range w.Provision.Steps {
		if strings.HasPrefix(step.Name, "probe-") {
			continue
		}
		key := string(w.ID) + "." + step.Name
		text, _ := os.ReadFile(filepath.Join(h.work(), "ran", key))
		ran := bytes.Count(text, []byte("\n"))
		was, wasDone := h.done[key]
		if wasDone && (ran != was || step.State != croft.StepDone) {
			h.t.Errorf("%s of %s was done after %d runs, now it is %s after %d", step.Name, w.Name, was, step.State, ran)
		}
		if step.State == croft.StepDone {
			h.done[key] = ran
			if ran == 0 {
				h.t.Errorf("%s of %s is done and has not run", step.Name, w.Name)
			}
		}
	}
}

// checkSecrets requires that the .env of a workspace is a copy of the user's, or what its agent has made of it, and has the
// agent edit it at times.
func (h *setupHistory) checkSecrets(w croft.Workspace) {
	h.t.Helper()
	file := filepath.Join(w.Path, ".env")
	want, isEdited := h.edits[w.ID]
	if !isEdited {
		want = userSecrets
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != want {
		h.t.Errorf("the .env of %s is %q instead of %q, %v", w.Name, text, want, err)
	}
	if h.rnd.IntN(4) == 0 {
		h.edits[w.ID] = fmt.Sprintf("TOKEN=%d\n", h.rnd.Int())
		mustDo(h.t, writeFile(file, h.edits[w.ID]))
	}
}

// requireNoProcess requires that no process with the project's state in its environment is left.
func (h *setupHistory) requireNoProcess() {
	h.t.Helper()
	mark := []byte("CROFT_STATE_DIR=" + h.state() + "\x00")
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		left := processesWith(mark)
		if len(left) == 0 {
			return
		}
		if time.Since(begun) > 10*time.Second {
			h.t.Errorf("processes left: %v", left)
			return
		}
	}
}

// processesWith returns the processes that have a text in their environment.
func processesWith(mark []byte) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range all {
		if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, mark) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(file)), command))
		}
	}
	return found
}

// finish has every workspace set up, removed and brought back, by commands that are not killed.
func (h *setupHistory) finish() {
	h.t.Helper()
	h.alone(act{args: []string{"gc"}}) // it finishes what was killed
	for _, name := range h.names {
		if !slices.ContainsFunc(h.live(), func(w croft.Workspace) bool { return w.Name == name }) {
			h.alone(act{args: []string{"new", name}})
		}
		for range 3 { // the step that fails at times does not do so twice in a row
			h.alone(act{args: []string{"provision", name}})
		}
		h.alone(act{args: []string{"remove", "--force", "--missing-ok", name}})
		h.alone(act{args: []string{"restore", name}})
	}
	h.check()
	for _, w := range h.live() {
		if w.Provision == nil || w.Provision.State != croft.ProvisionReady {
			h.t.Errorf("%s is not set up: %+v", w.Name, w.Provision)
		}
	}
	if r := h.croft("doctor"); r.code != 0 {
		h.t.Errorf("croft doctor: %v", r)
	}
}
