//go:build unix

package battery

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

// removals are the compared times.
type removals struct {
	git     []time.Duration // git worktree remove --force
	command []time.Duration // croft remove --force
	safe    []time.Duration // croft remove, which looks for uncommitted work first
	undo    []time.Duration // croft undo of the former
	open    []time.Duration // the same as command, in a program that has Croft open
	looked  []time.Duration // the same as safe, in a program that has Croft open
}

// TestRemove compares removing workspaces of 10,000 files with git, which deletes them
// before it answers. All workspaces are made before, because a file system on which many
// files were just deleted is slow at making new ones; and every form is measured in every
// turn.
func TestRemove(t *testing.T) {
	const files = 10000
	runs := size(3, 7)
	p := bigProject(t, files)
	svc, err := connect.Open(t.Context(), p.dir, &connect.Options{Environ: p.environ()})
	mustDo(t, err)
	defer svc.Close()
	// The required bounds; the short form, with a few runs on a machine with other load,
	// only notices large increases.
	bounds := struct{ command, undo, open, looked float64 }{0.15, 0.15, 0.05, 0.15}
	if !isLong() {
		bounds.command, bounds.undo, bounds.open, bounds.looked = 0.35, 0.35, 0.25, 0.4 // 0.27 at a load of 15, 0.08 with none
	}
	var got removals
	for round := 1; ; round++ {
		p.prepare(t, round, runs)
		for i := range runs {
			p.removeEach(t, svc, fmt.Sprintf("%d-%d", round, i), &got)
		}
		ratio := func(times []time.Duration) float64 { return float64(median(times)) / float64(median(got.git)) }
		report(t, "remove", "%d files, medians of %d: git worktree remove --force %s; croft remove --force %s, ratio %.3f; "+
			"croft undo of it %s, ratio %.3f; in an open engine %s, ratio %.3f; croft remove without --force %s, ratio %.3f; in an open engine %s, ratio %.3f",
			files, len(got.git), ms(median(got.git)), ms(median(got.command)), ratio(got.command), ms(median(got.undo)), ratio(got.undo),
			ms(median(got.open)), ratio(got.open), ms(median(got.safe)), ratio(got.safe), ms(median(got.looked)), ratio(got.looked))
		if ratio(got.command) <= bounds.command && ratio(got.undo) <= bounds.undo && ratio(got.open) <= bounds.open && ratio(got.looked) <= bounds.looked {
			return
		}
		if round == rounds {
			t.Errorf("remove %.3f of git's, the bound is %.2f; undo %.3f, %.2f; in an open engine %.3f, %.2f; the same without force %.3f, %.2f",
				ratio(got.command), bounds.command, ratio(got.undo), bounds.undo, ratio(got.open), bounds.open, ratio(got.looked), bounds.looked)
			return
		}
	}
}

// prepare makes everything that a round removes.
func (p *project) prepare(t *testing.T, round, runs int) {
	t.Helper()
	for i := range runs {
		for _, kind := range []string{"command", "safe", "open", "looked"} {
			p.mustCroft("new", fmt.Sprintf("%s-%d-%d", kind, round, i))
		}
		p.addBare(t, fmt.Sprintf("%d-%d", round, i))
	}
}

// removeEach measures every form once.
func (p *project) removeEach(t *testing.T, svc croft.Service, turn string, got *removals) {
	t.Helper()
	took := func(program string, args ...string) time.Duration {
		t.Helper()
		r := p.run(p.dir, program, args...)
		if r.code != 0 || r.err != nil {
			t.Fatalf("%s %v: %v", program, args, r)
		}
		return r.took
	}
	got.command = append(got.command, took("croft", "remove", "--force", "command-"+turn))
	got.git = append(got.git, took("git", "worktree", "remove", "--force", filepath.Join(p.top, "bare", turn)))
	got.undo = append(got.undo, took("croft", "undo", "--yes"))
	inEngine := func(name string, mode croft.RemoveMode) time.Duration {
		t.Helper()
		start := time.Now()
		res, err := svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{name}, Mode: mode})
		if err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
		return time.Since(start)
	}
	got.open = append(got.open, inEngine("open-"+turn, croft.RemoveForce))
	got.looked = append(got.looked, inEngine("looked-"+turn, croft.RemoveSafe))
	got.safe = append(got.safe, took("croft", "remove", "safe-"+turn))
	if r := p.run(filepath.Join(p.workspaces(), "command-"+turn), "git", "status", "--porcelain"); r.code != 0 || r.stdout != "" {
		t.Errorf("what undo brought back: %v", r)
	}
}
