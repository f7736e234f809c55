//go:build unix

package snapshot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/snapshot"
)

// TestCost compares the time of a snapshot with that of a git status, in alternation, for a
// worktree of 5,000 files of which 70 changed. The snapshot includes writing everything to
// disk and pinning it by a ref. Other programs on the machine slow both, so the bound is on
// the ratio of the medians.
func TestCost(t *testing.T) {
	if !slices.Contains(proc.Environ(), "CROFT_LONG=1") {
		t.Skip("5,000 files; CROFT_LONG=1 measures it")
	}
	t.Run("Changed", func(t *testing.T) { newCost(t, "").measure(70, 3, snapshot.Selection{}) })
	// Line endings make git read the attributes and sizes of every file.
	t.Run("Attributes", func(t *testing.T) { newCost(t, "* text=auto\n").measure(70, 6, snapshot.Selection{}) })
	// Untracked files make git look for ignored ones.
	t.Run("Untracked", func(t *testing.T) {
		b := newCost(t, "")
		b.file("new/one.txt", "untracked\n")
		b.file("node_modules/dep.js", "ignored\n")
		b.file(".env", "TOKEN=secret\n")
		b.measure(71, 6, snapshot.Selection{Secrets: []string{".env", ".env.*"}, SecretsDir: b.Home + "/secrets"})
	})
}

const costFiles, costDirty, costRounds = 5000, 70, 21

func newCost(t *testing.T, attributes string) *bench {
	t.Helper()
	b := newBench(t)
	for i := range costFiles {
		b.Write(costPath(i), strings.Repeat(fmt.Sprintf("line %d\n", i), 40))
	}
	b.Write(".gitignore", "node_modules/\n.env\n")
	if attributes != "" {
		b.Write(".gitattributes", attributes)
	}
	b.Commit("many")
	b.Git("gc", "--quiet")
	b.open()
	b.touch() // so that no file is as young as the index, which would slow the status down
	b.git("status")
	return b
}

func costPath(i int) string { return fmt.Sprintf("d%d/e%d/f%d.txt", i%20, i%200, i) }

// measure compares the two. A result over the bound is measured further, at most twice, and
// judged by the medians of all rounds.
func (b *bench) measure(want int, bound float64, sel snapshot.Selection) {
	b.t.Helper()
	var save, status []time.Duration
	for range 3 {
		for range costRounds {
			status = append(status, b.timeStatus(len(status)))
			save = append(save, b.timeSave(len(save), want, sel))
		}
		slices.Sort(save)
		slices.Sort(status)
		mid := len(save) / 2
		ratio := float64(save[mid]) / float64(status[mid])
		b.t.Logf("save %v (from %v), status %v (from %v), %.1f times, n=%d", save[mid], save[0], status[mid], status[0], ratio, len(save))
		if ratio <= bound {
			return
		}
	}
	b.t.Errorf("a snapshot takes more than %.0f times as long as a status", bound)
}

func (b *bench) timeStatus(round int) time.Duration {
	b.t.Helper()
	for i := range costDirty {
		b.file(costPath(i), fmt.Sprintf("changed %d in round %d\n", i, round))
	}
	began := time.Now()
	b.git("--no-optional-locks", "status", "--porcelain=v2", "--untracked-files=all", "-z")
	return time.Since(began)
}

func (b *bench) timeSave(round, want int, sel snapshot.Selection) time.Duration {
	b.t.Helper()
	ctx := context.Background()
	sel.Pin = func(commit string) error {
		return b.repo.UpdateRefs(ctx, refs.Update{Ref: fmt.Sprintf("refs/croft/cost/%d", round), New: commit})
	}
	began := time.Now()
	saved, err := snapshot.Save(ctx, b.tree, sel)
	took := time.Since(began)
	if err != nil || saved.Files != want {
		b.t.Fatalf("%d files were saved, %v, want %d", saved.Files, err, want)
	}
	return took
}
