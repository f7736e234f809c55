package radar

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/writers"
)

// field is a corpus with a scanner over it.
type field struct {
	*gittest.Repo
	scanner Scanner
	input   Input
}

func newField(t *testing.T, c gittest.Corpus) *field {
	t.Helper()
	r := gittest.Grow(t, c)
	f := &field{Repo: r, scanner: Scanner{Attempts: attemptsIn(t, r), Workers: 2}}
	f.input.Target = r.Git("rev-parse", "main")
	for i := range c.Agents {
		f.input.Heads = append(f.input.Heads, r.Git("rev-parse", c.Branch(i)))
	}
	return f
}

func attemptsIn(t *testing.T, r *gittest.Repo) *mergetree.Session {
	t.Helper()
	place, err := gitdir.Discover(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	repo := git.At(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: t.TempDir()}), place, t.TempDir())
	t.Cleanup(func() { _ = repo.Close() })
	a, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func (f *field) scan(t *testing.T, last ScanResult) ScanResult {
	t.Helper()
	s, err := f.scanner.Scan(t.Context(), f.input, last)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// full is the result of merging all pairs.
func (f *field) full(t *testing.T, heads []string) []Collision {
	t.Helper()
	all := append(append([]string{}, heads...), f.input.Target)
	var pairs [][2]string
	for i := range all {
		for _, b := range all[i+1:] {
			pairs = append(pairs, [2]string{all[i], b})
		}
	}
	merged, err := f.scanner.Attempts.MergeAll(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	var list []Collision
	for i, m := range merged {
		if c, collides := collisionOf(m, pairs[i]); collides {
			list = append(list, c)
		}
	}
	return list
}

func (f *field) objects(t *testing.T) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(f.Dir, ".git", "objects"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// seeds are how many corpora are tried; CROFT_LONG tries many.
func seeds() uint64 {
	if os.Getenv("CROFT_LONG") != "" {
		return 400
	}
	return 6
}

// Pairs that the scan leaves out never collide, and the recorded result of a pair that is
// not merged again is right.
func TestRadarEqualsMergingAllPairs(t *testing.T) {
	var counts Counts
	collisions, several := 0, 0
	for seed := range seeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newField(t, gittest.Corpus{Files: []int{60, 300}[seed%2], Agents: 14, Heat: []int{60, 20, 5}[seed%3], Seed: seed})
			before := f.objects(t)
			got := f.scan(t, ScanResult{})
			want := f.full(t, got.Heads)
			if diff := cmp.Diff(want, got.Collisions); diff != "" {
				t.Fatalf("full run and radar differ:\n%s", diff)
			}
			if after := f.objects(t); after != before {
				t.Errorf("%d files of objects before, %d after", before, after)
			}
			again := f.scan(t, got)
			if again.Counts.Remembered != again.Counts.Pairs || again.Counts.Pairs != got.Counts.Pairs {
				t.Errorf("nothing changed, and yet: %+v", again.Counts)
			}
			again.Counts = got.Counts
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("what is remembered differs:\n%s", diff)
			}
			counts.Pruned += got.Counts.Pruned
			counts.Merged += got.Counts.Merged
			collisions += len(want)
			for i, a := range got.Heads {
				for _, b := range got.Heads[i+1:] {
					if out := f.Git("merge-base", "--all", a, b); strings.Contains(out, "\n") {
						several++
					}
				}
			}
		})
	}
	t.Logf("%d pairs left out, %d merged, %d collide, %d parted at several commits", counts.Pruned, counts.Merged, collisions, several)
	if counts.Pruned == 0 || collisions == 0 || counts.Merged <= collisions || several == 0 {
		t.Error("the corpus does not try what it should")
	}
}

// advance puts a commit on another that changes one file.
func (f *field) advance(t *testing.T, on, path, text string) string {
	t.Helper()
	f.Git("read-tree", on)
	file := filepath.Join(f.Home, "file")
	gittest.WriteFile(t, file, text)
	f.Git("update-index", "--add", "--cacheinfo", "100644,"+f.Git("hash-object", "-w", file)+","+path)
	return f.Git("commit-tree", "-m", "more", "-p", on, f.Git("write-tree"))
}

