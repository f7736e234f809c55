//go:build linux

package sandboxtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// readings are the commands that only read, with the workspace W.
var readings = []string{
	"list", "list --all", "list --json", "list --full", "show W", "show W --json", "path W", "diff W", "diff W --json", "conflicts", "conflicts --json",
	"history", "trash", "queue", "queue --json", "repos", "session list", "snapshot --list", "config", "config schema", "doctor", "doctor --json",
	"logs W", "schema", "version", "shell-init bash", "completion bash", "help",
}

// writings are commands that must write.
var writings = []string{
	"new other", "save W", "finish W", "merge W", "snapshot W", "remove W", "remove --force W", "discard W --yes", "lock W", "meta W a=b", "hold W", "restore W", "gc", "reap --yes",
	"clean --yes", "queue run", "session start s", "apply W --all", "merge --resolve W", "doctor --fix", "queue hold",
}

func words(line, workspace string) []string {
	list := strings.Fields(line)
	for i, word := range list {
		if word == "W" {
			list[i] = workspace
		}
	}
	return list
}

// source is what a command inside has answered from.
func source(t *testing.T, r result) croft.ReadOnlyState {
	t.Helper()
	var answer struct{ ReadOnly croft.ReadOnlyState }
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
		t.Fatalf("%v: %q %q", err, r.stdout, r.stderr)
	}
	return answer.ReadOnly
}

// eachSandbox runs a test in each sandbox for a workspace of each mode.
func eachSandbox(t *testing.T, f func(t *testing.T, h host, s Sandbox, workspace string)) {
	eachHost(t, func(t *testing.T, h host) {
		h.outside(t, "snapshot", "w")
		for _, kind := range h.kinds {
			for _, workspace := range []string{"w", "iso"} {
				t.Run(string(kind)+"/"+workspace, func(t *testing.T) { f(t, h, h.sandbox(kind, workspace), workspace) })
			}
		}
	})
}

// eachStrictest runs a test for the workspace w in the sandbox that is made here in which least can be written and, if
// long tests are asked for, in each of the agents' own.
func eachStrictest(t *testing.T, f func(t *testing.T, h host, s Sandbox)) {
	t.Run("made", func(t *testing.T) {
		h := newHost(t)
		f(t, h, h.sandbox(Codex, "w"))
	})
	for _, kind := range RealKinds() {
		t.Run("real/"+string(kind), func(t *testing.T) {
			h := newRealHost(t)
			f(t, h, h.sandbox(kind, "w"))
		})
	}
}

// TestReads: in every sandbox every command that only reads answers, from the live state, and
// changes no file.
func TestReads(t *testing.T) {
	eachSandbox(t, func(t *testing.T, h host, s Sandbox, workspace string) {
		before := h.files(t)
		for _, line := range readings {
			r := h.inside(t, s, words(line, workspace)...)
			if r.exit != croft.ExitOK && !strings.HasPrefix(line, "logs") { // there is no log
				t.Errorf("%s: exit %d\n%s%s", line, r.exit, r.stdout, r.stderr)
			}
			if n := strings.Count(r.stderr, "read-only: "); n > 1 {
				t.Errorf("%s says %d times that it only reads:\n%s", line, n, r.stderr)
			}
		}
		h.wantUnchanged(t, before, "reading")
		r := h.inside(t, s, "list", "--json")
		if how := source(t, r); how != (croft.ReadOnlyState{Source: croft.ReadLive, Verified: true}) {
			t.Errorf("list answered from %+v", how)
		}
		if strings.Count(r.stderr, "read-only: answered from the state as it is; nothing was recorded") != 1 {
			t.Errorf("list says %q", r.stderr)
		}
		r = h.inside(t, s, "diff", workspace)
		if !strings.Contains(r.stdout, "+changed in "+workspace) || !strings.Contains(r.stdout, "new.txt") {
			t.Errorf("the diff is\n%s", r.stdout)
		}
	})
}

