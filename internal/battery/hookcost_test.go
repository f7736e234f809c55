//go:build unix

package battery

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// recordedInputs returns what Claude Code gave its hooks in a turn, one for each state, as if it worked in a directory.
func recordedInputs(t *testing.T, dir string) [][]byte {
	t.Helper()
	var list [][]byte
	for _, name := range []string{"start", "prompt", "tool", "permission", "stop"} {
		text, err := os.ReadFile(filepath.Join("..", "hook", "testdata", "claude-state-"+name+".json"))
		mustDo(t, err)
		list = append(list, bytes.ReplaceAll(text, []byte("{ws}"), []byte(dir)))
	}
	return list
}

// TestHookCost measures the hook by which Claude Code tells its state, as a program from its start to its end, beside a
// program that does nothing. An agent waits for some of its hooks. Whatever else the machine does slows down both.
func TestHookCost(t *testing.T) {
	const bound = 50 * time.Millisecond
	p := smallProject(t)
	p.mustCroft("new", "w")
	dir := filepath.Join(p.workspaces(), "w")
	inputs := recordedInputs(t, dir)
	took := func(input []byte, program string, args ...string) time.Duration {
		cmd := exec.CommandContext(bounded(t), program, args...)
		var said bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, p.environ(), bytes.NewReader(input), &said, &said
		start := time.Now()
		err := cmd.Run()
		end := time.Since(start)
		if err != nil || said.Len() > 0 {
			t.Fatalf("%s: %v: %s", program, err, &said)
		}
		return end
	}
	var hook, nothing []time.Duration
	for round := 1; ; round++ {
		for i := range 100 {
			hook = append(hook, took(inputs[i%len(inputs)], filepath.Join(p.bin, "croft"), "hook", "claude", "state"))
			nothing = append(nothing, took(nil, "true"))
		}
		over := median(hook) - median(nothing)
		sorted := slices.Sorted(slices.Values(hook))
		report(t, "hook", "medians of %d: croft hook claude state %s, a program that does nothing %s; nine of ten hooks within %s, the longest %s",
			len(hook), ms(median(hook)), ms(median(nothing)), ms(sorted[len(sorted)*9/10]), ms(sorted[len(sorted)-1]))
		if over <= bound {
			break
		}
		if round == rounds {
			t.Errorf("a hook takes %s more than nothing, the bound is %s", ms(over), ms(bound))
			break
		}
	}

	// What was measured was no hook that gives up: each input has become a state.
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		reported := strings.Count(p.run(p.dir, "croft", "events", "--json").stdout, `"kind":"`+croft.EventWorkspaceReported+`"`)
		if reported >= len(hook)*3/5 { // a tool is the same state as the prompt before it, and a beginning the same as the end before
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d states arrived of %d", reported, len(hook))
		}
	}
}