func TestRadarComparesOnlyWhatChanged(t *testing.T) {
	f := newField(t, gittest.Corpus{Files: 60, Agents: 12, Heat: 40, Seed: 3})
	last := f.scan(t, ScanResult{})
	n := len(last.Heads)
	if n < 3 || last.Counts.Pairs != n*(n+1)/2 || last.Counts.Remembered != 0 {
		t.Fatalf("%d heads, %+v", n, last.Counts)
	}
	for _, step := range []struct {
		what   string
		change func()
		fresh  int
	}{
		{"a head", func() { f.input.Heads[4] = f.advance(t, f.input.Heads[4], "hot/again", "again\n") }, n},
		{"the target", func() { f.input.Target = f.advance(t, f.input.Target, "hot/again", "main\n") }, n},
		{"nothing", func() {}, 0},
		{"one head fewer", func() { f.input.Heads = f.input.Heads[1:] }, 0},
	} {
		step.change()
		now := f.scan(t, last)
		if got := now.Counts.Pruned + now.Counts.Merged; got != step.fresh || got+now.Counts.Remembered != now.Counts.Pairs {
			t.Errorf("%s changed: %+v, want %d pairs compared", step.what, now.Counts, step.fresh)
		}
		anew := f.scan(t, ScanResult{})
		anew.Counts = now.Counts
		if diff := cmp.Diff(anew, now); diff != "" {
			t.Errorf("%s changed: anew and remembered differ:\n%s", step.what, diff)
		}
		last = now
	}
}

// Work that the target has already collides with no workspace.
func TestRadarSkipsMergedWork(t *testing.T) {
	f := newField(t, gittest.Corpus{Files: 20, Agents: 2, Heat: 100, Seed: 1})
	base := f.input.Target
	merged := f.advance(t, base, "hot/x", "merged\n")
	other := f.advance(t, base, "hot/x", "other\n")
	f.input = Input{Target: f.advance(t, merged, "hot/y", "main\n"), Heads: []string{merged, other, other}}
	var last ScanResult
	for _, counts := range []Counts{{Pairs: 1, Merged: 1}, {Pairs: 1, Remembered: 1}} {
		last = f.scan(t, last)
		want := ScanResult{
			Target: f.input.Target, Heads: []string{other}, Idle: []string{merged}, Counts: counts,
			Collisions: []Collision{{A: other, B: f.input.Target, Paths: []string{"hot/x"}}},
		}
		if diff := cmp.Diff(want, last); diff != "" {
			t.Error(diff)
		}
	}
	// The target itself as a head, and no target at all.
	f.input.Heads = []string{f.input.Target, other}
	if got := f.scan(t, ScanResult{}); len(got.Collisions) != 1 || got.Counts.Pairs != 1 {
		t.Errorf("with the target as a head: %+v", got)
	}
	f.input = Input{Heads: []string{merged, other}}
	if got := f.scan(t, ScanResult{}); len(got.Collisions) != 1 || len(got.Heads) != 2 {
		t.Errorf("without a target: %+v", got)
	}
}

func TestRadarTellsWhatHasNoHistoryInCommon(t *testing.T) {
	f := newField(t, gittest.Corpus{Files: 20, Agents: 2, Heat: 100, Seed: 1})
	orphan := f.Git("commit-tree", "-m", "orphan", f.Git("rev-parse", "main^{tree}"))
	one := f.advance(t, f.input.Target, "hot/x", "one\n")
	f.input.Heads = []string{orphan, one}
	want := []Collision{{A: orphan, B: one, Reason: croft.Unrelated}, {A: orphan, B: f.input.Target, Reason: croft.Unrelated}}
	if diff := cmp.Diff(want, f.scan(t, ScanResult{}).Collisions); diff != "" {
		t.Error(diff)
	}
}