// TestWritesAreRefused: a command that must write ends at once with READ_ONLY, says where it can
// be run, and changes no file.
func TestWritesAreRefused(t *testing.T) {
	eachSandbox(t, func(t *testing.T, h host, s Sandbox, workspace string) {
		before := h.files(t)
		for _, line := range writings {
			r := h.inside(t, s, append(words(line, workspace), "--json")...)
			var answer struct{ Error croft.Error }
			if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
				t.Errorf("%s: %v: %q %q", line, err, r.stdout, r.stderr)
				continue
			}
			if answer.Error.Code != croft.ReadOnly || r.exit != croft.ExitEnvironment {
				t.Errorf("%s: exit %d, %+v", line, r.exit, answer.Error)
			}
			if want := "cd " + s.Dir + " && croft " + strings.Join(words(line, workspace), " "); !strings.Contains(answer.Error.Hint, want) {
				t.Errorf("%s: the hint is %q", line, answer.Error.Hint)
			}
		}
		if workspace == "w" { // the files to be mounted have not been made yet
			if r := h.inside(t, s, "mounts", "w", "--json"); !strings.Contains(r.stdout, string(croft.ReadOnly)) {
				t.Errorf("mounts: exit %d\n%s", r.exit, r.stdout)
			}
		}
		h.wantUnchanged(t, before, "a refused command")
	})
}

// refusalTime is how long a refused command may take, beside what the sandbox takes.
const refusalTime = 100 * time.Millisecond

// TestRefusalIsFast compares a refused command with a program that does nothing, in turn.
func TestRefusalIsFast(t *testing.T) {
	eachStrictest(t, wantFastRefusal)
}

func wantFastRefusal(t *testing.T, h host, s Sandbox) {
	best, nothing := time.Hour, time.Hour
	for range 7 {
		begun := time.Now()
		if err := s.Command(t.Context(), t, "true").Run(); err != nil {
			t.Fatal(err)
		}
		nothing = min(nothing, time.Since(begun))
		begun = time.Now()
		h.inside(t, s, "finish", "w")
		best = min(best, time.Since(begun))
	}
	t.Logf("a refusal took %v, nothing at all %v", best, nothing)
	if best-nothing > refusalTime {
		t.Errorf("a refusal takes %v, nothing at all %v", best, nothing)
	}
}

// TestReadsBesideWriter reads in a sandbox while a process outside makes workspaces and removes
// them: every reading succeeds, and has what was written before it began.
func TestReadsBesideWriter(t *testing.T) {
	eachStrictest(t, readBesideWriter)
}

