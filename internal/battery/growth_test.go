//go:build unix

package battery

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

// TestGrowth compares the cost of calls in a project with a large trash and many snapshots
// with their cost in a new one. It must not depend on upkeep that runs once an hour: a
// fleet fills the trash faster.
func TestGrowth(t *testing.T) {
	trash, turns := size(60, 2000), size(7, 31)
	few, many := grown(t, 1), grown(t, trash)
	took := map[string][2][]time.Duration{}
	for turn := range turns {
		for i, g := range []*growth{few, many} {
			for act, d := range g.acts(t, fmt.Sprintf("turn-%d", turn)) {
				both := took[act]
				both[i] = append(both[i], d)
				took[act] = both
			}
		}
	}
	bound := 1.5
	if !isLong() {
		bound = 3 // with a few runs, beside other load; packs are counted
	}
	var text []string
	for _, act := range slices.Sorted(maps.Keys(took)) {
		a, b := median(took[act][0]), median(took[act][1])
		text = append(text, fmt.Sprintf("%s %.2f (%s)", act, float64(b)/float64(a), ms(b)))
		if float64(b) > bound*float64(a) {
			t.Errorf("%s takes %s, and %s in a new project", act, ms(b), ms(a))
		}
	}
	packs, err := filepath.Glob(filepath.Join(many.dir, ".git", "objects", "pack", "*.pack"))
	if err != nil || len(packs) > 150 {
		t.Errorf("there are %d packs, %v", len(packs), err)
	}
	report(t, "growth", "%d removed workspaces, as many snapshots, %d packs; medians of %d against a new project: %s",
		trash, len(packs), turns, strings.Join(text, ", "))
}

// growth is a project in which workspaces are created and removed.
type growth struct {
	*project
	svc croft.Service
}

func grown(t *testing.T, n int) *growth {
	t.Helper()
	p := smallProject(t)
	svc, err := connect.Open(t.Context(), p.dir, &connect.Options{Environ: p.environ()})
	mustDo(t, err)
	t.Cleanup(func() { mustDo(t, svc.Close()) })
	g := &growth{p, svc}
	for i := range n {
		g.acts(t, fmt.Sprintf("old-%d", i))
	}
	return g
}

// acts is the life of one workspace, and other calls during it.
func (g *growth) acts(t *testing.T, name string) map[string]time.Duration {
	t.Helper()
	ctx, took := context.Background(), map[string]time.Duration{}
	timed := func(act string, f func() error) {
		t.Helper()
		start := time.Now()
		mustDo(t, f())
		took[act] = time.Since(start)
	}
	var w *croft.Workspace
	var snap *croft.Snapshot
	timed("new", func() (err error) {
		w, err = g.svc.Create(ctx, croft.CreateRequest{Name: name})
		return err
	})
	mustDo(t, writeFile(filepath.Join(w.Path, "work.txt"), name))
	timed("snapshot", func() (err error) {
		snap, err = g.svc.TakeSnapshot(ctx, croft.SnapshotRequest{Workspace: string(w.ID)})
		return err
	})
	timed("remove", func() error { return remove(ctx, g.svc, w) })
	timed("restore", func() error {
		_, err := g.svc.Restore(ctx, croft.RestoreRequest{Ref: w.Name})
		return err
	})
	timed("restore a snapshot", func() error {
		_, err := g.svc.Restore(ctx, croft.RestoreRequest{Ref: string(snap.ID)})
		return err
	})
	timed("list", func() error {
		_, err := g.svc.Workspaces(ctx, croft.WorkspacesRequest{})
		return err
	})
	timed("git log -1", func() error {
		g.git(g.dir, "log", "-1")
		return nil
	})
	mustDo(t, remove(ctx, g.svc, w))
	return took
}