// The merge bases are those of git, whatever the commits' times are.
func TestAncestryIsThatOfGit(t *testing.T) {
	several := 0
	for seed := range seeds() {
		f := newField(t, gittest.Corpus{Files: 9, Agents: 9, Heat: 50, Seed: seed})
		all := append(f.input.Heads, f.input.Target)
		l := &scan{scanner: &f.scanner, all: all, target: len(all) - 1}
		k, err := l.readAncestry(t.Context(), knownFrom(ScanResult{}).unknownPairs(all))
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			for j := range all[:i] {
				want := strings.Fields(f.Git("merge-base", "--all", all[i], all[j]))
				switch n := k.base(i, j); {
				case len(want) > 1 && n == severalBase:
					several++
				case len(want) != 1 || n < 0 || k.nodes[n].commit != want[0]:
					t.Errorf("seed %d: %s and %s parted at %v, not at %d", seed, all[i], all[j], want, n)
				}
			}
		}
	}
	if several == 0 {
		t.Error("no history crosses another")
	}
}

// A long history is read only as far as necessary.
func TestAncestryReadsNoMoreThanItNeeds(t *testing.T) {
	f := newField(t, gittest.Corpus{Files: 9, Agents: 2, Heat: 50, Seed: 1})
	tip := f.input.Target
	for range 20 {
		tip = f.advance(t, tip, "hot/x", tip)
	}
	l := &scan{scanner: &f.scanner, all: []string{f.advance(t, tip, "a", "a\n"), f.advance(t, tip, "b", "b\n")}, target: -1}
	k, err := l.readAncestry(t.Context(), []pair{{0, 1}})
	if err != nil || k.base(0, 1) < 0 || k.nodes[k.base(0, 1)].commit != tip || len(k.nodes) > 4 {
		t.Errorf("%d commits were read, %v", len(k.nodes), err)
	}
}

func TestOrderMergesManyBeforeTheFirstConflict(t *testing.T) {
	for _, tt := range []struct {
		name     string
		n        int
		collides [][2]int
		last     map[int]bool
		want     []int
	}{
		{"nothing", 0, nil, nil, nil},
		{"all get along", 3, nil, nil, []int{0, 1, 2}},
		{"one against all", 4, [][2]int{{0, 1}, {0, 2}, {0, 3}}, nil, []int{1, 2, 3, 0}},
		{"a chain", 3, [][2]int{{0, 1}, {1, 2}}, nil, []int{0, 2, 1}},
		{"each with each", 3, [][2]int{{0, 1}, {0, 2}, {1, 2}}, nil, []int{0, 1, 2}},
		{"with the target", 3, [][2]int{{1, 2}}, map[int]bool{0: true, 1: true}, []int{2, 0, 1}},
	} {
		if diff := cmp.Diff(tt.want, Order(tt.n, tt.collides, tt.last)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// Sides that are divided into spans meet wherever the whole sides do, and hardly anywhere
// else.
func TestPruningLosesLittle(t *testing.T) {
	kept, exact := 0, 0
	for seed := range uint64(3) {
		f := newField(t, gittest.Corpus{Files: 300, Agents: 16, Heat: 5, Seed: seed})
		l := &scan{scanner: &f.scanner, all: append(f.input.Heads, f.input.Target), target: len(f.input.Heads)}
		pairs := knownFrom(ScanResult{}).unknownPairs(l.all)
		k, err := l.readAncestry(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		left, err := l.prunePairs(t.Context(), k, pairs)
		if err != nil {
			t.Fatal(err)
		}
		pairs = slices.DeleteFunc(pairs, func(p pair) bool { return k.base(p.a, p.b) == severalBase })
		var sides []odb.Span
		for _, p := range pairs {
			from := k.nodes[k.base(p.a, p.b)].commit
			sides = append(sides, odb.Span{From: from, To: l.all[p.a]}, odb.Span{From: from, To: l.all[p.b]})
		}
		touched, err := f.scanner.Attempts.TouchedPaths(t.Context(), sides)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			meets, isKept := findMeetings(touched[2*i : 2*i+2])[0].Bit(1) == 1, slices.Contains(left, p)
			if meets && !isKept {
				t.Errorf("seed %d: %v meet, and were left out", seed, p)
			}
			if isKept {
				kept++
			}
			if meets {
				exact++
			}
		}
	}
	t.Logf("%d pairs are kept, %d meet", kept, exact)
	if exact == 0 || kept > exact+exact/10 {
		t.Errorf("%d pairs are kept, although only %d meet", kept, exact)
	}
}
