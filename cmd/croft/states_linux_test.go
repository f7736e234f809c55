package main_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/buildtest"
)

// state is a line of the table of states: what makes the workspace x so, and what is said of it then.
type state struct {
	name   string // where the word is not enough
	word   croft.Condition
	symbol string
	given  string
	why    string // an expression
	next   string
	exit   int // of next
	types  map[string][]string
	reason string // why next does not end with 0
}

// states are those of the table, by the acts that lead to them, in the order in which the first that applies wins. Those
// that last only as long as an act does are made in TestStatesOfActs.
func states() []state {
	shell := map[string][]string{"$": {"exit", "Enter"}}
	const merged = `croft merge -q --keep x`
	work := made(2, "x")
	committed := work + "cd ../app.croft/x && git add . && git commit -qm work; cd - >/dev/null\n"
	collides := `croft new -q x && echo mine >../app.croft/x/src/f1.txt && git -C ../app.croft/x commit -qam mine && echo yours >src/f1.txt && git commit -qam yours
`
	const agentIsGone = "CROFT_LEASE_TTL=1s sh -c 'croft hold x --pid $$' >/dev/null; until [ -n \"$(croft list --state orphan --names)\" ]; do sleep 0.1; done"
	return []state{
		{word: "missing", symbol: "✗", given: "croft new -q x && rm -rf ../app.croft/x", why: `/.*/app\.croft/x`, next: "croft doctor", exit: 1, reason: "it says what it finds"},
		{name: "moved", word: "broken", symbol: "✗", given: "croft new -q x && mv ../app.croft/x ../elsewhere", why: "moved to .*/elsewhere", next: "croft doctor", exit: 1, reason: "it says what it finds"},
		{name: "taken", word: "broken", symbol: "✗", given: "croft new -q x && rm -rf ../app.croft/x && mkdir ../app.croft/x && touch ../app.croft/x/mine", why: "something else is at its path", next: "croft doctor", exit: 1, reason: "it says what it finds"},
		{name: "no branch", word: "broken", symbol: "✗", given: "croft new -q x && git update-ref -d refs/heads/croft/x", why: "branch croft/x is gone; .*", next: "croft show x"},
		{word: "checking", symbol: "◐", given: checks + work + ">~/hold; croft merge -q --no-wait x; croft queue run >/dev/null 2>&1 &\nuntil [ -n \"$(croft list --state checking --names)\" ]; do sleep 0.05; done", why: `go vet \./\.\.\.`},
		{word: "held", symbol: "!", given: work + "croft merge -q --no-wait x; croft queue hold -q x", why: "by ada", next: "croft queue release x"},
		{word: "queued", symbol: "!", given: work + "croft merge -q --no-wait x", why: "nobody drives the queue", next: "croft queue run"},
		{name: "behind", word: "queued", symbol: "◐", given: strings.Replace(checks, `"]\n'`, `"]\nbatch = 1\n'`, 1) + made(2, "y", "x") + ">~/hold; croft merge -q --no-wait y; croft merge -q --no-wait x; croft queue run >/dev/null 2>&1 &\nuntil [ -n \"$(croft list --state checking --names)\" ]; do sleep 0.05; done", why: "2nd|"},
		{word: "working", symbol: "◐", given: "croft new -q x && croft run -q --detach x -- claude", why: "claude"},
		{name: "round", word: "working", symbol: "◐", given: "croft session start s >/dev/null && croft round start s --agents x >/dev/null", why: "round 1"},
		{word: "waiting", symbol: "!", given: "croft new -q x && cd ../app.croft/x && croft agent report waiting --for answer", why: "it asks you", next: "croft sh x", types: shell},
		{name: "with work", word: "orphan", symbol: "!", given: work + agentIsGone, why: "its agent has ended without saying how", next: "croft diff x"},
		{name: "without", word: "orphan", symbol: "!", given: "croft new -q x\n" + agentIsGone, why: "its agent has ended without saying how", next: "croft remove x"},
		{word: "resolving", symbol: "!", given: collides + "croft merge -q --resolve x", why: "1 file to resolve", next: "croft sh x", types: shell},
		{name: "resolved", word: "resolving", symbol: "!", given: collides + "! croft merge -q x; croft merge -q --resolve x; cd ../app.croft/x; echo both >src/f1.txt; git add .", why: "all resolved, not committed", next: "croft merge x"},
		{word: "conflict", symbol: "✗", given: collides + "! croft merge -q x", why: `src/f1\.txt.*`, next: "croft merge --resolve x"},
		{word: "check-failed", symbol: "✗", given: checks + work + "echo 101 >../app.croft/x/src/limit.go; ! croft merge -q x", why: `go test \./\.\.\.: --- FAIL: TestRateLimit \(0\.00s\)`, next: "croft logs x"},
		{word: "target-fails", symbol: "!", given: checks + work + "touch broken.txt; git add broken.txt; git commit -qm broken; ! croft merge -q x", why: `the check "go test \./\.\.\." fails on main itself`, next: "croft logs x"},
		{word: "unapproved", symbol: "!", given: "printf '[merge]\\nchecks = [\"go vet ./...\"]\\n' >croft.toml && git add croft.toml && git commit -qm checks\n" + work + "! croft merge -q x", why: "the target's checks were not approved", next: "croft config trust --target main", types: map[string][]string{"[y/N]": {"y", "Enter"}}},
		{word: "blocked", symbol: "!", given: "croft new -q x; echo theirs >../app.croft/x/src/f1.txt; echo yours >src/f1.txt; ! croft merge -q x", why: `your src/f1\.txt would be overwritten`, next: "croft merge x", exit: 5, reason: "the change is still there, and it says so"},
		{word: "stuck", symbol: "✗", given: "printf '[merge]\\nprotect = true\\n' >croft.toml && git add croft.toml && git commit -qm protect\n" + made(2, "y", "x") + "croft merge -q y; git commit -q --allow-empty -m mine; ! croft merge -q x", why: "main has 1 commit that Croft did not merge, since .*", next: "croft queue accept main"},
		{word: "failed", symbol: "!", given: work + "croft finish -q x --outcome failed", why: "the agent failed", next: "croft diff x"},
		{word: "killed", symbol: "!", given: work + "croft finish -q x --outcome killed", why: "the agent was killed", next: "croft diff x"},
		{word: "dirty", symbol: "!", given: work, why: "1 file not committed", next: "croft diff x"},
		{word: "reverted", symbol: "!", given: work + merged + "; croft revert -q x", why: "as [0-9a-f]{7}", next: "croft diff x"},
		{word: "merged", symbol: "✓", given: work + merged, why: "as [0-9a-f]{7}", next: "croft remove x"},
		{name: "by others", word: "merged", symbol: "✓", given: committed + "git merge -q --squash croft/x && git commit -qm squashed", why: "", next: "croft remove x"},
		{name: "locked", word: "merged", symbol: "✓", given: work + merged + "; croft lock -q x", why: "as [0-9a-f]{7}", next: "croft unlock x"},
		{word: "not-set-up", symbol: "!", given: "printf '[[provision.step]]\\nname = \"deps\"\\nrun = \"true\"\\n' >croft.toml && git add croft.toml && git commit -qm steps && croft new -q x", why: ".*approv.*", next: "croft config trust --setup x", types: map[string][]string{"[y/N]": {"y", "Enter"}}},
		{word: "collides", symbol: "!", given: collides + "true", why: "src/f1.txt", next: "croft merge --resolve x"},
		{word: "to-review", symbol: "●", given: "croft session start race >/dev/null && croft round start race --agents a >/dev/null && echo best >$(croft path a)/best.txt && croft round end race >/dev/null && croft round present race --winner a >/dev/null", why: "the result of race", next: "croft review presenter", types: map[string][]string{"apply this hunk?": {"q"}}},
		{word: "pending", symbol: "●", given: work + "croft finish -q x --no-merge", why: "finished", next: "croft merge x"},
		{word: "ahead", symbol: "●", given: committed, why: "1 commit", next: "croft merge x"},
		{word: "in-place", symbol: "○", given: "croft new -q x --mode legacy", why: ""},
		{word: "locked", symbol: "○", given: "croft new -q x && croft lock -q x --reason 'waiting for QA'", why: "waiting for QA"},
		{word: "empty", symbol: "○", given: "croft new -q x", why: "", next: "croft sh x", types: shell},
		{name: "removed", word: "removed", symbol: "○", given: "croft new -q x && croft remove -q x", why: "in the trash", next: "croft restore x"},
		{name: "discarded", word: "discarded", symbol: "○", given: work + "croft discard -q x", why: "in the trash", next: "croft restore x"},
		{name: "reaped", word: "reaped", symbol: "○", given: "croft new -q x && croft reap -q -y --older-than 1ns", why: "in the trash", next: "croft restore x"},
		{name: "undone", word: "undone", symbol: "○", given: "croft new -q x && croft undo -q -y", why: "in the trash", next: "croft restore x"},
	}
}

