//go:build unix

package battery

import (
	"fmt"
	"testing"
	"time"
)

// sides are two commands to compare, and the extra time that one of them may take.
type sides struct {
	croft, git, start []time.Duration
}

// rounds is how often a comparison over its bound is measured further, because the machine
// has other load. All measurements count, and every intermediate result is printed: the
// judgement is by the median of all of them, never by the best round.
const rounds = 3

// TestList compares listing many live workspaces, without a look at their files, with git worktree list. Croft starts no
// git for it, and may take half as long again. TestListCost is about the look.
func TestList(t *testing.T) {
	n, runs := size(500, 1000), size(15, 31)
	p := bigProject(t, 50)
	for at := 0; at < n; at += 100 {
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprintf("ws%04d", at+i)
		}
		p.mustCroft(append([]string{"new"}, names...)...)
	}
	if got := len(p.mustCroft("list").Workspaces); got != n {
		t.Fatalf("%d workspaces are listed, want %d", got, n)
	}

	s := newShim(t, p, 0, killBefore)
	p.mustCroft("list") // asks a new git for its version
	first := s.count(t)
	for _, args := range [][]string{{"list", "--names"}, {"list", "--names", "--json"}} {
		if r := p.run(p.dir, "croft", args...); r.code != 0 {
			t.Fatalf("croft %v: %v", args, r)
		}
	}
	started := s.count(t) - first
	s.remove(p)
	if started != 0 {
		t.Errorf("croft list --names started %d git processes", started)
	}

	var got sides
	for round := 1; ; round++ {
		compareLists(t, p, runs, &got)
		bound := median(got.git)*3/2 + median(got.start)
		report(t, "list", "%d live workspaces, medians of %d: croft list --names %s, bare git worktree list %s, start of the binary %s; "+
			"the bound is %s, the ratio to it %.2f; %d git processes",
			n, len(got.croft), ms(median(got.croft)), ms(median(got.git)), ms(median(got.start)), ms(bound),
			float64(median(got.croft))/float64(bound), started)
		if median(got.croft) <= bound {
			return
		}
		if round == rounds {
			t.Errorf("croft list --names took %s, the bound is %s", ms(median(got.croft)), ms(bound))
			return
		}
	}
}

func compareLists(t *testing.T, p *project, runs int, got *sides) {
	t.Helper()
	took := func(program string, args ...string) time.Duration {
		r := p.run(p.dir, program, args...)
		if r.code != 0 || r.err != nil {
			t.Fatalf("%s %v: %v", program, args, r)
		}
		return r.took
	}
	for range runs {
		got.croft = append(got.croft, took("croft", "list", "--names"))
		got.git = append(got.git, took("git", "worktree", "list", "--porcelain"))
		got.start = append(got.start, took("croft", "version"))
	}
}
