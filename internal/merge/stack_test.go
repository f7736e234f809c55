package merge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// bench is a repository with a session of merges in it.
type bench struct {
	*gittest.Repo
	t     *testing.T
	at    *mergetree.Session
	stack *Stacker
}

const (
	ann = "Ann <ann@example.com>"
	bob = "Bob <bob@example.com>"
)

var stackTime = time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("", 3600))

func newBench(t *testing.T, r *gittest.Repo) *bench {
	t.Helper()
	repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	at, err := repo.OpenMergeTree(writers.InMemory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		at.Close()
		_ = repo.Close()
	})
	return &bench{r, t, at, &Stacker{
		MergeTree: at, Identity: gitcmd.Identity{Author: ann, Committer: ann}, Now: func() time.Time { return stackTime },
	}}
}

// put puts one item on a tip, and checks that the step is whole.
func (b *bench) put(tip string, it Item) Step {
	b.t.Helper()
	it.ID = "m"
	steps, err := b.stack.Stack(b.t.Context(), tip, []Item{it})
	if err != nil {
		b.t.Fatal(err)
	}
	step := steps[0]
	c := b.commit(step.Commit)
	if step.Parent != tip || c.Tree != step.Tree || len(step.Conflicts) > 0 && step.Commit != tip {
		b.t.Errorf("a step that does not fit: %+v", step)
	}
	return step
}

func (b *bench) commit(oid string) object.Commit {
	b.t.Helper()
	c, err := b.at.ReadCommit(b.t.Context(), oid)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// work commits files on a branch, each as its author, and returns the head.
func (b *bench) work(branch, from string, commits ...change) string {
	b.t.Helper()
	b.Git("checkout", "--quiet", "-B", branch, from)
	for _, c := range commits {
		b.Write(c.file, c.text)
		b.Git("add", "--all")
		b.Git("commit", "--quiet", "--allow-empty", "--author", c.author, "--date", "2026-01-05T06:07:08+0200", "--message", c.message)
	}
	head := b.Git("rev-parse", "HEAD")
	b.Git("checkout", "--quiet", "main")
	return head
}

type change struct{ file, text, author, message string }

func TestNoFF(t *testing.T) {
	b := newBench(t, gittest.New(t))
	tip := b.Git("rev-parse", "main")
	head := b.work("w", "main", change{"a", "a\n", bob, "add a"})
	step := b.put(tip, Item{Kind: croft.KindMerge, Head: head, Message: "Merge w"})
	b.Git("merge", "--quiet", "--no-ff", "-m", "Merge w", "w")
	want := object.Commit{
		Tree: b.Git("rev-parse", "HEAD^{tree}"), Parents: []string{tip, head}, Author: ann + " 1770087906 +0100", Signature: ann + " 1770087906 +0100",
		Message: "Merge w\n",
	}
	if diff := cmp.Diff(want, b.commit(step.Commit)); diff != "" {
		t.Error(diff)
	}
	if again := b.put(step.Commit, Item{Kind: croft.KindMerge, Head: head, Message: "again"}); !again.IsEmpty() {
		t.Errorf("merged twice: %+v", again)
	}
	// Work that changes nothing is merged all the same, once.
	empty := b.work("empty", "main", change{"a", "a\n", bob, "nothing"})
	step = b.put(tip, Item{Kind: croft.KindMerge, Head: empty, Message: "Merge empty"})
	if c := b.commit(step.Commit); step.IsEmpty() || !slices.Equal(c.Parents, []string{tip, empty}) {
		t.Errorf("%+v", c)
	}
}

// The author of squashed work is the author of its last commit; the others are named in the
// message.
func TestSquashKeepsAuthors(t *testing.T) {
	b := newBench(t, gittest.New(t))
	const eve = "Eve <eve@example.com>"
	tip := b.Git("rev-parse", "main")
	head := b.work("w", "main",
		change{"a", "1\n", eve, "one"}, change{"b", "2\n", bob, "two"}, change{"a", "3\n", eve, "three"}, change{"c", "4\n", bob, "four"})
	for message, want := range map[string]string{
		"Add things":                   "Add things\n\nCo-authored-by: " + eve + "\n",
		"Add things\n\nCroft-Merge: m": "Add things\n\nCroft-Merge: m\nCo-authored-by: " + eve + "\n",
		"Add things\n\nBecause.\n":     "Add things\n\nBecause.\n\nCo-authored-by: " + eve + "\n",
	} {
		step := b.put(tip, Item{Kind: croft.KindMerge, Strategy: croft.StrategySquash, Head: head, Message: message})
		got := b.commit(step.Commit)
		if !slices.Equal(got.Parents, []string{tip}) || got.Author != bob+" 1767586028 +0200" || !strings.HasPrefix(got.Signature, ann) || got.Message != want {
			t.Errorf("%+v", got)
		}
		if got.Tree != b.Git("rev-parse", "w^{tree}") {
			t.Error("another tree")
		}
	}
	alone := b.work("alone", "main", change{"a", "1\n", bob, "one"}, change{"b", "1\n", bob, "two"})
	step := b.put(tip, Item{Kind: croft.KindMerge, Strategy: croft.StrategySquash, Head: alone, Message: "m"})
	if got := b.commit(step.Commit); got.Message != "m\n" || !strings.HasPrefix(got.Author, bob) {
		t.Errorf("%+v", got)
	}
	if again := b.put(step.Commit, Item{Kind: croft.KindMerge, Strategy: croft.StrategySquash, Head: alone, Message: "m"}); !again.IsEmpty() {
		t.Errorf("%+v", again)
	}
}

// An apply brings the difference of a review, whatever its commits are.
func TestApply(t *testing.T) {
	b := newBench(t, gittest.New(t))
	base := b.Git("rev-parse", "main")
	part := b.work("part", "main", change{"a", "1\n", bob, "one"})
	b.Write("b", "2\n")
	tip := b.Commit("meanwhile")
	step := b.put(tip, Item{Kind: croft.KindApply, Base: base, Head: part, Message: "part"})
	b.Git("cherry-pick", "part")
	if c := b.commit(step.Commit); c.Tree != b.Git("rev-parse", "HEAD^{tree}") || !slices.Equal(c.Parents, []string{tip}) {
		t.Errorf("%+v", c)
	}
}

// An item in conflict is left out, and the others are merged without it.
func TestConflictKeepsOnlyItsItemOut(t *testing.T) {
	for _, strategy := range []croft.Strategy{croft.StrategyNoFF, croft.StrategySquash} {
		b := newBench(t, gittest.New(t))
		tip := b.Git("rev-parse", "main")
		var items []Item
		for i, name := range []string{"a", "b", "c"} {
			file := []string{"src/main.txt", "src/main.txt", "other"}[i]
			head := b.work(name, "main", change{file, name + "\n", bob, name})
			items = append(items, Item{ID: croft.ID(name), Kind: croft.KindMerge, Strategy: strategy, Head: head, Message: name})
		}
		steps, err := b.stack.Stack(t.Context(), tip, items)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps[0].Conflicts)+len(steps[2].Conflicts) > 0 || len(steps[1].Conflicts) != 1 || steps[1].Commit != steps[0].Commit || steps[1].IsEmpty() {
			t.Fatalf("%s: %+v", strategy, steps)
		}
		c := steps[1].Conflicts[0]
		if c.Path != "src/main.txt" || c.Against != steps[0].Commit || len(c.Hunks) != 1 || c.Hunks[0].Ours != "a\n" || c.Hunks[0].Theirs != "b\n" {
			t.Errorf("%s: %+v", strategy, c)
		}
		b.Git("merge", "--quiet", "--no-edit", "--no-ff", items[0].Head)
		b.Git("merge", "--quiet", "--no-edit", "--no-ff", items[2].Head)
		if got := b.Git("rev-parse", "HEAD^{tree}"); steps[2].Tree != got {
			t.Errorf("%s: tree %s, by hand %s", strategy, steps[2].Tree, got)
		}
	}
}

