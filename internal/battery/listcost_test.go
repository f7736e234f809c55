//go:build unix

package battery

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestListCost lists a fleet of which a tenth has work, half of it committed, half not, with the states of all: with
// nothing remembered, with nothing changed, and after one file was written. Beside it stands what plain git takes for
// a status of each workspace, as many at once as there are cores, in turns.
func TestListCost(t *testing.T) {
	n, runs := size(60, 1000), size(3, 5)
	p := bigProject(t, 100)
	p.makeFleet(n)
	p.allStatuses(n) // an agent's git has noted the times in a later second
	list := func() time.Duration {
		t.Helper()
		r := p.croft("list", "--full")
		if r.code != 0 || r.err != nil {
			t.Fatalf("croft list: %v", r)
		}
		states := map[string]int{}
		for _, w := range p.answer(r).Workspaces {
			states[w.Status]++
		}
		if len(states) != 3 || states["ahead"] != n/20 || states["dirty"] != n/10-n/20 || states["empty"] != n-n/10 {
			t.Fatalf("the states are %v", states)
		}
		return r.took
	}
	var cold, warm, changed, statuses []time.Duration
	for run := range runs {
		if run > 0 {
			p.forgetLooks()
		}
		cold = append(cold, list())
		statuses = append(statuses, p.allStatuses(n))
		list() // the statuses of git may have written an index
		warm = append(warm, list())
		p.litterAt(filepath.Join(p.workspaces(), agentName(10)), "work/more.txt", time.Duration(run).String())
		changed = append(changed, list())
	}
	report(t, "list cost", "%d workspaces, %d with work, medians of %d: cold %s, warm %s, one changed %s; the statuses by bare git %s",
		n, n/10, runs, ms(median(cold)), ms(median(warm)), ms(median(changed)), ms(median(statuses)))
	if most := median(statuses) + 200*time.Millisecond; median(cold) > most {
		t.Errorf("a first list took %s, the statuses %s", ms(median(cold)), ms(median(statuses)))
	}
	if most := median(statuses)/3 + 200*time.Millisecond; median(warm) > most || median(changed) > most {
		t.Errorf("a list that remembers took %s and %s, the statuses %s", ms(median(warm)), ms(median(changed)), ms(median(statuses)))
	}
}

// forgetLooks makes the next list look at everything.
func (p *project) forgetLooks() {
	p.t.Helper()
	for _, name := range []string{"statuses.json", "compared.json"} {
		found, err := filepath.Glob(filepath.Join(p.state(), "repos", "*", name))
		if err != nil || len(found) == 0 && name == "statuses.json" { // a forecast compares no commits with targets
			p.t.Fatalf("%s: %v, %d of them", name, err, len(found))
		}
		for _, file := range found {
			if err := os.Remove(file); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}