func readBesideWriter(t *testing.T, h host, s Sandbox) {
	made := make(chan string)
	done := make(chan struct{})
	go func() {
		defer close(made)
		for n := 0; ; n++ {
			name := fmt.Sprintf("n%d", n)
			err := h.tryOutside(t.Context(), "new", name)
			if err == nil && n > 2 {
				err = h.tryOutside(t.Context(), "remove", "--force", fmt.Sprintf("n%d", n-3))
			}
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case made <- name:
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	last := ""
	for n := range 200 {
		select {
		case last = <-made:
		default:
		}
		r := h.inside(t, s, "list", "--json")
		var answer struct {
			Workspaces []struct{ Name string }
			ReadOnly   croft.ReadOnlyState
		}
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.exit != croft.ExitOK {
			t.Errorf("reading %d: exit %d, %v\n%s", n, r.exit, err, r.stderr)
			break
		}
		newest := 0
		for _, w := range answer.Workspaces {
			var is int
			if _, err := fmt.Sscanf(w.Name, "n%d", &is); err == nil {
				newest = max(newest, is)
			}
		}
		var want int
		_, _ = fmt.Sscanf(last, "n%d", &want)
		if newest < want {
			t.Errorf("reading %d has n%d as the newest workspace, and %s was made before", n, newest, last)
		}
	}
	close(done)
	for range made {
		continue // until the writer has ended
	}
}

// TestHiddenState: where the state cannot be seen, commands answer from what git knows, and say
// so; what git does not know is no empty answer.
func TestHiddenState(t *testing.T) {
	eachHost(t, func(t *testing.T, h host) {
		for _, kind := range h.kinds {
			t.Run(string(kind), func(t *testing.T) { readWithoutState(t, h, h.sandbox(kind, "w")) })
		}
	})
}

func readWithoutState(t *testing.T, h host, s Sandbox) {
	s.Hidden = []string{h.stateDir()}
	before := h.files(t)
	for _, line := range []string{"list", "list --all", "show", "show w", "path w", "diff w", "conflicts", "config", "doctor"} {
		if r := h.inside(t, s, words(line, "w")...); r.exit != croft.ExitOK {
			t.Errorf("%s: exit %d\n%s%s", line, r.exit, r.stdout, r.stderr)
		}
	}
	r := h.inside(t, s, "show", "--json")
	if how := source(t, r); how != (croft.ReadOnlyState{Source: croft.ReadGit}) {
		t.Errorf("show answered from %+v", how)
	}
	var shown struct{ Workspace croft.Workspace }
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
		t.Fatal(err)
	}
	if w := shown.Workspace; w.Name != "w" || w.Path != s.Dir || w.Branch != "croft/w" || w.Target != "main" || w.Base == "" {
		t.Errorf("git knows of this workspace: %+v", w)
	}
	for _, line := range []string{"history", "trash", "queue", "session list", "snapshot --list", "repos", "undo --dry-run", "events", "config trust --dry-run"} {
		r := h.inside(t, s, append(words(line, "w"), "--json")...)
		if r.exit != croft.ExitEnvironment || !strings.Contains(r.stdout, string(croft.StateUnavailable)) {
			t.Errorf("%s: exit %d\n%s%s", line, r.exit, r.stdout, r.stderr)
		}
	}
	if r := h.inside(t, s, "finish", "--json"); !strings.Contains(r.stdout, string(croft.ReadOnly)) {
		t.Errorf("finish: %s%s", r.stdout, r.stderr)
	}
	h.wantUnchanged(t, before, "reading")
}

// TestReadsOfAFile: a state without the files of its log, as a copy from elsewhere, is read as a
// file that nobody writes, and outside the next command that writes makes the log again.
func TestReadsOfAFile(t *testing.T) {
	h := newHost(t)
	database := filepath.Join(h.stateDir(), "croft.db")
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(database + suffix); err != nil {
			t.Fatal(err)
		}
	}
	before := h.files(t)
	s := h.sandbox(Codex, "w")
	r := h.inside(t, s, "list", "--json")
	how := source(t, r)
	if how.Source != croft.ReadFile || how.AsOf.IsZero() || !how.Verified || !strings.Contains(r.stdout, `"name":"iso"`) {
		t.Errorf("list answered from %+v: %s", how, r.stdout)
	}
	if want := "read-only: answered from the state as of " + how.AsOf.Local().Format("15:04:05"); !strings.Contains(r.stderr, want) {
		t.Errorf("list says %q, want %q", r.stderr, want)
	}
	h.wantUnchanged(t, before, "reading")
	h.outside(t, "lock", "w")
	if how := source(t, h.inside(t, s, "list", "--json")); how.Source != croft.ReadLive {
		t.Errorf("after a writer list answered from %+v", how)
	}
}

// setUp has workspaces with ports, variables, a file of their own and an approved step.
const setUp = `[ports]
count = 2
names = ["web"]
[env]
API = "http://localhost:{port}"
[checkout]
links = ["shared"]
[[provision.step]]
name = "deps"
run = "echo deps > deps.txt"
`

