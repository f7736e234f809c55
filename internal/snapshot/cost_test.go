//go:build unix

package snapshot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/snapshot"
)

// TestCost saves a worktree of 5,000 files, 70 of which changed, and compares
// the time with that of a status, each in its turn. Other programs on the
// machine slow both, so the bound is on the ratio of the medians, and wide: it
// is there for costs that grow with the worktree instead of the change.
func TestCost(t *testing.T) {
	if !slices.Contains(proc.Environ(), "CROFT_LONG=1") {
		t.Skip("5,000 files; CROFT_LONG=1 measures it")
	}
	const files, dirty, rounds, bound = 5000, 70, 11, 12.0
	b := newBench(t)
	for i := range files {
		b.Write(fmt.Sprintf("d%d/e%d/f%d.txt", i%20, i%200, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 40))
	}
	b.Commit("many")
	b.Git("gc", "--quiet")
	b.open()
	b.git("status")
	var save, status []time.Duration
	for round := range rounds {
		for i := range dirty {
			b.file(fmt.Sprintf("d%d/e%d/f%d.txt", i%20, i%200, i), fmt.Sprintf("changed %d in round %d\n", i, round))
		}
		began := time.Now()
		b.git("--no-optional-locks", "status", "--porcelain=v2", "--untracked-files=all", "-z")
		status = append(status, time.Since(began))
		began = time.Now()
		saved, err := snapshot.Save(context.Background(), b.tree, snapshot.Selection{})
		save = append(save, time.Since(began))
		if err != nil || saved.Files != dirty {
			t.Fatalf("%d files were saved, %v, want %d", saved.Files, err, dirty)
		}
	}
	slices.Sort(save)
	slices.Sort(status)
	ratio := float64(save[rounds/2]) / float64(status[rounds/2])
	t.Logf("save %v (from %v), status %v (from %v), %.1f times", save[rounds/2], save[0], status[rounds/2], status[0], ratio)
	if ratio > bound {
		t.Errorf("a snapshot takes %.1f times as long as a status, more than %.0f", ratio, bound)
	}
}