// Work that merged a target which had it, before it was reverted there, is not lost when it
// is merged again.
func TestMergeAgainAfterUpdate(t *testing.T) {
	for _, strategy := range []croft.Strategy{croft.StrategyNoFF, croft.StrategySquash} {
		b := newBench(t, gittest.New(t))
		tip := b.Git("rev-parse", "main")
		head := b.work("w", "main", change{"a", "1\n", bob, "one"}, change{"b", "1\n", bob, "two"})
		first := b.put(tip, Item{Kind: croft.KindMerge, Strategy: strategy, Head: head, Message: "first"})
		if _, err := b.at.Keep(t.Context(), first.Commit); err != nil {
			t.Fatal(err)
		}
		b.Git("checkout", "--quiet", "w")
		b.Git("merge", "--quiet", "--no-ff", "--no-edit", first.Commit)
		b.Write("c", "new\n")
		head = b.Commit("new")
		undo := b.put(first.Commit, Item{Kind: croft.KindRevert, Head: first.Commit, Base: tip, Message: "revert"})
		again := b.put(undo.Commit, Item{
			Kind: croft.KindMerge, Strategy: strategy, Head: head, Message: "again", Reverts: []Revert{{Commit: undo.Commit, Reverted: first.Commit}},
		})
		if want := b.Git("rev-parse", "HEAD^{tree}"); again.Tree != want || len(again.Conflicts) > 0 {
			t.Errorf("%s: tree %s, want that of the work, %s: %+v", strategy, again.Tree, want, again.Conflicts)
		}
		if c := b.commit(again.Commit); strategy == croft.StrategySquash && !strings.HasPrefix(c.Author, "Ada ") {
			t.Errorf("the author is %s", c.Author)
		}
	}
}

// Work that was rewritten after it had been reverted is merged as it is.
func TestMergeAgainWrittenAnew(t *testing.T) {
	b := newBench(t, gittest.New(t))
	tip := b.Git("rev-parse", "main")
	head := b.work("w", "main", change{"a", "1\n", bob, "one"})
	first := b.put(tip, Item{Kind: croft.KindMerge, Head: head, Message: "first"})
	undo := b.put(first.Commit, Item{Kind: croft.KindRevert, Head: first.Commit, Base: tip, Message: "revert"})
	anew := b.work("w", "main", change{"a", "2\n", bob, "better"})
	again := b.put(undo.Commit, Item{Kind: croft.KindMerge, Head: anew, Message: "again", Reverts: []Revert{{Commit: undo.Commit, Reverted: first.Commit}}})
	if want := b.Git("rev-parse", "w^{tree}"); again.Tree != want {
		t.Errorf("tree %s, want %s: %+v", again.Tree, want, again.Conflicts)
	}
}

// long reports whether the long form of tests was asked for.
func long() bool { return os.Getenv("CROFT_LONG") == "1" }

func histories() int {
	if long() {
		return 200
	}
	return 20
}

// TestRandomHistories merges, reverts, merges again and reverts again, in random histories
// with other merges between, by every strategy. Each tree is the one that plain git makes,
// and plain git has each conflict, too.
func TestRandomHistories(t *testing.T) {
	var total tally
	t.Run("all", func(t *testing.T) {
		for seed := range histories() {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				h := newHistory(t, uint64(seed))
				h.play()
				total.add(h.tally)
			})
		}
	})
	t.Logf("%+v", total.counts())
	for what, n := range total.counts() {
		if n == 0 {
			t.Errorf("no history had %s", what)
		}
	}
}
