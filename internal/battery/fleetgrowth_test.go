//go:build unix

package battery

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFleetGrowth compares commands in a project with many live and very many ended workspaces with
// those in a small new one, by processor time, with that of the git processes that they start.
func TestFleetGrowth(t *testing.T) {
	kept, over := size(96, 5000), size(480, 95000)
	few, many := fleet(t, 100, 0, 0), fleet(t, size(100, 2000), kept, over)
	many.requireWhole()
	took := map[string][2][]time.Duration{}
	for turn := range size(5, 15) {
		for i, p := range []*project{few, many} {
			for act, d := range p.fleetActs(fmt.Sprintf("turn-%d", turn)) {
				both := took[act]
				both[i] = append(both[i], d)
				took[act] = both
			}
		}
	}
	// What grows with the live ones: a removal and a merge look whether a branch is in use in any
	// worktree.
	bounds := map[string]float64{"new": 2, "show": 2, "history": 2, "merge": 2, "remove": 2, "undo": 2}
	var text []string
	for _, act := range slices.Sorted(maps.Keys(took)) {
		a, b := median(took[act][0]), median(took[act][1])
		text = append(text, fmt.Sprintf("%s %.2f (%s)", act, float64(b)/float64(a), ms(b)))
		if bound := bounds[act]; bound > 0 && float64(b) > bound*float64(a) {
			t.Errorf("%s takes %s of a processor, and %s in a new project", act, ms(b), ms(a))
		}
	}
	report(t, "fleet growth", "%d ended workspaces, %d of them in the trash; processor time against 100 live and none ended: %s", kept+over, kept, strings.Join(text, ", "))
}

// fleet makes a project with live workspaces and ended ones: some are in the trash, of the others
// upkeep has left what it leaves.
func fleet(t *testing.T, live, kept, over int) *project {
	t.Helper()
	p := smallProject(t)
	if kept+over > 0 {
		const each = 16
		before := p.extent()
		p.endSome("a", each)
		p.collectAll()
		gone := p.readPattern(before)
		before = p.extent()
		p.endSome("b", each)
		trashed := p.readPattern(before)
		gone.write(p, over/len(gone.names))
		trashed.write(p, kept/len(trashed.names))
	}
	for at := 0; at < live; at += 50 {
		names := make([]string, min(50, live-at))
		for i := range names {
			names[i] = fmt.Sprintf("live-%05d", at+i)
		}
		p.mustCroft(append([]string{"new"}, names...)...)
	}
	return p
}

// requireWhole fails if what was written of a pattern is not what acts leave: the doctor finds
// nothing, and a workspace that was written into the trash comes back with its work.
func (p *project) requireWhole() {
	p.t.Helper()
	if r := p.run(p.dir, "croft", "doctor"); r.code != 0 || !strings.Contains(r.stdout+r.stderr, "all is well") {
		p.t.Fatalf("croft doctor: %v", r)
	}
	const name = "old-b-remove-03x1"
	p.mustCroft("restore", name)
	dir := filepath.Join(p.workspaces(), name)
	if status := p.git(dir, "status", "--porcelain"); status != "?? uncommitted.txt" {
		p.t.Fatalf("%s has %q", name, status)
	}
	p.mustCroft("remove", "--force", name)
}

// fleetActs is the life of two workspaces, by commands, and the processor time of each.
func (p *project) fleetActs(name string) map[string]time.Duration {
	p.t.Helper()
	took := map[string]time.Duration{}
	timed := func(act string, args ...string) {
		p.t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "croft"), args...)
		cmd.Dir, cmd.Env = p.dir, p.environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			p.t.Fatalf("croft %v: %v\n%s", args, err, out)
		}
		took[act] = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	timed("list", "list")
	timed("new", "new", name, name+"-other")
	timed("show", "show", name)
	dir := filepath.Join(p.workspaces(), name)
	mustDo(p.t, writeFile(filepath.Join(dir, name+".txt"), name))
	p.git(dir, "add", "--all")
	p.git(dir, "commit", "--quiet", "--message", name)
	timed("history", "history")
	timed("merge", "merge", name)
	timed("remove", "remove", name+"-other")
	timed("undo", "undo", "--yes")
	timed("remove again", "remove", name+"-other")
	return took
}