// newSetUpHost is a host with a workspace c that was set up and is clean.
func newSetUpHost(t *testing.T) host {
	t.Helper()
	h := newHost(t)
	for name, text := range map[string]string{"croft.toml": setUp, ".gitignore": "deps.txt\nshared/\n", "shared/file": "shared\n"} {
		h.repo.Write(name, text)
	}
	h.repo.Commit("set-up")
	shown := h.beside(t, "config", "trust", "--setup", "--dry-run", "--json")
	var checks struct{ Trust struct{ Hash string } }
	if err := json.Unmarshal([]byte(shown.stdout), &checks); err != nil || checks.Trust.Hash == "" {
		t.Fatalf("%v: %+v", err, shown)
	}
	given := h
	clone := *h.repo
	clone.Env = append(slices.Clone(h.repo.Env), "CROFT_TRUST="+checks.Trust.Hash)
	given.repo = &clone
	given.outside(t, "config", "trust", "--setup")
	h.outside(t, "new", "c")
	return h
}

// setUpReadings are commands about what is set up, whose answers in a sandbox are those outside.
var setUpReadings = []string{"ports --json", "ports c", "env c", "env c --json", "provision c --check", "provision c --explain", "provision c --check --json", "config trust --setup --dry-run"}

// TestReadsOfSetUp: what is said of ports, variables, steps and approvals is the same inside as outside.
func TestReadsOfSetUp(t *testing.T) {
	h := newSetUpHost(t)
	for _, kind := range h.kinds {
		for _, line := range setUpReadings {
			want, got := h.beside(t, words(line, "c")...), h.inside(t, h.sandbox(kind, "c"), words(line, "c")...)
			got.stdout = strings.Replace(got.stdout, `"readOnly":{"source":"live","verified":true},`, "", 1)
			if got.stdout != want.stdout || got.exit != want.exit {
				t.Errorf("%s: %s: exit %d, outside %d\n%s\noutside\n%s", kind, line, got.exit, want.exit, got.stdout, want.stdout)
			}
		}
	}
}

// TestHiddenSetUp: where the state cannot be seen, nothing is said of ports, variables, steps and approvals but that it
// is unknown, and a workspace is clean that is clean outside.
func TestHiddenSetUp(t *testing.T) {
	h := newSetUpHost(t)
	for _, kind := range h.kinds {
		s := h.sandbox(kind, "c")
		s.Hidden = []string{h.stateDir()}
		for _, line := range []string{"ports", "ports c", "provision c --check", "provision --explain", "mounts c", "list --needs-me"} {
			r := h.inside(t, s, append(words(line, "c"), "--json")...)
			if r.exit != croft.ExitEnvironment || !strings.Contains(r.stdout, string(croft.StateUnavailable)) {
				t.Errorf("%s: %s: exit %d\n%s%s", kind, line, r.exit, r.stdout, r.stderr)
			}
		}
		if r := h.inside(t, s, "env", "c", "--json"); !strings.Contains(r.stdout, `"unknown":["env","ports"]`) {
			t.Errorf("%s: env: %s", kind, r.stdout)
		}
		if r := h.inside(t, s, "env", "c"); !strings.Contains(r.stderr, "not known here") {
			t.Errorf("%s: env: %s", kind, r.stderr)
		}
		if r := h.inside(t, s, "doctor"); strings.Contains(r.stderr, "all is well") || !strings.Contains(r.stderr, "was not compared") {
			t.Errorf("%s: doctor: %s", kind, r.stderr)
		}
		if r := h.inside(t, s, "list"); !strings.Contains(r.stderr, "isolated, adopted and finished workspaces are not listed") {
			t.Errorf("%s: list: %s", kind, r.stderr)
		}
		r := h.inside(t, s, "show", "c", "--json")
		var shown struct {
			Status    *croft.Status
			Workspace croft.Workspace
		}
		if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
			t.Fatal(err)
		}
		if shown.Status == nil || shown.Status.Untracked != 0 || !slices.Contains(shown.Workspace.Unknown, "provision") || !slices.Contains(shown.Workspace.Unknown, "isLocked") {
			t.Errorf("%s: show: %s", kind, r.stdout)
		}
	}
}
