package merge

import (
	"os"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestEveryStrategyLandsWhatGitMerges: over random histories with renames, links, modes,
// submodules, directories in the place of files and criss-cross merges, the tree of the
// commit that each strategy makes is that of git merge-tree, and both have the same
// conflicts. CROFT_LONG=1 tries 2,000 histories.
func TestEveryStrategyLandsWhatGitMerges(t *testing.T) {
	const agents = 20
	seeds := 10
	if os.Getenv("CROFT_LONG") != "" {
		seeds = 100
	}
	clean, conflicts := 0, 0
	for seed := range seeds {
		corpus := gittest.Corpus{Files: 30, Agents: agents, Heat: 25, Seed: uint64(1000 + seed)}
		r := newBench(t, gittest.Grow(t, corpus))
		target := r.Git("rev-parse", "main")
		for i := range agents {
			head := r.Git("rev-parse", corpus.Branch(i))
			out, err := r.TryGit(r.Dir, "merge-tree", "--write-tree", "--no-messages", target, head)
			want, _, _ := strings.Cut(out, "\n")
			for _, strategy := range []croft.Strategy{croft.StrategyNoFF, croft.StrategySquash} {
				steps, serr := r.stack.Stack(t.Context(), target, []Item{{Kind: croft.KindMerge, Strategy: strategy, Head: head, Message: "m"}})
				if serr != nil {
					t.Fatalf("seed %d, %s: %v", seed, head, serr)
				}
				step := steps[0]
				if inConflict := len(step.Conflicts) > 0; inConflict != (err != nil) {
					t.Fatalf("seed %d, %s: conflicts %v, git says %v\n%s", seed, head, step.Conflicts, err, out)
				} else if inConflict {
					conflicts++
					continue
				}
				landed, rerr := r.at.ReadCommit(t.Context(), step.Commit)
				if rerr != nil || landed.Tree != want || step.Tree != want {
					t.Fatalf("seed %d, %s by %s: the tree is %s (%v), git's is %s", seed, head, strategy, landed.Tree, rerr, want)
				}
				clean++
			}
		}
	}
	t.Logf("%d clean, %d in conflict", clean, conflicts)
	if all := 2 * seeds * agents; clean < all/5 || conflicts < all/10 {
		t.Errorf("%d of %d clean, %d in conflict: too few of one kind to tell", clean, all, conflicts)
	}
}
