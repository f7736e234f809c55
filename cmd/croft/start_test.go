package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/buildtest"
)

// TestStart: no module makes every start of the program longer by half. Some build tables when they
// are only linked.
func TestStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	program, err := buildtest.Croft(t.TempDir(), buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var whole []time.Duration
	least := map[string]float64{} // milliseconds of each package
	for range 9 {
		cmd := exec.Command(program, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "CROFT_STATE_DIR="+t.TempDir())
		var trace strings.Builder
		cmd.Stderr = &trace
		begun := time.Now()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, time.Since(begun))
		for line := range strings.Lines(trace.String()) {
			// init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs
			words := strings.Fields(line)
			if len(words) < 5 || words[0] != "init" {
				continue
			}
			ms, err := strconv.ParseFloat(words[4], 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if was, ok := least[words[1]]; !ok || ms < was {
				least[words[1]] = ms
			}
		}
	}
	slices.Sort(whole)
	median := float64(whole[len(whole)/2].Microseconds()) / 1000
	if len(least) < 20 {
		t.Fatalf("the trace has %d packages", len(least))
	}
	for pkg, ms := range least {
		if ms > median/3 {
			t.Errorf("%s takes %.2f ms of the %.2f ms that croft version takes", pkg, ms, median)
		}
	}
}
