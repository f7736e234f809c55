package mergetree

import (
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/writers"
)

// TestCountEach: commits that change nothing, the first commit, a binary file and a merge are counted in
// the order in which they were asked for.
func TestCountEach(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	a, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	root := r.Git("rev-list", "--max-parents=0", "HEAD")
	r.Write("text.txt", "1\n2\n")
	r.Write("image.bin", "\x00\x01")
	r.Commit("two files")
	two := r.Git("rev-parse", "HEAD")
	r.Git("commit", "--quiet", "--allow-empty", "--message", "nothing")
	nothing := r.Git("rev-parse", "HEAD")
	r.Git("switch", "--quiet", "-c", "side", two)
	r.Write("side.txt", "s\n")
	r.Commit("side")
	r.Git("merge", "--quiet", "--no-edit", nothing)
	merge := r.Git("rev-parse", "HEAD")
	commits := []string{merge, nothing, two, root}
	counts, err := a.CountEach(t.Context(), commits)
	if err != nil || len(counts) != 4 || counts[0] != (Count{}) || counts[1] != (Count{}) || counts[2] != (Count{Files: 2, Added: 2}) || counts[3].Files == 0 {
		t.Errorf("%+v, %v", counts, err)
	}
	between, err := a.CountBetween(t.Context(), two, merge)
	if err != nil || between != (Count{Files: 1, Added: 1}) {
		t.Errorf("%+v, %v", between, err)
	}
	list, err := a.CommitsIn(t.Context(), merge, []string{root, strings.Repeat("1", len(root))}, 2)
	if err != nil || len(list) != 2 || list[0] != merge {
		t.Errorf("%v, %v", list, err)
	}
	if all, err := a.CommitsIn(t.Context(), merge, []string{two}, 10); err != nil || slices.Contains(all, two) || len(all) != 3 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := a.CommitsIn(t.Context(), "--all", nil, 10); err == nil {
		t.Error("an option is taken for a commit")
	}
}

// TestParseCounts: an answer that is not one is an error.
func TestParseCounts(t *testing.T) {
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	got, err := parseCounts(one+"\n 1 file changed, 1 deletion(-)\n"+two+"\n 3 files changed, 4 insertions(+), 5 deletions(-)\n", []string{one, two})
	if err != nil || got[0] != (Count{1, 0, 1}) || got[1] != (Count{3, 4, 5}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, out := range []string{"", one + "\n", " 1 file changed\n" + one + "\n" + two + "\n", two + "\n" + one + "\n", one + "\nnonsense\n" + two + "\n", one + "\n" + two + "\n" + one + "\n"} {
		if got, err := parseCounts(out, []string{one, two}); err == nil {
			t.Errorf("%q: %+v", out, got)
		}
	}
}