// gone are the states of what is in the trash: a list has them only if it is asked for them.
var gone = []croft.Condition{croft.ConditionRemoved, croft.ConditionDiscarded, croft.ConditionReaped, croft.ConditionUndone}

// momentary are the states of a workspace while an act goes on, or after one that died, and the one of which nobody looked:
// they are made where acts can be stopped halfway, by TestStatesOfActs and engine.TestLookAtMany.
var momentary = []croft.Condition{croft.ConditionMaking, croft.ConditionUnfinished, croft.ConditionMerging, croft.ConditionUnseen}

// TestStates makes every state by acts, compares its word, its kind, its reason and its next step, and takes that step.
func TestStates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs git")
	}
	needTmux(t)
	program, err := buildtest.Croft(t.TempDir(), buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states() {
		t.Run(strings.TrimSpace(string(s.word)+" "+s.name), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, program)
			d.sh(s.given)
			d.is(s)
		})
	}
	for _, c := range croft.Conditions() {
		isMade := slices.ContainsFunc(states(), func(s state) bool { return s.word == c })
		if isMade == slices.Contains(momentary, c) {
			t.Errorf("%s: made here %v", c, isMade)
		}
	}
}

// is compares what is said of the workspace x, and takes its next step.
func (d *desk) is(s state) {
	d.t.Helper()
	list := "croft list --full"
	if slices.Contains(gone, s.word) {
		list += " --state " + string(s.word)
	}
	var answer struct{ Workspaces []croft.Workspace }
	if err := json.Unmarshal([]byte(d.output(list+" --json")), &answer); err != nil {
		d.t.Fatal(err)
	}
	at := slices.IndexFunc(answer.Workspaces, func(w croft.Workspace) bool { return w.Name != "y" })
	if at < 0 {
		d.t.Fatalf("it is not in the list: %+v", answer.Workspaces)
	}
	ws, next := answer.Workspaces[at], ""
	if ws.Next != nil {
		next = ws.Next.Command
	}
	if ws.Status != s.word || !regexp.MustCompile("^("+s.why+")$").MatchString(ws.Why) || next != s.next {
		d.t.Errorf("%s, %q, %q; want %s, %q, %q", ws.Status, ws.Why, next, s.word, s.why, s.next)
	}
	_, shown := d.onTerminal(looks()[1], d.dir, list).ends()
	row := regexp.MustCompile(`(?m)^[› ] (\S) ` + regexp.QuoteMeta(ws.Name) + ` .*$`).FindStringSubmatch(unstyled(shown))
	word := strings.ReplaceAll(string(s.word), "-", " ")
	if row == nil || row[1] != s.symbol || !strings.Contains(row[0], "  "+word) || !strings.Contains(row[0], s.next) {
		d.t.Errorf("the row is not one of %s %s with %q:\n%s", s.symbol, word, s.next, shown)
	}
	if next == "" {
		return
	}
	_ = os.Remove(d.home + "/hold")
	c := d.onTerminal(looks()[0], d.dir, next)
	for text, keys := range s.types {
		c.awaits(text, "")
		c.types(keys...)
	}
	if status, shown := c.ends(); status != s.exit {
		d.t.Errorf("%s ends with %d, want %d:\n%s", next, status, s.exit, shown)
	}
}
